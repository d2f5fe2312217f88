//! Anthropic's JSON as messages: a request, a bare list of messages, or a response's message.

use tertulia_session::json::{FieldError, Json, Kind, Object, Problem, RawValue, boolean};
use tertulia_session::{Fields, Image, Part, PartKind, Parts, Role, ToolCall, ToolResult};

use super::blocks::without;
use super::cache::MARK;
use crate::reading::{each, is_list, own_part, text_parts};
use crate::tool_specs::{keep_own, read_function};
use crate::{Dialect, Note, NoteKind, Reading};

/// Reads a request `{system?, messages, tools?}`, a list of messages, or one message, such as a
/// response. A result becomes a tool message of its own; a block of another kind is kept whole.
pub fn read_anthropic(raw: &RawValue) -> Result<Reading, FieldError> {
    let mut reading = Reading::default();
    if is_list(raw) {
        each(raw, |raw| read_message(raw, &mut reading))?;
        return Ok(reading);
    }
    let mut request = Object::try_from(raw)?;
    let Some(messages) = request.take_some("messages") else {
        read_message(raw, &mut reading)?;
        return Ok(reading);
    };
    if let Some(system) = request.take_some("system") {
        read_content(system, Role::System, &mut reading).map_err(|error| error.within("system"))?;
    }
    let read = |raw| read_message(raw, &mut reading);
    each(messages, read).map_err(|error| error.within("messages"))?;
    if let Some(tools) = request.take_some("tools") {
        reading.tool_specs = each(tools, read_tool).map_err(|error| error.within("tools"))?;
    }
    Ok(reading)
}

fn read_message(raw: &RawValue, reading: &mut Reading) -> Result<(), FieldError> {
    let mut message = Object::try_from(raw)?;
    let role = message.need_text("role")?;
    let role = match role.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(not_a_role(role)),
    };
    let content = message.need("content", "a string or a list of blocks")?;
    read_content(content, role, reading).map_err(|error| error.within("content"))
}

fn not_a_role(got: String) -> FieldError {
    let allowed = "\"user\", \"assistant\" or \"system\"";
    FieldError::new(Problem::NotOneOf { allowed, got }).within("role")
}

/// Blocks up to the next result are one message.
fn read_content(raw: &RawValue, role: Role, reading: &mut Reading) -> Result<(), FieldError> {
    if Kind::from(raw) == Kind::String {
        reading.push(role, text_parts(raw)?, Fields::NONE);
        return Ok(());
    }
    let mut parts = Parts::new();
    let mut pending_mark = None;
    let mut pushed = 0;
    for block in each(raw, read_block)? {
        pushed += 1;
        if let Some(at) = pending_mark.take() {
            note_inner_mark(at, reading);
        }
        match block.read {
            Read::Part(part) => parts.push(part),
            Read::Result(result, payload) => {
                if !parts.is_empty() {
                    reading.push(role, std::mem::take(&mut parts), Fields::NONE);
                }
                reading.push_result(result, payload);
            }
        }
        if block.is_marked && parts.is_empty() {
            reading.cache_breakpoints.push(reading.messages.len() - 1);
        } else if block.is_marked {
            pending_mark = Some(reading.messages.len());
        }
    }
    if !parts.is_empty() || pushed == 0 {
        reading.push(role, parts, Fields::NONE);
    }
    reading.cache_breakpoints.extend(pending_mark);
    Ok(())
}

/// A mark in the middle of a message: breakpoints stand behind messages only.
fn note_inner_mark(at: usize, reading: &mut Reading) {
    let why = "it stands in the middle of a message";
    reading.notes.push(Note::on(at, NoteKind::BreakpointLeftOut { why }));
}

struct Block {
    read: Read,
    is_marked: bool,
}

enum Read {
    Part(Part),
    Result(ToolResult, Fields),
}

fn read_block(raw: &RawValue) -> Result<Block, FieldError> {
    let mut block = Object::try_from(raw)?;
    let kind = block.need_text("type")?;
    let is_marked = block.take_some(MARK).is_some();
    let read = match kind.as_str() {
        "text" => Read::Part(part(PartKind::Text(block.need_text("text")?), block.rest())),
        "thinking" => {
            Read::Part(part(PartKind::Thinking(block.need_text("thinking")?), block.rest()))
        }
        "tool_use" => {
            let call = ToolCall {
                tool_call_id: block.need_text("id")?.into(),
                tool_name: block.need_text("name")?.into(),
                arguments: Json::from(block.need("input", "an object")?),
                raw_args_text: None,
            };
            Read::Part(part(PartKind::ToolCall(Box::new(call)), block.rest()))
        }
        "tool_result" => {
            let result = ToolResult {
                tool_call_id: block.need_text("tool_use_id")?.into(),
                is_error: block.take_with("is_error", boolean)?.unwrap_or(false),
                content: block.take_some("content").map_or_else(|| Json::text(""), Json::from),
            };
            Read::Result(result, block.rest())
        }
        "image" => {
            match block.take("source").and_then(Image::from_source).filter(Image::is_complete) {
                Some(image) => Read::Part(part(PartKind::Image(Box::new(image)), block.rest())),
                None => Read::Part(keep(&kind, raw)),
            }
        }
        _ => Read::Part(keep(&kind, raw)),
    };
    Ok(Block { read, is_marked })
}

fn keep(kind: &str, raw: &RawValue) -> Part {
    let json = Json::from(raw);
    own_part(Dialect::Anthropic, kind, without(&json, MARK).unwrap_or(json))
}

fn part(kind: PartKind, payload: Fields) -> Part {
    Part::new(kind).with_unknown(Fields::NONE, payload)
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
