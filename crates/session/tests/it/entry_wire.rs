//! Helpers for tests of entries: read and write them as programs do, and create small logs.

use tertulia_session::json;
use tertulia_session::record::{EntryReadError, EntryRecord, read_entry};
use tertulia_session::{
    CompactionSummary, Entry, EntryError, EntryId, EntryIndex, EntryKind, Message, NewEntry,
    Redaction, Speaker, SpeakerType, ViewEntry, Walk,
};

/// Reads an entry; the text must be JSON.
pub(crate) fn read(text: &str) -> Result<Entry, EntryReadError> {
    read_entry(json::parse(text).unwrap())
}

pub(crate) fn write(entry: &Entry) -> String {
    EntryRecord::new(entry).to_json()
}

/// Checks that a text is read and how it is written, and that reading the result again changes nothing.
#[track_caller]
pub(crate) fn check(text: &str, written: &str) {
    let entry = read(text).unwrap();
    assert_eq!(write(&entry), written);
    assert_eq!(read(written).unwrap(), entry);
}

/// Checks that a text is written exactly as it was read.
#[track_caller]
pub(crate) fn check_same(text: &str) {
    check(text, text);
}

/// Checks the error for a text that is not an entry.
#[track_caller]
pub(crate) fn check_error(text: &str, sentence: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), sentence, "{text}");
}

/// Returns a log in a small notation: `id` is a root or follows the one before, `id<parent` follows its parent.
pub(crate) fn log(notation: &str) -> Vec<Entry> {
    notation.split_whitespace().map(|word| at(word, said(word))).collect()
}

/// Returns an entry of this kind, `id` or `id<parent`.
pub(crate) fn at(word: &str, kind: EntryKind) -> Entry {
    let (id, parent) = word.split_once('<').map_or((word, None), |(id, at)| (id, Some(at)));
    let mut entry = NewEntry::new(kind);
    entry.parent_id = parent.map(EntryId::from);
    entry.with_id(EntryId::from(id))
}

/// Returns a message whose text is `secret of` and the word.
pub(crate) fn said(word: &str) -> EntryKind {
    let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
    EntryKind::Message(Message::said(ann, format!("secret of {word}")))
}

pub(crate) fn redaction(target: &str) -> EntryKind {
    EntryKind::Redaction(Redaction::new(&EntryId::from(target)))
}

/// Returns a summary with the range `from..to`, or without one if it is empty.
pub(crate) fn summary(range: &str, first_kept: &str) -> EntryKind {
    let (from, to) =
        range.split_once("..").map_or((None, None), |(from, to)| (Some(from), Some(to)));
    EntryKind::CompactionSummary(Box::new(CompactionSummary {
        covered_from_id: from.map(EntryId::from),
        covered_to_id: to.map(EntryId::from),
        ..CompactionSummary::new(format!("secrets of {range}"), first_kept.into())
    }))
}

/// The entries of a branch, oldest first.
pub(crate) type View<'a> = Result<Vec<ViewEntry<'a>>, EntryError>;

/// Returns the branch that ends in the newest entry.
pub(crate) fn view(log: &[Entry]) -> View<'_> {
    walked(EntryIndex::over(log)?.walk(log)?)
}

pub(crate) fn walked<'a>(walk: Walk<'a, '_>) -> View<'a> {
    let mut entries: Vec<_> = walk.collect::<Result<_, _>>()?;
    entries.reverse();
    Ok(entries)
}

/// Returns the content of a view: the ids, oldest first, with `-id` for hidden entries.
pub(crate) fn show(view: View<'_>) -> String {
    let view = match view {
        Ok(view) => view,
        Err(error) => return error.to_string(),
    };
    let words = view.iter().map(|entry| match entry.hidden_by() {
        Some(_) => format!("-{}", entry.id()),
        None => entry.id().to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}
