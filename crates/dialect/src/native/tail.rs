//! The records at the end of a session's file: what was appended since the file was read last. Tells messages from
//! the records that agents write for themselves, without reading the file from its beginning.

use std::collections::HashSet;

use memchr::memchr_iter;
use tertulia_session::json::{self, Object};
use tertulia_session::{EntryKind, Role};

use super::{NativeFormat, NativeReader, ProblemKind, Record};

/// What was appended to the file of a native session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Number of records with messages, summaries or unknown content.
    pub messages: u64,
    /// Number of prompts among them, without what the agent adds to the prompts by itself.
    pub prompts: u64,
    /// Id of the last record that has one.
    pub last_record: Option<Box<str>>,
    /// Whether a record replaces the history by a summary.
    pub is_compacted: bool,
    /// Whether a message continues another record than the last one before.
    pub is_forked: bool,
    /// Whether the last message is an answer of the model.
    pub is_answered: bool,
    /// The id of the session, if a record names it.
    pub session: Option<Box<str>>,
}

/// Reads the lines of a file from the point where it was read last. `last_record` is the last record before it, as an
/// earlier call returned it; without it, the lines are the whole file. An incomplete last line counts as a message,
/// because it may become one.
pub fn read_tail(format: NativeFormat, bytes: &[u8], last_record: Option<&str>) -> Tail {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    if format == NativeFormat::Codex && last_record.is_some() {
        // Without a record of the model's log, the reader would take the records of the screen for messages.
        reader.read(record(0, MODEL_RECORD, "\n"), &mut entries);
    }
    reader.take_problems();
    let mut tail = Tail { last_record: last_record.map(Into::into), ..Tail::default() };
    let mut known: HashSet<Box<str>> = tail.last_record.iter().cloned().collect();
    let mut start = 0;
    for (number, end) in memchr_iter(b'\n', bytes).enumerate() {
        let line = bytes.get(start..end).unwrap_or_default();
        start = end + 1;
        entries.clear();
        reader.read(record(number as u64 + 1, line, "\n"), &mut entries);
        let is_unknown = reader.take_problems().iter().any(|problem| is_unknown(&problem.kind));
        let is_summary =
            entries.iter().any(|entry| matches!(entry.kind, EntryKind::CompactionSummary(_)));
        let role = entries.iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Message(message) => Some(message.role),
            _ => None,
        });
        let is_said = role.is_some();
        if let Some(role) = role {
            tail.is_answered = role == Some(Role::Assistant);
            tail.prompts += u64::from(role == Some(Role::User));
        }
        let links = Links::read(format, line);
        let is_message = is_said || is_summary || is_unknown || links.is_for_model;
        tail.is_compacted |= is_summary || links.is_boundary;
        tail.messages += u64::from(is_message);
        let is_elsewhere = links.parent.is_some_and(|parent| !known.contains(&parent));
        tail.is_forked |= is_message && last_record.is_some() && is_elsewhere;
        if let Some(id) = links.id {
            known.insert(id.clone());
            tail.last_record = Some(id);
        }
    }
    if start < bytes.len() {
        tail.messages += 1;
    }
    tail.session = reader.finish().native_id;
    tail
}

const MODEL_RECORD: &[u8] =
    br#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[]}}"#;

fn record<'a>(line: u64, bytes: &'a [u8], end: &'a str) -> Record<'a> {
    Record { file: "", line, bytes, end }
}

/// Returns whether a record has content of a kind that nobody knows. A parent that is not among these lines is no
/// such problem.
fn is_unknown(problem: &ProblemKind) -> bool {
    !matches!(problem, ProblemKind::ParentMissing { .. } | ProblemKind::IdRepeated { .. })
}

/// The fields by which a record is connected to others.
#[derive(Default)]
struct Links {
    id: Option<Box<str>>,
    parent: Option<Box<str>>,
    /// Whether the model gets the record, even if it is no message.
    is_for_model: bool,
    is_boundary: bool,
}

