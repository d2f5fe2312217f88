//! The names that people type for sessions and entries, and the short forms that are shown to them. One
//! function finds a session, one an entry; every command uses these two. rpc takes exact ids.

mod entries;
mod error;
mod newest;
mod sessions;
mod short;

pub use entries::{find_entry, find_stored_entry, newest_message, own_newest_message};
pub use error::NameError;
pub use newest::newest_table;
pub use sessions::{
    Latest, elsewhere, exact_session, find_session, find_session_or_latest, is_latest,
    new_session_id, refuse_latest,
};
pub use short::{short, short_session};

/// How many matches are listed where a name is ambiguous.
const MATCHES_SHOWN: usize = 5;

/// The matches of an ambiguous name, as far as they are listed.
fn listed(matches: &[String]) -> String {
    let more = if matches.len() > MATCHES_SHOWN { ", …" } else { "" };
    matches.iter().take(MATCHES_SHOWN).cloned().collect::<Vec<_>>().join(", ") + more
}
