//! Finds an entry of a session by its name: its id, or a unique prefix of it, with or without `e-`.

use tertulia_session::{Entry, EntryId, Message};
use tertulia_store::{SessionId, SessionStore, StoreError};
use tertulia_team::nearest_name;

use super::{MATCHES_SHOWN, NameError, Named, listed};

const HEAD: &str = "e-";
/// Minimum length of a prefix that is compared with ids to suggest a similar one.
const PREFIX_MIN: usize = 6;
const COMPARED_MAX: usize = 1000;

/// Finds an entry of a log in memory.
pub fn find_entry<'e>(entries: &'e [Entry], given: &str) -> Named<&'e Entry> {
    let ids: Vec<&EntryId> = entries.iter().map(|entry| &entry.id).collect();
    let index = find(&ids, given)?;
    entries.get(index).ok_or_else(|| unknown(given, None))
}

/// Finds an entry of a stored session.
pub fn find_stored_entry(store: &SessionStore, session: &SessionId, given: &str) -> Named<EntryId> {
    let exact = EntryId::from(given);
    match store.entry(session, &exact) {
        Err(StoreError::EntryNotFound { .. }) => {}
        Err(error @ StoreError::SessionNotFound(_)) => return Err(error.into()),
        // The entry exists, even if it cannot be read.
        _ => return Ok(exact),
    }
    let ids = store.entry_ids(session)?;
    let borrowed: Vec<&EntryId> = ids.iter().collect();
    let index = find(&borrowed, given).map_err(|error| error.in_session(session))?;
    Ok(ids.into_iter().nth(index).unwrap_or(exact))
}

fn find(ids: &[&EntryId], given: &str) -> Named<usize> {
    if let Some(index) = ids.iter().position(|id| id.as_str() == given) {
        return Ok(index);
    }
    let fits = |id: &EntryId| {
        let id = id.as_str();
        let digits = id.strip_prefix(HEAD).unwrap_or_default();
        !given.is_empty() && (id.starts_with(given) || digits.starts_with(given))
    };
    let mut found = ids.iter().enumerate().filter(|(_, id)| fits(id)).map(|(index, _)| index);
    let first = found.next();
    let others: Vec<usize> = found.take(MATCHES_SHOWN).collect();
    match (first, others.as_slice()) {
        (Some(one), []) => Ok(one),
        (Some(one), others) => {
            let indexes = std::iter::once(&one).chain(others);
            let names = indexes.filter_map(|index| ids.get(*index)).map(|id| unique(id, ids));
            let matches = listed(&names.collect::<Vec<_>>());
            Err(NameError::AmbiguousId { given: given.to_owned(), matches })
        }
        (None, _) => {
            let newest = ids.iter().rev().take(COMPARED_MAX);
            // People usually type a prefix. A short prefix resembles too many ids.
            let length = Some(given.len()).filter(|length| *length >= PREFIX_MIN);
            let names = newest.flat_map(|id| {
                let prefix = length.and_then(|length| id.as_str().get(..length));
                [(id.as_str(), id), (prefix.unwrap_or_default(), id)]
            });
            Err(unknown(given, nearest_name(given, names).map(ToString::to_string)))
        }
    }
}

fn unknown(given: &str, nearest: Option<String>) -> NameError {
    NameError::UnknownEntry { given: given.to_owned(), nearest, session: None }
}

/// Returns the shortest unique prefix of an id, but at least as many characters as are usually shown.
fn unique(id: &EntryId, ids: &[&EntryId]) -> String {
    let text = id.as_str();
    let shared = |other: &str| text.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let others = ids.iter().filter(|other| **other != id);
    let longest = others.map(|other| shared(other.as_str())).max().unwrap_or_default();
    let length = (longest + 1).max(super::SHOWN_ENTRY);
    text.get(..length).unwrap_or(text).to_owned()
}

/// Returns the newest message of a log that is not empty.
pub fn newest_message(entries: &[Entry]) -> Option<&Entry> {
    newest_said(entries).map(|(entry, _)| entry)
}

/// Same as [`newest_message`], if this member wrote the message.
pub fn own_newest_message<'e>(entries: &'e [Entry], member: &str) -> Option<&'e Entry> {
    let (entry, message) = newest_said(entries)?;
    let speaker = message.speaker.as_deref()?;
    (*speaker.role_id == *member).then_some(entry)
}

fn newest_said(entries: &[Entry]) -> Option<(&Entry, &Message)> {
    let mut messages = entries.iter().rev().filter_map(|entry| Some((entry, entry.message()?)));
    messages.find(|(_, message)| !message.text().trim().is_empty())
}

#[cfg(test)]
mod tests {
    use tertulia_session::{EntryKind, NewEntry, Speaker, SpeakerType};

    use super::*;

    #[test]
    fn the_newest_message_is_the_newest_that_says_something() {
        let said = |name: &str, text: &str| {
            let message = Message::said(Speaker::new(name, name, SpeakerType::Ai), text);
            NewEntry::new(EntryKind::Message(message)).with_content_id()
        };
        let log = [said("max", "Hello."), said("eva", "Yes."), said("max", " \n")];
        assert_eq!(newest_message(&log), log.get(1));
        assert_eq!(own_newest_message(&log, "eva"), log.get(1));
        assert_eq!(own_newest_message(&log, "max"), None);
        assert_eq!(newest_message(&log[2..]), None);
    }

    fn found(given: &str) -> Result<usize, String> {
        let ids = ["e-12ab0000000", "e-12ab9999999", "m1", "e-ffff0000000", "title-1"];
        let ids: Vec<EntryId> = ids.into_iter().map(EntryId::from).collect();
        find(&ids.iter().collect::<Vec<_>>(), given).map_err(|error| error.to_string())
    }

    #[test]
    fn a_unique_prefix_is_enough_with_or_without_its_head() {
        for (given, index) in
            [("m1", 2), ("m", 2), ("e-f", 3), ("ffff", 3), ("12ab9", 1), ("e-12ab0", 0), ("t", 4)]
        {
            assert_eq!(found(given), Ok(index), "{given}");
        }
    }

    #[test]
    fn an_ambiguous_prefix_lists_what_it_may_mean() {
        let error = found("12").unwrap_err();
        assert_eq!(error, "Ambiguous ID \"12\"; matches: e-12ab0000, e-12ab9999");
        assert!(found("e-").unwrap_err().contains("matches: e-12ab0000, e-12ab9999, e-ffff0000"));
    }

    #[test]
    fn an_unknown_one_is_answered_with_the_nearest() {
        assert!(found("e-ffff1").unwrap_err().contains("did you mean e-ffff0000000?"));
        assert!(!found("xyz").unwrap_err().contains("did you mean"));
        assert!(found("").is_err());
    }
}
