//! Reads the content of pi's messages: texts, thinking, calls, pictures and results.

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Image, ImageSource, Part, PartKind, Parts, ToolResult};

use super::super::NativeFormat;
use super::super::fields::{self, call, own_part, take_string};

/// Takes the content of a message: a text, or a list of parts.
pub(super) fn parts(message: &mut Object<'_>) -> Parts {
    let Some(content) = message.take_some("content") else { return Parts::new() };
    match Kind::from(content) {
        Kind::Array => json::elements(content).unwrap_or_default().into_iter().map(part).collect(),
        _ => Parts::from([Part::text(json::words(content))]),
    }
}

/// Returns whether there are other parts than empty texts.
pub(super) fn has_content(parts: &Parts) -> bool {
    parts.iter().any(|part| part.as_text().is_none_or(|text| !text.is_empty()))
}

/// Reads a part. Its other fields, such as signatures, are kept in the payload.
fn part(raw: &RawValue) -> Part {
    let read = Object::try_from(raw).ok().and_then(|mut object| {
        let kind = object.take_some("type").map(json::words)?;
        let kind = match &*kind {
            "text" => PartKind::Text(take_string(&mut object, "text")?),
            "thinking" => PartKind::Thinking(take_string(&mut object, "thinking")?),
            "toolCall" => {
                let arguments = object.take("arguments");
                call(
                    &take_string(&mut object, "id")?,
                    &take_string(&mut object, "name")?,
                    arguments,
                )
            }
            "image" => {
                let source = ImageSource::Data(take_string(&mut object, "data")?.into());
                let mime_type = take_string(&mut object, "mimeType");
                let mime_type = mime_type.unwrap_or_else(|| Image::ANY_TYPE.to_owned()).into();
                PartKind::Image(Box::new(Image { mime_type, source }))
            }
            _ => return None,
        };
        Some(fields::part(kind, object))
    });
    read.unwrap_or_else(|| {
        let kind =
            Object::try_from(raw).ok().and_then(|mut object| take_string(&mut object, "type"));
        own_part(NativeFormat::Pi, kind.as_deref().unwrap_or("part"), raw)
    })
}

/// Reads the result of a tool. `None` if it names no call.
pub(super) fn result(mut message: Object<'_>) -> Option<Part> {
    let tool_call_id = take_string(&mut message, "toolCallId")?.into();
    let is_error = message.take_some("isError").is_some_and(|raw| raw.get() == "true");
    let content = match message.take_some("content") {
        Some(raw) => only_text(raw).unwrap_or_else(|| Json::from(raw)),
        None => Json::text(""),
    };
    let result = ToolResult { tool_call_id, is_error, content };
    Some(Part::new(PartKind::ToolResult(Box::new(result))))
}

/// Returns the text of a list that contains only one text.
fn only_text(raw: &RawValue) -> Option<Json> {
    let elements = json::elements(raw).ok()?;
    let [only] = elements.as_slice() else { return None };
    let mut block = Object::try_from(*only).ok()?;
    let is_text = block.take_some("type").is_some_and(|kind| kind.get() == r#""text""#);
    let text = block.take_some("text").filter(|text| Kind::from(*text) == Kind::String);
    text.filter(|_| is_text).map(Json::from)
}

/// Returns the text that the model gets for a command that the user ran.
pub(super) fn command_text(mut message: Object<'_>) -> String {
    let command = take_string(&mut message, "command").unwrap_or_default();
    let output = take_string(&mut message, "output").unwrap_or_default();
    let exit = message.take_some("exitCode").and_then(|raw| json::whole_number(raw).ok());
    let is_cancelled = message.take_some("cancelled").is_some_and(|raw| raw.get() == "true");
    let mut text = format!("Ran `{command}`\n");
    match output.is_empty() {
        true => text.push_str("(no output)"),
        false => text.push_str(&format!("```\n{output}\n```")),
    }
    match exit {
        _ if is_cancelled => text.push_str("\n\n(cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\n(exit code {code})")),
        _ => {}
    }
    text
}
