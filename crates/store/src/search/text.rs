//! The searchable text of an entry: messages, tool calls and results, tasks and summaries. Recalled text is not
//! included, because a search finds the original entry. Indexing and matching both use this code, so that they see
//! the same text.

use tertulia_session::json::{self, Json};
use tertulia_session::{Entry, EntryKind, Message, PartKind};

/// Returns the text, one part per line; empty if there is nothing to search.
pub(crate) fn text_of(entry: &Entry) -> String {
    let text = match &entry.kind {
        EntryKind::Message(message) => return message_text(message),
        EntryKind::TeamTask(task) => task.task.as_deref(),
        EntryKind::CompactionSummary(summary) => Some(&*summary.summary),
        EntryKind::BranchSummary(summary) => summary.summary.as_deref(),
        EntryKind::SystemPromptOverride(other) => Some(&*other.system_prompt),
        _ => None,
    };
    text.unwrap_or_default().to_owned()
}

fn message_text(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.parts {
        if !text.is_empty() {
            text.push('\n');
        }
        match &part.kind {
            PartKind::Text(string) | PartKind::Thinking(string) => text.push_str(string),
            PartKind::ToolCall(call) => {
                text.push_str(&call.tool_name);
                json_texts(&call.arguments, &mut text);
            }
            PartKind::ToolResult(result) => json_texts(&result.content, &mut text),
            PartKind::FileRef(file) => text.push_str(&file.path),
            PartKind::Image(_) => {}
            PartKind::Other(other) => {
                other.payload.iter().for_each(|payload| json_texts(payload, &mut text));
            }
        }
    }
    text
}

/// Appends all strings of a JSON value, one per line; numbers and literals are not searchable. The base64 of a
/// picture is one string without spaces, so it is only one term.
fn json_texts(value: &Json, text: &mut String) {
    strings(value.as_str()).for_each(|(string, _)| push_line(&string, text));
}

/// Appends the strings of a JSON text that a user wrote, one per line. Field names and the type names of the record
/// are left out.
pub(crate) fn json_values(source: &str, text: &mut String) {
    let mut field = String::new();
    for (string, is_name) in strings(source) {
        let is_text = match is_name {
            true => !is_word(&string),
            false => !is_record_field(&field),
        };
        if is_text {
            push_line(&string, text);
        }
        if is_name {
            field = string;
        }
    }
}

/// Returns whether the values of a field are words of a record's format instead of text.
pub(crate) fn is_record_field(name: &str) -> bool {
    ["type", "kind", "role", "state"].contains(&name)
}

/// Returns whether a field's name is a single word. Other names may be text, for example in the arguments of a tool.
pub(crate) fn is_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

fn push_line(string: &str, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(string);
}

/// Returns the strings of a JSON text, and whether each is a field name.
pub(crate) fn strings(source: &str) -> impl Iterator<Item = (String, bool)> {
    let mut rest = source;
    std::iter::from_fn(move || {
        loop {
            let begin = rest.find('"')?;
            let end = string_end(rest, begin);
            let raw = rest.get(begin..end).unwrap_or_default();
            rest = rest.get(end..).unwrap_or_default();
            if let Some(string) = json::parse(raw).ok().and_then(|raw| json::text(raw).ok()) {
                return Some((string, rest.starts_with(':')));
            }
        }
    })
}

/// Returns the index after the closing quote of the string that starts at `begin`.
fn string_end(text: &str, begin: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(begin + 1) {
        if byte == b'"' && !escaped {
            return at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use tertulia_session::record::read_entry_line;

    use super::*;

    fn text(payload: &str) -> String {
        let line = format!(r#"{{"id":"a","type":"message","payload":{payload}}}"#);
        text_of(&read_entry_line(1, &line).unwrap())
    }

    #[test]
    fn a_message_is_found_by_all_that_it_says() {
        let parts = r#"{"role":"assistant","parts":[
            {"kind":"text","payload":{"text":"Let me see."}},
            {"kind":"tool_call","payload":{"toolCallId":"1","toolName":"grep","arguments":{"pattern":"a\nb","n":3}}},
            {"kind":"file_ref","payload":{"path":"src/main.rs"}}]}"#;
        assert_eq!(text(parts), "Let me see.\ngrep\npattern\na\nb\nn\nsrc/main.rs");
    }

    #[test]
    fn a_result_is_found_by_its_words_not_its_escapes() {
        let parts = r#"{"role":"tool","parts":[{"kind":"tool_result","payload":
            {"toolCallId":"1","content":"line one\nquote \"x\" caf\u00e9"}}]}"#;
        assert_eq!(text(parts), "line one\nquote \"x\" café");
    }

    #[test]
    fn tasks_and_summaries_are_found_too() {
        let task = r#"{"id":"a","type":"team_task","payload":{"task":"Ship it"}}"#;
        assert_eq!(text_of(&read_entry_line(1, task).unwrap()), "Ship it");
        let usage = r#"{"id":"a","type":"custom","payload":"x"}"#;
        assert_eq!(text_of(&read_entry_line(1, usage).unwrap()), "");
        let recall = r#"{"id":"a","type":"recall","payload":{"text":"fn main() {}","sourceIds":["b"],"replaces":true}}"#;
        assert_eq!(text_of(&read_entry_line(1, recall).unwrap()), "", "nobody said it");
    }
}
