//! The reasons why a session of an agent cannot be read. Problems with single records are not errors; the result of
//! the reader contains them.

use std::io;
use std::path::{Path, PathBuf};

use tertulia_dialect::native::NativeFormat;

/// A file or database that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", .path.display())]
pub struct NativeError {
    pub path: PathBuf,
    pub cause: Cause,
}

/// The reason why a file or database cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("this is not a session of a known agent; if you know the format, set it with --format")]
    UnknownFormat,
    #[error("is not a file; name a file, a folder or the ID of a session")]
    NotAFile,
    #[error("no session of an agent was found in this folder")]
    NoSessions,
    #[error(
        "line {line} is longer than {bytes_max} bytes; raise --max-line-bytes to read it anyway"
    )]
    LineTooLong { line: u64, bytes_max: u64 },
    #[error(
        "has {bytes} bytes, more than the limit for a file that is read as a whole; raise \
         --max-line-bytes above that"
    )]
    DocumentTooLong { bytes: u64 },
    #[error(
        "became shorter while it was read, after {bytes} bytes; its agent is rewriting it, so try again"
    )]
    Truncated { bytes: u64 },
    #[error("changes too fast to be read; try again when its agent is idle")]
    Busy,
    #[error(
        "this version cannot read the database of {agent}: {reason}; update Tertulia, or export \
         the session with the agent's own command and import that file",
        agent = .format.agent_name()
    )]
    ForeignSchema { format: NativeFormat, reason: String },
    #[error("the database is not of a known agent")]
    ForeignDatabase,
    #[error("the database cannot be read: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("there is no session {id} in this database")]
    NoSuchSession { id: String },
}

impl NativeError {
    pub(crate) fn new(path: &Path, cause: impl Into<Cause>) -> Self {
        Self { path: path.to_owned(), cause: cause.into() }
    }

    /// Returns whether the file or folder does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(&self.cause, Cause::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}
