//! Why a name of a session or of an entry leads nowhere. Advice what to type instead is given by whoever asked.

use tertulia_store::{SessionId, StoreError};

/// Why a name does not lead to a session or an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The store holds nothing.
    #[error("there are no sessions yet at {place}")]
    NoSessions {
        /// Where the store is.
        place: String,
    },
    /// All sessions belong to other projects.
    #[error("no session belongs to {project}")]
    NoSessionsHere { project: String },
    /// No team has worked in a session of this folder.
    #[error("{}", no_table(.place, .folder, .elsewhere.as_deref()))]
    NoTable {
        /// Where the store is.
        place: String,
        folder: String,
        /// The newest session of another folder.
        elsewhere: Option<String>,
    },
    /// No session has this id, nor begins with it.
    #[error("there is no session {given}{}", did_you_mean(.nearest.as_deref()))]
    UnknownSession {
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// Several ids begin with this.
    #[error("Ambiguous ID \"{given}\"; matches: {matches}")]
    AmbiguousId {
        given: String,
        /// Some of those that begin with it.
        matches: String,
    },
    /// A session is to be called what means the newest one.
    #[error("{given} means the newest session; use another name")]
    NameOfLatest { given: String },
    /// No entry has this id, nor begins with it.
    #[error(
        "there is no entry {given} in {}{}",
        .session.as_ref().map_or("this session".to_owned(), |id| format!("session {id}")),
        did_you_mean(.nearest.as_deref())
    )]
    UnknownEntry {
        given: String,
        /// What may have been meant.
        nearest: Option<String>,
        /// Where it was looked for, if that is known.
        session: Option<SessionId>,
    },
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl NameError {
    /// The same error, where it is known in which session something was looked for.
    #[must_use]
    pub fn in_session(self, id: &SessionId) -> Self {
        match self {
            Self::UnknownEntry { given, nearest, .. } => {
                Self::UnknownEntry { given, nearest, session: Some(id.clone()) }
            }
            other => other,
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default()
}

/// Another folder's session is named as every command takes it.
fn no_table(place: &str, folder: &str, elsewhere: Option<&str>) -> String {
    match elsewhere {
        Some(newest) => {
            format!("there is no session of {folder} in {place}; the newest one is {newest}")
        }
        None => format!("there is no session of {folder} to continue at {place}"),
    }
}
