//! Formats the entries of a native session as readable lines, and checks the rules that apply to every format.

use std::collections::HashSet;
use std::fmt::Write as _;

use proptest::sample::Index;
use tertulia_dialect::native::{NativeFormat, NativeReader, ReadSession, Record, original_bytes};
use tertulia_session::{Entry, EntryKind, Message, Part, PartKind};

/// Returns a line for every entry: id ← parent kind: content.
pub(crate) fn show(entries: &[Entry]) -> String {
    let mut shown = String::from("\n");
    for entry in entries {
        let parent = entry.parent_id.as_ref().map_or("-", |id| id.as_str());
        let content = show_kind(&entry.kind);
        writeln!(shown, "{} ← {parent} {}{content}", entry.id, entry.kind.type_name()).unwrap();
    }
    shown
}

fn show_kind(kind: &EntryKind) -> String {
    match kind {
        EntryKind::Message(message) => show_message(message),
        EntryKind::NativeRecord(record) => {
            format!(" {}", record.record_type.as_deref().unwrap_or("?"))
        }
        EntryKind::ModelChange(change) => format!(" {}", change.model),
        EntryKind::Usage(usage) => {
            let cost = usage.cost_usd.as_ref().map_or(0.0, |cost| cost.amount());
            let cached = usage.cached_tokens.unwrap_or_default();
            let model = usage.model.as_deref().unwrap_or("?");
            format!(" {model} {}({cached})+{} ${cost}", usage.input_tokens, usage.output_tokens)
        }
        EntryKind::CompactionSummary(summary) => {
            format!(" from {}: {}", summary.first_kept_entry_id, summary.summary)
        }
        _ => String::new(),
    }
}

fn show_message(message: &Message) -> String {
    let role = message.role.map_or("?", |role| role.as_str());
    let speaker = message.speaker.as_deref().map_or("nobody", |speaker| &speaker.role_id);
    let parts: Vec<String> = message.parts.iter().map(show_part).collect();
    format!(" {role} ({speaker}): {}", parts.join(" | "))
}

fn show_part(part: &Part) -> String {
    let more: Vec<&str> = part.unknown_payload().iter().map(|(name, _)| name).collect();
    let more = if more.is_empty() { String::new() } else { format!(" +{}", more.join("+")) };
    match &part.kind {
        PartKind::Text(text) => format!("{text:?}{more}"),
        PartKind::Thinking(text) => format!("thinking {text:?}{more}"),
        PartKind::ToolCall(call) => {
            let raw =
                call.raw_args_text.as_deref().map_or(String::new(), |raw| format!(" {raw:?}"));
            format!(
                "call {} {} {}{raw}",
                call.tool_call_id,
                call.tool_name,
                call.arguments.as_str()
            )
        }
        PartKind::ToolResult(result) => {
            let error = if result.is_error { " error" } else { "" };
            format!("result {}{error} {}", result.tool_call_id, result.content.as_str())
        }
        PartKind::Image(image) => format!("image {}", image.mime_type),
        PartKind::FileRef(file) => format!("file {}", file.path),
        PartKind::Other(other) => format!("other {}", other.kind),
    }
}

/// Reads lines as the records of one file.
pub(crate) fn read_lines(format: NativeFormat, text: &str) -> (Vec<Entry>, ReadSession) {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    for (line, whole) in (1..).zip(text.split_inclusive('\n')) {
        let (bytes, end) = match whole.strip_suffix('\n') {
            Some(bytes) => (bytes, "\n"),
            None => (whole, ""),
        };
        let record = Record { file: "", line, bytes: bytes.as_bytes(), end };
        reader.read(record, &mut entries);
    }
    (entries, reader.finish())
}

/// Checks the rules for the entries of any file, even a damaged one.
pub(crate) fn check_rules(format: NativeFormat, text: &str) {
    let (entries, _) = read_lines(format, text);
    check_entries(&entries);
    let kept = original_bytes(&entries, "").unwrap();
    let is_cut = kept.len() < text.len();
    assert!(text.as_bytes().starts_with(&kept));
    assert!(!is_cut || !text[kept.len()..].contains('\n'), "only the last line may wait");
    let half = text.split_inclusive('\n').count() / 2;
    let beginning: String = text.split_inclusive('\n').take(half).collect();
    let (beginning, _) = read_lines(format, &beginning);
    assert!(entries.starts_with(&beginning), "{}{}", show(&beginning), show(&entries));
}

/// Checks that ids are unique and that parents come first.
pub(crate) fn check_entries(entries: &[Entry]) {
    let mut known = HashSet::new();
    for entry in entries {
        if let Some(parent) = &entry.parent_id {
            assert!(known.contains(parent), "{parent} of {} in {}", entry.id, show(entries));
        }
        assert!(known.insert(&entry.id), "{} twice in {}", entry.id, show(entries));
    }
}

/// Returns some of the lines in another order, and a quarter of them cut.
pub(crate) fn mixed(lines: &[&str], picks: &[(Index, Index)]) -> String {
    let mut text = String::new();
    for (pick, cut) in picks {
        let line = lines[pick.index(lines.len())];
        let is_cut = cut.index(4) == 0;
        let end = if is_cut { cut.index(line.len()) } else { line.len() };
        text.push_str(&line[..line.floor_char_boundary(end)]);
        text.push('\n');
    }
    text
}
