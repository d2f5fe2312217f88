//! Sessions that are written for Gemini CLI and pi: the records are correct, the same messages are read again, and a
//! session can be continued.

use std::collections::HashSet;

use proptest::prelude::*;
use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::{
    Continuation, PartOutcome, WriteMessage, WriteRequest, Written, write,
};
use tertulia_session::json::{self, Json, Object};
use tertulia_session::{
    EntryId, Image, ImageSource, Message, Part, PartKind, Role, Timestamp, ToolCall, ToolResult,
};

use crate::native_show;

const NOW: i64 = 1_772_445_600_000;

fn said(role: Role, parts: impl IntoIterator<Item = Part>) -> Message {
    Message::with_role(role, parts.into_iter().collect())
}

fn call(id: &str, arguments: &str) -> Part {
    Part::new(PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: id.into(),
        tool_name: "look".into(),
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

fn written(format: NativeFormat, messages: &[Message], continues: Option<Continuation>) -> Written {
    let ids: Vec<EntryId> = (1..=messages.len()).map(|at| format!("e-{at}").into()).collect();
    let messages: Vec<WriteMessage<'_>> = messages
        .iter()
        .zip(&ids)
        .map(|(message, source)| WriteMessage { source, message, timestamp: None })
        .collect();
    let request = WriteRequest {
        session_id: "s-1",
        title: Some("The harbour"),
        folder: "/src",
        model: None,
        messages: &messages,
        now: Timestamp::from_millis(NOW),
        continues,
    };
    write(format, &request).unwrap()
}

/// Returns the messages of a session as text, in order.
fn read(format: NativeFormat, text: &str) -> Vec<String> {
    let (entries, session) = native_show::read(format, text.as_bytes());
    assert_eq!(session.problems, []);
    let messages = entries.iter().filter(|entry| entry.message().is_some());
    let shown = messages.map(|entry| native_show::show(std::slice::from_ref(entry)));
    shown.map(|line| line.splitn(4, ' ').last().unwrap().trim_end().to_owned()).collect()
}

fn harbour() -> Vec<Message> {
    vec![
        said(Role::User, [Part::text("How deep is it?"), picture()]),
        said(Role::Assistant, [Part::text("I "), call("a", r#"{"n":1.50}"#), Part::text("look.")]),
        said(Role::Assistant, [call("b", "{}")]),
        said(Role::Tool, [result("a", r#""12 m\n""#, false)]),
        said(Role::Tool, [result("b", r#""fog""#, true)]),
        said(Role::Assistant, [Part::text("Twelve.")]),
        said(Role::User, [Part::text("/help ")]),
        said(Role::User, [Part::text("<session_context> is a tag")]),
        said(Role::Assistant, [Part::text("One.")]),
        said(Role::Assistant, [Part::text("Two.")]),
    ]
}

const HARBOUR: [&str; 9] = [
    r#"user: "How deep is it?" | picture image/png"#,
    r#"assistant: "I " | calls a look {"n":1.50} | "look." | calls b look {}"#,
    r#"tool: a returns "12 m\n""#,
    r#"tool: b fails "fog""#,
    r#"assistant: "Twelve.""#,
    r#"user: "/help ""#,
    r#"user: "<session_context> is a tag""#,
    r#"assistant: "One.""#,
    r#"assistant: "Two.""#,
];

#[test]
fn what_was_written_is_read_as_it_was() {
    for format in [NativeFormat::Gemini, NativeFormat::Pi] {
        let whole = written(format, &harbour(), None);
        assert_eq!(read(format, &whole.text), HARBOUR, "{format:?}");
        assert_eq!(whole.records, whole.text.lines().count() as u64);
        assert!(whole.items.iter().all(|item| item.outcome == PartOutcome::Kept));
        let (_, session) = native_show::read(format, whole.text.as_bytes());
        assert_eq!(session.native_id.as_deref(), Some("s-1"));
        assert_eq!(session.title.as_deref(), Some("The harbour"));
        assert_eq!(session.leaf_record, whole.last_record_id);
        assert_eq!(
            (session.model, session.updated),
            (None, Some(Timestamp::from_millis(NOW).to_iso().parse().unwrap()))
        );
        assert_eq!(written(format, &harbour(), None), whole, "the same bytes each time");
    }
}

#[test]
fn a_session_goes_on_where_it_ended() {
    let (first, second) = (&harbour()[..6], &harbour()[6..]);
    for format in [NativeFormat::Gemini, NativeFormat::Pi] {
        let begun = written(format, first, None);
        let end = Continuation {
            last_record_id: begun.last_record_id,
            records: begun.records,
            last_timestamp: None,
        };
        // The second part has other source entries, so its ids differ.
        let second: Vec<Message> =
            std::iter::repeat_n(Message::default(), 6).chain(second.iter().cloned()).collect();
        let more = written(format, &second, Some(end));
        assert_eq!(read(format, &(begun.text + &more.text)), HARBOUR, "{format:?}");
    }
}

#[test]
fn every_part_of_a_session_has_record_ids_of_its_own() {
    let question = |text: &str| said(Role::User, [Part::text(text)]);
    for format in [NativeFormat::Gemini, NativeFormat::Pi] {
        let begun = written(format, &[question("One?")], None);
        let end = Continuation {
            last_record_id: begun.last_record_id,
            records: begun.records,
            last_timestamp: None,
        };
        let more = written(format, &[Message::default(), question("Two?")], Some(end));
        let unanswered = r#"assistant: "(This request was not answered yet.)""#;
        let expected = [r#"user: "One?""#, unanswered, r#"user: "Two?""#, unanswered];
        assert_eq!(read(format, &(begun.text + &more.text)), expected, "{format:?}");
    }
}

#[test]
fn gemini_gets_calls_and_results_as_the_model_does() {
    let messages = [
        said(Role::User, [Part::text("?")]),
        said(Role::Assistant, [call("a", "{}")]),
        said(
            Role::Tool,
            [result(
                "a",
                r#"[{"type":"text","text":"x"},{"type":"image","mimeType":"image/png","data":"QUJD"}]"#,
                false,
            )],
        ),
        said(Role::Assistant, [Part::text("Yes.")]),
    ];
    let text = written(NativeFormat::Gemini, &messages, None).text;
    let lines: Vec<&str> = text.lines().collect();
    let starts = r#"{"sessionId":"s-1","projectHash":"56c9e1c4b5360a5b089004396ed37fe3a20f7c4f5954072098039789ba3ab68a","startTime":""#;
    assert!(lines[0].starts_with(starts), "{}", lines[0]);
    let after_type = |line: &str| line.split_once(r#""type":"#).unwrap().1.to_owned();
    assert_eq!(
        after_type(lines[2]),
        r#""user","content":[{"text":"The user wrote:\n"},{"text":"?"}],"displayContent":[{"text":"?"}]}"#
    );
    let opening = r#""gemini","content":[{"text":"Got it. Thanks for the context!"}]"#;
    assert!(after_type(lines[1]).starts_with(opening));
    assert!(after_type(lines[3]).starts_with(
        r#""gemini","content":[{"functionCall":{"id":"a","name":"look","args":{}}}],"thoughts":[]"#
    ));
    assert_eq!(
        after_type(lines[4]),
        r#""user","content":[{"functionResponse":{"id":"a","name":"look","response":{"output":"x"}}},{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]}"#
    );
    assert_eq!(*lines.last().unwrap(), r#"{"$set":{"lastUpdated":"2026-03-02T10:00:00.000Z"}}"#);
}

#[test]
fn pi_gets_a_chain_of_messages() {
    let messages = [
        said(Role::User, [Part::text("Look.")]),
        said(Role::Assistant, [call("a", "{}")]),
        said(Role::Tool, [result("a", r#""x""#, true)]),
        said(Role::Assistant, [Part::text("Yes.")]),
    ];
    let text = written(NativeFormat::Pi, &messages, None).text;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-03-02T10:00:00.000Z","cwd":"/src"}"#
    );
    assert!(lines[1].starts_with(r#"{"type":"session_info","id":""#));
    assert!(
        lines[1].contains(r#""parentId":null"#) && lines[1].contains(r#""name":"The harbour""#)
    );
    let ends = r#""message":{"role":"toolResult","content":[{"type":"text","text":"x"}],"timestamp":1772445600000,"toolCallId":"a","toolName":"look","isError":true}}"#;
    assert!(lines[4].ends_with(ends), "{}", lines[4]);
    let (entries, _) = native_show::read(NativeFormat::Pi, text.as_bytes());
    for pair in entries.windows(2).skip(1) {
        assert_eq!(pair[1].parent_id.as_ref(), Some(&pair[0].id));
    }
}

#[test]
fn a_picture_at_an_address_is_named_for_pi() {
    let source = ImageSource::Url("https://example.org/a.png".into());
    let image = Image { mime_type: "image/png".into(), source };
    let messages = [said(Role::User, [Part::new(PartKind::Image(Box::new(image)))])];
    let text = written(NativeFormat::Pi, &messages, None).text;
    assert_eq!(read(NativeFormat::Pi, &text)[0], r#"user: "[picture: https://example.org/a.png]""#);
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = "[a-z/?<\u{e9}\"\\\\\n ]{0,12}";
    prop_oneof![
        4 => text.prop_map(|text| said(Role::User, [Part::text(text)])),
        4 => text.prop_map(|text| said(Role::Assistant, [Part::text(text)])),
        2 => "[a-c]".prop_map(|id| said(Role::Assistant, [call(&id, "{}")])),
        2 => ("[a-c]", text).prop_map(|(id, text)| {
            said(Role::Tool, [result(&id, Json::text(&text).as_str(), false)])
        }),
    ]
}

proptest! {
    #[test]
    fn every_text_is_read_again_in_order(messages in prop::collection::vec(any_message(), 1..12)) {
        let spoken = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_text);
        let spoken: Vec<&str> = spoken.filter(|text| !text.trim().is_empty()).collect();
        if spoken.is_empty() {
            return Ok(());
        }
        for format in [NativeFormat::Gemini, NativeFormat::Pi] {
            let text = written(format, &messages, None).text;
            let (entries, session) = native_show::read(format, text.as_bytes());
            prop_assert_eq!(session.problems, []);
            let read: Vec<&str> = entries
                .iter()
                .filter_map(|entry| entry.message())
                .flat_map(|message| &message.parts)
                .filter_map(Part::as_text)
                .collect();
            let mut read = read.into_iter();
            for text in &spoken {
                prop_assert!(read.any(|found| found == *text), "{text:?} in {entries:?}");
            }
        }
    }
}

/// A call and its result may come from one entry, as in sessions of opencode.
#[test]
fn records_of_one_entry_have_ids_of_their_own() {
    let messages = [
        said(Role::User, [Part::text("Look")]),
        said(Role::Assistant, [call("c-1", "{}")]),
        said(Role::Tool, [result("c-1", r#""a shed""#, false)]),
        said(Role::Assistant, [Part::text("A shed")]),
    ];
    let ids = ["e-1", "e-2", "e-2", "e-3"].map(EntryId::from);
    let list = messages.iter().zip(&ids);
    let list: Vec<WriteMessage<'_>> =
        list.map(|(message, source)| WriteMessage { source, message, timestamp: None }).collect();
    for format in
        [NativeFormat::Claude, NativeFormat::Gemini, NativeFormat::Copilot, NativeFormat::Pi]
    {
        let request = WriteRequest {
            session_id: "s-1",
            title: None,
            folder: "/src",
            model: None,
            messages: &list,
            now: Timestamp::from_millis(NOW),
            continues: None,
        };
        let written = write(format, &request).unwrap();
        let name = if format == NativeFormat::Claude { "uuid" } else { "id" };
        let id = |line: &str| {
            let mut record = Object::try_from(json::parse(line).unwrap()).unwrap();
            record.take(name).map(|id| json::text(id).unwrap())
        };
        let all: Vec<String> = written.text.lines().filter_map(id).collect();
        let different: HashSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{format:?}: {all:#?}");
    }
}

#[test]
fn an_agent_that_may_use_any_api_gets_ids_of_at_most_40_characters() {
    let long = "run_shell_command-1769860800000-0123456789abcdef";
    let messages = [
        said(Role::User, [Part::text("How deep is it?")]),
        said(Role::Assistant, [call(long, "{}")]),
        said(Role::Tool, [result(long, r#""12 m""#, false)]),
        said(Role::Assistant, [Part::text("Twelve.")]),
    ];
    for format in [NativeFormat::Opencode, NativeFormat::Copilot, NativeFormat::Pi] {
        let written = written(format, &messages, None);
        let (entries, session) = native_show::read(format, written.text.as_bytes());
        assert_eq!(session.problems, []);
        let parts = entries.iter().filter_map(|entry| entry.message()).flat_map(|one| &one.parts);
        let ids: Vec<&str> = parts
            .filter_map(|part| match &part.kind {
                PartKind::ToolCall(call) => Some(&*call.tool_call_id),
                PartKind::ToolResult(result) => Some(&*result.tool_call_id),
                _ => None,
            })
            .collect();
        assert_eq!(ids.len(), 2, "{format:?}");
        assert_eq!(ids.first(), ids.last(), "{format:?}");
        assert!(ids.iter().all(|id| id.len() <= 40), "{format:?}: {ids:?}");
        let reshaped = written.items.iter().filter(|item| {
            matches!(item.outcome, PartOutcome::Reshaped { reason } if reason.contains("a new ID"))
        });
        let reshaped: Vec<usize> = reshaped.map(|item| item.message).collect();
        assert_eq!(reshaped, [1, 2], "the call and its result: {format:?}");
    }
}
