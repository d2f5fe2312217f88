//! The names that people type for sessions and entries, and the short forms that are shown to them. One
//! function finds a session, one an entry; every command uses these two. rpc takes exact ids.

mod entries;
mod sessions;
mod short;

use tertulia_store::{SessionId, StoreError};

pub use entries::{find_entry, find_stored_entry, newest_message, own_newest_message};
pub use sessions::{
    Latest, elsewhere, exact_session, find_session, find_session_or_latest, is_latest,
    new_session_id, newest_table, refuse_latest,
};
pub use short::{short, short_session};

/// How many matches are listed where a name is ambiguous.
const MATCHES_SHOWN: usize = 5;

/// Why a name does not lead to a session or an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// `place` is where the store is.
    #[error("there are no sessions yet at {place}")]
    NoSessions { place: String },
    /// All sessions belong to other projects.
    #[error("no session belongs to {project}")]
    NoSessionsHere { project: String },
    /// No team has worked in a session of this folder.
    #[error("{}", no_table(.place, .folder, .elsewhere.as_deref()))]
    NoTable {
        place: String,
        folder: String,
        /// The newest session of another folder.
        elsewhere: Option<String>,
    },
    /// `nearest` is what may have been meant.
    #[error("there is no session {given}{}", did_you_mean(.nearest.as_deref()))]
    UnknownSession { given: String, nearest: Option<String> },
    #[error("Ambiguous ID \"{given}\"; matches: {matches}")]
    AmbiguousId { given: String, matches: String },
    /// A session is to be called what means the newest one.
    #[error("{given} means the newest session; use another name")]
    NameOfLatest { given: String },
    #[error(
        "there is no entry {given} in {}{}",
        .session.as_ref().map_or("this session".to_owned(), |id| format!("session {id}")),
        did_you_mean(.nearest.as_deref())
    )]
    UnknownEntry {
        given: String,
        nearest: Option<String>,
        /// Where it was looked for, if that is known.
        session: Option<SessionId>,
    },
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

/// The matches of an ambiguous name, as far as they are listed.
fn listed(matches: &[String]) -> String {
    let more = if matches.len() > MATCHES_SHOWN { ", …" } else { "" };
    matches.iter().take(MATCHES_SHOWN).cloned().collect::<Vec<_>>().join(", ") + more
}
