//! The content of a message of goose: a list of blocks with a `type`.

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Image, ImageSource, Part, PartKind, ToolResult};

use crate::native::NativeFormat;
use crate::native::fields;

/// Blocks that are no messages: notices on the screen, and questions whether a tool may run.
const NOTICES: [&str; 6] = [
    "systemNotification",
    "conversationCompacted",
    "contextLengthExceeded",
    "summarizationRequested",
    "toolConfirmationRequest",
    "actionRequired",
];

/// Reads the content of a message without notices. `None` if the value is no list.
pub(super) fn read(raw: &RawValue) -> Option<Vec<Part>> {
    if Kind::from(raw) != Kind::Array {
        return None;
    }
    Some(json::elements(raw).ok()?.into_iter().filter_map(read_block).collect())
}

fn read_block(raw: &RawValue) -> Option<Part> {
    let Ok(mut block) = Object::try_from(raw) else {
        return Some(fields::own_part(NativeFormat::Goose, "", raw));
    };
    let kind = fields::take_string(&mut block, "type").unwrap_or_default();
    if NOTICES.contains(&kind.as_str()) {
        return None;
    }
    let part = read_known(&kind, block);
    Some(part.unwrap_or_else(|| fields::own_part(NativeFormat::Goose, &kind, raw)))
}

/// Reads a block. `None` if it is unknown or incomplete.
fn read_known(kind: &str, mut block: Object<'_>) -> Option<Part> {
    let kind = match kind {
        "text" => PartKind::Text(fields::take_string(&mut block, "text")?),
        "thinking" => PartKind::Thinking(fields::take_string(&mut block, "thinking")?),
        "reasoning" => PartKind::Thinking(fields::take_string(&mut block, "text")?),
        "image" => {
            let mime_type = fields::take_word(&mut block, "mimeType")?;
            let data = ImageSource::Data(fields::take_word(&mut block, "data")?);
            PartKind::Image(Box::new(Image { mime_type, source: data }))
        }
        "toolRequest" | "frontendToolRequest" => {
            let id = fields::take_word(&mut block, "id")?;
            // The value is `{status, value}`. An invalid call has an `error` instead of a value.
            let mut outcome = fields::take_object(&mut block, "toolCall")?;
            let mut call = fields::take_object(&mut outcome, "value")?;
            let tool = fields::take_word(&mut call, "name")?;
            fields::call(&id, &tool, call.take("arguments"))
        }
        "toolResponse" => {
            let id = fields::take_word(&mut block, "id")?;
            let outcome = fields::take_object(&mut block, "toolResult")?;
            PartKind::ToolResult(Box::new(read_result(id, outcome)?))
        }
        _ => return None,
    };
    Some(fields::part(kind, block))
}

/// Reads a result: `{status, value}`, whose value is a list of blocks or `{content, isError}`, or else `{status,
/// error}`.
fn read_result(tool_call_id: Box<str>, mut outcome: Object<'_>) -> Option<ToolResult> {
    if let Some(error) = fields::take_string(&mut outcome, "error") {
        return Some(ToolResult { tool_call_id, is_error: true, content: Json::text(&error) });
    }
    let value = outcome.take("value")?;
    let (content, is_error) = match Object::try_from(value) {
        Ok(mut value) => {
            let is_error = fields::take_boolean(&mut value, "isError").unwrap_or_default();
            let structured = value.take_some("structuredContent");
            let content = value.take_some("content").filter(|raw| raw.get() != "[]");
            (content.or(structured).map_or_else(|| Json::text(""), Json::from), is_error)
        }
        Err(_) => (Json::from(value), false),
    };
    Some(ToolResult { tool_call_id, is_error, content })
}
