//! Reads Chat Completions JSON as messages: a request, a bare list of messages, one message, or a
//! response.

use tertulia_session::json::{FieldError, Json, Object, RawValue, each, text};
use tertulia_session::{Fields, Image, Part, PartKind, Parts, Role, ToolCall};

use super::ROLE_FIELD;
use crate::reading::{is_list, is_text, own_part, part, read_first, unknown_role};
use crate::result_content::marked_result;
use crate::tool_specs::{keep_own, read_function};
use crate::{Dialect, Reading, arguments};

/// Reads a request `{messages, tools?}`, a list of messages, one message, or a response. Only the first of the
/// `choices` of a response is used.
pub(crate) fn read(raw: &RawValue) -> Result<Reading, FieldError> {
    let mut reading = Reading::default();
    let read_list = |raw, reading: &mut Reading| each(raw, |raw| read_message(raw, reading));
    if is_list(raw) {
        return read_list(raw, &mut reading).map(|()| reading);
    }
    let mut request = Object::try_from(raw)?;
    let choice = request.take_with("choices", |raw| {
        read_first(raw, "message", "a message", |raw| read_message(raw, &mut reading))
    })?;
    if choice.is_some() {
        return Ok(reading);
    }
    if request.take_with("messages", |raw| read_list(raw, &mut reading))?.is_none() {
        return read_message(raw, &mut reading).map(|()| reading);
    }
    let specs = request.take_with("tools", |raw| each(raw, read_tool))?;
    Ok(Reading { tool_specs: specs.unwrap_or_default(), ..reading })
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
            return Err(unknown_role(allowed, role));
        }
    };
    let mut parts = Parts::new();
    if role == Role::Assistant {
        // These fields are not part of OpenAI's API, but many APIs that copy it use them.
        for name in ["reasoning_content", "reasoning"] {
            let thought = message.take_some(name).and_then(|raw| text(raw).ok());
            parts.extend(thought.map(|text| Part::new(PartKind::Thinking(text))));
        }
    }
    parts.extend(message.take_with("content", read_content)?.unwrap_or_default());
    let calls = message.take_with("tool_calls", |raw| each::<_, Parts>(raw, read_call))?;
    parts.extend(calls.unwrap_or_default());
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
    if !is_text(raw) {
        return each(raw, read_part);
    }
    // An answer with only tool calls often has an empty text too.
    let text = Some(text(raw)?).filter(|text| !text.is_empty());
    Ok(text.map(Part::text).into_iter().collect())
}

fn read_part(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = object.need_text("type")?;
    match kind.as_str() {
        "text" => Ok(part(PartKind::Text(object.need_text("text")?), object.rest())),
        "image_url" => object.need_with("image_url", "an object", |raw| {
            let mut address = Object::try_from(raw)?;
            let image = Image::from_address(&address.need_text("url")?);
            Ok(part(PartKind::Image(Box::new(image)), address.rest()))
        }),
        _ => Ok(own_part(Dialect::OpenAiChat, &kind, Json::from(raw))),
    }
}

fn read_call(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let tool_call_id = object.need_text("id")?.into();
    // A call of a custom tool contains free text instead of the arguments of a function.
    let (field, input) = match object.take_text("type")?.as_deref() {
        Some("custom") => ("custom", "input"),
        _ => ("function", "arguments"),
    };
    let (tool_name, written) = object.need_with(field, "an object", |raw| {
        let mut function = Object::try_from(raw)?;
        let name = function.need_text("name")?.into();
        Ok((name, function.take_text(input)?.unwrap_or_default()))
    })?;
    let (arguments, raw_args_text) = arguments::of_text(&written);
    let call = ToolCall { tool_call_id, tool_name, arguments, raw_args_text };
    Ok(part(PartKind::ToolCall(Box::new(call)), object.rest()))
}

fn read_tool(raw: &RawValue) -> Result<Json, FieldError> {
    let mut tool = Object::try_from(raw)?;
    match tool.take_text("type")?.as_deref() {
        None | Some("function") => tool.need_with("function", "an object", |raw| {
            read_function(Object::try_from(raw)?, &["parameters"])
        }),
        Some(kind) => Ok(keep_own(raw, kind.to_owned(), Dialect::OpenAiChat)),
    }
}