impl Links {
    fn read(format: NativeFormat, line: &[u8]) -> Self {
        let text = std::str::from_utf8(line).unwrap_or_default();
        let parsed = json::parse(text).ok().and_then(|raw| Object::try_from(raw).ok());
        let Some(mut object) = parsed else { return Self::default() };
        let mut word = |name: &str| object.take_text(name).ok().flatten().map(Box::<str>::from);
        match format {
            NativeFormat::Claude => Self {
                id: word("uuid"),
                parent: word("parentUuid"),
                is_for_model: false,
                is_boundary: word("subtype").as_deref() == Some("compact_boundary"),
            },
            NativeFormat::Codex => {
                let kind = word("type");
                let ordinal = object.take("ordinal").map(|raw| raw.get().into());
                Self {
                    id: ordinal,
                    is_for_model: kind.as_deref() == Some("response_item"),
                    is_boundary: kind.as_deref() == Some("compacted"),
                    ..Self::default()
                }
            }
            _ => Self { id: word("id"), parent: word("parentId"), ..Self::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = r#"{"type":"user","uuid":"u-2","parentUuid":"a-1","sessionId":"s-1","isSidechain":false,"message":{"role":"user","content":"Hello"}}"#;

    #[track_caller]
    fn check(
        format: NativeFormat,
        lines: &[&str],
        last: &str,
        expected: (u64, bool, bool),
    ) -> Tail {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let tail = read_tail(format, text.as_bytes(), Some(last));
        assert_eq!((tail.messages, tail.is_forked, tail.is_compacted), expected, "{lines:?}");
        tail
    }

    #[test]
    fn what_claude_writes_for_itself_is_no_message() {
        let own = [
            r#"{"type":"last-prompt","lastPrompt":"x","sessionId":"s-1"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","sessionId":"s-1"}"#,
            r#"{"type":"cost-state","sessionId":"s-1"}"#,
            r#"{"type":"attachment","uuid":"t-1","parentUuid":"a-1","attachment":{"type":"prompt_snapshot"},"sessionId":"s-1","isSidechain":false}"#,
        ];
        let tail = check(NativeFormat::Claude, &own, "a-1", (0, false, false));
        assert_eq!(tail.last_record.as_deref(), Some("t-1"));
    }

    #[test]
    fn a_message_that_continues_an_earlier_record_is_a_fork() {
        check(NativeFormat::Claude, &[USER], "a-1", (1, false, false));
        check(NativeFormat::Claude, &[USER], "a-7", (1, true, false));
    }

    #[test]
    fn a_summary_replaces_the_history() {
        let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b-1","parentUuid":null,"sessionId":"s-1"}"#;
        assert!(
            read_tail(NativeFormat::Claude, format!("{boundary}\n").as_bytes(), Some("a-1"))
                .is_compacted
        );
        let compacted = r#"{"timestamp":"2026-03-01T10:00:09.000Z","type":"compacted","payload":{"message":"Done.","replacement_history":[]}}"#;
        assert!(
            read_tail(NativeFormat::Codex, format!("{compacted}\n").as_bytes(), Some("7"))
                .is_compacted
        );
    }

    #[test]
    fn codex_shows_messages_to_the_model_only_in_one_of_its_logs() {
        let event = r#"{"ordinal":8,"type":"event_msg","payload":{"type":"task_complete","last_agent_message":"x"}}"#;
        let counted = r#"{"ordinal":9,"type":"token_usage_record","payload":{"usage":{"input_tokens":900,"output_tokens":20,"total_tokens":920}}}"#;
        let item = r#"{"ordinal":10,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}}"#;
        check(NativeFormat::Codex, &[event, counted], "7", (0, false, false));
        let tail = check(NativeFormat::Codex, &[event, item], "7", (1, false, false));
        assert_eq!(tail.last_record.as_deref(), Some("10"));
    }

    #[test]
    fn what_codex_adds_to_a_prompt_is_no_prompt() {
        let item = |text: &str| {
            format!(
                r#"{{"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#
            )
        };
        let added = item("<environment_context>\\n</environment_context>");
        let asked = item("Why?");
        for (lines, expected) in [(&[&added][..], 0), (&[&added, &asked], 1)] {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let tail = read_tail(NativeFormat::Codex, text.as_bytes(), Some("7"));
            assert_eq!(tail.prompts, expected, "{text}");
        }
    }

    #[test]
    fn a_record_of_an_unknown_kind_may_be_a_message_in_every_format() {
        for format in
            [NativeFormat::Claude, NativeFormat::Codex, NativeFormat::Copilot, NativeFormat::Pi]
        {
            for line in [r#"{"type":"kind-7"}"#, "?"] {
                let tail = read_tail(format, format!("{line}\n").as_bytes(), Some("a-1"));
                assert_eq!(tail.messages, 1, "{format:?} {line}");
            }
        }
    }

    #[test]
    fn half_a_line_and_an_unknown_record_may_be_messages() {
        let half = read_tail(NativeFormat::Pi, br#"{"type":"mess"#, Some("a"));
        assert_eq!(half.messages, 1);
        check(
            NativeFormat::Claude,
            &[r#"{"type":"new-kind","sessionId":"s-1"}"#, "?"],
            "a-1",
            (2, false, false),
        );
    }
}
