//! The parts of a message in JSON: `{kind, payload}` each. Known kinds are checked, others kept.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::json::{FieldError, Json, Object, Problem, boolean, elements, whole_number};
use crate::{
    Fields, FileRef, Image, ImageSource, OtherPart, Part, PartKind, Parts, ToolCall, ToolResult,
};

/// Reads a list of parts.
pub(super) fn read_parts(raw: &RawValue) -> Result<Parts, FieldError> {
    let read = |(index, raw)| read_part(raw).map_err(|error| error.at_index(index));
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

fn read_part(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = object.need_text("kind")?;
    if !is_known(&kind) {
        let payload = object.take("payload").map(Json::from);
        let other = OtherPart { kind: kind.into(), payload };
        let part = Part::new(PartKind::Other(Box::new(other)));
        return Ok(part.with_unknown(object.rest(), Fields::NONE));
    }
    let payload = object.need("payload", "an object")?;
    let (kind, rest) =
        read_payload(&kind, payload).map_err(|error: FieldError| error.within("payload"))?;
    Ok(Part::new(kind).with_unknown(object.rest(), rest))
}

fn is_known(kind: &str) -> bool {
    matches!(kind, "text" | "thinking" | "tool_call" | "tool_result" | "image" | "file_ref")
}

fn read_payload(kind: &str, raw: &RawValue) -> Result<(PartKind, Fields), FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = match kind {
        "text" => PartKind::Text(object.need_text("text")?),
        "thinking" => PartKind::Thinking(object.need_text("text")?),
        "tool_call" => PartKind::ToolCall(Box::new(read_tool_call(&mut object)?)),
        "tool_result" => PartKind::ToolResult(Box::new(read_tool_result(&mut object)?)),
        "image" => PartKind::Image(Box::new(read_image(&mut object)?)),
        _ => PartKind::FileRef(Box::new(read_file_ref(&mut object)?)),
    };
    Ok((kind, object.rest()))
}

fn read_tool_call(object: &mut Object<'_>) -> Result<ToolCall, FieldError> {
    Ok(ToolCall {
        tool_call_id: object.need_text("toolCallId")?.into(),
        tool_name: object.need_text("toolName")?.into(),
        arguments: Json::from(object.need("arguments", "the arguments as JSON")?),
        raw_args_text: object.take_text("rawArgsText")?.map(Into::into),
    })
}

fn read_tool_result(object: &mut Object<'_>) -> Result<ToolResult, FieldError> {
    Ok(ToolResult {
        tool_call_id: object.need_text("toolCallId")?.into(),
        is_error: object.take_with("isError", boolean)?.unwrap_or(false),
        content: Json::from(object.need("content", "the tool's answer as JSON")?),
    })
}

fn read_image(object: &mut Object<'_>) -> Result<Image, FieldError> {
    let mime_type = object.need_text("mimeType")?.into();
    let source = match (object.take_text("data")?, object.take_text("url")?) {
        (Some(data), None) => ImageSource::Data(data.into()),
        (None, Some(url)) => ImageSource::Url(url.into()),
        (None, None) => return Err(FieldError::missing("data", "data or url")),
        (Some(_), Some(_)) => {
            return Err(FieldError::new(Problem::Excludes { other: "url" }).within("data"));
        }
    };
    Ok(Image { mime_type, source })
}

fn read_file_ref(object: &mut Object<'_>) -> Result<FileRef, FieldError> {
    Ok(FileRef {
        path: object.need_text("path")?.into(),
        mime_type: object.take_text("mimeType")?.map(Into::into),
        size: object.take_with("size", whole_number)?,
    })
}

/// A part as JSON.
pub(super) struct PartRecord<'a>(pub(super) &'a Part);

/// The payload of a part as JSON.
struct PayloadRecord<'a>(&'a Part);

impl Serialize for PartRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = match &self.0.kind {
            PartKind::Text(_) => "text",
            PartKind::Thinking(_) => "thinking",
            PartKind::ToolCall(_) => "tool_call",
            PartKind::ToolResult(_) => "tool_result",
            PartKind::Image(_) => "image",
            PartKind::FileRef(_) => "file_ref",
            PartKind::Other(other) => &other.kind,
        };
        map.serialize_entry("kind", kind)?;
        match &self.0.kind {
            PartKind::Other(other) => {
                if let Some(payload) = &other.payload {
                    map.serialize_entry("payload", payload)?;
                }
            }
            _ => map.serialize_entry("payload", &PayloadRecord(self.0))?,
        }
        write_unknown(&mut map, self.0.unknown())?;
        map.end()
    }
}

impl Serialize for PayloadRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.0.kind {
            PartKind::Text(text) | PartKind::Thinking(text) => map.serialize_entry("text", text)?,
            PartKind::ToolCall(call) => {
                map.serialize_entry("toolCallId", &call.tool_call_id)?;
                map.serialize_entry("toolName", &call.tool_name)?;
                map.serialize_entry("arguments", &call.arguments)?;
                write_some(&mut map, "rawArgsText", call.raw_args_text.as_ref())?;
            }
            PartKind::ToolResult(result) => {
                map.serialize_entry("toolCallId", &result.tool_call_id)?;
                map.serialize_entry("isError", &result.is_error)?;
                map.serialize_entry("content", &result.content)?;
            }
            PartKind::Image(image) => {
                map.serialize_entry("mimeType", &image.mime_type)?;
                match &image.source {
                    ImageSource::Data(data) => map.serialize_entry("data", data)?,
                    ImageSource::Url(url) => map.serialize_entry("url", url)?,
                }
            }
            PartKind::FileRef(file) => {
                map.serialize_entry("path", &file.path)?;
                write_some(&mut map, "mimeType", file.mime_type.as_ref())?;
                write_some(&mut map, "size", file.size.as_ref())?;
            }
            PartKind::Other(_) => {}
        }
        write_unknown(&mut map, self.0.unknown_payload())?;
        map.end()
    }
}

/// Writes the fields that could not be read, but for those whose place was taken since.
pub(super) fn write_kept<M: SerializeMap>(
    map: &mut M,
    fields: &Fields,
    written: &[(&str, bool)],
) -> Result<(), M::Error> {
    let is_written = |name: &str| written.contains(&(name, true));
    let mut kept = fields.iter().filter(|(name, _)| !is_written(name));
    kept.try_for_each(|(name, value)| map.serialize_entry(name, value))
}

/// Writes the fields that this version does not know.
pub(super) fn write_unknown<M: SerializeMap>(map: &mut M, fields: &Fields) -> Result<(), M::Error> {
    fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}

/// Writes a field if there is one.
pub(super) fn write_some<M: SerializeMap, T: Serialize + ?Sized>(
    map: &mut M,
    name: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}
