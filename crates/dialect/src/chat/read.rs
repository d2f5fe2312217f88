//! Chat Completions JSON as messages: a request, a bare list of messages, one message, or a response.

use tertulia_session::json::{FieldError, Json, Kind, Object, Problem, RawValue, elements, text};
use tertulia_session::{Fields, Image, Part, PartKind, Parts, Role, ToolCall};

use super::ROLE_FIELD;
use crate::reading::{each, is_list, own_part, text_parts};
use crate::result_content::marked_result;
use crate::tool_specs::{keep_own, read_function};
use crate::{Dialect, Reading, arguments};

/// Reads a request `{messages, tools?}`, a list of messages, one message, or a response with
/// `choices`, of which the first counts.
pub fn read_openai_chat(raw: &RawValue) -> Result<Reading, FieldError> {
    let mut reading = Reading::default();
    if is_list(raw) {
        each(raw, |raw| read_message(raw, &mut reading))?;
        return Ok(reading);
    }
    let mut request = Object::try_from(raw)?;
    if let Some(choices) = request.take_some("choices") {
        read_choice(choices, &mut reading).map_err(|error| error.within("choices"))?;
        return Ok(reading);
    }
    let Some(messages) = request.take_some("messages") else {
        read_message(raw, &mut reading)?;
        return Ok(reading);
    };
    let read = |raw| read_message(raw, &mut reading);
    each(messages, read).map_err(|error| error.within("messages"))?;
    if let Some(tools) = request.take_some("tools") {
        reading.tool_specs = each(tools, read_tool).map_err(|error| error.within("tools"))?;
    }
    Ok(reading)
}

fn read_choice(raw: &RawValue, reading: &mut Reading) -> Result<(), FieldError> {
    let Some(first) = elements(raw)?.into_iter().next() else {
        return Ok(());
    };
    let message =
        Object::try_from(first).and_then(|mut choice| choice.need("message", "a message"));
    let read = message.and_then(|message| {
        read_message(message, reading).map_err(|error| error.within("message"))
    });
    read.map_err(|error| error.at_index(0))
}

fn read_message(raw: &RawValue, reading: &mut Reading) -> Result<(), FieldError> {
    let mut message = Object::try_from(raw)?;
    let role = message.need_text("role")?;
    let mut unknown = Fields::NONE;
    let role = match role.as_str() {
        "system" => Role::System,
        "developer" => {
            unknown.push(ROLE_FIELD, Json::text(&role));
            Role::System
        }
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => return read_result(message, reading),
        _ => {
            let allowed = "\"system\", \"developer\", \"user\", \"assistant\" or \"tool\"";
            let problem = Problem::NotOneOf { allowed, got: role };
            return Err(FieldError::new(problem).within("role"));
        }
    };
    let mut parts = Parts::new();
    if role == Role::Assistant {
        // Not OpenAI's, but said by many that copy its API.
        for name in ["reasoning_content", "reasoning"] {
            let thought = message.take_some(name).and_then(|raw| text(raw).ok());
            parts.extend(thought.map(|text| Part::new(PartKind::Thinking(text))));
        }
    }
    if let Some(content) = message.take_some("content") {
        parts.extend(read_content(content).map_err(|error| error.within("content"))?);
    }
    if let Some(calls) = message.take_some("tool_calls") {
        parts.extend(each(calls, read_call).map_err(|error| error.within("tool_calls"))?);
    }
    unknown.extend(message.rest());
    reading.push(role, parts, unknown);
    Ok(())
}

fn read_result(mut message: Object<'_>, reading: &mut Reading) -> Result<(), FieldError> {
    let id = message.need_text("tool_call_id")?.into();
    let content = message.take_some("content").map_or_else(|| Json::text(""), Json::from);
    reading.push_result(marked_result(id, content), message.rest());
    Ok(())
}

fn read_content(raw: &RawValue) -> Result<Parts, FieldError> {
    if Kind::from(raw) == Kind::String {
        let parts = text_parts(raw)?;
        // An answer that only calls often has an empty text beside.
        return Ok(parts.into_iter().filter(|part| part.as_text() != Some("")).collect());
    }
    Ok(each(raw, read_part)?.into())
}

fn read_part(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = object.need_text("type")?;
    match kind.as_str() {
        "text" => {
            let part = Part::text(object.need_text("text")?);
            Ok(part.with_unknown(Fields::NONE, object.rest()))
        }
        "image_url" => {
            let mut address = Object::try_from(object.need("image_url", "an object")?)
                .map_err(|error| error.within("image_url"))?;
            let url = address.need_text("url").map_err(|error| error.within("image_url"))?;
            let part = Part::new(PartKind::Image(Box::new(Image::from_address(&url))));
            Ok(part.with_unknown(Fields::NONE, address.rest()))
        }
        _ => Ok(own_part(Dialect::OpenAiChat, &kind, Json::from(raw))),
    }
}

fn read_call(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let tool_call_id = object.need_text("id")?.into();
    // A call of a custom tool has a free text where a function has its arguments.
    let (field, input) = match object.take_text("type")?.as_deref() {
        Some("custom") => ("custom", "input"),
        _ => ("function", "arguments"),
    };
    let inner = object.need(field, "an object")?;
    let (tool_name, written) = read_function_call(inner, input).map_err(|e| e.within(field))?;
    let (arguments, raw_args_text) = arguments::of_text(&written);
    let call = ToolCall { tool_call_id, tool_name, arguments, raw_args_text };
    let part = Part::new(PartKind::ToolCall(Box::new(call)));
    Ok(part.with_unknown(Fields::NONE, object.rest()))
}

fn read_function_call(raw: &RawValue, input: &str) -> Result<(Box<str>, String), FieldError> {
    let mut function = Object::try_from(raw)?;
    let name = function.need_text("name")?.into();
    Ok((name, function.take_text(input)?.unwrap_or_default()))
}

fn read_tool(raw: &RawValue) -> Result<Json, FieldError> {
    let mut tool = Object::try_from(raw)?;
    match tool.take_text("type")?.as_deref() {
        None | Some("function") => {
            let function = tool.need("function", "an object")?;
            let read =
                Object::try_from(function).and_then(|tool| read_function(tool, &["parameters"]));
            read.map_err(|error| error.within("function"))
        }
        Some(kind) => Ok(keep_own(raw, kind.to_owned(), Dialect::OpenAiChat)),
    }
}
