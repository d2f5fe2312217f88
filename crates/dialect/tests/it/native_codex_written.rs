//! Sessions that are written for Codex: both logs are complete, every call has its result, and the same messages are
//! read again.

use proptest::prelude::*;
use tertulia_dialect::native::write::{
    Continuation, WriteError, WriteMessage, WriteRequest, Written, codex_file, write,
};
use tertulia_dialect::native::{NativeFormat, detect};
use tertulia_session::json::{self, Json, Object};
use tertulia_session::{
    EntryId, EntryKind, Image, ImageSource, Message, Part, PartKind, Parts, Role, Timestamp,
    ToolCall, ToolResult,
};

use crate::arbitrary::{at_least, messages};
use crate::native_entry_lines::{read_lines, show};

const ID: &str = "0190bbbb-0000-8000-8000-000000000001";
const NOW: i64 = 1_772_445_600_000;

fn said(role: Role, parts: impl IntoIterator<Item = Part>) -> Message {
    Message::with_role(role, parts.into_iter().collect::<Parts>())
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::new(PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: id.into(),
        tool_name: name.into(),
        arguments: Json::parse(arguments).unwrap(),
        raw_args_text: None,
    })))
}

fn result(id: &str, content: &str, is_error: bool) -> Part {
    let content = Json::parse(content).unwrap();
    let result = ToolResult { tool_call_id: id.into(), is_error, content };
    Part::new(PartKind::ToolResult(Box::new(result)))
}

fn picture() -> Part {
    let source = ImageSource::Data("QUJD".into());
    Part::new(PartKind::Image(Box::new(Image { mime_type: "image/png".into(), source })))
}

