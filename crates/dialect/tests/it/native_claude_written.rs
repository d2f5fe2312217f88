//! Sessions that are written for Claude Code contain the same messages when they are read again.

use std::collections::HashSet;

use proptest::prelude::*;
use tertulia_dialect::native::write::{
    Continuation, PartOutcome, WriteMessage, WriteRequest, Written, write,
};
use tertulia_dialect::native::{NativeFormat, detect};
use tertulia_session::json::{self, Json, Object};
use tertulia_session::{
    EntryId, Fields, Image, ImageSource, Message, Part, PartKind, Role, Timestamp, ToolCall,
    ToolResult,
};

use crate::arbitrary::messages;
use crate::native_claude::{read, show_message};

const SESSION: &str = "0190aaaa-0000-8000-8000-000000000001";
const NOW: i64 = 1_772_445_600_000;

fn said(role: Role, parts: impl IntoIterator<Item = Part>) -> Message {
    Message::with_role(role, parts.into_iter().collect())
}

fn user(text: &str) -> Message {
    said(Role::User, [Part::text(text)])
}

fn assistant(text: &str) -> Message {
    said(Role::Assistant, [Part::text(text)])
}

fn call(id: &str) -> Part {
    Part::new(PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: id.into(),
        tool_name: "sound".into(),
        arguments: Json::parse(r#"{"depth":1.50}"#).unwrap(),
        raw_args_text: None,
    })))
}

fn result(id: &str, content: &str) -> Message {
    let content = Json::parse(content).unwrap();
    let result = ToolResult { tool_call_id: id.into(), is_error: false, content };
    said(Role::Tool, [Part::new(PartKind::ToolResult(Box::new(result)))])
}

fn thinking(signature: Option<&str>) -> Part {
    let mut payload = Fields::NONE;
    if let Some(signature) = signature {
        payload.push("signature", Json::text(signature));
    }
    Part::new(PartKind::Thinking("Hm.".into())).with_unknown(Fields::NONE, payload)
}

fn picture() -> Part {
    let source = ImageSource::Data("QUJD".into());
    Part::new(PartKind::Image(Box::new(Image { mime_type: "image/png".into(), source })))
}

fn written(
    prefix: &str,
    messages: &[Message],
    model: Option<&str>,
    continues: Option<Continuation>,
) -> Option<Written> {
    let ids: Vec<EntryId> =
        (1..=messages.len()).map(|number| format!("{prefix}-{number}").into()).collect();
    let messages: Vec<WriteMessage<'_>> = messages
        .iter()
        .zip(&ids)
        .map(|(message, source)| WriteMessage { source, message, timestamp: None })
        .collect();
    let request = WriteRequest {
        session_id: SESSION,
        title: Some("The harbour"),
        folder: "/srv/harbour",
        model,
        messages: &messages,
        now: Timestamp::from_millis(NOW),
        continues,
    };
    write(NativeFormat::Claude, &request).ok()
}

/// Returns the messages of the current branch after reading the text again.
fn read_again(text: &str) -> Vec<String> {
    let (entries, session) = read(text);
    assert_eq!(session.problems, []);
    assert_eq!(session.native_id.as_deref(), Some(SESSION));
    assert_eq!(session.title.as_deref(), Some("The harbour"));
    let mut at = session.leaf;
    let mut branch = Vec::new();
    for entry in entries.iter().rev() {
        if at.as_ref() == Some(&entry.id) {
            branch.extend(entry.message().map(show_message));
            at.clone_from(&entry.parent_id);
        }
    }
    branch.reverse();
    branch
}

#[track_caller]
fn check(messages: &[Message], model: Option<&str>, expected: &[&str]) -> Vec<PartOutcome> {
    let written = written("e", messages, model, None).unwrap();
    assert_eq!(read_again(&written.text), expected);
    written.items.into_iter().map(|item| item.outcome).collect()
}

#[test]
fn a_record_has_all_that_claude_code_writes() {
    let messages = [user("How deep is it?"), assistant("Twelve metres.")];
    let written = written("e", &messages, Some("claude-opus-5-5"), None).unwrap();
    let [asked, answered] =
        ["68b2b281-2659-8eb7-851e-74ffdc732ca2", "b41086a2-80ff-8a1c-8af7-fd59ea8dad6d"];
    let common = format!(
        r#""timestamp":"2026-03-02T10:00:00.000Z","userType":"external","entrypoint":"cli","cwd":"/srv/harbour","sessionId":"{SESSION}","version":"2.1.325""#
    );
    let expected = [
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"type":"user","message":{{"role":"user","content":"How deep is it?"}},"uuid":"{asked}",{common}}}"#
        ),
        format!(
            r#"{{"parentUuid":"{asked}","isSidechain":false,"type":"assistant","message":{{"id":"msg_{}","type":"message","role":"assistant","content":[{{"type":"text","text":"Twelve metres."}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"model":"claude-opus-5-5"}},"uuid":"{answered}",{common}}}"#,
            answered.replace('-', "")
        ),
        format!(
            r#"{{"type":"last-prompt","lastPrompt":"How deep is it?","leafUuid":"{answered}","sessionId":"{SESSION}"}}"#
        ),
        format!(r#"{{"type":"custom-title","customTitle":"The harbour","sessionId":"{SESSION}"}}"#),
    ];
    assert_eq!(written.text.lines().collect::<Vec<_>>(), expected);
    assert_eq!((written.records, written.is_document), (4, false));
}

