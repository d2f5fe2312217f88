//! A message as the payload of an entry: `{role?, parts, speaker?, routing?, …}`. There are two differences from a
//! separate message: it needs no speaker if it has a role, and its text is in its parts.

use serde::ser::SerializeMap;
use serde_json::value::RawValue;
use smallvec::SmallVec;

use crate::json::{FieldError, Kind, Object, text};
use crate::record::MessageError;
use crate::record::field::{Field, Payload};
use crate::record::parts::read_parts;
use crate::record::read::{read_rest, read_routing, read_speaker};
use crate::record::write::write_rest;
use crate::{Message, Part, Parts, Role, Speaker};

/// Reads a message of a session's log or of a request to a model.
pub fn read_entry_message(raw: &RawValue) -> Result<Message, FieldError> {
    Message::read(raw)
}

impl Payload for Message {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let role: Option<Role> = Field::take(object, "role")?;
        let parts = read_body(object)?;
        let speaker = object.take_some("speaker").map(read_entry_speaker).transpose()?;
        if role.is_none() && speaker.is_none() {
            let expected = "system, user, assistant or tool, or a speaker";
            return Err(FieldError::missing("role", expected));
        }
        let routing = object.take_with("routing", read_routing)?.map(Box::new);
        let speaker = speaker.map(Into::into);
        let message = Self { role, parts, speaker, routing, ..Self::default() };
        Ok(read_rest(std::mem::take(object), message))
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.role.write(map, "role")?;
        map.serialize_entry("parts", self.parts.as_slice())?;
        write_rest(map, self, true)
    }
}

/// Reads `parts`. If there is only `content`, it is one text. If there are both, `content` is dropped if it has the
/// same text, and kept as an unknown field otherwise.
fn read_body(object: &mut Object<'_>) -> Result<Parts, FieldError> {
    let content = object.take_some("content");
    if let Some(parts) = object.take_with("parts", read_parts)? {
        if let Some(raw) = content
            && text(raw).ok().as_deref() != Some(&*Message::words(&parts))
        {
            object.put_back("content", raw);
        }
        return Ok(parts);
    }
    let missing = || FieldError::missing("parts", "a list of parts, or content as a string");
    let content = text(content.ok_or_else(missing)?).map_err(|error| error.within("content"))?;
    Ok(SmallVec::from([Part::text(content)]))
}

fn read_entry_speaker(raw: &RawValue) -> Result<Speaker, FieldError> {
    if Kind::from(raw) != Kind::Object {
        return Err(FieldError::wrong_kind("an object", raw).within("speaker"));
    }
    read_speaker(raw).map_err(|error| match error {
        MessageError::Field(error) => error,
        _ => FieldError::missing("roleId", "a string that is not empty").within("speaker"),
    })
}
