//! What can go wrong with a store. Every error names the session, the cause and the cure; a failed
//! append says whether something may have been stored nevertheless.

use std::path::{Path, PathBuf};

use tertulia_session::EntryId;

use crate::{InvalidSessionId, InvalidTitle, SessionId};

pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a store did not do what it was asked.
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
        "session {session} ends in {}, not in the expected {expected}: somebody appended to it in \
         the meantime; load what is new and try again",
        shown(.actual.as_ref())
    )]
    SessionConcurrentWrite { session: SessionId, expected: EntryId, actual: Option<EntryId> },
    #[error("cannot write{}: {problem}{}", of_session(.session.as_ref()), .outcome.note())]
    SessionWriteFailed {
        session: Option<SessionId>,
        outcome: Outcome,
        #[source]
        problem: Problem,
    },
    #[error("cannot read{}: {problem}", of_session(.session.as_ref()))]
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
    #[error("cannot bring the store at {place} to this version: {reason}")]
    SessionMigrationFailed { place: String, reason: String },
}

/// What became of a change that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    NotStored,
    /// It may be stored. Trying again with the same ids stores it once.
    Unknown,
}

/// What stood in the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    #[error("entry {entry} follows {parent}, which is not in the session; append that one first")]
    MissingParent { entry: EntryId, parent: EntryId },
    #[error("redaction {entry} is of {target}, which is not in the session")]
    MissingTarget { entry: EntryId, target: EntryId },
    #[error("entry {0} is there already and says something else; give the new one another id")]
    OtherContent(EntryId),
    #[error("entry {entry} {reason}")]
    BadEntry { entry: String, reason: String },
    #[error(
        "entry {place}{} is damaged: {reason}; restore a backup, or export what is before it",
        named(.entry.as_ref())
    )]
    Damaged {
        /// The number of the entry in its session, from 1.
        place: u64,
        entry: Option<EntryId>,
        reason: String,
    },
    #[error("the disk is full; make room and try again")]
    DiskFull,
    #[error("{0} is read-only; make it writable, or name another store")]
    ReadOnly(String),
    #[error("the store is busy: another process has been writing for {seconds} s; try again")]
    Busy { seconds: u64 },
    #[error(
        "the disk reported an error ({0}); the store takes no more entries until it is opened \
         anew and was checked, for instance by `tertulia sessions verify`"
    )]
    Stopped(String),
    #[error(
        "the disk reported an error while {place} was read ({reason}); check the disk and the room \
         on it; what was read before is good"
    )]
    Disk { place: String, reason: String },
    #[error(
        "{place} is damaged or no store of sessions: {reason}; name another one, or restore a backup of it"
    )]
    NotAStore { place: String, reason: String },
    #[error("{} {reason}", .path.display())]
    BadPlace { path: PathBuf, reason: String },
    #[error(
        "no connection to {server}: {reason}; check that the server runs, and the address, role and password"
    )]
    Connection {
        /// The server, without a password.
        server: String,
        reason: String,
    },
    #[error("{0}")]
    Database(String),
}

impl StoreError {
    /// The kind, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SessionNotFound(_) => "SessionNotFound",
            Self::SessionExists(_) => "SessionExists",
            Self::InvalidSessionId(_) => "InvalidSessionId",
            Self::InvalidTitle(_) => "InvalidTitle",
            Self::EntryNotFound { .. } => "EntryNotFound",
            Self::SessionConcurrentWrite { .. } => "SessionConcurrentWrite",
            Self::SessionWriteFailed { .. } | Self::FileWriteFailed { .. } => "SessionWriteFailed",
            Self::SessionReadFailed { .. } => "SessionReadFailed",
            Self::SessionMigrationFailed { .. } => "SessionMigrationFailed",
        }
    }

    /// What became of the append that ended with this.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::SessionWriteFailed { outcome, .. } => *outcome,
            _ => Outcome::NotStored,
        }
    }

    /// Whether the same call may work later without anything being mended.
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

    /// The store cannot be written to, and nothing of the change is stored.
    pub(crate) fn write_failed(problem: Problem) -> Self {
        Self::SessionWriteFailed { session: None, outcome: Outcome::NotStored, problem }
    }

    /// A file or folder is not fit for what it was named for.
    pub(crate) fn bad_place(path: &Path, reason: impl Into<String>) -> Self {
        Self::read_failed(Problem::BadPlace { path: path.to_owned(), reason: reason.into() })
    }

    pub(crate) fn not_stored(session: &SessionId, problem: Problem) -> Self {
        let (session, outcome) = (Some(session.clone()), Outcome::NotStored);
        Self::SessionWriteFailed { session, outcome, problem }
    }

    /// Without the id of a session that nobody asked for by name.
    pub(crate) fn unnamed(mut self) -> Self {
        if let Self::SessionWriteFailed { session, .. } | Self::SessionReadFailed { session, .. } =
            &mut self
        {
            *session = None;
        }
        self
    }

    /// What kept a store from being opened keeps it from being written to.
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
    /// The word, for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStored => "not_stored",
            Self::Unknown => "unknown",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Self::NotStored => "",
            Self::Unknown => {
                " (whether it was stored is not known: trying again with the same ids stores it once)"
            }
        }
    }
}

pub(crate) fn later_version(found: i64, known: usize) -> String {
    format!(
        "it is of version {found}, and this program knows versions up to {known}; use a later tertulia"
    )
}

fn shown(tail: Option<&EntryId>) -> &str {
    tail.map_or("nothing", EntryId::as_str)
}

fn named(entry: Option<&EntryId>) -> String {
    entry.map_or_else(String::new, |id| format!(" ({id})"))
}

fn of_session(session: Option<&SessionId>) -> String {
    session.map_or_else(String::new, |id| format!(" session {id}"))
}
