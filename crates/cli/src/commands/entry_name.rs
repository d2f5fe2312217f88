//! Which entry of a session is meant: its id, or a beginning that no other id has. Used by the commands of
//! the table.

use tertulia_session::{Entry, EntryId};

use crate::error::CliError;

/// How many ids are listed where several begin alike.
const CANDIDATES_SHOWN: usize = 5;

/// The entry that is meant.
pub(crate) fn find_entry<'e>(
    entries: impl Iterator<Item = &'e Entry> + Clone,
    given: &str,
) -> Result<&'e Entry, CliError> {
    if let Some(exact) = entries.clone().find(|entry| entry.id.as_str() == given) {
        return Ok(exact);
    }
    let alike: Vec<&Entry> = entries
        .filter(|entry| !given.is_empty() && entry.id.as_str().starts_with(given))
        .take(CANDIDATES_SHOWN + 1)
        .collect();
    match alike.as_slice() {
        [one] => Ok(one),
        [] => Err(CliError::UnknownEntry { given: given.to_owned(), session: None }),
        several => {
            let more = if several.len() > CANDIDATES_SHOWN { ", …" } else { "" };
            let ids = several.iter().take(CANDIDATES_SHOWN).map(|entry| entry.id.as_str());
            let candidates = ids.collect::<Vec<_>>().join(", ") + more;
            Err(CliError::AmbiguousEntry { given: given.to_owned(), candidates })
        }
    }
}

/// The turn that an entry belongs to, if it is one of a turn.
pub(crate) fn turn_of(entry: &Entry) -> Option<EntryId> {
    let tertulia_session::EntryKind::Turn(turn) = &entry.kind else { return None };
    // A cause begins with words for programs; every state but the first names its turn there.
    let head = turn.cause.split(": ").next().unwrap_or_default();
    let named = head.split(' ').find_map(|word| word.strip_prefix("turn="));
    match (turn.state, named) {
        (tertulia_session::TurnState::Queued, _) | (_, None) => Some(entry.id.clone()),
        (_, Some(id)) => Some(EntryId::from(id)),
    }
}
