//! Writes entries as JSON: borrowed views that serialize, with fields in the order of docs/session-record.md.
//! [`Entry::content_id`] hashes these bytes, so changing one byte changes every new id.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::record::field::{Field, write_kept, write_some};
use crate::{Entry, EntryId, EntryKind, OtherEntry, SessionSetting, TurnEvent};

/// An entry as JSON.
pub struct EntryRecord<'a> {
    entry: &'a Entry,
    id: Option<&'a EntryId>,
}

impl<'a> EntryRecord<'a> {
    /// Creates a record of the whole entry.
    pub fn new(entry: &'a Entry) -> Self {
        Self { entry, id: Some(&entry.id) }
    }

    /// Creates a record without the id.
    pub(crate) fn without_id(entry: &'a Entry) -> Self {
        Self { entry, id: None }
    }

    /// Returns the JSON text on one line.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// The part of an entry that is always visible, even after a purge: id, parent, type and time.
pub struct EnvelopeRecord<'a>(pub &'a Entry);

impl EnvelopeRecord<'_> {
    /// Returns the JSON text on one line.
    pub fn to_json(&self) -> String {
        to_json(self)
    }
}

/// The initial capacity, which is enough for most records.
const ROOM: usize = 1024;

fn to_json(record: &impl Serialize) -> String {
    let mut json = Vec::with_capacity(ROOM);
    write(&mut json, record);
    // JSON is always UTF-8.
    String::from_utf8(json).unwrap_or_default()
}

/// Writes a record. This cannot fail, because texts with string keys are written into memory.
fn write(json: &mut Vec<u8>, record: &impl Serialize) {
    if serde_json::to_writer(&mut *json, record).is_err() {
        json.clear();
    }
}

/// Returns the bytes of the record of an entry, and the result of a function that gets the bytes of its envelope.
/// The record begins with the envelope, unless the entry was purged, so nothing is written twice.
pub(crate) fn record_and_envelope<T>(
    entry: &Entry,
    of_envelope: impl FnOnce(&[u8]) -> T,
) -> (Vec<u8>, T) {
    let mut json = Vec::with_capacity(ROOM);
    write(&mut json, &EnvelopeRecord(entry));
    let envelope = of_envelope(&json);
    if entry.is_purged() {
        json.clear();
        write(&mut json, &EntryRecord::new(entry));
        return (json, envelope);
    }
    // This merges two adjacent objects into one.
    json.pop();
    let end = json.len();
    write(&mut json, &RestRecord(entry));
    match json.get_mut(end..) {
        Some([_, b'}']) => drop(json.remove(end)),
        Some([first, ..]) => *first = b',',
        _ => {}
    }
    (json, envelope)
}

/// The fields of an entry besides its envelope.
struct RestRecord<'a>(&'a Entry);

impl Serialize for EnvelopeRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_envelope(&mut map, self.0, Some(&self.0.id), self.0.kind.shown_type_name())?;
        map.end()
    }
}

impl Serialize for RestRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_entry_rest(&mut map, self.0)?;
        map.end()
    }
}

impl Serialize for EntryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_envelope(&mut map, self.entry, self.id, self.entry.kind.type_name())?;
        write_entry_rest(&mut map, self.entry)?;
        map.end()
    }
}

fn write_envelope<M: SerializeMap>(
    map: &mut M,
    entry: &Entry,
    id: Option<&EntryId>,
    type_name: &str,
) -> Result<(), M::Error> {
    write_some(map, "id", id)?;
    entry.parent_id.write(map, "parentId")?;
    map.serialize_entry("type", type_name)?;
    write_some(map, "timestamp", entry.timestamp.as_ref())
}

fn write_entry_rest<M: SerializeMap>(map: &mut M, entry: &Entry) -> Result<(), M::Error> {
    entry.run_id.write(map, "runId")?;
    write_payload_field(map, &entry.kind)?;
    entry.meta.write(map, "meta")?;
    // The salt comes after the fields of the first versions. Programs of these versions treat it as an unknown
    // field, which they write at the same position.
    write_some(map, "salt", entry.salt.map(|salt| salt.to_string()).as_ref())?;
    let written = [
        ("timestamp", entry.timestamp.is_some()),
        ("runId", entry.run_id.is_some()),
        ("meta", entry.meta.is_some()),
        ("salt", entry.salt.is_some()),
    ];
    write_kept(map, &entry.unknown, &written)
}

fn write_payload_field<M: SerializeMap>(map: &mut M, kind: &EntryKind) -> Result<(), M::Error> {
    match kind {
        EntryKind::Custom(payload)
        | EntryKind::TurnEvent(TurnEvent { source: payload @ Some(_), .. })
        | EntryKind::SessionSetting(SessionSetting { source: payload @ Some(_), .. })
        | EntryKind::Other(OtherEntry { payload, .. }) => payload.write(map, "payload"),
        _ => map.serialize_entry("payload", &PayloadRecord(kind)),
    }
}

/// The payload of an entry whose fields are known.
struct PayloadRecord<'a>(&'a EntryKind);

impl Serialize for PayloadRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.write(&mut map)?;
        map.end()
    }
}
