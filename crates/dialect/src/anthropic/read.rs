//! Reads Anthropic's JSON as messages: a request, a bare list of messages, or the message of a response.

use tertulia_session::json::{FieldError, Json, Object, RawValue, boolean, each, text};
use tertulia_session::{Image, Part, PartKind, Role, ToolCall, ToolResult};

use super::blocks::without_mark;
use super::cache::MARK;
use crate::reading::{is_list, is_text, own_part, part, unknown_role};
use crate::tool_specs::{keep_own, read_function};
use crate::{Dialect, Reading};

/// Reads a request `{system?, messages, tools?}`, a list of messages, or one message, such as a response. A result
/// becomes a separate tool message. A block of another kind is kept whole.
pub(crate) fn read(raw: &RawValue) -> Result<Reading, FieldError> {
    let mut reading = Reading::default();
    if is_list(raw) {
        return each(raw, |raw| read_message(raw, &mut reading)).map(|()| reading);
    }
    let mut request = Object::try_from(raw)?;
    let Some(messages) = request.take_some("messages") else {
        return read_message(raw, &mut reading).map(|()| reading);
    };
    request.take_with("system", |raw| read_content(raw, Role::System, &mut reading))?;
    let read: Result<(), FieldError> = each(messages, |raw| read_message(raw, &mut reading));
    read.map_err(|error| error.within("messages"))?;
    let specs = request.take_with("tools", |raw| each(raw, read_tool))?;
    Ok(Reading { tool_specs: specs.unwrap_or_default(), ..reading })
}

fn read_message(raw: &RawValue, reading: &mut Reading) -> Result<(), FieldError> {
    let mut message = Object::try_from(raw)?;
    let role = message.need_text("role")?;
    let role = match role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(unknown_role("\"user\", \"assistant\" or \"system\"", role)),
    };
    let expected = "a string or a list of blocks";
    message.need_with("content", expected, |raw| read_content(raw, role, reading))
}

fn read_content(raw: &RawValue, role: Role, reading: &mut Reading) -> Result<(), FieldError> {
    if is_text(raw) {
        return reading.push_text(role, raw);
    }
    reading.push_blocks(role, each(raw, |raw| read_block(raw, text))?);
    Ok(())
}

/// Returns a block and whether it has a cache mark. `text` reads the texts of the block.
pub(crate) fn read_block(
    raw: &RawValue,
    text: fn(&RawValue) -> Result<String, FieldError>,
) -> Result<(Part, bool), FieldError> {
    let mut block = Object::try_from(raw)?;
    let kind = block.need_text("type")?;
    let is_marked = block.take_some(MARK).is_some();
    let words = |block: &mut Object<'_>, name| block.need_with(name, "a string", text);
    let own = || {
        let json = Json::from(raw);
        own_part(Dialect::Anthropic, &kind, without_mark(&json).unwrap_or(json))
    };
    let read = match kind.as_str() {
        "text" => part(PartKind::Text(words(&mut block, "text")?), block.rest()),
        "thinking" => part(PartKind::Thinking(words(&mut block, "thinking")?), block.rest()),
        "tool_use" => {
            let call = ToolCall {
                tool_call_id: block.need_text("id")?.into(),
                tool_name: block.need_text("name")?.into(),
                arguments: Json::from(block.need("input", "an object")?),
                raw_args_text: None,
            };
            part(PartKind::ToolCall(Box::new(call)), block.rest())
        }
        "tool_result" => {
            let result = ToolResult {
                tool_call_id: block.need_text("tool_use_id")?.into(),
                is_error: block.take_with("is_error", boolean)?.unwrap_or(false),
                content: block.take_some("content").map_or_else(|| Json::text(""), Json::from),
            };
            part(PartKind::ToolResult(Box::new(result)), block.rest())
        }
        "image" => {
            match block.take("source").and_then(Image::from_source).filter(Image::is_complete) {
                Some(image) => part(PartKind::Image(Box::new(image)), block.rest()),
                None => own(),
            }
        }
        _ => own(),
    };
    Ok((read, is_marked))
}

fn read_tool(raw: &RawValue) -> Result<Json, FieldError> {
    let mut tool = Object::try_from(raw)?;
    let kind = tool.take_text("type")?;
    match kind.as_deref() {
        None | Some("custom") => read_function(tool, &["input_schema"]),
        Some(kind) => {
            let name = tool.take_text("name")?.unwrap_or_else(|| kind.to_owned());
            Ok(keep_own(raw, name, Dialect::Anthropic))
        }
    }
}
