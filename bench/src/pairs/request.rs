//! The request that an agent would send after it resumed a session, and what its vendor would refuse in it. Claude
//! Code, Codex and Gemini CLI keep messages in the form in which they send them; the others make them from a form of
//! their own.

use serde_json::{Value, json};
use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::{Dialect, ModelContext, NoteKind};
use tertulia_fake_models::{Vendor, violations as broken_rules};
use tertulia_session::Message;

/// Returns what a vendor would refuse. The text is that of the session, the messages are what was read from it.
pub(super) fn violations(
    format: NativeFormat,
    text: &str,
    messages: &[&Message],
) -> Result<Vec<String>, String> {
    let lines = || text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_default());
    Ok(match format {
        NativeFormat::Claude => {
            let messages = in_turns(lines().filter_map(claude), "content");
            broken_rules(Vendor::Anthropic, &json!({ "messages": messages }))
        }
        NativeFormat::Codex => {
            let items = lines().filter(|line| line["type"] == "response_item");
            let mut input: Vec<Value> = items.map(|mut line| line["payload"].take()).collect();
            input.push(json!({"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": NEXT}]}));
            broken_rules(Vendor::Responses, &json!({ "input": input }))
        }
        NativeFormat::Gemini => {
            // It puts a text of its own before those of the session.
            let context = ("user".to_owned(), vec![json!({"text": "This is the Gemini CLI."})]);
            let said = lines().filter_map(|line| gemini(&line));
            let contents = in_turns(std::iter::once(context).chain(said), "parts");
            broken_rules(Vendor::Gemini, &json!({ "contents": contents }))
        }
        NativeFormat::Pi => rendered(Dialect::Anthropic, Vendor::Anthropic, messages)?,
        _ => rendered(Dialect::OpenAiResponses, Vendor::Responses, messages)?,
    })
}

/// What the user writes next.
const NEXT: &str = "Go on.";

/// Returns a message of Claude Code's file.
fn claude(mut line: Value) -> Option<(String, Vec<Value>)> {
    let message = line["message"].take();
    let role = message["role"].as_str()?.to_owned();
    Some((role, pieces(&message["content"])))
}

/// Returns a message of Gemini CLI's file.
fn gemini(line: &Value) -> Option<(String, Vec<Value>)> {
    let role = match line["type"].as_str()? {
        "user" => "user",
        "gemini" => "model",
        _ => return None,
    };
    Some((role.to_owned(), pieces(&line["content"])))
}

/// Returns the pieces of a content, which may be one text.
fn pieces(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(pieces) => pieces.clone(),
        _ => Vec::new(),
    }
}

/// Joins messages of one role, and adds what the user writes next.
fn in_turns(messages: impl Iterator<Item = (String, Vec<Value>)>, field: &str) -> Vec<Value> {
    let mut turns: Vec<(String, Vec<Value>)> = Vec::new();
    let next = json!({"type": "text", "text": NEXT});
    for (role, pieces) in messages.chain([("user".to_owned(), vec![next])]) {
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(pieces),
            _ => turns.push((role, pieces)),
        }
    }
    turns.into_iter().map(|(role, pieces)| json!({"role": role, field: pieces})).collect()
}

/// Renders the messages for a vendor; they must need no repair.
fn rendered(
    dialect: Dialect,
    vendor: Vendor,
    messages: &[&Message],
) -> Result<Vec<String>, String> {
    let rendering = dialect.render(&ModelContext::new(messages.iter().copied()));
    if let Some(note) = rendering.notes.iter().find(|note| is_repair(&note.kind)) {
        return Ok(vec![format!("message {:?}: {}", note.message, note.kind)]);
    }
    let request = serde_json::from_str(&rendering.fragment.to_json());
    Ok(broken_rules(vendor, &request.map_err(|error| error.to_string())?))
}

/// Whether calls and results had to be repaired.
fn is_repair(kind: &NoteKind) -> bool {
    matches!(
        kind,
        NoteKind::ResultWithoutCall { .. }
            | NoteKind::CallClosed { .. }
            | NoteKind::ResultMoved { .. }
            | NoteKind::IdRewritten { .. }
            | NoteKind::ToolRenamed { .. }
            | NoteKind::ArgumentsWrapped { .. }
    )
}
