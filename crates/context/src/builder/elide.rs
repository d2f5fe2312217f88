//! Stubs: short texts that replace elided tool outputs. A stub is the same in every build. It names the entry of the
//! output, so that an agent can ask for it, and any newer entry that supersedes it.

use std::fmt::Write;

use tertulia_session::json::{self, Json, Kind};
use tertulia_session::{EntryId, Message, Part, PartKind, Role, ToolResult};

pub(super) fn has_outputs(message: &Message) -> bool {
    message.effective_role() == Role::Tool
        && message.parts.iter().any(|part| matches!(part.kind, PartKind::ToolResult(_)))
}

/// Returns the message with stubs in place of its outputs. `newer` returns the entry that superseded the result of a
/// call.
pub(super) fn elided<'i>(
    message: &Message,
    entry: &EntryId,
    newer: impl Fn(&str) -> Option<&'i EntryId>,
) -> Message {
    let parts = message.parts.iter().map(|part| match &part.kind {
        PartKind::ToolResult(result) => stubbed(result, entry, newer(&result.tool_call_id)),
        _ => part.clone(),
    });
    Message {
        role: message.role,
        parts: parts.collect(),
        speaker: message.speaker.clone(),
        routing: message.routing.clone(),
        run_id: message.run_id.clone(),
        timestamp: message.timestamp.clone(),
        meta: message.meta.clone(),
        unknown: message.unknown.clone(),
    }
}

fn stubbed(result: &ToolResult, entry: &EntryId, newer: Option<&EntryId>) -> Part {
    let content = Json::text(&stub(result, entry, newer));
    let tool_call_id = result.tool_call_id.clone();
    let is_error = result.is_error;
    Part::new(PartKind::ToolResult(Box::new(ToolResult { tool_call_id, is_error, content })))
}

/// The number of characters of the output's first line in a stub.
const FIRST_LINE_CHARS: usize = 100;

fn stub(result: &ToolResult, entry: &EntryId, newer: Option<&EntryId>) -> String {
    let raw = result.content.as_str();
    let text = match (result.content.kind(), json::parse(raw)) {
        (Kind::String, Ok(value)) => json::text(value).ok(),
        _ => None,
    };
    let text = text.as_deref().unwrap_or(raw);
    let lines = text.lines().count();
    let mut stub = format!("[elided: {} bytes, {lines} lines, entry {entry}", text.len());
    if let Some(newer) = newer {
        // Writing into a String cannot fail.
        let _ = write!(stub, ", newer {newer}");
    }
    stub.push(']');
    if let Some(first) = text.lines().map(str::trim).find(|line| !line.is_empty()) {
        let start: String = first.chars().take(FIRST_LINE_CHARS).collect();
        let more = if start.len() < first.len() { "…" } else { "" };
        let _ = write!(stub, " {start}{more}");
    }
    stub
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stub_of(content: &str) -> String {
        let content = Json::parse(content).unwrap();
        let result = ToolResult { tool_call_id: "1".into(), is_error: false, content };
        stub(&result, &EntryId::from("e-7"), None)
    }

    #[test]
    fn a_stub_names_the_newer_entry() {
        let result =
            ToolResult { tool_call_id: "1".into(), is_error: false, content: Json::text("ok") };
        let [entry, newer] = ["e-7", "e-9"].map(EntryId::from);
        let expected = "[elided: 2 bytes, 1 lines, entry e-7, newer e-9] ok";
        assert_eq!(stub(&result, &entry, Some(&newer)), expected);
    }

    #[test]
    fn a_stub_names_its_entry_the_size_and_the_first_line() {
        let long = format!("\"\\n  package main {}\\nfunc\"", "x".repeat(200));
        let start = format!("package main {}", "x".repeat(87));
        let expected = format!("[elided: 221 bytes, 3 lines, entry e-7] {start}…");
        assert_eq!(stub_of(&long), expected);
        assert_eq!(stub_of("\"\""), "[elided: 0 bytes, 0 lines, entry e-7]");
        let blocks = r#"[{"type":"text","text":"hi"}]"#;
        let expected = format!("[elided: 29 bytes, 1 lines, entry e-7] {blocks}");
        assert_eq!(stub_of(blocks), expected);
    }

    #[test]
    fn only_outputs_become_stubs() {
        let content = Json::text("a long output");
        let result = ToolResult { tool_call_id: "1".into(), is_error: true, content };
        let part = Part::new(PartKind::ToolResult(Box::new(result)));
        let mut message = Message::with_role(Role::Tool, std::iter::once(part).collect());
        message.run_id = Some("run".into());
        let stubbed = elided(&message, &EntryId::from("e-1"), |_| None);
        assert_eq!(stubbed.run_id, message.run_id);
        let PartKind::ToolResult(result) = &stubbed.parts[0].kind else { panic!("no result") };
        assert!(result.is_error && result.content.as_str().contains("entry e-1"));
        assert!(
            has_outputs(&message) && !has_outputs(&Message::with_role(Role::User, message.parts))
        );
    }
}
