//! Sessions written for opencode and Copilot CLI can be read back.

use proptest::prelude::*;
use tertulia_dialect::Dialect;
use tertulia_dialect::native::write::{
    Continuation, PartOutcome, WriteMessage, WriteRequest, Written, native_session_id, write,
};
use tertulia_dialect::native::{NativeFormat, NativeReader, ReadSession, Record};
use tertulia_session::json::{self, Object};
use tertulia_session::{Entry, EntryId, EntryKind, Message, Part, PartKind, Timestamp};

const FORMATS: [NativeFormat; 2] = [NativeFormat::Opencode, NativeFormat::Copilot];

const NOW: i64 = 1_795_000_000_000;

const TALK: &str = r#"[
    {"role":"system","content":"Be brief."},
    {"role":"user","content":[{"type":"text","text":"Which \"seeds\"?"},
        {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
    {"role":"assistant","content":"I will look."},
    {"role":"assistant","content":"Here.","tool_calls":[
        {"id":"c-1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"cat a\"}"}},
        {"id":"c-2","type":"function","function":{"name":"view","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c-2","content":"A shed."},
    {"role":"tool","tool_call_id":"c-1","content":""},
    {"role":"assistant","content":"Beans.\n"},
    {"role":"user","content":"And now?"}
]"#;

fn messages(chat: &str) -> Vec<Message> {
    Dialect::OpenAiChat.read(json::parse(chat).unwrap()).unwrap().messages
}

fn written(format: NativeFormat, all: &[Message], continues: Option<Continuation>) -> Written {
    let ids: Vec<EntryId> = (0..all.len()).map(|n| EntryId::from(format!("e-{n}"))).collect();
    let list: Vec<WriteMessage<'_>> = all
        .iter()
        .zip(&ids)
        .map(|(message, source)| WriteMessage { source, message, timestamp: None })
        .collect();
    let session = native_session_id(format, "ours", 0);
    let request = WriteRequest {
        session_id: &session,
        title: Some("Garden: plan"),
        folder: "/src/garden",
        model: Some("acme/m1"),
        messages: &list,
        now: Timestamp::from_millis(NOW),
        continues,
    };
    write(format, &request).unwrap()
}

fn read_back(format: NativeFormat, text: &str) -> (Vec<Entry>, ReadSession) {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    if format == NativeFormat::Opencode {
        reader.read_document("", text.as_bytes(), &mut entries);
    } else {
        for (line, text) in (1..).zip(text.lines()) {
            let record = Record { file: "", line, bytes: text.as_bytes(), end: "\n" };
            reader.read(record, &mut entries);
        }
    }
    (entries, reader.finish())
}

/// Returns the texts, calls and results of messages, in order.
fn said<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<String> {
    let part = |part: &Part| match &part.kind {
        PartKind::Text(text) => text.clone(),
        PartKind::ToolCall(call) => format!("{} {}", call.tool_name, call.arguments.as_str()),
        PartKind::ToolResult(result) => format!("-> {} {}", result.is_error, result.text()),
        PartKind::Image(image) => format!("{:?}", image.source),
        other => format!("{other:?}"),
    };
    messages.into_iter().flat_map(|message| message.parts.iter().map(part)).collect()
}

fn said_in(entries: &[Entry]) -> Vec<String> {
    said(entries.iter().filter_map(Entry::message))
}

#[test]
fn a_session_is_read_as_it_was_written() {
    for format in FORMATS {
        let written = written(format, &messages(TALK), None);
        let (entries, session) = read_back(format, &written.text);
        assert_eq!(session.problems, [], "{format:?}");
        let own = native_session_id(format, "ours", 0);
        assert_eq!(session.native_id.as_deref(), Some(&*own));
        assert_eq!(session.folder.as_deref(), Some("/src/garden"));
        assert_eq!(session.model.as_deref(), Some("acme/m1"));
        assert_eq!(session.leaf_record, written.last_record_id, "{format:?}");
        assert_eq!(session.updated.unwrap().millis(), NOW);
        let mut all = said_in(&entries);
        // opencode keeps a result with its call, so calls and results have a different order. They are compared
        // sorted.
        all.sort();
        let mut expected = [
            "Which \"seeds\"?",
            "Data(\"AAAA\")",
            "I will look.",
            "Here.",
            r#"bash {"command":"cat a"}"#,
            "view {}",
            "-> false ",
            "-> false A shed.",
            "Beans.\n",
            "And now?",
            "(This request was not answered yet.)",
        ];
        expected.sort_unstable();
        assert_eq!(all, expected, "{format:?}");
    }
}

#[test]
fn every_part_but_the_system_prompt_is_kept() {
    for format in FORMATS {
        let outcomes = written(format, &messages(TALK), None).items;
        let kept = outcomes.iter().filter(|item| item.outcome == PartOutcome::Kept).count();
        assert_eq!((kept, outcomes.len()), (9, 11), "{format:?} {outcomes:?}");
    }
}

#[test]
fn the_same_conversation_gives_the_same_bytes() {
    for format in FORMATS {
        let talk = messages(TALK);
        assert_eq!(written(format, &talk, None), written(format, &talk, None));
    }
}

#[test]
fn a_continuation_adds_only_what_is_new_with_other_ids() {
    let more =
        messages(r#"[{"role":"user","content":"More."},{"role":"assistant","content":"Yes."}]"#);
    for format in FORMATS {
        let first = written(format, &messages(TALK), None);
        let end = Continuation {
            last_record_id: first.last_record_id.clone(),
            records: first.records,
            last_timestamp: Some(Timestamp::from_millis(NOW - 10)),
        };
        let second = written(format, &more, Some(end));
        let (before, _) = read_back(format, &first.text);
        let (after, _) = read_back(format, &second.text);
        assert_eq!(said_in(&after), ["More.", "Yes."]);
        let is_session = |id: &EntryId| id.as_str().starts_with("ses_");
        let mut known: Vec<&EntryId> = before.iter().map(|entry| &entry.id).collect();
        known.retain(|id| !is_session(id) && !id.as_str().starts_with("piece-"));
        assert!(after.iter().all(|entry| !known.contains(&&entry.id)), "{format:?}");
        if format == NativeFormat::Copilot {
            let (all, session) = read_back(format, &format!("{}{}", first.text, second.text));
            assert_eq!(all.len(), before.len() + after.len());
            assert_eq!(session.records, first.records + second.records);
        }
    }
}

#[test]
fn a_text_after_a_call_follows_the_result_of_the_call() {
    let call = r#"{"id":"c-1","type":"function","function":{"name":"bash","arguments":"{}"}}"#;
    let mut talk = messages(&format!(
        r#"[{{"role":"user","content":"Go."}},{{"role":"assistant","tool_calls":[{call}]}},
            {{"role":"assistant","content":"Meanwhile."}},{{"role":"tool","tool_call_id":"c-1","content":"Done"}}]"#
    ));
    let late = talk.remove(2);
    talk[1].parts.extend(late.parts);
    for format in FORMATS {
        let (entries, _) = read_back(format, &written(format, &talk, None).text);
        let said = said_in(&entries);
        assert_eq!(said[1..4], ["bash {}", "-> false Done", "Meanwhile."], "{format:?}");
    }
}

/// Returns the times and ids of the messages in a document of opencode, in order.
fn places(text: &str) -> Vec<(u64, Vec<String>)> {
    let mut document = Object::try_from(json::parse(text).unwrap()).unwrap();
    let messages = json::elements(document.take("messages").unwrap()).unwrap();
    let place = |raw| {
        let mut message = Object::try_from(raw).unwrap();
        let mut info = Object::try_from(message.take("info").unwrap()).unwrap();
        let mut time = Object::try_from(info.take("time").unwrap()).unwrap();
        let parts = json::elements(message.take("parts").unwrap()).unwrap();
        let id = |raw| Object::try_from(raw).unwrap().need_text("id").unwrap();
        let created = json::whole_number(time.take("created").unwrap()).unwrap();
        (created, parts.into_iter().map(id).collect())
    };
    messages.into_iter().map(place).collect()
}

#[test]
fn texts_of_one_message_that_copilot_joins_are_not_called_kept() {
    let all = messages(
        r#"[{"role":"user","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]},
            {"role":"assistant","content":"Three."}]"#,
    );
    let outcomes = |format| {
        let items = written(format, &all, None).items.into_iter();
        items.map(|item| item.outcome).collect::<Vec<_>>()
    };
    let joined = || PartOutcome::Reshaped { reason: "joined with the other texts of its message" };
    let kept = PartOutcome::Kept;
    assert_eq!(outcomes(NativeFormat::Copilot), [joined(), joined(), kept.clone()]);
    assert_eq!(outcomes(NativeFormat::Opencode), [kept.clone(), kept.clone(), kept]);
}

proptest! {
    #[test]
    fn times_and_ids_of_an_opencode_document_rise(
        talk in prop::collection::vec((any::<bool>(), "[a-z]{1,5}"), 1..12),
        since in 0_i64..20,
    ) {
        let talk: Vec<Message> = talk
            .into_iter()
            .map(|(is_user, text)| {
                let role = if is_user { "user" } else { "assistant" };
                messages(&format!(r#"[{{"role":"{role}","content":"{text}"}}]"#)).remove(0)
            })
            .collect();
        let last_timestamp = Some(Timestamp::from_millis(NOW - 1000 - since));
        let end = Continuation { last_record_id: None, records: 3, last_timestamp };
        let places = places(&written(NativeFormat::Opencode, &talk, Some(end)).text);
        prop_assert!(places.is_sorted_by(|one, next| one.0 < next.0));
        prop_assert!(places.iter().all(|(time, _)| *time <= NOW as u64));
        prop_assert!(places.iter().all(|(_, ids)| ids.is_sorted_by(|one, next| one < next)));
    }
}

#[test]
fn an_answer_of_opencode_is_one_step() {
    let (entries, _) = read_back(
        NativeFormat::Opencode,
        &written(NativeFormat::Opencode, &messages(TALK), None).text,
    );
    let is_of = |entry: &&Entry, kind: &str| match &entry.kind {
        EntryKind::NativeRecord(record) => record.record_type.as_deref() == Some(kind),
        _ => false,
    };
    let count = |kind: &str| entries.iter().filter(|entry| is_of(entry, kind)).count();
    assert_eq!((count("step-start"), count("step-finish")), (4, 4));
}
