//! Writes messages as JSON: borrowed views that serialize, so that nothing is copied.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::field::{Field, write_kept, write_some, write_unknown};
use crate::{Addressee, ConversationMessage, Message, MessageId, Routing, Speaker, Timestamp};

/// A message as JSON.
pub struct MessageRecord<'a>(pub &'a Message);

/// A message with its id as JSON.
pub struct ConversationMessageRecord<'a>(pub &'a ConversationMessage);

impl Serialize for MessageRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_message(serializer, None, self.0)
    }
}

impl Serialize for ConversationMessageRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_message(serializer, Some(&self.0.id), &self.0.message)
    }
}

fn write_message<S: Serializer>(
    serializer: S,
    id: Option<&MessageId>,
    message: &Message,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some(id) = id {
        map.serialize_entry("id", &id.to_string())?;
    }
    message.role.write(&mut map, "role")?;
    map.serialize_entry("content", &message.text())?;
    let has_parts = !message.is_plain_text();
    if has_parts {
        map.serialize_entry("parts", message.parts.as_slice())?;
    }
    write_rest(&mut map, message, has_parts)?;
    map.end()
}

/// Writes the fields that all messages share, after the parts if the record has them.
pub(super) fn write_rest<M: SerializeMap>(
    map: &mut M,
    message: &Message,
    has_parts: bool,
) -> Result<(), M::Error> {
    write_some(map, "speaker", message.speaker.as_deref())?;
    write_some(map, "routing", message.routing.as_deref())?;
    message.run_id.write(map, "runId")?;
    write_some(map, "timestamp", message.timestamp.as_ref())?;
    message.meta.write(map, "meta")?;
    if message.unknown.is_empty() {
        return Ok(());
    }
    // A field that could not be read is kept under its name. If the value was set since, that value takes
    // precedence.
    let written = [
        ("parts", has_parts),
        ("role", message.role.is_some()),
        ("speaker", message.speaker.is_some()),
        ("routing", message.routing.is_some()),
        ("runId", message.run_id.is_some()),
        ("timestamp", message.timestamp.is_some()),
        ("meta", message.meta.is_some()),
    ];
    write_kept(map, &message.unknown, &written)
}

impl Serialize for Speaker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.role_id.write(&mut map, "roleId")?;
        self.role_name.write(&mut map, "roleName")?;
        self.role_title.write(&mut map, "roleTitle")?;
        write_some(&mut map, "type", self.kind.as_ref().map(|kind| kind.as_str()))?;
        write_unknown(&mut map, &self.unknown)?;
        map.end()
    }
}

impl Serialize for Routing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_some(&mut map, "resolvedAddressees", self.resolved_addressees.as_ref())?;
        self.parent_message_id.write(&mut map, "parentMessageId")?;
        self.intent.write(&mut map, "intent")?;
        self.ask.write(&mut map, "ask")?;
        let written = [
            ("parentMessageId", self.parent_message_id.is_some()),
            ("intent", self.intent.is_some()),
            ("ask", self.ask.is_some()),
        ];
        write_kept(&mut map, &self.unknown, &written)?;
        map.end()
    }
}

impl Serialize for Addressee {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The name is enough unless the source had more fields, which must not be lost.
        if self.unknown.is_empty() {
            return serializer.serialize_str(&self.identifier);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("identifier", &self.identifier)?;
        write_unknown(&mut map, &self.unknown)?;
        map.end()
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => serializer.serialize_str(&text),
            None => serializer.serialize_i64(self.millis()),
        }
    }
}
