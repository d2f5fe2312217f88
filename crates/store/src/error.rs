//! Errors of a store. Every error names the session, the cause and the fix. If an append fails, the error shows
//! whether the entries may have been stored anyway.

use std::path::{Path, PathBuf};

use tertulia_session::EntryId;

use crate::{InvalidSessionId, InvalidTitle, SessionId};

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A store operation that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("there is no session {0}; `tertulia sessions list` lists all")]
    SessionNotFound(SessionId),
    #[error("session {0} already exists; use another name")]
    SessionExists(SessionId),
    #[error(transparent)]
    InvalidSessionId(#[from] InvalidSessionId),
    #[error(transparent)]
    InvalidTitle(#[from] InvalidTitle),
    #[error("session {session} has no entry {entry}")]
    EntryNotFound { session: SessionId, entry: EntryId },
    #[error(
        "session {session} ends with {}, not with the expected {expected}: another process has \
         appended to it; load the new entries and try again",
        tail_text(.actual.as_ref())
    )]
    SessionConcurrentWrite { session: SessionId, expected: EntryId, actual: Option<EntryId> },
    #[error(
        "nothing was stored, because this process lost the right to run session {session}: {}",
        lost_text(.holder.as_deref())
    )]
    SessionLeaseLost {
        session: SessionId,
        /// The process that has taken over, if it is known.
        holder: Option<Box<str>>,
    },
    #[error("cannot write{}: {problem}{}", session_text(.session.as_ref()), .outcome.note())]
    SessionWriteFailed {
        session: Option<SessionId>,
        outcome: Outcome,
        #[source]
        problem: Problem,
    },
    #[error("cannot read{}: {problem}", session_text(.session.as_ref()))]
    SessionReadFailed {
        session: Option<SessionId>,
        #[source]
        problem: Problem,
    },
    #[error("cannot write {}: {problem}", .path.display())]
    FileWriteFailed {
        path: PathBuf,
        #[source]
        problem: Problem,
    },
    #[error("cannot update the store at {location} to this version: {reason}")]
    SessionMigrationFailed { location: String, reason: String },
}

/// The outcome of a failed change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    NotStored,
    /// It may have been stored. A retry with the same ids stores it once.
    Unknown,
}

/// The cause of a failed operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("entry {entry} follows {parent}, which is not in the session; append that one first")]
    MissingParent { entry: EntryId, parent: EntryId },
    #[error("redaction {entry} refers to {target}, which is not in the session")]
    MissingTarget { entry: EntryId, target: EntryId },
    #[error("entry {0} already exists with other content; use another id for the new one")]
    OtherContent(EntryId),
    #[error("entry {entry} {reason}")]
    BadEntry { entry: String, reason: String },
    #[error(
        "entry {seq}{} is damaged: {reason}; restore a backup, or export the entries before it",
        id_text(.entry.as_ref())
    )]
    Damaged {
        /// The number of the entry in its session, starting at 1.
        seq: u64,
        entry: Option<EntryId>,
        reason: String,
    },
    #[error("the disk is full; free some space and try again")]
    DiskFull,
    #[error("{0} is read-only; make it writable, or use another store")]
    ReadOnly(String),
    #[error("the store is busy: another process has been writing for {seconds} s; try again")]
    Busy { seconds: u64 },
    #[error(
        "the disk reported an error ({0}); the store accepts no more entries until it is reopened \
         and checked, for example with `tertulia sessions verify`"
    )]
    Stopped(String),
    #[error(
        "the disk reported an error while reading {location} ({reason}); check the disk and its \
         free space; the data read before is valid"
    )]
    Disk { location: String, reason: String },
    #[error(
        "{location} is damaged or not a session store: {reason}; name another one, or restore a backup of it"
    )]
    NotAStore { location: String, reason: String },
    #[error("{} {reason}", .path.display())]
    UnusablePath { path: PathBuf, reason: String },
    #[error(
        "no connection to {server}: {reason}; check that the server runs, and the address, role and password"
    )]
    Connection {
        /// The address of the server, without the password.
        server: String,
        reason: String,
    },
    #[error("{0}")]
    Database(String),
}

