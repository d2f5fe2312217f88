//! Reading sessions of opencode, from each of the three sources of records.

use proptest::prelude::*;
use tertulia_dialect::native::{
    Layout, NativeFormat, NativeReader, ReadSession, Record, detect, layout, original_bytes,
};
use tertulia_session::Entry;

use crate::native_rules_show::{check_entries, check_rules, mixed, read_lines, show};

const TURN: &str = include_str!("../fixtures/native/opencode/turn.json");
const ROWS: &str = include_str!("../fixtures/native/opencode/rows.jsonl");

fn read_document(text: &str) -> (Vec<Entry>, ReadSession) {
    let mut reader = NativeReader::new(NativeFormat::Opencode);
    let mut entries = Vec::new();
    reader.read_document("", text.as_bytes(), &mut entries);
    (entries, reader.finish())
}

#[test]
fn a_document_is_a_conversation() {
    let (entries, session) = read_document(TURN);
    assert_eq!(
        show(&entries),
        r#"
ses_1 ← - native_record session
msg_1 ← - native_record message
prt_11 ← msg_1 message user (nobody): "Called the Read tool"
prt_12 ← prt_11 message user (user): file /src/my garden/seeds.md
prt_13 ← prt_12 message user (user): image image/png
prt_14 ← prt_13 message user (user): "Which seeds are left?"
prt_15 ← prt_14 native_record text
msg_2 ← prt_14 model_change acme/m1
prt_21 ← msg_2 native_record step-start
prt_22 ← msg_2 message assistant (opencode): thinking "Two places." +metadata
prt_23 ← prt_22 message assistant (opencode): "I will look."
prt_24 ← prt_23 message assistant (opencode): call c-1 bash {"command":"cat seeds.md"} | result c-1 "- beans\n"
prt_25 ← prt_24 message assistant (opencode): call c-2 read {"filePath":"/x"} | result c-2 error "No such file"
prt_26 ← prt_25 message assistant (opencode): call c-3 read {"filePath":"b.png"} | result c-3 [{"type":"text","text":"Image read"},{"type":"image_url","image_url":"data:image/png;base64,BBBB"}]
prt_27 ← prt_26 message assistant (opencode): call c-4 bash {"command":"sleep 9"}
prt_28 ← prt_27 usage acme/m1 150(40)+25 $0.25
prt_29 ← prt_28 native_record patch
msg_3 ← prt_28 model_change acme/m2
prt_31 ← msg_3 message assistant (opencode): "Half an ans"
msg_4 ← msg_3 native_record message
prt_41 ← msg_4 message assistant (opencode): "Beans."
prt_42 ← prt_41 usage acme/m2 150(40)+25 $0
piece-end ← prt_42 native_record ?
"#
    );
    assert_eq!(session.problems, []);
    assert_eq!(session.title.as_deref(), Some("Seeds"));
    assert_eq!(session.folder.as_deref(), Some("/src/garden"));
    assert_eq!(session.model.as_deref(), Some("acme/m2"));
}

#[test]
fn rows_are_a_conversation_with_its_compaction_and_sub_agents() {
    let (entries, session) = read_lines(NativeFormat::Opencode, ROWS);
    assert_eq!(
        show(&entries),
        r#"
ses_1 ← - native_record session
msg_1 ← - native_record message
prt_1 ← msg_1 message user (user): "One"
msg_2 ← prt_1 model_change acme/m1
prt_2 ← msg_2 message assistant (opencode): "Eins"
msg_3 ← prt_2 native_record message
prt_3 ← msg_3 message user (user): "Two"
msg_4 ← prt_3 native_record message
prt_4 ← msg_4 message assistant (opencode): call c-1 task {"prompt":"Look"} | result c-1 "Nothing"
msg_5 ← prt_4 native_record message
prt_5 ← msg_5 native_record compaction
msg_6 ← msg_5 native_record message
prt_6a ← msg_6 native_record step-start
prt_6b ← msg_6 compaction_summary from msg_3: We counted to one.
msg_7 ← prt_6b native_record message
prt_7 ← msg_7 native_record text
msg_8 ← msg_7 native_record message
prt_8 ← msg_8 message assistant (opencode): "Three"
msg_9 ← prt_8 native_record message
prt_9a ← msg_9 message user (user): "Four"
prt_9b ← prt_9a message user (user): "No, five"
msg_10 ← prt_9a native_record message
prt_10 ← prt_9a message assistant (opencode): "Fünf"
ses_2 ← prt_4 native_record session
msg_s1 ← ses_2 native_record message
prt_s1 ← msg_s1 message user (user): "Look"
msg_s2 ← prt_s1 native_record message
prt_s2 ← msg_s2 message assistant (opencode): "Nothing"
line-29 ← prt_9a native_record todo
prt_x1 ← prt_9a native_record text
prt_x2 ← prt_9a native_record poem
line-32 ← prt_9a native_record ?
"#
    );
    assert_eq!(session.leaf_record.as_deref(), Some("prt_9a"));
}

