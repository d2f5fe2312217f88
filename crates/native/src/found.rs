//! A session that was found, with what its file says at a glance.

use std::path::{Path, PathBuf};

use tertulia_dialect::native::NativeFormat;
use tertulia_session::Timestamp;

/// A session of an agent on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSession {
    pub format: NativeFormat,
    /// The id of the session in the agent's format, or the name of its file.
    pub native_id: String,
    /// The folder in which the agent worked.
    pub folder: Option<String>,
    /// The title, otherwise the start of the first message.
    pub title: Option<String>,
    pub started: Option<Timestamp>,
    /// When the file was last changed.
    pub updated: Option<Timestamp>,
    /// In bytes; `None` for a session in a database.
    pub size: Option<u64>,
    pub place: Place,
}

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A file, with the files of sub-agents beside it.
    File(PathBuf),
    /// Rows of a database.
    Rows { database: PathBuf, id: String },
}

impl Place {
    /// Returns the file or the database.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Rows { database, .. } => database,
        }
    }
}
