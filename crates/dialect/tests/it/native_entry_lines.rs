//! Formats entries of native sessions, one line of text for each.

use tertulia_dialect::native::{NativeFormat, NativeReader, ReadSession, Record};
use tertulia_session::{Entry, EntryKind, ImageSource, Message, Part, PartKind, Role};

/// Reads a file of lines as the records of a session.
pub(crate) fn read_lines(format: NativeFormat, file: &str) -> (Vec<Entry>, ReadSession) {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    for (line, text) in (1..).zip(file.split_inclusive('\n')) {
        let (text, end) = match text.strip_suffix('\n') {
            Some(text) => (text, "\n"),
            None => (text, ""),
        };
        let record = Record { file: "", line, bytes: text.as_bytes(), end };
        reader.read(record, &mut entries);
    }
    (entries, reader.finish())
}

/// Formats entries as `id <- parent kind: content`.
pub(crate) fn show(entries: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let parent = entry.parent_id.as_ref().map_or("-", |id| id.as_str());
        format!("{} <- {parent} {}", entry.id, kind(&entry.kind))
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn kind(kind: &EntryKind) -> String {
    match kind {
        EntryKind::Message(message) => message_line(message),
        EntryKind::NativeRecord(record) => {
            format!("record: {}", record.record_type.as_deref().unwrap_or("?"))
        }
        EntryKind::CompactionSummary(summary) => {
            let kept = summary.kept_ids.iter().flatten().map(|id| id.as_str());
            let kept: Vec<&str> = kept.chain([summary.first_kept_entry_id.as_str()]).collect();
            format!("summary: {} [keeps {}]", summary.summary, kept.join(" "))
        }
        EntryKind::Usage(usage) => {
            let cached = usage.cached_tokens.map_or("?".into(), |cached| cached.to_string());
            let model = usage.model.as_deref().unwrap_or("?");
            format!("usage: {model} {} ({cached}) {}", usage.input_tokens, usage.output_tokens)
        }
        EntryKind::ModelChange(change) => format!("model: {}", change.model),
        other => format!("{}: {other:?}", other.type_name()),
    }
}

fn message_line(message: &Message) -> String {
    let role = message.role.map_or("?", Role::as_str);
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    format!("{role}: {}", parts.join(" + "))
}

fn part(part: &Part) -> String {
    match &part.kind {
        PartKind::Text(text) => text.clone(),
        PartKind::Thinking(text) => {
            let unknown: Vec<&str> = part.unknown_payload().iter().map(|(name, _)| name).collect();
            format!("thinking({text}) [{}]", unknown.join(" "))
        }
        PartKind::ToolCall(call) => match &call.raw_args_text {
            Some(raw) => format!("call {} {}(raw {raw})", call.tool_call_id, call.tool_name),
            None => format!("call {} {}({:?})", call.tool_call_id, call.tool_name, call.arguments),
        },
        PartKind::ToolResult(result) => {
            let mark = if result.is_error { "error" } else { "result" };
            format!("{mark} {} {:?}", result.tool_call_id, result.content)
        }
        PartKind::Image(image) => match &image.source {
            ImageSource::Data(data) => format!("image {} {} bytes", image.mime_type, data.len()),
            ImageSource::Url(url) => format!("image {url}"),
        },
        PartKind::FileRef(file) => format!("file {}", file.path),
        PartKind::Other(other) => format!("other {}", other.kind),
    }
}
