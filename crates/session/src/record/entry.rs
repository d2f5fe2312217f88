//! The JSON format of entries, version 2: `{id, parentId?, type, timestamp?, runId?, payload,
//! meta?, salt?}`. Version 1 is read too (`version_1.rs`), entry by entry: a log may contain both.
//! Unknown types and fields are kept.

mod message;
mod payload;
mod turn;
mod version_1;
mod write;

use serde_json::value::RawValue;

use super::field::take_later;
use super::read::{lenient, read_notes, read_timestamp};
use crate::json::{self, FieldError, Object, SyntaxError, text};
use crate::{Entry, EntryId, EntryKind, Salt, SessionHeader};

pub use message::read_entry_message;
pub(crate) use write::record_and_envelope;
pub use write::{EntryRecord, EnvelopeRecord};

/// The reason why a value is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryReadError {
    #[error("Entry {0}")]
    Nameless(#[source] FieldError),
    #[error("Entry {entry}: {cause}")]
    Field {
        entry: EntryId,
        #[source]
        cause: FieldError,
    },
    #[error(
        "Entry {entry}: payload.version is {got}, and this program reads versions 1 to {version}; \
         use a newer version of Tertulia",
        version = SessionHeader::VERSION
    )]
    Version { entry: EntryId, got: u64 },
}

/// A line of a log that is not an entry. Lines are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The line is not JSON. The last line may be incomplete if the writer was killed.
    #[error(
        "line {line}, column {column}: invalid JSON: {reason}; fix or remove the line",
        column = .cause.column,
        reason = .cause.reason
    )]
    Syntax {
        line: usize,
        #[source]
        cause: SyntaxError,
    },
    #[error("line {line}: {cause}")]
    Entry {
        line: usize,
        #[source]
        cause: EntryReadError,
    },
}

/// Reads one line of a log of JSON lines; `line` is its number, from 1, for the error.
///
/// ```
/// use tertulia_session::record::read_entry_line;
///
/// let error = read_entry_line(3, r#"{"id":"b"}"#).unwrap_err().to_string();
/// assert_eq!(error, "line 3: Entry b: type is missing; give a string");
/// ```
pub fn read_entry_line(line: usize, text: &str) -> Result<Entry, LineError> {
    let raw = json::parse(text).map_err(|cause| LineError::Syntax { line, cause })?;
    read_entry(raw).map_err(|cause| LineError::Entry { line, cause })
}

/// Reads an entry. A `parentId` of `null` counts as missing.
pub fn read_entry(raw: &RawValue) -> Result<Entry, EntryReadError> {
    let mut object = Object::try_from(raw).map_err(EntryReadError::Nameless)?;
    let id = EntryId::from(object.need_text("id").map_err(EntryReadError::Nameless)?);
    match read_fields(object, id.clone()) {
        Ok(entry) => refuse_other_versions(entry),
        Err(cause) => Err(EntryReadError::Field { entry: id, cause }),
    }
}

fn read_fields(mut object: Object<'_>, id: EntryId) -> Result<Entry, FieldError> {
    let parent_id = object.take_text("parentId")?.map(EntryId::from);
    let type_name = object.need_text("type")?;
    let kind = payload::read_kind(&mut object, &type_name, &id)?;
    let timestamp = lenient(&mut object, "timestamp", read_timestamp);
    let run_id = take_later(&mut object, "runId");
    let meta = lenient(&mut object, "meta", read_notes);
    let salt = lenient(&mut object, "salt", |raw| text(raw).ok()?.parse::<Salt>().ok());
    let unknown = object.rest();
    Ok(Entry { id, parent_id, kind, timestamp, run_id, meta, salt, unknown })
}

/// Refuses entries of later versions. The meaning of their fields is unknown, and an error is better than a guess.
fn refuse_other_versions(entry: Entry) -> Result<Entry, EntryReadError> {
    match &entry.kind {
        EntryKind::SessionHeader(header)
            if !(1..=SessionHeader::VERSION).contains(&header.version) =>
        {
            Err(EntryReadError::Version { got: header.version, entry: entry.id })
        }
        _ => Ok(entry),
    }
}
