//! The parts of a message in JSON, each `{kind, payload}`. Known kinds are checked, others are kept.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::field::{Field, Payload, write_some, write_unknown};
use crate::json::{FieldError, Json, Object, Problem, each};
use crate::{Fields, Image, ImageSource, OtherPart, Part, PartKind, Parts};

impl Payload for Image {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let mime_type = Field::take(object, "mimeType")?;
        let source = match (Field::take(object, "data")?, Field::take(object, "url")?) {
            (Some(data), None) => ImageSource::Data(data),
            (None, Some(url)) => ImageSource::Url(url),
            (None, None) => return Err(FieldError::missing("data", "data or url")),
            (Some(_), Some(_)) => {
                return Err(FieldError::new(Problem::Excludes { other: "url" }).within("data"));
            }
        };
        Ok(Self { mime_type, source })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.mime_type.write(map, "mimeType")?;
        match &self.source {
            ImageSource::Data(data) => data.write(map, "data"),
            ImageSource::Url(url) => url.write(map, "url"),
        }
    }
}

pub(super) fn read_parts(raw: &RawValue) -> Result<Parts, FieldError> {
    each(raw, read_part)
}

fn read_part(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = object.need_text("kind")?;
    let read: fn(&mut Object<'_>) -> Result<PartKind, FieldError> = match kind.as_str() {
        "text" => |from| from.need_text("text").map(PartKind::Text),
        "thinking" => |from| from.need_text("text").map(PartKind::Thinking),
        "tool_call" => |from| Ok(PartKind::ToolCall(Box::new(Payload::take(from)?))),
        "tool_result" => |from| Ok(PartKind::ToolResult(Box::new(Payload::take(from)?))),
        "image" => |from| Ok(PartKind::Image(Box::new(Payload::take(from)?))),
        "file_ref" => |from| Ok(PartKind::FileRef(Box::new(Payload::take(from)?))),
        _ => {
            let payload = object.take("payload").map(Json::from);
            let other = OtherPart { kind: kind.into(), payload };
            let part = Part::new(PartKind::Other(Box::new(other)));
            return Ok(part.with_unknown(object.rest(), Fields::NONE));
        }
    };
    let (kind, rest) = object.need_with("payload", "an object", |raw| {
        let mut payload = Object::try_from(raw)?;
        Ok((read(&mut payload)?, payload.rest()))
    })?;
    Ok(Part::new(kind).with_unknown(object.rest(), rest))
}

struct PayloadRecord<'a>(&'a Part);

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = match &self.kind {
            PartKind::Text(_) => "text",
            PartKind::Thinking(_) => "thinking",
            PartKind::ToolCall(_) => "tool_call",
            PartKind::ToolResult(_) => "tool_result",
            PartKind::Image(_) => "image",
            PartKind::FileRef(_) => "file_ref",
            PartKind::Other(other) => &other.kind,
        };
        map.serialize_entry("kind", kind)?;
        match &self.kind {
            PartKind::Other(other) => write_some(&mut map, "payload", other.payload.as_ref())?,
            _ => map.serialize_entry("payload", &PayloadRecord(self))?,
        }
        write_unknown(&mut map, self.unknown())?;
        map.end()
    }
}

impl Serialize for PayloadRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.kind {
            PartKind::Text(text) | PartKind::Thinking(text) => map.serialize_entry("text", text)?,
            PartKind::ToolCall(call) => call.write(&mut map)?,
            PartKind::ToolResult(result) => result.write(&mut map)?,
            PartKind::Image(image) => image.write(&mut map)?,
            PartKind::FileRef(file) => file.write(&mut map)?,
            PartKind::Other(_) => {}
        }
        write_unknown(&mut map, self.0.unknown_payload())?;
        map.end()
    }
}
