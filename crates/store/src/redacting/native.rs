//! Entries that were imported from an agent's own session: the text of their record, which is stored in their
//! `meta`, the other entries of the same record, and other records that repeat a text.

use std::cell::RefCell;
use std::collections::HashSet;

use tertulia_session::json::{self, Json, Object};
use tertulia_session::{Entry, EntryId, EntryKind, ImageSource, Message, PartKind};

use super::{EntryLocation, has_number};
use crate::search::{is_record_field, is_word, strings};
use crate::{Result, SessionId, SessionStore, StoreError};

/// The field of an entry's `meta` that contains its origin.
const NATIVE: &str = "native";
/// The maximum depth of JSON texts in strings of other JSON texts, such as the arguments of a call.
const DEPTH_MAX: usize = 3;
/// The minimum length of a repeated text. A shorter text counts as repeated only if it is a whole string, because
/// longer strings contain it by chance.
const REPEATED_BYTES_MIN: usize = 16;

/// Removes the record from the `meta` of an imported entry, and returns its text.
pub(super) fn take_record(meta: &mut Option<Json>) -> Option<String> {
    let mut notes = Object::try_from(meta.as_ref()?.raw()).ok()?;
    let mut native = Object::try_from(notes.take(NATIVE)?).ok()?;
    let record = match native.take_text("record").ok()? {
        Some(text) => text,
        None => from_hex(&native.take_text("recordHex").ok()??)?,
    };
    let rest = notes.into_fields();
    let rest = rest.map(|(name, value)| format!("{}:{}", Json::text(&name).as_str(), value.get()));
    let rest: Vec<String> = rest.collect();
    *meta = Json::parse(&format!("{{{}}}", rest.join(","))).ok();
    Some(record)
}

/// Returns whether a record contains a text, as a string or as a number. Names of fields and types
/// do not count.
pub(super) fn holds_text(record: &str, text: &str) -> bool {
    holds(record, &|string| string.contains(text), DEPTH_MAX) || has_number(record, text)
}

/// Returns whether a record repeats a text.
fn repeats(record: &str, text: &str) -> bool {
    let is_long = text.len() >= REPEATED_BYTES_MIN;
    holds(record, &|string| string == text || is_long && string.contains(text), DEPTH_MAX)
}

/// Returns whether a record contains a string for which `is_it` returns true. Strings that are JSON are searched
/// too.
fn holds(record: &str, is_it: &dyn Fn(&str) -> bool, depth: usize) -> bool {
    if json::parse(record).is_err() && is_it(record) {
        return true;
    }
    let mut field = String::new();
    for (string, is_name) in strings(record) {
        let is_text = if is_name { !is_word(&string) } else { !is_record_field(&field) };
        let is_nested =
            depth > 0 && !is_name && string.starts_with(['{', '[']) && json::parse(&string).is_ok();
        let is_found = match is_nested {
            true => holds(&string, is_it, depth - 1),
            false => is_text && is_it(&string),
        };
        if is_found {
            return true;
        }
        if is_name {
            field = string;
        }
    }
    false
}

/// Decodes hexadecimal bytes as text, as far as they are UTF-8.
fn from_hex(text: &str) -> Option<String> {
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    let bytes =
        pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<Vec<u8>>>()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether an entry contains the text of an imported record.
fn has_record(entry: &Entry) -> bool {
    take_record(&mut entry.meta.clone()).is_some()
}

/// Returns the id of the first entry of a record, if this id may belong to another entry of the same record.
fn first_of(id: &EntryId) -> Option<EntryId> {
    let (first, number) = id.as_str().rsplit_once('#')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| first.into())
}

/// Returns the texts in an entry.
fn texts_of(entry: &Entry) -> Vec<String> {
    let mut texts = match &entry.kind {
        EntryKind::Message(message) => texts_in_message(message),
        EntryKind::CompactionSummary(summary) => vec![summary.summary.to_string()],
        _ => Vec::new(),
    };
    texts.retain(|text| !text.trim().is_empty());
    texts
}

fn texts_in_message(message: &Message) -> Vec<String> {
    let (mut texts, seen) = (Vec::new(), RefCell::new(Vec::new()));
    for part in &message.parts {
        let json = match &part.kind {
            PartKind::Text(text) | PartKind::Thinking(text) => {
                texts.push(text.clone());
                continue;
            }
            PartKind::ToolCall(call) => Some(&call.arguments),
            PartKind::ToolResult(result) => Some(&result.content),
            PartKind::Other(other) => other.payload.as_ref(),
            PartKind::Image(image) => {
                let (ImageSource::Data(text) | ImageSource::Url(text)) = &image.source;
                texts.push(text.to_string());
                continue;
            }
            PartKind::FileRef(_) => continue,
        };
        // The condition is never true, so the search passes every string to it.
        if let Some(json) = json {
            let note = |string: &str| {
                seen.borrow_mut().push(string.to_owned());
                false
            };
            holds(json.as_str(), &note, DEPTH_MAX);
        }
    }
    texts.append(&mut seen.into_inner());
    texts
}

/// Returns whether an entry only contains data that its agent keeps for its own use: a copy of the conversation, or
/// a summary of it.
fn is_bookkeeping(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::NativeRecord(_) | EntryKind::CompactionSummary(_))
}

/// Returns the id of the first version of a record that its agent wrote several times.
fn first_version(id: &EntryId) -> &str {
    let first = id.as_str().split_once('#').map_or(id.as_str(), |(first, _)| first);
    first.split_once('~').map_or(first, |(first, _)| first)
}

