//! The payloads of the entry types, field by field as docs/session-record.md lists them. Data only. What a source said
//! besides is in `unknown`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::json::{Json, Kind};
use crate::word::words;
use crate::{EntryId, Fields, RecordHash};

/// The first entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    pub version: u64,
    pub unknown: Fields,
}

/// Another model answers from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelChange {
    pub model: Box<str>,
    pub unknown: Fields,
}

/// The model thinks more or less from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkingLevelChange {
    pub level: Box<str>,
    pub unknown: Fields,
}

/// What a run found around it; stable within a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInit {
    /// A JSON object, such as `{"cwd":"/src","os":"linux"}`.
    pub data: Json,
    pub unknown: Fields,
}

/// Another system prompt from here on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemPromptOverride {
    pub system_prompt: Box<str>,
    pub unknown: Fields,
}

/// The team's task was set or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamTask {
    /// The task; `None` takes it away.
    pub task: Option<Box<str>>,
    pub unknown: Fields,
}

/// A text that stands for a range of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionSummary {
    pub summary: Box<str>,
    pub first_kept_entry_id: EntryId,
    pub covered_from_id: Option<EntryId>,
    pub covered_to_id: Option<EntryId>,
    pub covered_count: Option<u64>,
    pub covered_hash: Option<Box<str>>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
    pub strategy: Option<Box<str>>,
    pub author: Option<Box<str>>,
    /// Entries before the first kept one that stay as they are, such as pinned ones.
    pub kept_ids: Option<Vec<EntryId>>,
    /// Why another author's text was not taken.
    pub refused: Option<Box<str>>,
    /// What a counted token weighed by reported usage, in thousandths.
    pub scale_permille: Option<u64>,
    /// Why it had to be made, where that is not the budget.
    pub reason: Option<Box<str>>,
    /// How many messages before the range are in no summary. Absent for none.
    pub older_count: Option<u64>,
    /// The member of a team whose context alone it is for; absent for all.
    pub member: Option<Box<str>>,
    pub unknown: Fields,
}

impl CompactionSummary {
    /// Returns the number of messages before the range that are in no summary.
    pub fn older(&self) -> usize {
        self.older_count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
    }
}

/// Tool outputs were elided, or entries dropped, without a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextCut {
    pub strategy: CutStrategy,
    pub first_kept_entry_id: Option<EntryId>,
    /// The entries whose tool outputs became stubs.
    pub elided_ids: Option<Vec<EntryId>>,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub reason: Box<str>,
    pub kept_ids: Option<Vec<EntryId>>,
    pub scale_permille: Option<u64>,
    /// The member of a team whose context alone was cut; absent for all.
    pub member: Option<Box<str>>,
    pub unknown: Fields,
}

words! {
    /// How a context was cut.
    pub enum CutStrategy: "elide or drop" {
        /// Old tool outputs became stubs.
        Elide = "elide",
        /// Old entries were left out.
        Drop = "drop",
    }
}

/// Where a branch came from, and what was said there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchSummary {
    pub source_session_id: Box<str>,
    /// Its last entry that the summary is about.
    pub source_entry_id: EntryId,
    pub summary: Option<Box<str>>,
    pub unknown: Fields,
}

/// The text of another entry is to be seen no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    pub target_id: EntryId,
    pub reason: Option<Box<str>>,
    pub unknown: Fields,
}

/// What is left of an entry whose bytes a redaction took away: in its place, under its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    pub type_name: Box<str>,
    /// The hash of the record that was here.
    pub hash: RecordHash,
    pub by: EntryId,
    pub unknown: Fields,
}

/// What an answer cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub member: Box<str>,
    pub model: Option<Box<str>>,
    pub input_tokens: u64,
    /// Tokens among them that came from a cache.
    pub cached_tokens: Option<u64>,
    pub output_tokens: u64,
    pub cost_usd: Option<Usd>,
    pub unknown: Fields,
}

/// An amount of dollars of 0 or more, with the digits in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usd(Json);

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

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl SessionHeader {
    /// The version of the record form that is written; earlier ones are read too.
    pub const VERSION: u64 = 2;
}

/// The header of a log in the present record form.
impl Default for SessionHeader {
    fn default() -> Self {
        Self { version: Self::VERSION, unknown: Fields::NONE }
    }
}

impl TeamTask {
    /// The team has this task.
    pub fn set(task: impl Into<Box<str>>) -> Self {
        Self { task: Some(task.into()), unknown: Fields::NONE }
    }
}

impl Redaction {
    /// This entry is to be seen no more.
    pub fn new(target: &EntryId) -> Self {
        Self { target_id: target.clone(), reason: None, unknown: Fields::NONE }
    }
}

impl Usd {
    /// This amount; `None` if it is negative, infinite or no number.
    pub fn new(amount: f64) -> Option<Self> {
        Self::from_json(Json::parse(&amount.to_string()).ok()?)
    }

    /// The amount of a JSON number; `None` if it is negative or not a number.
    pub fn from_json(number: Json) -> Option<Self> {
        let amount = number.as_str().parse::<f64>();
        let counts = number.kind() == Kind::Number && amount.is_ok_and(|amount| amount >= 0.0);
        counts.then_some(Self(number))
    }

    /// The amount; digits beyond those of a float are rounded.
    pub fn amount(&self) -> f64 {
        self.0.as_str().parse().unwrap_or(f64::INFINITY)
    }
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
