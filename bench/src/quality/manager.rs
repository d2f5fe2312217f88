//! The interface between managers and the evaluation. A manager, such as a baseline or the builder, decides which
//! pieces are sent at each step; the evaluation sees only pieces.

use std::error::Error;
use std::rc::Rc;

use serde_json::Value;
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_session::json::{Json, Kind};
use tertulia_session::{Entry, EntryKind, Message, PartKind, ToolCall};

/// Decides which messages are sent at each step.
pub(crate) trait Manager {
    /// Returns its name in the report.
    fn name(&self) -> String;

    /// Adds these entries to the log, and returns the request for the next model call.
    fn step(&mut self, new: &[Entry]) -> Result<Sent, Box<dyn Error>>;

    /// Returns the request if the answer had begun like this, without changing the log. `None` if the manager does
    /// not support this.
    fn peek(&mut self, _begun: &Message) -> Result<Option<Sent>, Box<dyn Error>> {
        Ok(None)
    }
}

/// The request of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// The pieces in order; volatile ones last.
    pub(crate) pieces: Vec<Piece>,
    /// Whether the manager cut or compacted in this step, and so changed the cached prefix.
    pub(crate) cut: bool,
    /// Whether not even the newest messages fit.
    pub(crate) overflow: bool,
}

/// One message as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The text that the evaluation searches: see [`Piece::of`].
    pub(crate) text: Rc<str>,
    pub(crate) tokens: u64,
    /// Whether it is never cached.
    pub(crate) volatile: bool,
}

impl Piece {
    /// Creates a piece from a message that may be cached.
    pub(crate) fn of(message: &Message) -> Self {
        let tokens = counter().count_message(message).count.tokens;
        Self { text: render(message).into(), tokens, volatile: false }
    }
}

/// Returns the counter for all managers: a token is four bytes.
pub(crate) fn counter() -> MessageCounter {
    MessageCounter::new(Tokenizer::Bytes)
}

/// Returns the messages among these entries.
pub(crate) fn messages(entries: &[Entry]) -> impl Iterator<Item = &Message> {
    entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Message(message) => Some(message),
        _ => None,
    })
}

/// Returns the role and the text of a message. For a call, this is the values of its arguments, for a result its
/// text, both without JSON escapes, so that quotes are found.
pub(crate) fn render(message: &Message) -> String {
    let mut text = message.effective_role().as_str().to_owned();
    for part in &message.parts {
        text.push('\n');
        match &part.kind {
            PartKind::Text(words) | PartKind::Thinking(words) => text.push_str(words),
            PartKind::ToolCall(call) => {
                text.push_str(&call.tool_name);
                push_arguments(&mut text, call);
            }
            PartKind::ToolResult(result) => push_values(&mut text, &result.content),
            PartKind::Image(_) => text.push_str("image"),
            PartKind::FileRef(file) => text.push_str(&file.path),
            PartKind::Other(other) => text.push_str(&other.kind),
        }
    }
    text
}

/// Returns the texts of an answer and the arguments of its calls.
pub(crate) fn said(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.parts {
        text.push('\n');
        match &part.kind {
            PartKind::Text(words) => text.push_str(words),
            PartKind::ToolCall(call) => push_arguments(&mut text, call),
            _ => {}
        }
    }
    text
}

fn push_arguments(text: &mut String, call: &ToolCall) {
    match &call.raw_args_text {
        Some(raw) => {
            text.push('\n');
            text.push_str(raw);
        }
        None => push_values(text, &call.arguments),
    }
}

/// Adds the values of a JSON text, one per line. Values that are nested too deeply stay JSON.
fn push_values(text: &mut String, json: &Json) {
    if json.kind() == Kind::String {
        // The syntax was checked when the value was read.
        let words: String = serde_json::from_str(json.as_str()).unwrap_or_default();
        text.push('\n');
        text.push_str(&words);
        return;
    }
    match serde_json::from_str::<Value>(json.as_str()) {
        Ok(value) => push_leaves(text, &value),
        Err(_) => text.push_str(json.as_str()),
    }
}

/// Adds the leaves of a value. The recursion is limited, because serde_json reads at most 128 levels.
fn push_leaves(text: &mut String, value: &Value) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| push_leaves(text, value)),
        Value::Object(fields) => fields.values().for_each(|value| push_leaves(text, value)),
        Value::String(words) => {
            text.push('\n');
            text.push_str(words);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            text.push('\n');
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tertulia_session::{Part, Parts, Role, ToolResult};

    fn call() -> Message {
        let json = r#"{"old_string":"a\tb\n\"c\"","limit":280}"#;
        let call = PartKind::ToolCall(Box::new(ToolCall {
            tool_call_id: "c1".into(),
            tool_name: "Edit".into(),
            arguments: Json::parse(json).unwrap(),
            raw_args_text: None,
        }));
        let parts = Parts::from_iter([
            Part::new(PartKind::Thinking("Hm".into())),
            Part::text("I edit"),
            Part::new(call),
        ]);
        Message::with_role(Role::Assistant, parts)
    }

    #[test]
    fn a_call_is_shown_by_the_values_of_its_arguments() {
        assert_eq!(render(&call()), "assistant\nHm\nI edit\nEdit\n280\na\tb\n\"c\"");
    }

    #[test]
    fn what_an_agent_says_is_not_what_it_thinks() {
        assert_eq!(said(&call()), "\n\nI edit\n\n280\na\tb\n\"c\"");
    }

    #[test]
    fn a_result_is_shown_without_its_escapes() {
        let result = PartKind::ToolResult(Box::new(ToolResult {
            tool_call_id: "c1".into(),
            is_error: false,
            content: Json::text("one\ntwo"),
        }));
        let message = Message::with_role(Role::Tool, Parts::from_iter([Part::new(result)]));
        assert_eq!(render(&message), "tool\n\none\ntwo");
    }

    #[test]
    fn a_piece_costs_what_its_message_does() {
        let message = Message::with_role(Role::User, Parts::from_iter([Part::text("12345678")]));
        // Two for the text, three for the wrapper.
        assert_eq!(Piece::of(&message).tokens, 5);
    }
}