#[test]
fn what_cannot_be_read_is_named_and_kept() {
    let (_, session) = read_lines(NativeFormat::Opencode, ROWS);
    let problems: Vec<String> = session.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "line 30: messageID is missing or has the wrong type; kept as it is",
            "line 31: the record has the unknown type \"poem\"; kept as it is",
            "line 32: row.data is missing or has the wrong type; kept as it is"
        ]
    );
}

/// The files of the first storage: their paths and contents.
const TREE: [(&str, &str); 5] = [
    (
        "session/p/ses_1.json",
        r#"{"id":"ses_1","version":"0.1","projectID":"p","directory":"/src","title":"Old","time":{"created":1}}"#,
    ),
    (
        "message/ses_1/msg_1.json",
        r#"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":2}}"#,
    ),
    (
        "part/msg_1/1.json",
        "{\n  \"id\": \"prt_1\",\n  \"type\": \"text\",\n  \"text\": \"Read it\"\n}\n",
    ),
    (
        "message/ses_1/msg_2.json",
        r#"{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":3},"providerID":"acme","modelID":"m1"}"#,
    ),
    (
        "part/2.json",
        r#"{"messageID":"msg_2","id":"prt_2","type":"tool","callID":"c-1","tool":"bash","state":{"status":"success","input":{"command":"cat a"},"output":"Title"}}"#,
    ),
];

#[test]
fn the_files_of_the_first_storage_are_one_conversation() {
    let mut reader = NativeReader::new(NativeFormat::Opencode);
    let mut entries = Vec::new();
    for (file, text) in TREE {
        reader.read(Record { file, line: 1, bytes: text.as_bytes(), end: "" }, &mut entries);
    }
    assert_eq!(
        show(&entries),
        r#"
ses_1 ← - native_record session
msg_1 ← - native_record message
prt_1 ← msg_1 message user (user): "Read it"
msg_2 ← prt_1 model_change acme/m1
prt_2 ← msg_2 message assistant (opencode): call c-1 bash {"command":"cat a"} | result c-1 "Title"
"#
    );
    check_entries(&entries);
    let session = reader.finish();
    assert_eq!(session.leaf_record.as_deref(), Some("prt_2"));
    for (file, text) in TREE {
        assert_eq!(original_bytes(&entries, file).unwrap(), text.as_bytes());
        // This part does not name its message, so only its folder shows what it is.
        assert_eq!(detect(text.as_bytes()).is_some(), file != "part/msg_1/1.json", "{file}");
    }
}

#[test]
fn a_document_is_recognised_even_if_it_is_cut() {
    for end in [200, TURN.len()] {
        let beginning = &TURN.as_bytes()[..end];
        assert_eq!(detect(beginning), Some(NativeFormat::Opencode));
        assert_eq!(layout(NativeFormat::Opencode, beginning), Layout::Document);
    }
    assert_eq!(detect(ROWS.as_bytes()), Some(NativeFormat::Opencode));
    assert_eq!(layout(NativeFormat::Opencode, ROWS.as_bytes()), Layout::Lines);
}

#[test]
fn a_document_has_the_same_ids_as_its_rows() {
    let (entries, _) = read_document(TURN);
    check_entries(&entries);
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert!(ids.starts_with(&["ses_1", "msg_1", "prt_11"]), "{ids:?}");
}

#[test]
fn the_rules_of_all_formats_hold() {
    check_rules(NativeFormat::Opencode, ROWS);
}

proptest! {
    #[test]
    fn rows_in_any_order_are_read(
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..20),
    ) {
        let lines: Vec<&str> = ROWS.lines().collect();
        check_rules(NativeFormat::Opencode, &mixed(&lines, &picks));
    }

    #[test]
    fn a_document_keeps_its_bytes_wherever_it_is_cut_or_changed(
        cut in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let at = cut.index(TURN.len());
        let mut changed = TURN.as_bytes().to_vec();
        changed[at] = byte;
        for bytes in [&TURN.as_bytes()[..at], &changed] {
            let mut reader = NativeReader::new(NativeFormat::Opencode);
            let mut entries = Vec::new();
            reader.read_document("", bytes, &mut entries);
            check_entries(&entries);
            prop_assert_eq!(original_bytes(&entries, "").unwrap(), bytes);
        }
    }
}
