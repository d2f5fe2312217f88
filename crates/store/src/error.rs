//! What can go wrong with a store. Every error names the session, the cause and the cure; a failed
//! append says whether something may have been stored nevertheless.

use std::path::PathBuf;

use tertulia_session::EntryId;

use crate::{InvalidSessionId, InvalidTitle, SessionId};

/// What calls of the store return.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No session has this id.
    #[error("there is no session {0}; `tertulia sessions list` lists all")]
    SessionNotFound(SessionId),
    /// A session has this id already.
    #[error("session {0} already exists; use another name")]
    SessionExists(SessionId),
    /// The text is no id.
    #[error(transparent)]
    InvalidSessionId(#[from] InvalidSessionId),
    /// The text is no title.
    #[error(transparent)]
    InvalidTitle(#[from] InvalidTitle),
    /// The session has no such entry.
    #[error("session {session} has no entry {entry}")]
    EntryNotFound { session: SessionId, entry: EntryId },
    /// Somebody appended in the meantime.
    #[error(
        "session {session} ends in {}, not in the expected {expected}: somebody appended to it in \
         the meantime; load what is new and try again",
        shown(.actual.as_ref())
    )]
    SessionConcurrentWrite {
        session: SessionId,
        /// The tail that the caller had seen.
        expected: EntryId,
        /// The tail that is there.
        actual: Option<EntryId>,
    },
    /// An append, or another change, did not work.
    #[error("cannot write{}: {problem}{}", of_session(.session.as_ref()), .outcome.note())]
    SessionWriteFailed {
        /// The session, where it was about one.
        session: Option<SessionId>,
        /// Whether something may have been stored.
        outcome: Outcome,
        /// Why.
        #[source]
        problem: Problem,
    },
    /// Something cannot be read.
    #[error("cannot read{}: {problem}", of_session(.session.as_ref()))]
    SessionReadFailed {
        /// The session, where it was about one.
        session: Option<SessionId>,
        /// Why.
        #[source]
        problem: Problem,
    },
    /// A new file cannot be written.
    #[error("cannot write {}: {problem}", .path.display())]
    FileWriteFailed {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        problem: Problem,
    },
    /// The store is of another version and cannot be brought to this one.
    #[error("cannot bring the store at {place} to this version: {reason}")]
    SessionMigrationFailed {
        /// The file or the server.
        place: String,
        /// Why, and what to do.
        reason: String,
    },
}

/// What became of a change that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing of it is stored.
    NotStored,
    /// It may be stored. Trying again with the same ids stores it once.
    Unknown,
}

/// What stood in the way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// An entry names a parent that is not in the session.
    #[error("entry {entry} follows {parent}, which is not in the session; append that one first")]
    MissingParent {
        entry: EntryId,
        /// What it follows.
        parent: EntryId,
    },
    /// A redaction names an entry that is not in the session.
    #[error("redaction {entry} is of {target}, which is not in the session")]
    MissingTarget {
        /// The redaction.
        entry: EntryId,
        /// What it would hide.
        target: EntryId,
    },
    /// The id is taken by an entry that says something else.
    #[error("entry {0} is there already and says something else; give the new one another id")]
    OtherContent(EntryId),
    /// An entry is too large, or has no proper id.
    #[error("entry {entry} {reason}")]
    BadEntry {
        /// The entry, or the beginning of its id.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What is stored is not what was written.
    #[error(
        "entry {place}{} is damaged: {reason}; restore a backup, or export what is before it",
        named(.entry.as_ref())
    )]
    Damaged {
        /// The number of the entry in its session, from 1.
        place: u64,
        /// Its id, where it can be told.
        entry: Option<EntryId>,
        /// What does not fit.
        reason: String,
    },
    /// There is no room left.
    #[error("the disk is full; make room and try again")]
    DiskFull,
    /// The file, or its folder, cannot be written to.
    #[error("{0} is read-only; make it writable, or name another store")]
    ReadOnly(String),
    /// Another process holds the store.
    #[error("the store is busy: another process has been writing for {seconds} s; try again")]
    Busy {
        /// How long was waited.
        seconds: u64,
    },
    /// The disk reported an error while writing; nothing is written until the store was opened anew.
    #[error(
        "the disk reported an error ({0}); the store takes no more entries until it is opened \
         anew and was checked, for instance by `tertulia sessions verify`"
    )]
    Stopped(String),
    /// The disk reported an error while reading.
    #[error(
        "the disk reported an error while {place} was read ({reason}); check the disk and the room \
         on it; what was read before is good"
    )]
    Disk {
        /// The file.
        place: String,
        /// What was said.
        reason: String,
    },
    /// The file is no store, or is damaged as a whole.
    #[error(
        "{place} is damaged or no store of sessions: {reason}; name another one, or restore a backup of it"
    )]
    NotAStore {
        /// The file.
        place: String,
        /// What was found.
        reason: String,
    },
    /// The place is not fit to hold a store.
    #[error("{} {reason}", .path.display())]
    BadPlace {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it, and the cure.
        reason: String,
    },
    /// A server cannot be reached, or the connection to it was lost.
    #[error(
        "no connection to {server}: {reason}; check that the server runs, and the address, role and password"
    )]
    Connection {
        /// The server, without a password.
        server: String,
        /// What was said.
        reason: String,
    },
    /// Anything else that the database said.
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
            | Self::SessionReadFailed { problem, .. } => {
                matches!(
                    problem,
                    Problem::Busy { .. } | Problem::DiskFull | Problem::Connection { .. }
                )
            }
            _ => false,
        }
    }

    /// Nothing of a change to this session is stored.
    pub(crate) fn not_stored(session: &SessionId, problem: Problem) -> Self {
        let (session, outcome) = (Some(session.clone()), Outcome::NotStored);
        Self::SessionWriteFailed { session, outcome, problem }
    }

    /// Without the id of a session that nobody asked for by name.
    pub(crate) fn unnamed(self) -> Self {
        match self {
            Self::SessionWriteFailed { outcome, problem, .. } => {
                Self::SessionWriteFailed { session: None, outcome, problem }
            }
            Self::SessionReadFailed { problem, .. } => {
                Self::SessionReadFailed { session: None, problem }
            }
            other => other,
        }
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

    /// Something of this session cannot be read.
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

fn shown(tail: Option<&EntryId>) -> &str {
    tail.map_or("nothing", EntryId::as_str)
}

fn named(entry: Option<&EntryId>) -> String {
    entry.map_or_else(String::new, |id| format!(" ({id})"))
}

fn of_session(session: Option<&SessionId>) -> String {
    session.map_or_else(String::new, |id| format!(" session {id}"))
}
