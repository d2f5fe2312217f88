//! Sessions to measure with: a conversation with tool calls, written for every agent. The writers of `dialect` write
//! six formats; the other three are written here.

use serde_json::json;
use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::{WriteMessage, WriteRequest, write};
use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, NewEntry, Part, PartKind, Role, Timestamp, ToolCall,
    ToolResult,
};

use crate::store::prose;

/// The messages of a turn: a request, a call, its result, and an answer.
const TURN: usize = 4;
/// 2026-01-31T12:00:00Z
const START: i64 = 1_769_860_800_000;

/// Returns a conversation of at least this many messages: 4 KB of output for 700 bytes of words.
pub(super) fn conversation(messages: usize) -> Vec<Message> {
    (0..messages.div_ceil(TURN)).flat_map(turn).collect()
}

/// Returns a conversation whose texts have at least this many bytes.
pub(super) fn conversation_of_bytes(bytes: usize) -> Vec<Message> {
    let in_turn: usize = turn(0).iter().map(|message| message.text().len()).sum();
    conversation(TURN * bytes.div_ceil(in_turn + OUTPUT_BYTES))
}

const OUTPUT_BYTES: usize = 4_000;

fn turn(number: usize) -> [Message; TURN] {
    let id = format!("call_{number:08}");
    let said = |role, parts: Vec<Part>| Message::with_role(role, parts.into_iter().collect());
    let path = format!("src/part_{}.rs", number % 40);
    let call = ToolCall {
        tool_call_id: id.as_str().into(),
        tool_name: "read_file".into(),
        arguments: Json::parse(&json!({ "path": path }).to_string())
            .unwrap_or_else(|_| Json::text("")),
        raw_args_text: None,
    };
    let content = Json::text(&prose(3 * number, OUTPUT_BYTES).replace("w1 ", "\n"));
    let result = ToolResult { tool_call_id: id.into(), is_error: false, content };
    [
        said(Role::User, vec![Part::text(prose(3 * number + 1, 200))]),
        said(Role::Assistant, vec![Part::new(PartKind::ToolCall(Box::new(call)))]),
        said(Role::Tool, vec![Part::new(PartKind::ToolResult(Box::new(result)))]),
        said(Role::Assistant, vec![Part::text(prose(3 * number + 2, 500))]),
    ]
}

/// Returns the messages as a log.
pub(super) fn log(messages: Vec<Message>) -> Vec<Entry> {
    let id = |number: usize| EntryId::from(format!("n{number}"));
    let entry = |(number, message): (usize, Message)| {
        let mut entry = NewEntry::new(EntryKind::Message(message)).at(time(number));
        entry.parent_id = number.checked_sub(1).map(id);
        entry.with_id(id(number))
    };
    messages.into_iter().enumerate().map(entry).collect()
}

fn time(number: usize) -> Timestamp {
    Timestamp::from_millis(START + 1_000 * i64::try_from(number).unwrap_or_default())
}

/// Returns the messages as a session of this agent.
pub(super) fn session(
    format: NativeFormat,
    session_id: &str,
    messages: &[Message],
) -> Result<String, String> {
    match format {
        NativeFormat::Goose => Ok(goose(messages)),
        NativeFormat::Cline => Ok(cline(messages)),
        NativeFormat::Aider => Ok(aider(messages)),
        _ => {
            let ids: Vec<EntryId> =
                (0..messages.len()).map(|number| format!("n{number}").into()).collect();
            let times: Vec<Timestamp> = (0..messages.len()).map(time).collect();
            let list: Vec<WriteMessage<'_>> = messages
                .iter()
                .zip(ids.iter().zip(&times))
                .map(|(message, (source, time))| WriteMessage {
                    source,
                    message,
                    timestamp: Some(time),
                })
                .collect();
            let request = WriteRequest {
                session_id,
                title: Some("A long session"),
                folder: "/src/app",
                model: None,
                messages: &list,
                now: time(messages.len()),
                continues: None,
            };
            write(format, &request).map(|written| written.text).map_err(|error| error.to_string())
        }
    }
}

fn goose(messages: &[Message]) -> String {
    let head = json!({"working_dir": "/src/app", "description": "A long session",
        "message_count": messages.len()});
    let mut text = format!("{head}\n");
    for (number, message) in messages.iter().enumerate() {
        let content: Vec<_> = message.parts.iter().map(goose_block).collect();
        let role = if message.role == Some(Role::Assistant) { "assistant" } else { "user" };
        let created = time(number).millis() / 1_000;
        text += &format!("{}\n", json!({"role": role, "created": created, "content": content}));
    }
    text
}

fn goose_block(part: &Part) -> serde_json::Value {
    match &part.kind {
        PartKind::ToolCall(call) => {
            let value = json!({"name": call.tool_name, "arguments": {"path": "src/part.rs"}});
            json!({"type": "toolRequest", "id": call.tool_call_id,
                "toolCall": {"status": "success", "value": value}})
        }
        PartKind::ToolResult(result) => {
            json!({"type": "toolResponse", "id": result.tool_call_id, "toolResult":
                {"status": "success", "value": [{"type": "text", "text": result.text()}]}})
        }
        _ => json!({"type": "text", "text": part.as_text().unwrap_or_default()}),
    }
}

fn cline(messages: &[Message]) -> String {
    let list = messages.iter().enumerate().map(|(number, message)| {
        let role = if message.role == Some(Role::Assistant) { "assistant" } else { "user" };
        let content: Vec<_> = message.parts.iter().map(cline_block).collect();
        json!({"role": role, "content": content, "ts": time(number).millis()})
    });
    serde_json::Value::from_iter(list).to_string()
}

fn cline_block(part: &Part) -> serde_json::Value {
    match &part.kind {
        PartKind::ToolCall(call) => json!({"type": "tool_use", "id": call.tool_call_id,
            "name": call.tool_name, "input": {"path": "src/part.rs"}}),
        PartKind::ToolResult(result) => json!({"type": "tool_result",
            "tool_use_id": result.tool_call_id, "content": result.text()}),
        _ => json!({"type": "text", "text": part.as_text().unwrap_or_default()}),
    }
}

fn aider(messages: &[Message]) -> String {
    let mut text = "\n# aider chat started at 2026-01-31 12:00:00\n\n".to_owned();
    for message in messages {
        for part in &message.parts {
            text += &match (&part.kind, message.role) {
                (PartKind::Text(said), Some(Role::User)) => format!("#### {said}\n\n"),
                (PartKind::Text(said), _) => format!("{said}\n\n"),
                (PartKind::ToolResult(result), _) => {
                    format!("{}\n\n", result.text().replace('\n', "  \n> "))
                }
                _ => String::new(),
            };
        }
    }
    text
}