impl StoreError {
    /// Returns the error code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SessionNotFound(_) => "SessionNotFound",
            Self::SessionExists(_) => "SessionExists",
            Self::InvalidSessionId(_) => "InvalidSessionId",
            Self::InvalidTitle(_) => "InvalidTitle",
            Self::EntryNotFound { .. } => "EntryNotFound",
            Self::SessionConcurrentWrite { .. } => "SessionConcurrentWrite",
            Self::SessionLeaseLost { .. } => "SessionLeaseLost",
            Self::SessionWriteFailed { .. } | Self::FileWriteFailed { .. } => "SessionWriteFailed",
            Self::SessionReadFailed { .. } => "SessionReadFailed",
            Self::SessionMigrationFailed { .. } => "SessionMigrationFailed",
        }
    }

    /// Returns the outcome of the append that failed with this error.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::SessionWriteFailed { outcome, .. } => *outcome,
            _ => Outcome::NotStored,
        }
    }

    /// Returns whether the same call may succeed later, although nobody repairs anything.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::SessionConcurrentWrite { .. } => true,
            Self::SessionWriteFailed { problem, .. }
            | Self::FileWriteFailed { problem, .. }
            | Self::SessionReadFailed { problem, .. } => matches!(
                problem,
                Problem::Busy { .. } | Problem::DiskFull | Problem::Connection { .. }
            ),
            _ => false,
        }
    }

    pub(crate) fn read_failed(problem: Problem) -> Self {
        Self::SessionReadFailed { session: None, problem }
    }

    /// Creates the error of a store that cannot be written to. Nothing of the change is stored.
    pub(crate) fn write_failed(problem: Problem) -> Self {
        Self::SessionWriteFailed { session: None, outcome: Outcome::NotStored, problem }
    }

    /// Creates the error of a file or folder that cannot be used for its purpose.
    pub(crate) fn unusable_path(path: &Path, reason: impl Into<String>) -> Self {
        Self::read_failed(Problem::UnusablePath { path: path.to_owned(), reason: reason.into() })
    }

    pub(crate) fn not_stored(session: &SessionId, problem: Problem) -> Self {
        let (session, outcome) = (Some(session.clone()), Outcome::NotStored);
        Self::SessionWriteFailed { session, outcome, problem }
    }

    /// Removes the session id. Used for sessions that the user did not name.
    pub(crate) fn unnamed(mut self) -> Self {
        if let Self::SessionWriteFailed { session, .. } | Self::SessionReadFailed { session, .. } =
            &mut self
        {
            *session = None;
        }
        self
    }

    /// Turns a failure to open a store into a failure to write to it.
    pub(crate) fn while_writing(self) -> Self {
        match self {
            Self::SessionReadFailed { session, problem } => {
                Self::SessionWriteFailed { session, outcome: Outcome::NotStored, problem }
            }
            other => other,
        }
    }

    pub(crate) fn unreadable(session: &SessionId, problem: Problem) -> Self {
        Self::SessionReadFailed { session: Some(session.clone()), problem }
    }
}

impl Outcome {
    /// Returns the name of the outcome for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStored => "not_stored",
            Self::Unknown => "unknown",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Self::NotStored => "",
            Self::Unknown => " (it may have been stored; a retry with the same ids stores it once)",
        }
    }
}

pub(crate) fn later_version(found: i64, known: usize) -> String {
    format!(
        "it is of version {found}, and this program reads versions up to {known}; use a newer \
         version of Tertulia"
    )
}

fn tail_text(tail: Option<&EntryId>) -> &str {
    tail.map_or("nothing", EntryId::as_str)
}

fn lost_text(holder: Option<&str>) -> String {
    match holder {
        Some(holder) => format!("{holder} has taken it over; open the session again to join it"),
        None => "another process had taken it over; open the session again".to_owned(),
    }
}

fn id_text(entry: Option<&EntryId>) -> String {
    entry.map_or_else(String::new, |id| format!(" ({id})"))
}

fn session_text(session: Option<&SessionId>) -> String {
    session.map_or_else(String::new, |id| format!(" session {id}"))
}