impl SessionStore {
    /// Returns the entries whose records repeat texts of these entries. These are copies of the conversation that an
    /// agent keeps, and other versions of the same record. Other entries that happen to contain the same text are
    /// not included.
    pub(super) fn entries_with_repeated_text<'t>(
        &self,
        targets: impl Iterator<Item = &'t EntryLocation>,
    ) -> Result<Vec<EntryLocation>> {
        let mut texts_by_session: Vec<(&SessionId, HashSet<&str>, HashSet<String>)> = Vec::new();
        for EntryLocation { session, entry } in targets {
            // The text of a damaged entry is not known.
            let Ok(stored) = self.entry(session, entry) else { continue };
            let texts = texts_of(&stored.entry);
            match texts_by_session.iter_mut().find(|(known, ..)| *known == session) {
                Some((_, ids, known)) => {
                    ids.insert(first_version(entry));
                    known.extend(texts);
                }
                None => {
                    texts_by_session.push((
                        session,
                        HashSet::from([first_version(entry)]),
                        texts.into_iter().collect(),
                    ));
                }
            }
        }
        let mut found = Vec::new();
        for (session, ids, texts) in texts_by_session.iter().filter(|(.., texts)| !texts.is_empty())
        {
            self.scan(Some(session), |session, stored| {
                let entry = &stored.entry;
                if !is_bookkeeping(entry) && !ids.contains(first_version(&entry.id)) {
                    return;
                }
                let record = take_record(&mut entry.meta.clone());
                if record.is_some_and(|record| texts.iter().any(|text| repeats(&record, text))) {
                    found.push(EntryLocation { session: session.clone(), entry: stored.entry.id });
                }
            })?;
        }
        Ok(found)
    }

    /// Returns the other entries of the imported records that these entries came from. The first entry of a record
    /// contains its whole text, and the others may contain parts of it.
    pub(super) fn entries_of_same_records<'t>(
        &self,
        targets: impl Iterator<Item = &'t EntryLocation>,
    ) -> Result<Vec<EntryLocation>> {
        let mut known: HashSet<EntryLocation> = HashSet::new();
        let mut others = Vec::new();
        for target in targets {
            known.insert(target.clone());
            let first = first_of(&target.entry).unwrap_or_else(|| target.entry.clone());
            for first in [first, target.entry.clone()] {
                let at = EntryLocation { session: target.session.clone(), entry: first };
                if at != *target && known.contains(&at) || !self.is_first(&at)? {
                    continue;
                }
                self.add_record(&at, &mut known, &mut others)?;
            }
        }
        Ok(others)
    }

    /// Adds all entries of a record, given its first one.
    fn add_record(
        &self,
        first: &EntryLocation,
        known: &mut HashSet<EntryLocation>,
        others: &mut Vec<EntryLocation>,
    ) -> Result<()> {
        if known.insert(first.clone()) {
            others.push(first.clone());
        }
        for number in 1_u32.. {
            let entry = EntryId::from(format!("{}#{number}", first.entry));
            if self.backend.find(&first.session, &entry)?.is_none() {
                break;
            }
            let location = EntryLocation { session: first.session.clone(), entry };
            if known.insert(location.clone()) {
                others.push(location);
            }
        }
        Ok(())
    }

    /// Returns whether this is the first entry of an imported record. A damaged entry counts as one.
    fn is_first(&self, location: &EntryLocation) -> Result<bool> {
        match self.entry(&location.session, &location.entry) {
            Ok(stored) => Ok(has_record(&stored.entry)),
            Err(StoreError::EntryNotFound { .. }) => Ok(false),
            Err(StoreError::SessionReadFailed {
                problem: crate::Problem::Damaged { .. }, ..
            }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_a_kept_record_is_found_however_deep_it_is_escaped() {
        let record =
            r#"{"type":"call","pin":4711,"args":"{\"cmd\":\"echo \\\"caf\\u00e9\\\"\\n\"}"}"#;
        for text in ["echo \"café\"", "4711", "café"] {
            assert!(holds_text(record, text), "{text}");
        }
        for text in ["call", "args", "cmd", "471", "pin"] {
            assert!(!holds_text(record, text), "{text}");
        }
        assert!(holds_text(r#"{"text":"the sec"#, "the sec"), "a record that was cut off");
        assert!(holds_text("> plain text\n", "plain"));
    }

    #[test]
    fn a_short_text_is_repeated_only_by_a_whole_string() {
        let record = r#"{"$set":{"messages":[{"content":[{"text":"no"}]},{"content":"not so long ago, then"}]}}"#;
        for text in ["no", "not so long ago,"] {
            assert!(repeats(record, text), "{text}");
        }
        for text in ["not so", "n", "messages"] {
            assert!(!repeats(record, text), "{text}");
        }
    }

    #[test]
    fn the_record_is_taken_from_the_notes_of_an_entry() {
        let notes = |text: &str| Json::parse(text).ok();
        let mut meta = notes(r#"{"a":1,"native":{"agent":"claude","record":"x","line":1}}"#);
        assert_eq!(take_record(&mut meta).as_deref(), Some("x"));
        assert_eq!(meta, notes(r#"{"a":1}"#));
        let mut meta = notes(r#"{"native":{"recordHex":"6869ff"}}"#);
        assert_eq!(take_record(&mut meta).as_deref(), Some("hi\u{fffd}"));
        assert_eq!(take_record(&mut notes(r#"{"native":{}}"#)), None);
    }
}
