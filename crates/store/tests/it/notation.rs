//! Short notations for entries.

use tertulia_session::{
    CompactionSummary, Entry, EntryId, EntryKind, Fields, Message, NewEntry, Recall, Redaction,
    Salt, Speaker, SpeakerType, TeamTask, Timestamp,
};
use tertulia_store::{Append, NewSession, SessionId, SessionStore};

/// Returns a message of ann with this id and parent.
pub(crate) fn said(id: &str, parent: Option<&str>, text: &str) -> Entry {
    said_by("ann", id, parent, text)
}

pub(crate) fn said_by(speaker: &str, id: &str, parent: Option<&str>, text: &str) -> Entry {
    let message = Message::said(Speaker::new(speaker, speaker, SpeakerType::Human), text);
    entry(id, parent, EntryKind::Message(message))
}

pub(crate) fn entry(id: &str, parent: Option<&str>, kind: EntryKind) -> Entry {
    // An entry with its own salt is loaded exactly as it was stored.
    let new = NewEntry::new(kind).at(Timestamp::from_millis(1_000_000));
    let new = new.salted(Salt::derive(&[7; 32], id));
    Entry { parent_id: parent.map(EntryId::from), ..new.with_id(EntryId::from(id)) }
}

pub(crate) fn task(id: &str, parent: Option<&str>, text: &str) -> Entry {
    entry(id, parent, EntryKind::TeamTask(TeamTask::set(text)))
}

pub(crate) fn redaction(id: &str, parent: Option<&str>, target: &str) -> Entry {
    entry(id, parent, EntryKind::Redaction(Redaction::new(&EntryId::from(target))))
}

/// Returns a summary of everything up to an entry.
pub(crate) fn summary(id: &str, parent: &str, covered: [&str; 2], kept: &str, text: &str) -> Entry {
    let summary = CompactionSummary {
        covered_from_id: Some(covered[0].into()),
        covered_to_id: Some(covered[1].into()),
        ..CompactionSummary::new(text, kept.into())
    };
    entry(id, Some(parent), EntryKind::CompactionSummary(Box::new(summary)))
}

/// Returns a text that was recalled from entries.
pub(crate) fn recall(id: &str, parent: &str, sources: &[&str], text: &str) -> Entry {
    let recall = Recall {
        text: text.into(),
        source_ids: sources.iter().map(|source| EntryId::from(*source)).collect(),
        replaces: true,
        member: None,
        unknown: Fields::NONE,
    };
    entry(id, Some(parent), EntryKind::Recall(Box::new(recall)))
}

/// Returns the entries `e1` to `eN`, each the child of the one before.
pub(crate) fn chain(count: usize) -> Vec<Entry> {
    (1..=count).map(|number| link(number, &format!("text {number}"))).collect()
}

/// Returns the entry `eN`, the child of the entry before.
pub(crate) fn link(number: usize, text: &str) -> Entry {
    let parent = (number > 1).then(|| format!("e{}", number - 1));
    said(&format!("e{number}"), parent.as_deref(), text)
}

pub(crate) fn id(text: &str) -> SessionId {
    text.parse::<SessionId>().unwrap()
}

/// Creates a session of this name with only these entries.
pub(crate) fn filled(store: &SessionStore, name: &str, entries: Vec<Entry>) -> SessionId {
    let mut import = tertulia_store::Import::begin(store).unwrap();
    entries.into_iter().for_each(|entry| import.push(entry).unwrap());
    import.finish(&NewSession { id: Some(id(name)) }).unwrap().id
}

/// Appends without an expected tail.
pub(crate) fn append(store: &SessionStore, session: &SessionId, entries: Vec<Entry>) {
    store.append(session, Append::new(entries)).unwrap();
}

/// Returns the ids, separated by spaces.
pub(crate) fn ids<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> String {
    let ids: Vec<_> = entries.into_iter().map(|entry| entry.id.as_str()).collect();
    ids.join(" ")
}