fn harbour() -> Vec<Message> {
    vec![
        said(Role::User, [Part::text("How deep\nis it?"), picture()]),
        said(Role::Assistant, [Part::text("I look."), call("c1", "cat", r#"{"file":"chart"}"#)]),
        said(Role::Tool, [result("c1", r#""12 \"m\"\n""#, false)]),
        said(Role::Assistant, [call("c2", "sound", "{}"), call("c3", "photo", "{}")]),
        said(Role::Tool, [result("c2", r#""no line""#, true)]),
        said(
            Role::Tool,
            [result("c3", r#"[{"type":"image","mimeType":"image/png","data":"QUJD"}]"#, false)],
        ),
        said(Role::Assistant, [Part::text("Twelve metres.")]),
        said(Role::User, [Part::text("Thanks.")]),
        said(Role::Assistant, [Part::text("At your service.")]),
    ]
}

fn written(messages: &[Message], continues: Option<Continuation>) -> Result<Written, WriteError> {
    let ids: Vec<EntryId> =
        (1..=messages.len()).map(|number| format!("e-{number}").into()).collect();
    let messages: Vec<WriteMessage<'_>> = messages
        .iter()
        .zip(&ids)
        .map(|(message, source)| WriteMessage { source, message, timestamp: None })
        .collect();
    let request = WriteRequest {
        session_id: ID,
        title: Some("The harbour"),
        folder: "/srv/harbour",
        model: None,
        messages: &messages,
        now: Timestamp::from_millis(NOW),
        continues,
    };
    write(NativeFormat::Codex, &request)
}

/// Returns the kinds of the records: the type of the payload, or otherwise the type of the record.
fn kinds(text: &str) -> Vec<String> {
    let kind = |line: &str| {
        let mut record = Object::try_from(json::parse(line).unwrap()).unwrap();
        let mut payload = Object::try_from(record.take("payload").unwrap()).unwrap();
        let kind = payload.take("type").or_else(|| record.take("type"));
        json::words(kind.unwrap()).into_owned()
    };
    text.lines().map(kind).collect()
}

fn ordinals(text: &str) -> Vec<u64> {
    let ordinal = |line: &str| {
        let mut record = Object::try_from(json::parse(line).unwrap()).unwrap();
        json::whole_number(record.take("ordinal").unwrap()).unwrap()
    };
    text.lines().map(ordinal).collect()
}

#[test]
fn both_logs_are_written_turn_by_turn() {
    let written = written(&harbour(), None).unwrap();
    assert_eq!(
        kinds(&written.text),
        [
            "session_meta",
            "task_started",
            "message",
            "user_message",
            "message",
            "agent_message",
            "function_call",
            "function_call_output",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "message",
            "agent_message",
            "task_complete",
            "task_started",
            "message",
            "user_message",
            "message",
            "agent_message",
            "token_count",
            "thread_name_updated",
            "task_complete",
        ]
    );
    assert_eq!(written.records, 23);
    assert!(written.text.ends_with("}\n"));
    assert!(!written.is_document);
}

#[test]
fn the_first_record_has_what_codex_needs_and_names_no_provider() {
    let written = written(&harbour(), None).unwrap();
    let expected = format!(
        r#"{{"timestamp":"2026-03-02T10:00:00.000Z","ordinal":0,"type":"session_meta","payload":{{"id":"{ID}","timestamp":"2026-03-02T10:00:00.000Z","cwd":"/srv/harbour","originator":"tertulia","cli_version":"0.166.0","source":"cli"}}}}"#
    );
    assert_eq!(written.text.lines().next(), Some(&*expected));
    assert_eq!(detect(written.text.as_bytes()), Some(NativeFormat::Codex));
}

#[test]
fn what_was_written_is_read_as_it_was() {
    let text = written(&harbour(), None).unwrap().text;
    let (mut entries, session) = read_lines(NativeFormat::Codex, &text);
    assert_eq!(session.problems, []);
    assert_eq!(session.native_id.as_deref(), Some(ID));
    assert_eq!(session.title.as_deref(), Some("The harbour"));
    entries.retain(|entry| !matches!(entry.kind, EntryKind::NativeRecord(_)));
    let expected = [
        "line-3 <- - user: How deep\nis it? + image image/png 4 bytes",
        "line-5 <- line-3 assistant: I look.",
        r#"line-7 <- line-5 assistant: call c1 cat({"file":"chart"})"#,
        r#"line-8 <- line-7 tool: result c1 "12 \"m\"\n""#,
        "line-9 <- line-8 assistant: call c2 sound({})",
        "line-10 <- line-9 assistant: call c3 photo({})",
        r#"line-11 <- line-10 tool: error c2 "no line""#,
        r#"line-12 <- line-11 tool: result c3 [{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]"#,
        "line-13 <- line-12 assistant: Twelve metres.",
        "line-17 <- line-13 user: Thanks.",
        "line-19 <- line-17 assistant: At your service.",
    ];
    assert_eq!(show(&entries), expected.join("\n"));
}

#[test]
fn a_continuation_adds_turns_in_the_forms_of_both_kinds_of_files() {
    let end = Continuation { last_record_id: None, records: 14, last_timestamp: None };
    let messages = [
        said(Role::User, [Part::text("Go on."), picture()]),
        said(Role::Assistant, [Part::text("So be it.")]),
    ];
    let written = written(&messages, Some(end)).unwrap();
    assert_eq!(
        kinds(&written.text),
        [
            "task_started",
            "message",
            "item_completed",
            "user_message",
            "message",
            "item_completed",
            "agent_message",
            "task_complete",
        ]
    );
    assert_eq!(ordinals(&written.text), (14..22).collect::<Vec<u64>>());
    assert_eq!(written.records, 8);
}

#[test]
fn a_continuation_may_begin_with_the_assistant() {
    let end = Continuation { last_record_id: None, records: 3, last_timestamp: None };
    let written = written(&[said(Role::Assistant, [Part::text("And so on.")])], Some(end)).unwrap();
    let expected = ["task_started", "message", "item_completed", "agent_message", "task_complete"];
    assert_eq!(kinds(&written.text), expected);
}

#[test]
fn a_large_picture_does_not_count_as_text() {
    let source = ImageSource::Data("QUJD".repeat(100_000).into());
    let image = Image { mime_type: "image/png".into(), source };
    let picture = Part::new(PartKind::Image(Box::new(image)));
    let text = written(&[said(Role::User, [picture])], None).unwrap().text;
    let count = text.lines().find(|line| line.contains("token_count")).unwrap();
    let (_, total) = count.split_once(r#""total_tokens":"#).unwrap();
    let total: u64 = total.split_once('}').unwrap().0.parse().unwrap();
    assert!((1_000..1_200).contains(&total), "{total}");
}

#[test]
fn the_file_is_named_by_its_time_and_id() {
    let created = Timestamp::from_millis(NOW + 7_500);
    let expected = format!("2026/03/02/rollout-2026-03-02T10-00-07-{ID}.jsonl");
    assert_eq!(codex_file(ID, &created), expected);
}

proptest! {
    #![proptest_config(at_least(256))]

    #[test]
    fn any_messages_make_a_session_without_a_problem(messages in messages(), continues: bool) {
        let end = Continuation { last_record_id: None, records: 5, last_timestamp: None };
        let Ok(written) = written(&messages, continues.then_some(end)) else { return Ok(()) };
        let first = if continues { 5 } else { 0 };
        let expected: Vec<u64> = (first..first + written.records).collect();
        prop_assert_eq!(ordinals(&written.text), expected);
        let (entries, session) = read_lines(NativeFormat::Codex, &written.text);
        prop_assert_eq!(&session.problems, &[]);
        let mut open = Vec::new();
        for entry in &entries {
            let EntryKind::Message(message) = &entry.kind else { continue };
            for part in &message.parts {
                match &part.kind {
                    PartKind::ToolCall(call) => {
                        prop_assert_eq!(call.arguments.kind(), json::Kind::Object);
                        open.push(call.tool_call_id.clone());
                    }
                    PartKind::ToolResult(result) => {
                        let at = open.iter().position(|id| *id == result.tool_call_id);
                        prop_assert!(at.is_some());
                        open.remove(at.unwrap());
                    }
                    _ => {}
                }
            }
        }
        prop_assert_eq!(open, Vec::<Box<str>>::new());
        let times: Vec<i64> = entries.iter().filter_map(|one| one.timestamp.as_ref()).map(Timestamp::millis).collect();
        prop_assert!(times.is_sorted() && times.last() == Some(&NOW));
    }
}
