//! Messages to JSON: borrowed views that serialise, so that nothing is copied to be written.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::parts::{PartRecord, write_kept, write_some, write_unknown};
use crate::{
    Addressee, ConversationMessage, Message, MessageId, Parts, Routing, Speaker, Timestamp,
};

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
    write_some(&mut map, "role", message.role.map(|role| role.as_str()))?;
    map.serialize_entry("content", &message.text())?;
    if message.is_plain_text() {
        write_rest(&mut map, message, &[])?;
    } else {
        map.serialize_entry("parts", &PartsRecord(&message.parts))?;
        write_rest(&mut map, message, &["parts"])?;
    }
    map.end()
}

/// Writes what is the same for every message, behind the fields that are written already.
pub(super) fn write_rest<M: SerializeMap>(
    map: &mut M,
    message: &Message,
    written: &[&str],
) -> Result<(), M::Error> {
    let timestamp = message.timestamp.as_ref().map(TimestampRecord);
    write_some(map, "speaker", message.speaker.as_deref().map(SpeakerRecord).as_ref())?;
    write_some(map, "routing", message.routing.as_deref().map(RoutingRecord).as_ref())?;
    write_some(map, "runId", message.run_id.as_ref())?;
    write_some(map, "timestamp", timestamp.as_ref())?;
    write_some(map, "meta", message.meta.as_ref())?;
    // What could not be read was kept under its name; what was set since counts more.
    let set = [
        ("role", message.role.is_some()),
        ("speaker", message.speaker.is_some()),
        ("routing", message.routing.is_some()),
        ("runId", message.run_id.is_some()),
        ("timestamp", message.timestamp.is_some()),
        ("meta", message.meta.is_some()),
    ];
    let written = written.iter().map(|name| (*name, true)).chain(set);
    write_kept(map, &message.unknown, &written.collect::<Vec<_>>())
}

pub(super) struct PartsRecord<'a>(pub(super) &'a Parts);
struct SpeakerRecord<'a>(&'a Speaker);
struct RoutingRecord<'a>(&'a Routing);
struct AddresseesRecord<'a>(&'a [Addressee]);
struct AddresseeRecord<'a>(&'a Addressee);
pub(super) struct TimestampRecord<'a>(pub(super) &'a Timestamp);

impl Serialize for PartsRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|part| list.serialize_element(&PartRecord(part)))?;
        list.end()
    }
}

impl Serialize for SpeakerRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("roleId", &self.0.role_id)?;
        map.serialize_entry("roleName", &self.0.role_name)?;
        write_some(&mut map, "roleTitle", self.0.role_title.as_ref())?;
        write_some(&mut map, "type", self.0.kind.as_ref().map(|kind| kind.as_str()))?;
        write_unknown(&mut map, &self.0.unknown)?;
        map.end()
    }
}

impl Serialize for RoutingRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let addressees = self.0.resolved_addressees.as_deref().map(AddresseesRecord);
        let mut map = serializer.serialize_map(None)?;
        write_some(&mut map, "resolvedAddressees", addressees.as_ref())?;
        write_some(&mut map, "parentMessageId", self.0.parent_message_id.as_ref())?;
        write_some(&mut map, "intent", self.0.intent.as_ref())?;
        let written = [
            ("parentMessageId", self.0.parent_message_id.is_some()),
            ("intent", self.0.intent.is_some()),
        ];
        write_kept(&mut map, &self.0.unknown, &written)?;
        map.end()
    }
}

impl Serialize for AddresseesRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|one| list.serialize_element(&AddresseeRecord(one)))?;
        list.end()
    }
}

impl Serialize for AddresseeRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A name is enough unless the source said more, which must not be lost.
        if self.0.unknown.is_empty() {
            return serializer.serialize_str(&self.0.identifier);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("identifier", &self.0.identifier)?;
        write_unknown(&mut map, &self.0.unknown)?;
        map.end()
    }
}

impl Serialize for TimestampRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.text() {
            Some(text) => serializer.serialize_str(&text),
            None => serializer.serialize_i64(self.0.millis()),
        }
    }
}
