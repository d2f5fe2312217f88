//! The log of the model: messages, reasoning, tool calls and their results.

use std::sync::Arc;

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{
    EntryKind, Fields, Message, Part, PartKind, Role, Speaker, SpeakerType, ToolCall, ToolResult,
};

use super::log::Shown;
use super::{Item, Parent, Reader, content, non_message, take_words};
use crate::arguments;
use crate::native::ProblemKind;
use crate::responses::ENCRYPTED;

impl Reader {
    /// Reads a record of the model's log. `is_failure` means that the record is marked as the result of a failed
    /// tool.
    pub(super) fn response_item(&mut self, mut item: Object<'_>, is_failure: bool) -> Item {
        let kind = take_words(&mut item, "type");
        // The first versions omitted the type of a message.
        let kind = kind.unwrap_or_else(|| "message".into());
        let read = match &*kind {
            "message" => return self.message(item),
            "agent_message" => return self.agent_message(item),
            "reasoning" => Ok(reasoning(item)),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                call(&kind, item).map(|call| vec![call])
            }
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                return self.result(&kind, item, is_failure);
            }
            "web_search_call" | "image_generation_call" => hosted_call(&kind, item),
            "additional_tools" | "ghost_snapshot" | "compaction" | "compaction_summary"
            | "compaction_trigger" | "context_compaction" | "other" => Ok(Vec::new()),
            _ => Err(ProblemKind::UnknownType { name: format!("response_item/{kind}").into() }),
        };
        match read {
            Ok(parts) if parts.is_empty() => record(&kind),
            Ok(parts) => {
                self.has_items = true;
                let message = self.speakers.message(Role::Assistant, parts);
                Item::new(EntryKind::Message(message))
            }
            Err(problem) => record(&kind).with_problem(problem),
        }
    }

    fn message(&mut self, mut item: Object<'_>) -> Item {
        let role = take_words(&mut item, "role").unwrap_or_default();
        let role = match &*role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "developer" | "system" => return record(&format!("message/{role}")),
            _ => return with_field_problem("message", "payload.role"),
        };
        let Some(parts) = item.take("content").and_then(content::read) else {
            return with_field_problem("message", "payload.content");
        };
        let parts = match role {
            Role::User => content::keep_said(parts, &kinds(&mut item)),
            _ => parts,
        };
        let is_empty = |part: &Part| part.as_text().is_some_and(str::is_empty);
        let parts: Vec<Part> = parts.into_iter().filter(|part| !is_empty(part)).collect();
        if parts.is_empty() {
            return record("message");
        }
        self.has_items = true;
        let message = self.speakers.message(role, parts);
        match self.log.shown(&message) {
            Shown::No => Item::new(EntryKind::Message(message)),
            Shown::Same => record("message"),
            // The message replaces the one that the screen showed.
            Shown::Less => Item { parent: Parent::Root, ..Item::new(EntryKind::Message(message)) },
        }
    }

    /// Reads a message of another agent of the same session to this one.
    fn agent_message(&mut self, mut item: Object<'_>) -> Item {
        let author = take_words(&mut item, "author").unwrap_or_default();
        let Some(parts) = item.take("content").and_then(content::read) else {
            return with_field_problem("agent_message", "payload.content");
        };
        self.has_items = true;
        let mut message = Message::with_role(Role::User, parts.into_iter().collect());
        let speaker = Speaker::new(&*author, &*author, SpeakerType::Ai);
        message.speaker = (!author.is_empty()).then(|| Arc::new(speaker));
        Item::new(EntryKind::Message(message))
    }

    fn result(&mut self, kind: &str, mut item: Object<'_>, is_failure: bool) -> Item {
        let Some(id) = take_words(&mut item, "call_id") else {
            return with_field_problem(kind, "payload.call_id");
        };
        let name = if kind == "tool_search_output" { "tools" } else { "output" };
        let Some(output) = item.take(name) else {
            return with_field_problem(kind, "payload.output");
        };
        let (content, is_error) = result_content(output);
        self.has_items = true;
        let is_error = is_error || is_failure;
        let result = ToolResult { tool_call_id: (&*id).into(), is_error, content };
        let part = Part::new(PartKind::ToolResult(Box::new(result)));
        Item::new(EntryKind::Message(self.speakers.message(Role::Tool, [part])))
    }
}

/// Creates an item for a record of the model's log that is no message.
fn record(kind: &str) -> Item {
    non_message(Some(&format!("response_item/{kind}")))
}

fn with_field_problem(kind: &str, field: &'static str) -> Item {
    record(kind).with_problem(ProblemKind::Field { field })
}

/// Returns the origin of every block of a message, as newer versions record it.
fn kinds<'a>(item: &mut Object<'a>) -> Vec<&'a RawValue> {
    let metadata = item.take_some("internal_chat_message_metadata_passthrough");
    let metadata = metadata.and_then(|raw| Object::try_from(raw).ok());
    let kinds = metadata.and_then(|mut metadata| metadata.take_some("content_item_kinds"));
    kinds.and_then(|raw| json::elements(raw).ok()).unwrap_or_default()
}

/// Reads reasoning: the summary, or else the full text. Keeps the encrypted form with it.
fn reasoning(mut item: Object<'_>) -> Vec<Part> {
    let summary = item.take_some("summary").map(thoughts).unwrap_or_default();
    let thought = match summary.is_empty() {
        true => item.take_some("content").map(thoughts).unwrap_or_default(),
        false => summary,
    };
    let encrypted = item.take_some("encrypted_content").filter(|raw| is_text(raw));
    if thought.is_empty() && encrypted.is_none() {
        return Vec::new();
    }
    let mut payload = Fields::NONE;
    if let Some(encrypted) = encrypted {
        payload.push(ENCRYPTED, Json::from(encrypted));
    }
    let part = Part::new(PartKind::Thinking(thought)).with_unknown(Fields::NONE, payload);
    vec![part]
}

