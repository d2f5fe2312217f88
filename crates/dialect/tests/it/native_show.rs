//! Formats entries of native sessions, one line for each, for the tests of the formats.

use std::fmt::Write as _;

use tertulia_dialect::native::{
    Layout, NativeFormat, NativeReader, ReadSession, Record, detect, layout,
};
use tertulia_session::{Entry, EntryKind, Message, Part, PartKind};

/// Reads a file in the same way as an import.
pub(crate) fn read(format: NativeFormat, bytes: &[u8]) -> (Vec<Entry>, ReadSession) {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    match layout(format, bytes) {
        Layout::Document => reader.read_document("", bytes, &mut entries),
        Layout::Lines => read_lines(&mut reader, "", bytes, &mut entries),
    }
    (entries, reader.finish())
}

/// Reads a file of lines.
pub(crate) fn read_lines(
    reader: &mut NativeReader,
    file: &str,
    bytes: &[u8],
    entries: &mut Vec<Entry>,
) {
    for (line, bytes) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let (bytes, end) = match bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, "\n"),
            None => (bytes, ""),
        };
        reader.read(Record { file, line, bytes, end }, entries);
    }
}

/// Checks that a file has this format and contains these entries.
#[track_caller]
pub(crate) fn check(format: NativeFormat, file: &str, expected: &str) -> ReadSession {
    assert_eq!(detect(file.as_bytes()), Some(format));
    let (entries, session) = read(format, file.as_bytes());
    assert_eq!(show(&entries).trim(), expected.trim());
    session
}

/// Returns one line for each entry: `id ← parent kind: content`.
pub(crate) fn show(entries: &[Entry]) -> String {
    let mut shown = String::new();
    for entry in entries {
        let parent = entry.parent_id.as_ref().map_or("-", |parent| parent.as_str());
        let _ = writeln!(shown, "{} ← {parent} {}", entry.id, kind(&entry.kind));
    }
    shown
}

fn kind(kind: &EntryKind) -> String {
    match kind {
        EntryKind::Message(message) => said(message),
        EntryKind::NativeRecord(record) => {
            format!("record {}", record.record_type.as_deref().unwrap_or("-"))
        }
        EntryKind::Usage(usage) => {
            let cost =
                usage.cost_usd.as_ref().map_or(String::new(), |usd| format!(" ${}", usd.amount()));
            format!(
                "usage of {}: {} in, {:?} cached, {} out{cost}",
                usage.model.as_deref().unwrap_or("-"),
                usage.input_tokens,
                usage.cached_tokens.unwrap_or_default(),
                usage.output_tokens
            )
        }
        EntryKind::ModelChange(change) => format!("model {}", change.model),
        EntryKind::ThinkingLevelChange(change) => format!("thinking level {}", change.level),
        EntryKind::CompactionSummary(summary) => {
            format!("summary {:?}, keeps {}", summary.summary, summary.first_kept_entry_id)
        }
        EntryKind::BranchSummary(summary) => format!(
            "summary of the branch at {}: {:?}",
            summary.source_entry_id,
            summary.summary.as_deref().unwrap_or_default()
        ),
        other => other.type_name().to_owned(),
    }
}

fn said(message: &Message) -> String {
    let role = message.role.map_or("?", |role| role.as_str());
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    format!("{role}: {}", parts.join(" | "))
}

fn part(part: &Part) -> String {
    let own = match part.unknown_payload().iter().map(|(name, _)| name).collect::<Vec<_>>() {
        names if names.is_empty() => String::new(),
        names => format!(" +{}", names.join("+")),
    };
    let shown = match &part.kind {
        PartKind::Text(text) => format!("{text:?}"),
        PartKind::Thinking(text) => format!("thinks {text:?}"),
        PartKind::ToolCall(call) => {
            let arguments = match &call.raw_args_text {
                Some(raw) => format!("{raw:?}"),
                None => call.arguments.as_str().to_owned(),
            };
            format!("calls {} {} {arguments}", call.tool_call_id, call.tool_name)
        }
        PartKind::ToolResult(result) => {
            let verb = if result.is_error { "fails" } else { "returns" };
            format!("{} {verb} {}", result.tool_call_id, result.content.as_str())
        }
        PartKind::Image(image) => format!("picture {}", image.mime_type),
        PartKind::FileRef(file) => format!("file {}", file.path),
        PartKind::Other(other) => format!("other {}", other.kind),
    };
    shown + &own
}