#[test]
fn calls_results_and_pictures_are_kept() {
    let messages = [
        said(Role::User, [Part::text("Look."), picture()]),
        said(Role::Assistant, [Part::text("I do."), call("c1"), call("c2")]),
        result("c1", r#""12\nmetres""#),
        result("c2", r#"[{"type":"image","mimeType":"image/png","data":"QUJD"}]"#),
        assistant("Twelve."),
    ];
    let outcomes = check(
        &messages,
        None,
        &[
            r#"user: "Look." + picture image/png"#,
            r#"assistant: "I do.""#,
            r#"assistant: c1 sound {"depth":1.50}"#,
            r#"assistant: c2 sound {"depth":1.50}"#,
            r#"tool: c1 gives "12\nmetres""#,
            r#"tool: c2 gives [{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]"#,
            r#"assistant: "Twelve.""#,
        ],
    );
    assert!(outcomes.iter().all(|outcome| *outcome == PartOutcome::Kept), "{outcomes:?}");
}

#[test]
fn what_the_user_says_in_a_row_is_one_record() {
    check(
        &[user("a"), user("b"), assistant("c")],
        None,
        &[r#"user: "a" + "b""#, r#"assistant: "c""#],
    );
}

#[test]
fn signed_thinking_is_kept_for_a_model_of_claude_if_something_follows_it() {
    let messages = [
        user("a"),
        said(Role::Assistant, [thinking(Some("c2ln")), Part::text("b")]),
        said(Role::Assistant, [thinking(Some("c2ln"))]),
        user("c"),
        said(Role::Assistant, [thinking(None), Part::text("d")]),
    ];
    let outcomes = check(
        &messages,
        Some("claude-opus-5-5"),
        &[
            r#"user: "a""#,
            r#"assistant: thinks "Hm." "c2ln""#,
            r#"assistant: "b""#,
            r#"user: "c""#,
            r#"assistant: "d""#,
        ],
    );
    let is_left_out = |outcome: &PartOutcome| matches!(outcome, PartOutcome::LeftOut { .. });
    let left_out: Vec<bool> = outcomes.iter().map(is_left_out).collect();
    assert_eq!(left_out, [false, false, false, true, false, true, false]);
    for model in [None, Some("gpt-5")] {
        let said = [r#"user: "a""#, r#"assistant: "b""#, r#"user: "c""#, r#"assistant: "d""#];
        check(&messages, model, &said);
    }
}

#[test]
fn a_call_that_never_got_a_result_ends_its_answer() {
    let messages = [
        user("a"),
        said(Role::Assistant, [Part::text("b"), call("c1")]),
        said(Role::Assistant, [Part::text("c"), call("c2")]),
        result("c2", r#""d""#),
        assistant("e"),
    ];
    check(
        &messages,
        None,
        &[
            r#"user: "a""#,
            r#"assistant: "b""#,
            r#"assistant: c1 sound {"depth":1.50}"#,
            r#"tool: c1 fails "No result was recorded for this call.""#,
            r#"assistant: "c""#,
            r#"assistant: c2 sound {"depth":1.50}"#,
            r#"tool: c2 gives "d""#,
            r#"assistant: "e""#,
        ],
    );
}

#[test]
fn a_session_goes_on_after_its_last_record() {
    let first = written("e", &[user("a")], None, None).unwrap();
    let unanswered = r#"assistant: "(This request was not answered yet.)""#;
    let mut text = first.text;
    let mut last = first.last_record_id;
    let mut expected = vec![r#"user: "a""#.to_owned(), unanswered.to_owned()];
    for (prefix, said) in [("f", "b"), ("g", "c")] {
        let continues = Continuation {
            last_record_id: last.clone(),
            records: 4,
            last_timestamp: Some(Timestamp::from_millis(NOW)),
        };
        let more = written(prefix, &[user(said)], None, Some(continues)).unwrap();
        text.push_str(&more.text);
        last = more.last_record_id;
        expected.extend([format!("user: {said:?}"), unanswered.to_owned()]);
        // Claude Code continues at the record that was recorded as the last one.
        let noted = more.text.lines().rev().nth(1).unwrap();
        assert_eq!(field(noted, "leafUuid"), last);
        assert_eq!(field(noted, "lastPrompt").as_deref(), Some(said));
    }
    assert_eq!(read_again(&text), expected);
}

/// Returns a field of a record.
fn field(line: &str, name: &str) -> Option<Box<str>> {
    let mut record = Object::try_from(json::parse(line).unwrap()).unwrap();
    record.take_text(name).unwrap().map(Into::into)
}

proptest! {
    #[test]
    fn every_record_names_the_one_before_it_and_no_time_goes_back(messages in messages()) {
        let written = written("e", &messages, Some("claude-opus-5-5"), None);
        prop_assume!(written.is_some());
        let written = written.unwrap();
        let records: Vec<&str> = written.text.lines().collect();
        prop_assert_eq!(records.len() as u64, written.records);
        prop_assert_eq!(detect(written.text.as_bytes()), Some(NativeFormat::Claude));
        let (mut last, mut time, mut ids) = (None, String::new(), HashSet::new());
        for line in &records[..records.len() - 2] {
            prop_assert_eq!(field(line, "parentUuid"), last);
            last = field(line, "uuid");
            prop_assert!(ids.insert(last.clone()));
            let at = field(line, "timestamp").unwrap().to_string();
            prop_assert!(time <= at);
            time = at;
        }
        prop_assert_eq!(time, Timestamp::from_millis(NOW).to_iso());
        prop_assert_eq!(last, written.last_record_id);
        let first = read_again(&written.text);
        prop_assert!(first[0].starts_with("user: "), "{}", first[0]);
    }
}