/// Joins the texts of a list of `{type, text}`.
fn thoughts(raw: &RawValue) -> String {
    let mut joined = String::new();
    for block in json::elements(raw).unwrap_or_default() {
        let Ok(mut block) = Object::try_from(block) else { continue };
        let Some(text) = take_words(&mut block, "text") else { continue };
        if !joined.is_empty() {
            joined.push_str("\n\n");
        }
        joined.push_str(&text);
    }
    joined
}

fn call(kind: &str, mut item: Object<'_>) -> Result<Part, ProblemKind> {
    let id = take_words(&mut item, "call_id").or_else(|| take_words(&mut item, "id"));
    let id = id.ok_or(ProblemKind::Field { field: "payload.call_id" })?;
    let name = match kind {
        "local_shell_call" => Some("local_shell".into()),
        "tool_search_call" => Some("tool_search".into()),
        _ => take_words(&mut item, "name"),
    };
    let name = name.ok_or(ProblemKind::Field { field: "payload.name" })?;
    let arguments = match kind {
        "local_shell_call" => item.take("action"),
        "custom_tool_call" => item.take("input"),
        _ => item.take("arguments"),
    };
    let (arguments, raw_args_text) = match arguments {
        Some(raw) if kind == "custom_tool_call" => (input(raw), None),
        Some(raw) if is_text(raw) => arguments::of_text(&json::words(raw)),
        Some(raw) => (Json::from(raw), None),
        None => arguments::of_text(""),
    };
    let mut payload = Fields::NONE;
    if let Some(namespace) = item.take_some("namespace") {
        payload.push("namespace", Json::from(namespace));
    }
    let call =
        ToolCall { tool_call_id: id.into(), tool_name: name.into(), arguments, raw_args_text };
    let part = Part::new(PartKind::ToolCall(Box::new(call)));
    Ok(part.with_unknown(Fields::NONE, payload))
}

/// Returns the input of a tool that accepts any text: the object in the text, or `{input}`.
fn input(raw: &RawValue) -> Json {
    if !is_text(raw) {
        return Json::from(raw);
    }
    let (json, rest) = arguments::of_text(&json::words(raw));
    if json.kind() == Kind::Object && rest.is_none() {
        return json;
    }
    object([("input", raw)])
}

/// Reads a call that the vendor executes itself, so that no other record contains its result.
fn hosted_call(kind: &str, mut item: Object<'_>) -> Result<Vec<Part>, ProblemKind> {
    let id = take_words(&mut item, "id").or_else(|| take_words(&mut item, "call_id"));
    let Some(id) = id else { return Err(ProblemKind::Field { field: "payload.id" }) };
    let status = item.take_some("status");
    let (arguments, content) = match kind {
        "web_search_call" => (item.take_some("action").map(Json::from), None),
        _ => {
            let prompt = item.take_some("revised_prompt");
            let picture = item.take_some("result").filter(|raw| is_text(raw)).map(picture);
            (prompt.map(|prompt| object([("prompt", prompt)])), picture)
        }
    };
    let call = ToolCall {
        tool_call_id: (&*id).into(),
        tool_name: kind.trim_end_matches("_call").into(),
        arguments: arguments.unwrap_or_else(|| object([])),
        raw_args_text: None,
    };
    let content = content.or_else(|| status.map(Json::from));
    let content = content.unwrap_or_else(|| Json::text(""));
    let result = ToolResult { tool_call_id: id.into(), is_error: false, content };
    let parts = [PartKind::ToolCall(Box::new(call)), PartKind::ToolResult(Box::new(result))];
    Ok(parts.map(Part::new).into())
}

/// Returns a generated picture as the content of a result.
fn picture(data: &RawValue) -> Json {
    let data = json::words(data);
    let url = Json::text(&format!("data:image/png;base64,{data}"));
    let block = object([("type", Json::text("input_image").raw()), ("image_url", url.raw())]);
    list(block.as_str())
}

/// Returns the content of a result, and whether the tool failed. The output is a text, a list of blocks, one block,
/// or `{content, success}`.
fn result_content(output: &RawValue) -> (Json, bool) {
    if Kind::from(output) != Kind::Object {
        return (Json::from(output), false);
    }
    let Ok(mut fields) = Object::try_from(output) else { return (Json::from(output), false) };
    let is_error = fields.take("success").is_some_and(|raw| raw.get() == "false");
    let content = fields.take_some("content").or_else(|| fields.take_some("content_items"));
    let is_block = fields.take("type").is_some();
    match content {
        Some(content) => (Json::from(content), is_error),
        None if is_block => (list(output.get()), is_error),
        None => (Json::from(output), is_error),
    }
}

fn is_text(raw: &RawValue) -> bool {
    Kind::from(raw) == Kind::String
}

/// Returns a list with this JSON as its only element.
fn list(json: &str) -> Json {
    // The element is valid JSON, so the fallback is never needed.
    Json::parse(&format!("[{json}]")).unwrap_or_else(|_| Json::text(json))
}

/// Returns an object with these fields.
fn object<const N: usize>(fields: [(&str, &RawValue); N]) -> Json {
    let fields: Vec<String> =
        fields.iter().map(|(name, raw)| format!("\"{name}\":{}", raw.get())).collect();
    // The values are valid JSON, so the fallback is never needed.
    Json::parse(&format!("{{{}}}", fields.join(","))).unwrap_or_else(|_| Json::text(""))
}
