//! New messages, as entries that follow the newest entry of the log. If the caller passes messages again that are
//! already at the end of the log, they are not added twice.

use tertulia_session::{Entry, EntryId, EntryKind, Message, NewEntry};

use super::index::ContextIndex;

#[derive(Clone, Debug, Default)]
pub(super) struct NewMessages<'a> {
    /// The messages that are not in the log.
    pub(super) messages: &'a [Message],
    /// The same messages as entries, each the child of the one before it.
    pub(super) entries: Vec<Entry>,
}

impl<'a> NewMessages<'a> {
    pub(super) fn of(index: &ContextIndex, log: &[Entry], input: &'a [Message]) -> Self {
        let messages = &input[known(index, log, input)..];
        let mut parent_id = tail_id(index, log);
        let mut entries = Vec::with_capacity(messages.len());
        for message in messages {
            let kind = EntryKind::Message(message.clone());
            let (timestamp, run_id) = (message.timestamp.clone(), message.run_id.clone());
            let new = NewEntry { parent_id, kind, timestamp, run_id, meta: None, salt: None };
            let entry = new.with_content_id();
            parent_id = Some(entry.id.clone());
            entries.push(entry);
        }
        Self { messages, entries }
    }
}

pub(super) fn tail_id(index: &ContextIndex, log: &[Entry]) -> Option<EntryId> {
    index.newest().and_then(|newest| log.get(newest.0)).map(|entry| entry.id.clone())
}

/// Returns an entry that a build makes. A build has no clock, so the entry gets the time of the newest one.
pub(super) fn generated_entry(
    kind: EntryKind,
    parent_id: Option<EntryId>,
    newest: Option<&Entry>,
) -> Entry {
    let timestamp = newest.and_then(|entry| entry.timestamp.clone());
    let run_id = newest.and_then(|entry| entry.run_id.clone());
    NewEntry { parent_id, kind, timestamp, run_id, meta: None, salt: None }.with_content_id()
}

/// Returns how many messages at the start of the input are already at the end of the log. One pass over both finds
/// the longest such prefix.
fn known(index: &ContextIndex, log: &[Entry], input: &[Message]) -> usize {
    // The messages are only compared, never shown. So a redacted message is also recognised if the caller passes it
    // again.
    let messages = index.branch.before(log.len()).filter_map(|at| match &log[at].kind {
        EntryKind::Message(message) => Some(message),
        _ => None,
    });
    let newest: Vec<&Message> = messages.take(input.len()).collect();
    let borders = borders(input);
    let mut matched = 0;
    for message in newest.into_iter().rev() {
        if matched == input.len() {
            matched = borders[matched - 1];
        }
        matched = extended(input, &borders, matched, message);
    }
    matched
}

/// Returns, for every prefix of the list, the length of the longest shorter prefix that is also its suffix.
fn borders(list: &[Message]) -> Vec<usize> {
    let mut borders = vec![0; list.len()];
    for place in 1..list.len() {
        borders[place] = extended(list, &borders, borders[place - 1], &list[place]);
    }
    borders
}

/// Returns the length of the longest prefix of the list that ends in `next`, if a prefix of length `matched` ended
/// right before it.
fn extended(list: &[Message], borders: &[usize], mut matched: usize, next: &Message) -> usize {
    while matched > 0 && list[matched] != *next {
        matched = borders[matched - 1];
    }
    matched + usize::from(list[matched] == *next)
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Part, Role};

    use super::*;

    fn said(text: &str) -> Message {
        Message::with_role(Role::User, std::iter::once(Part::text(text)).collect())
    }

    fn says(text: &str) -> Vec<Message> {
        text.split_whitespace().map(said).collect()
    }

    #[track_caller]
    fn check(log: &str, input: &str, new: &str) {
        let mut index = ContextIndex::new();
        let log = NewMessages::of(&index, &[], &says(log)).entries;
        index.catch_up(&log, &crate::tokens::MessageCounter::new(Default::default())).unwrap();
        let input = says(input);
        let new_messages = NewMessages::of(&index, &log, &input);
        let words: Vec<_> = new_messages.messages.iter().map(|message| message.text()).collect();
        assert_eq!(words.join(" "), new, "{log:?}");
        let first = new_messages.entries.first().and_then(|entry| entry.parent_id.clone());
        assert!(
            new_messages.entries.is_empty() || first == log.last().map(|entry| entry.id.clone())
        );
    }

    #[test]
    fn what_the_log_ends_with_is_taken_once() {
        check("", "a b", "a b");
        check("a", "b", "b");
        check("a b", "b", "");
        check("a b", "b c", "c");
        check("a b c", "a b c d", "d");
        check("x a b", "a b", "");
        check("a b", "a", "a");
    }

    #[test]
    fn repetitions_are_matched_as_far_as_they_go() {
        check("a a", "a a a", "a");
        check("a a a", "a a", "");
        check("a b a b", "a b a b c", "c");
        check("a b a", "a b a b a", "b a");
        check("a b a c", "a b a b", "a b a b");
    }

    #[test]
    fn ten_thousand_equal_messages_are_compared_in_one_pass() {
        let many = "a ".repeat(10_000);
        check(&many, &format!("{many} b"), "b");
        check(&format!("{many} b"), &many, many.trim_end());
    }
}
