//! Entries to JSON: borrowed views that serialise, fields in the order of docs/session-record.md. What
//! is written here is what [`Entry::content_id`] hashes: a change of one byte changes every new id.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::message::EntryMessageRecord;
use super::payload::write_payload;
use crate::record::field::{Field, write_kept, write_some};
use crate::{Entry, EntryId, EntryKind, OtherEntry, SessionSetting, TurnEvent};

/// An entry as JSON.
pub struct EntryRecord<'a> {
    entry: &'a Entry,
    id: Option<&'a EntryId>,
}

impl<'a> EntryRecord<'a> {
    /// The whole entry.
    pub fn new(entry: &'a Entry) -> Self {
        Self { entry, id: Some(&entry.id) }
    }

    /// All but the id.
    pub(crate) fn without_id(entry: &'a Entry) -> Self {
        Self { entry, id: None }
    }

    /// The JSON text, on one line.
    pub fn to_json(&self) -> String {
        to_json(self, 512)
    }
}

/// What of an entry always shows, also after its bytes were purged: id, parent, type and time.
pub struct EnvelopeRecord<'a>(pub &'a Entry);

impl EnvelopeRecord<'_> {
    /// The JSON text, on one line.
    pub fn to_json(&self) -> String {
        to_json(self, 256)
    }
}

/// Writes into room that suffices for most records, so that few grow.
fn to_json(record: &impl Serialize, room: usize) -> String {
    let mut json = Vec::with_capacity(room);
    // Writing texts under text names into memory cannot fail, and JSON is UTF-8: the fallbacks are never
    // needed.
    match serde_json::to_writer(&mut json, record) {
        Ok(()) => String::from_utf8(json).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

impl Serialize for EnvelopeRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.id.write(&mut map, "id")?;
        self.0.parent_id.write(&mut map, "parentId")?;
        map.serialize_entry("type", self.0.kind.shown_type_name())?;
        write_some(&mut map, "timestamp", self.0.timestamp.as_ref())?;
        map.end()
    }
}

impl Serialize for EntryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.entry;
        let mut map = serializer.serialize_map(None)?;
        write_some(&mut map, "id", self.id)?;
        entry.parent_id.write(&mut map, "parentId")?;
        map.serialize_entry("type", entry.kind.type_name())?;
        write_some(&mut map, "timestamp", entry.timestamp.as_ref())?;
        entry.run_id.write(&mut map, "runId")?;
        write_payload_field(&mut map, &entry.kind)?;
        entry.meta.write(&mut map, "meta")?;
        // Behind the fields of the first programs: these take it for one that they do not know, and so
        // write the same bytes.
        write_some(&mut map, "salt", entry.salt.map(|salt| salt.to_string()).as_ref())?;
        let written = [
            ("timestamp", entry.timestamp.is_some()),
            ("runId", entry.run_id.is_some()),
            ("meta", entry.meta.is_some()),
            ("salt", entry.salt.is_some()),
        ];
        write_kept(&mut map, &entry.unknown, &written)?;
        map.end()
    }
}

fn write_payload_field<M: SerializeMap>(map: &mut M, kind: &EntryKind) -> Result<(), M::Error> {
    match kind {
        EntryKind::Message(message) => map.serialize_entry("payload", &EntryMessageRecord(message)),
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
        write_payload(&mut map, self.0)?;
        map.end()
    }
}
