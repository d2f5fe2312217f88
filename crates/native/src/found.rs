//! A session that was found, with the data from a quick look at its file.

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
    /// The time of the last change of the file.
    pub updated: Option<Timestamp>,
    /// The size of the file in bytes; `None` for a session in a database.
    pub size: Option<u64>,
    /// The files of sub-agents that are not in the session's own folder.
    pub side_files: Vec<PathBuf>,
    pub place: Place,
}

/// The location of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A file. The files of sub-agents are in a folder next to it.
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
