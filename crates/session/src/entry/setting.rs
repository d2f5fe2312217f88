//! What a session was told besides messages and turns: its folder, its limit of turns, its title. Data only.

use std::fmt;

use crate::Fields;
use crate::json::Json;

/// Something about the session holds from here on. No prompt and no model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSetting {
    pub setting: Setting,
    /// The payload of the `custom` entry of version 1 that it was read from. Counts when the entry is written.
    pub source: Option<Json>,
    pub unknown: Fields,
}

/// What holds for a session from an entry on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The person said that the session continues; the count, from 1, tells one from the next.
    Continued { count: u64 },
    /// The session was opened again while turns waited that could have started; the count, from 1, tells one from the
    /// next.
    Reopened { count: u64 },
    /// The session belongs to this project folder.
    Folder { path: Box<str> },
    /// A person is asked after so many turns at the latest; `None`: as the team says.
    TurnsMax { turns: Option<u32> },
    /// The title that a person gave the session; an empty one takes an earlier one back.
    Title { title: Box<str> },
    /// A setting that this version does not know; its fields are the entry's unknown ones.
    Other { kind: Box<str> },
}

impl From<Setting> for SessionSetting {
    fn from(setting: Setting) -> Self {
        Self { setting, source: None, unknown: Fields::NONE }
    }
}

/// For people.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Continued { .. } => f.write_str("a person said: continue"),
            Self::Reopened { .. } => f.write_str("the session was opened again"),
            Self::Folder { path } => write!(f, "project folder: {path}"),
            Self::TurnsMax { turns: None } => f.write_str("turns are limited by the team alone"),
            Self::TurnsMax { turns: Some(1) } => f.write_str("a person is asked after one turn"),
            Self::TurnsMax { turns: Some(turns) } => {
                write!(f, "a person is asked after {turns} turns")
            }
            Self::Title { title } if title.is_empty() => f.write_str("title removed"),
            Self::Title { title } => write!(f, "title: {title}"),
            Self::Other { kind } => write!(f, "setting {kind}"),
        }
    }
}
