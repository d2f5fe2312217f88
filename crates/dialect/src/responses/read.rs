//! Reads Responses JSON as messages: a request, a bare list of items, or a response with its
//! output.

use tertulia_session::json::{FieldError, Json, Object, RawValue, each, elements, text};
use tertulia_session::{Fields, Image, Part, PartKind, Parts, Role, ToolCall};

use super::ENCRYPTED;
use crate::chat::ROLE_FIELD;
use crate::reading::{is_list, is_text, own_part, part, unknown_role};
use crate::result_content::marked_result;
use crate::tool_specs::{keep_own, read_function};
use crate::{Dialect, Reading, arguments};

/// Reads a request `{instructions?, input, tools?}`, a list of items, or a response with `output`.
/// Consecutive items of an answer (messages, reasoning, calls) form one message.
pub(crate) fn read(raw: &RawValue) -> Result<Reading, FieldError> {
    let mut reader = Reader::default();
    if is_list(raw) {
        reader.input(raw)?;
        return Ok(reader.finish());
    }
    let mut request = Object::try_from(raw)?;
    if request.take_with("output", |raw| reader.items(raw))?.is_some() {
        return Ok(reader.finish());
    }
    if let Some(text) = request.take_text("instructions")? {
        reader.reading.push(Role::System, Parts::from([Part::text(text)]), Fields::NONE);
    }
    request.need_with("input", "a string or a list of items", |raw| reader.input(raw))?;
    let specs = request.take_with("tools", |raw| each(raw, read_tool))?;
    Ok(Reading { tool_specs: specs.unwrap_or_default(), ..reader.finish() })
}

#[derive(Default)]
struct Reader {
    reading: Reading,
    answer: Parts,
}

impl Reader {
    fn finish(mut self) -> Reading {
        self.end_answer();
        self.reading
    }

    fn end_answer(&mut self) {
        if !self.answer.is_empty() {
            let parts = std::mem::take(&mut self.answer);
            self.reading.push(Role::Assistant, parts, Fields::NONE);
        }
    }

    fn input(&mut self, raw: &RawValue) -> Result<(), FieldError> {
        if is_text(raw) {
            return self.reading.push_text(Role::User, raw);
        }
        self.items(raw)
    }

    fn items(&mut self, raw: &RawValue) -> Result<(), FieldError> {
        each(raw, |raw| self.item(raw))
    }

    fn item(&mut self, raw: &RawValue) -> Result<(), FieldError> {
        let mut item = Object::try_from(raw)?;
        let kind = item.take_text("type")?;
        match kind.as_deref() {
            None | Some("message") => self.message(item)?,
            Some("function_call") => self.answer.push(read_call(item)?),
            Some("function_call_output") => {
                self.end_answer();
                let id = item.need_text("call_id")?.into();
                let output = Json::from(item.need("output", "a string or a list")?);
                self.reading.push_result(marked_result(id, output), item.rest());
            }
            Some("reasoning") => self.answer.push(read_reasoning(raw, item)?),
            Some(kind) if kind.ends_with("_output") => {
                self.end_answer();
                let part = own_part(Dialect::OpenAiResponses, kind, Json::from(raw));
                self.reading.push(Role::User, Parts::from([part]), Fields::NONE);
            }
            Some(kind) => {
                self.answer.push(own_part(Dialect::OpenAiResponses, kind, Json::from(raw)));
            }
        }
        Ok(())
    }

    fn message(&mut self, mut item: Object<'_>) -> Result<(), FieldError> {
        let role = item.need_text("role")?;
        let parts: Parts = item.need_with("content", "a string or a list", |raw| {
            if is_text(raw) {
                return Ok(Parts::from([Part::text(text(raw)?)]));
            }
            each(raw, read_part)
        })?;
        let mut unknown = Fields::NONE;
        let role = match role.as_str() {
            "assistant" => {
                self.answer.extend(parts);
                return Ok(());
            }
            "user" => Role::User,
            "system" => Role::System,
            "developer" => {
                unknown.push(ROLE_FIELD, Json::text(&role));
                Role::System
            }
            _ => {
                let allowed = "\"user\", \"assistant\", \"system\" or \"developer\"";
                return Err(unknown_role(allowed, role));
            }
        };
        self.end_answer();
        unknown.extend(item.rest());
        self.reading.push(role, parts, unknown);
        Ok(())
    }
}

fn read_part(raw: &RawValue) -> Result<Part, FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = object.need_text("type")?;
    let image = match kind.as_str() {
        "input_text" | "output_text" | "text" => {
            return Ok(part(PartKind::Text(object.need_text("text")?), object.rest()));
        }
        "input_image" => object.take_text("image_url")?,
        _ => None,
    };
    Ok(match image {
        Some(url) => part(PartKind::Image(Box::new(Image::from_address(&url))), object.rest()),
        None => own_part(Dialect::OpenAiResponses, &kind, Json::from(raw)),
    })
}

fn read_call(mut item: Object<'_>) -> Result<Part, FieldError> {
    let tool_call_id = item.need_text("call_id")?.into();
    let tool_name = item.need_text("name")?.into();
    let (arguments, raw_args_text) = arguments::of_text(&item.need_text("arguments")?);
    let call = ToolCall { tool_call_id, tool_name, arguments, raw_args_text };
    Ok(part(PartKind::ToolCall(Box::new(call)), item.rest()))
}

/// Reads reasoning. It becomes thinking if it has encrypted content and at most one summary. Other reasoning is kept
/// unchanged.
fn read_reasoning(raw: &RawValue, mut item: Object<'_>) -> Result<Part, FieldError> {
    let encrypted = item.take_text("encrypted_content")?;
    let summaries = item.take_with("summary", elements)?.unwrap_or_default();
    let words = match summaries.as_slice() {
        [] => Some(String::new()),
        [summary] => Object::try_from(*summary)?.take_text("text")?,
        _ => None,
    };
    let (Some(encrypted), Some(words)) = (encrypted, words) else {
        return Ok(own_part(Dialect::OpenAiResponses, "reasoning", Json::from(raw)));
    };
    let mut payload = Fields::NONE;
    payload.push(ENCRYPTED, Json::text(&encrypted));
    payload.extend(item.rest());
    Ok(part(PartKind::Thinking(words), payload))
}

fn read_tool(raw: &RawValue) -> Result<Json, FieldError> {
    let mut tool = Object::try_from(raw)?;
    match tool.take_text("type")?.as_deref() {
        None | Some("function") => read_function(tool, &["parameters"]),
        Some(kind) => Ok(keep_own(raw, kind.to_owned(), Dialect::OpenAiResponses)),
    }
}
