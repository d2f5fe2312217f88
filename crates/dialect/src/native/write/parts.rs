//! The kinds of parts in messages, and the outcomes of those that no agent's session can contain.

use tertulia_session::json::Kind;
use tertulia_session::{FileRef, Part, PartKind, ToolCall, ToolResult};

use super::outcome::PartOutcome;

pub(super) fn call_of(part: &Part) -> Option<&ToolCall> {
    match &part.kind {
        PartKind::ToolCall(call) => Some(call),
        _ => None,
    }
}

pub(super) fn result_of(part: &Part) -> Option<&ToolResult> {
    match &part.kind {
        PartKind::ToolResult(result) => Some(result),
        _ => None,
    }
}

pub(super) fn is_call(part: &Part, id: &str) -> bool {
    call_of(part).is_some_and(|call| *call.tool_call_id == *id)
}

pub(super) fn is_result(part: &Part, id: &str) -> bool {
    result_of(part).is_some_and(|result| *result.tool_call_id == *id)
}

pub(super) const BLANK: PartOutcome = PartOutcome::LeftOut { reason: "it is blank" };
pub(super) const AS_TEXT: PartOutcome = PartOutcome::Reshaped { reason: "a text names the file" };

pub(super) const AS_OBJECT: PartOutcome =
    PartOutcome::Reshaped { reason: "its arguments are not a JSON object and were wrapped in one" };

/// Returns whether the arguments of a call are an object or missing.
pub(super) fn has_object(call: &ToolCall) -> bool {
    match call.arguments.kind() {
        Kind::Object => true,
        Kind::Null => call.raw_args_text.is_none(),
        _ => false,
    }
}

pub(super) fn named_file(file: &FileRef) -> String {
    format!("[file: {}]", file.path)
}

pub(super) fn cannot_hold(kind: &PartKind) -> PartOutcome {
    let reason = match kind {
        PartKind::Thinking(_) => "only the model that wrote this thinking can use it",
        PartKind::Image(_) => "the agent takes no picture here",
        PartKind::Other(_) => "only the agent that wrote it supports this kind of part",
        PartKind::Text(_)
        | PartKind::ToolCall(_)
        | PartKind::ToolResult(_)
        | PartKind::FileRef(_) => return PartOutcome::Kept,
    };
    PartOutcome::LeftOut { reason }
}
