//! Reads messages from JSON. The order of the checks is part of the contract: the first failed check is reported.

use std::sync::Arc;

use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::MessageError;
use super::field::take_later;
use super::parts::read_parts;
use crate::json::{FieldError, Json, Kind, Object, each, text};
use crate::{
    Addressee, ConversationMessage, Message, MessageId, Part, Parts, Role, Routing, Speaker,
    SpeakerType, Timestamp,
};

/// Reads a message; an `id` is dropped, because the conversation assigns its own.
pub fn read_message(raw: &RawValue) -> Result<Message, MessageError> {
    let mut object = open(raw)?;
    object.take("id");
    read_fields(object)
}

/// Reads a message with its id.
pub fn read_conversation_message(raw: &RawValue) -> Result<ConversationMessage, MessageError> {
    let mut object = open(raw)?;
    let id = MessageId::from(object.need_text("id")?.as_str());
    Ok(ConversationMessage { id, message: read_fields(object)? })
}

/// Reads a list of addressees: names, objects with an `identifier`, or both mixed.
pub fn read_addressees(raw: &RawValue) -> Result<Vec<Addressee>, FieldError> {
    each(raw, read_addressee)
}

fn open(raw: &RawValue) -> Result<Object<'_>, MessageError> {
    if is_falsy(raw) {
        return Err(MessageError::Null);
    }
    // A value that is not an object has no `content`, and this is the reported error.
    if Kind::from(raw) != Kind::Object {
        return Err(MessageError::ContentNotString);
    }
    Ok(Object::try_from(raw)?)
}

fn read_fields(mut object: Object<'_>) -> Result<Message, MessageError> {
    let parts = read_body(&mut object)?;
    let speaker = object.take("speaker").filter(|raw| !is_falsy(raw));
    let speaker = Arc::new(read_speaker(speaker.ok_or(MessageError::SpeakerMissing)?)?);
    let routing = match object.take("routing") {
        Some(raw) if Kind::from(raw) != Kind::Null => {
            Some(Box::new(read_routing(raw).map_err(|error| error.within("routing"))?))
        }
        null => {
            null.inspect(|null| object.put_back("routing", null));
            None
        }
    };
    let role = take_later::<Role>(&mut object, "role");
    let message = Message { role, parts, speaker: Some(speaker), routing, ..Message::default() };
    Ok(read_rest(object, message))
}

/// Reads the fields that all messages share (run, time and notes), and keeps unknown fields.
pub(super) fn read_rest(mut object: Object<'_>, message: Message) -> Message {
    let run_id = take_later(&mut object, "runId");
    let timestamp = lenient(&mut object, "timestamp", read_timestamp);
    let meta = lenient(&mut object, "meta", read_notes);
    Message { run_id, timestamp, meta, unknown: object.rest(), ..message }
}

/// Reads `content`. `parts` next to it are used only if they have the same text; otherwise they are kept as an
/// unknown field.
fn read_body(object: &mut Object<'_>) -> Result<Parts, MessageError> {
    let content = object.take("content");
    let parts = object.take("parts");
    let Some(content) = content.filter(|raw| Kind::from(*raw) == Kind::String) else {
        let Some(parts) = parts.filter(|raw| content.is_none() && Kind::from(*raw) == Kind::Array)
        else {
            return Err(MessageError::ContentNotString);
        };
        return Ok(read_parts(parts).map_err(|error| error.within("parts"))?);
    };
    let content = text(content).map_err(|error| error.within("content"))?;
    if let Some(raw) = parts {
        match read_parts(raw) {
            Ok(parts) if Message::words(&parts) == content => return Ok(parts),
            _ => object.put_back("parts", raw),
        }
    }
    Ok(SmallVec::from([Part::text(content)]))
}

pub(super) fn read_speaker(raw: &RawValue) -> Result<Speaker, MessageError> {
    if Kind::from(raw) != Kind::Object {
        return Err(MessageError::RoleIdMissing);
    }
    let within = |error: FieldError| MessageError::Field(error.within("speaker"));
    let mut object = Object::try_from(raw).map_err(within)?;
    let role_id = object.take_some("roleId").map(|raw| ("roleId", raw));
    let role_id = role_id.or_else(|| object.take_some("id").map(|raw| ("id", raw)));
    let (name, raw) =
        role_id.filter(|(_, raw)| !is_falsy(raw)).ok_or(MessageError::RoleIdMissing)?;
    let role_id = text(raw).map_err(|error| within(error.within(name)))?;
    let role_name = either(&mut object, "roleName", "name").map_err(within)?;
    let role_title = either(&mut object, "roleTitle", "displayName").map_err(within)?;
    let kind = object.take_text("type").map_err(within)?;
    Ok(Speaker {
        role_name: role_name.unwrap_or_else(|| role_id.clone()).into(),
        role_id: role_id.into(),
        role_title: role_title.map(Into::into),
        kind: kind.map(|word| SpeakerType::from(word.as_str())),
        unknown: object.rest(),
    })
}

pub(super) fn read_routing(raw: &RawValue) -> Result<Routing, FieldError> {
    let mut object = Object::try_from(raw)?;
    let resolved_addressees = object.take_with("resolvedAddressees", read_addressees)?;
    let parent_message_id = take_later(&mut object, "parentMessageId");
    let intent = take_later(&mut object, "intent");
    let ask = take_later(&mut object, "ask");
    Ok(Routing { resolved_addressees, parent_message_id, intent, ask, unknown: object.rest() })
}

fn read_addressee(raw: &RawValue) -> Result<Addressee, FieldError> {
    match Kind::from(raw) {
        Kind::String => Ok(Addressee::named(text(raw)?)),
        Kind::Object => {
            let mut object = Object::try_from(raw)?;
            let identifier = object.need_text("identifier")?.into();
            Ok(Addressee { identifier, unknown: object.rest() })
        }
        _ => Err(FieldError::wrong_kind("a name or an object with an identifier", raw)),
    }
}

pub(super) fn read_timestamp(raw: &RawValue) -> Option<Timestamp> {
    match Kind::from(raw) {
        Kind::String => text(raw).ok()?.parse::<Timestamp>().ok(),
        // Only this spelling is written exactly as it was read.
        Kind::Number => {
            let millis: i64 = raw.get().parse().ok()?;
            (millis.to_string() == raw.get()).then(|| Timestamp::from_millis(millis))
        }
        _ => None,
    }
}

pub(super) fn read_notes(raw: &RawValue) -> Option<Json> {
    (Kind::from(raw) == Kind::Object).then(|| Json::from(raw))
}

/// Takes a text under one of two names. If the first one exists, the second one stays.
fn either(object: &mut Object<'_>, name: &str, other: &str) -> Result<Option<String>, FieldError> {
    match object.take_text(name)? {
        None => object.take_text(other),
        some => Ok(some),
    }
}

/// Takes a field that the contract does not define. It is read if possible, and kept otherwise.
pub(super) fn lenient<T>(
    object: &mut Object<'_>,
    name: &'static str,
    read: impl FnOnce(&RawValue) -> Option<T>,
) -> Option<T> {
    let raw = object.take(name)?;
    let value = read(raw);
    if value.is_none() {
        object.put_back(name, raw);
    }
    value
}

/// Returns whether JavaScript treats the value as false: `null`, `false`, a zero, an empty text.
fn is_falsy(raw: &RawValue) -> bool {
    match Kind::from(raw) {
        Kind::Null => true,
        Kind::Boolean => raw.get() == "false",
        Kind::Number => raw.get().parse() == Ok(0.0),
        Kind::String => raw.get() == "\"\"",
        Kind::Array | Kind::Object => false,
    }
}
