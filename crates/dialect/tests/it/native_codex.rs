//! Sessions of Codex: every message is read once, whichever of the two logs contains it. Texts that Codex adds to
//! messages of the user are left out.

use std::collections::HashSet;

use proptest::prelude::*;
use tertulia_dialect::native::{
    NativeFormat, NativeReader, ProblemKind, ReadSession, Record, detect, original_bytes,
};
use tertulia_session::{Entry, EntryKind};

use crate::arbitrary::at_least;
use crate::native_entry_lines::{read_lines, show};

const TOOLS: &str = include_str!("../fixtures/native/codex/tools.jsonl");
const COMPACTED: &str = include_str!("../fixtures/native/codex/compacted.jsonl");
const IMPORTER: &str = include_str!("../fixtures/native/codex/importer.jsonl");
const SCREEN_ONLY: &str = include_str!("../fixtures/native/codex/screen_only.jsonl");
const BARE: &str = include_str!("../fixtures/native/codex/bare.jsonl");
const ROLLED_BACK: &str = include_str!("../fixtures/native/codex/rolled_back.jsonl");
const ALL: [&str; 6] = [TOOLS, COMPACTED, IMPORTER, SCREEN_ONLY, BARE, ROLLED_BACK];

fn read(file: &str) -> (Vec<Entry>, ReadSession) {
    read_lines(NativeFormat::Codex, file)
}

/// Returns all entries except bookkeeping, as text.
fn said(file: &str) -> String {
    let (mut entries, session) = read(file);
    assert_eq!(session.problems, []);
    entries.retain(|entry| !matches!(entry.kind, EntryKind::NativeRecord(_)));
    show(&entries)
}

#[track_caller]
fn check(file: &str, expected: &[&str]) {
    assert_eq!(said(file), expected.join("\n"));
}

fn line(payload_type: &str, payload: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-03-02T10:00:00.000Z","type":"{payload_type}","payload":{payload}}}"#
    )
}

#[test]
fn messages_calls_results_and_usage_are_read_once() {
    check(
        TOOLS,
        &[
            "line-6#1 <- line-6 model: gpt-6.1-sol",
            "line-7 <- line-6#1 user: How deep is the harbour?",
            "line-9 <- line-7 assistant: thinking(Look at the chart.\n\nThen measure.) [encryptedContent]",
            r#"line-10 <- line-9 assistant: call call_1 exec_command({"cmd":"cat chart.txt"})"#,
            "line-11#1 <- line-11 usage: gpt-6.1-sol 900 (100) 20",
            r#"line-12 <- line-11#1 tool: result call_1 "12 m at low tide\n""#,
            r#"line-14 <- line-12 assistant: call call_2 exec({"input":"text(\"sounding\");"})"#,
            r#"line-15 <- line-14 tool: result call_2 [{"type":"input_text","text":"11.8"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]"#,
            r#"line-16 <- line-15 assistant: call call_3 local_shell({"type":"exec","command":["ls","-l"]})"#,
            r#"line-17 <- line-16 tool: error call_3 "no such folder""#,
            r#"line-18 <- line-17 assistant: call ws_1 web_search({"type":"search","query":"tide table"}) + result ws_1 "completed""#,
            "line-20 <- line-18 assistant: call call_4 apply_patch(raw *** Begin Patch)",
            r#"line-21 <- line-20 tool: result call_4 "aborted by user after 4.6s""#,
            "line-23 <- line-21 assistant: Twelve metres.",
            "line-24#1 <- line-24 usage: gpt-6.1-sol 1200 (900) 30",
        ],
    );
}

#[test]
fn the_session_is_described_by_its_first_record() {
    let (_, session) = read(TOOLS);
    assert_eq!(session.native_id.as_deref(), Some("0190aaaa-0000-7000-8000-000000000001"));
    assert_eq!(session.folder.as_deref(), Some("/srv/harbour"));
    assert_eq!(session.model.as_deref(), Some("gpt-6.1-sol"));
    assert_eq!(session.agent_version.as_deref(), Some("0.166.0"));
    assert_eq!(session.title.as_deref(), Some("Depth of the harbour"));
    assert_eq!(session.parent_native_id, None);
    assert_eq!(session.started.unwrap().to_iso(), "2026-03-02T10:00:00.000Z");
    assert_eq!(session.updated.unwrap().to_iso(), "2026-03-02T10:00:27.000Z");
    assert_eq!(session.leaf.unwrap().as_str(), "line-24#1");
}

#[test]
fn a_fork_and_a_sub_agent_name_the_session_that_they_come_from() {
    let (_, fork) = read(COMPACTED);
    assert_eq!(fork.parent_native_id.as_deref(), Some("0190aaaa-0000-7000-8000-00000000000f"));
    let source = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"p-1","depth":1}}}"#;
    let (_, agent) = read(&line("session_meta", &format!(r#"{{"id":"s","source":{source}}}"#)));
    assert_eq!(agent.parent_native_id.as_deref(), Some("p-1"));
}

#[test]
fn the_second_description_of_a_forked_file_does_not_count() {
    let file = [r#"{"id":"child","cwd":"/a"}"#, r#"{"id":"parent","cwd":"/b"}"#];
    let (_, session) = read(&file.map(|meta| line("session_meta", meta)).join("\n"));
    assert_eq!(session.native_id.as_deref(), Some("child"));
    assert_eq!(session.folder.as_deref(), Some("/a"));
}

#[test]
fn a_compaction_keeps_what_its_replacement_keeps_and_one_that_cannot_be_read_keeps_all() {
    check(
        COMPACTED,
        &[
            "line-2#1 <- line-2 model: gpt-5.5",
            "line-3 <- line-2#1 user: Paint the boat.",
            "line-4 <- line-3 assistant: Which colour?",
            "line-5 <- line-4 user: Blue.",
            "line-6 <- line-5 assistant: Painted.",
            "line-7 <- line-6 summary: Summary so far: the boat is blue. [keeps line-3 line-5 line-7]",
            "line-9 <- line-7 user: Now the mast.",
            "line-10 <- line-9 assistant: Done.",
            "line-12#1 <- line-12 model: gpt-6.1-sol",
            "line-13 <- line-12#1 user: And the oars.",
        ],
    );
}

#[test]
fn a_compaction_of_old_versions_is_its_message_alone() {
    let file = line("compacted", r#"{"message":"All is well."}"#);
    assert_eq!(said(&file), "line-1 <- - summary: All is well. [keeps line-1]");
}

#[test]
fn a_compaction_keeps_a_message_whose_picture_it_leaves_out() {
    let content = r#"[{"type":"input_text","text":"See!"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]"#;
    let message = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
    let history = r#"[{"role":"user","content":"See!"},{"role":"user","content":"Seen."}]"#;
    let compacted = format!(r#"{{"message":"Seen.","replacement_history":{history}}}"#);
    let file = [line("response_item", &message), line("compacted", &compacted)].join("\n");
    let shown = said(&file);
    assert!(shown.ends_with("summary: Seen. [keeps line-1 line-2]"), "{shown}");
}

#[test]
fn a_replacement_that_is_in_no_message_goes_into_the_summary() {
    let history =
        r#"[{"role":"user","content":"Cut te…"},{"role":"user","content":"Here it is: Short."}]"#;
    let payload = format!(r#"{{"message":"Short.","replacement_history":{history}}}"#);
    let shown = said(&line("compacted", &payload));
    assert_eq!(shown, "line-1 <- - summary: Cut te…\n\nHere it is: Short. [keeps line-1]");
}

#[test]
fn a_text_that_the_screen_shows_before_the_model_sees_it_is_one_message() {
    check(IMPORTER, &["line-3 <- - user: Ring twice.", "line-6 <- line-3 assistant: It rings."]);
}

#[test]
fn a_message_that_holds_more_than_the_screen_showed_takes_its_place() {
    let shown = line("event_msg", r#"{"type":"user_message","message":"What is it?"}"#);
    let content = r#"[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"data:image/png;base64,QUJD"}]"#;
    let item = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
    let file = format!("{shown}\n{}\n", line("response_item", &item));
    let expected =
        "line-1 <- - user: What is it?\nline-2 <- - user: What is it? + image image/png 4 bytes";
    assert_eq!(said(&file), expected);
    assert_eq!(read(&file).1.leaf.unwrap().as_str(), "line-2");
}

#[test]
fn messages_of_the_screen_count_if_there_are_no_others() {
    check(
        SCREEN_ONLY,
        &[
            "line-2 <- - user: Light the lamp.",
            "line-3 <- line-2 assistant: thinking(It is dark.) []",
            "line-4 <- line-3 assistant: It burns.",
            "line-5 <- line-4 user: Thanks.",
        ],
    );
}

#[test]
fn files_from_before_the_envelope_are_read() {
    check(
        BARE,
        &[
            "line-3 <- - user: Who keeps the light?",
            "line-4 <- line-3 assistant: thinking(A riddle.) []",
            r#"line-5 <- line-4 assistant: call call_1 shell({"command":["ls"]})"#,
            r#"line-6 <- line-5 tool: result call_1 "{\"output\":\"keeper.txt\\n\",\"metadata\":{\"exit_code\":0}}""#,
            "line-7 <- line-6 assistant: The keeper.",
        ],
    );
    let (_, session) = read(BARE);
    assert_eq!(session.native_id.as_deref(), Some("c0ffee00-0000-4000-8000-000000000001"));
    assert_eq!(session.started.unwrap().to_iso(), "2025-07-01T08:00:00.000Z");
}

#[test]
fn turns_that_were_taken_back_are_on_another_branch() {
    check(
        ROLLED_BACK,
        &[
            "line-2 <- - user: One.",
            "line-3 <- line-2 assistant: 1",
            "line-4 <- line-3 user: Two.",
            "line-5 <- line-4 assistant: 2",
            "line-6 <- line-5 user: Three.",
            "line-8 <- line-7 user: Four.",
            "line-10 <- line-9 user: Five.",
        ],
    );
    let (entries, _) = read(ROLLED_BACK);
    let parent =
        |id: &str| entries.iter().find(|one| one.id.as_str() == id).unwrap().parent_id.clone();
    assert_eq!(parent("line-7").unwrap().as_str(), "line-3");
    assert_eq!(parent("line-9"), None);
}

#[test]
fn what_codex_adds_is_not_what_the_user_says() {
    let user = |text: &str| {
        let content = format!(
            r#"[{{"type":"input_text","text":"{text}"}},{{"type":"input_text","text":"Go on."}}]"#
        );
        said(&line("response_item", &format!(r#"{{"role":"user","content":{content}}}"#)))
    };
    for added in [
        "<environment_context>\\n</environment_context>",
        "<user_instructions>\\n\\nx</user_instructions>",
        "# AGENTS.md instructions for /srv\\n\\n<INSTRUCTIONS>x</INSTRUCTIONS>",
        "<turn_aborted>x</turn_aborted>",
        "<skill>\\n<name>x</name>\\n</skill>\\n",
        "<hook_prompt id=\\\"1\\\">x</hook_prompt>",
    ] {
        assert_eq!(user(added), "line-1 <- - user: Go on.", "{added}");
    }
    for own in ["<skill> is a tag", "<skills>x</skills>", "AGENTS.md instructions"] {
        assert_eq!(user(own), format!("line-1 <- - user: {own} + Go on."), "{own}");
    }
}

#[test]
fn what_an_agent_of_the_session_says_is_its_own() {
    let payload = r#"{"type":"agent_message","author":"crew/scout","recipient":"crew","content":[{"type":"input_text","text":"Land!"}]}"#;
    let (entries, _) = read(&line("response_item", payload));
    let EntryKind::Message(message) = &entries[0].kind else { panic!("{entries:?}") };
    assert_eq!(&*message.speaker.as_ref().unwrap().role_name, "crew/scout");
    assert_eq!(message.text(), "Land!");
}

#[test]
fn half_a_character_is_read_as_a_replacement_and_kept_as_it_is() {
    let file = line("response_item", r#"{"role":"user","content":"a\ud83d"}"#);
    assert_eq!(said(&file), "line-1 <- - user: a\u{fffd}");
    assert_eq!(original_bytes(&read(&file).0, "").unwrap(), file.as_bytes());
}

#[test]
fn what_is_unknown_or_odd_is_kept_and_reported() {
    let unknown = |name: &str| ProblemKind::UnknownType { name: name.into() };
    let field = |field| ProblemKind::Field { field };
    for (record, problem) in [
        (line("tide", "{}"), unknown("tide")),
        (line("response_item", r#"{"type":"tide"}"#), unknown("response_item/tide")),
        (line("response_item", r#"{"type":"message"}"#), field("payload.role")),
        (line("response_item", r#"{"role":"user","content":7}"#), field("payload.content")),
        (line("response_item", r#"{"type":"function_call","name":"x"}"#), field("payload.call_id")),
        (line("response_item", r#"{"type":"function_call_output"}"#), field("payload.call_id")),
        (line("event_msg", "7"), field("payload")),
        (line("event_msg", "{}"), field("payload.type")),
        (line("event_msg", r#"{"type":"token_count","info":{}}"#), field("payload.info")),
        (r#"{"type":"event_msg"}"#.to_owned(), field("payload")),
        ("{}".to_owned(), field("type")),
        ("[]".to_owned(), field("the record")),
    ] {
        let (entries, session) = read(&record);
        assert!(matches!(entries[0].kind, EntryKind::NativeRecord(_)), "{record}");
        assert_eq!(session.problems.len(), 1, "{record}");
        assert_eq!(session.problems[0].kind, problem, "{record}");
    }
}

#[test]
fn codex_files_are_recognised_and_others_are_not() {
    for file in ALL {
        assert_eq!(detect(file.as_bytes()), Some(NativeFormat::Codex));
    }
    for other in [
        r#"{"id":"e-1","type":"message","payload":{"role":"user"},"timestamp":1}"#,
        r#"{"type":"user","message":{"role":"user","content":"x"},"timestamp":"2026-03-02T10:00:00Z"}"#,
        r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#,
        r#"{"messages":[],"version":1}"#,
        r#"{"schemaVersion":1,"id":"a","timestamp":1}"#,
    ] {
        assert_ne!(detect(other.as_bytes()), Some(NativeFormat::Codex), "{other}");
    }
}

/// Generates lines of the fixtures in any order, cut anywhere, and other lines.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let known: Vec<&str> = ALL.iter().flat_map(|file| file.lines()).collect();
    let known = prop::sample::select(known);
    let line = prop_oneof![
        6 => known.clone().prop_map(|line| line.as_bytes().to_vec()),
        2 => (known, any::<prop::sample::Index>()).prop_map(|(line, at)| {
            line.as_bytes()[..at.index(line.len())].to_vec()
        }),
        1 => prop::collection::vec(any::<u8>().prop_filter("no line end", |byte| *byte != b'\n'), 0..40),
    ];
    prop::collection::vec(line, 0..30)
}

fn read_records(records: &[Vec<u8>]) -> Vec<Entry> {
    let mut reader = NativeReader::new(NativeFormat::Codex);
    let mut entries = Vec::new();
    for (line, bytes) in (1..).zip(records) {
        reader.read(Record { file: "", line, bytes, end: "\n" }, &mut entries);
    }
    entries
}

proptest! {
    #![proptest_config(at_least(256))]

    #[test]
    fn any_lines_are_kept_and_form_a_tree(records in lines(), cut in any::<prop::sample::Index>()) {
        let entries = read_records(&records);
        let bytes: Vec<u8> = records.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect();
        prop_assert_eq!(original_bytes(&entries, ""), Some(bytes));
        let mut ids = HashSet::new();
        for entry in &entries {
            prop_assert!(entry.parent_id.as_ref().is_none_or(|parent| ids.contains(parent)));
            prop_assert!(ids.insert(entry.id.clone()), "{} twice", entry.id);
        }
        let fewer = read_records(&records[..cut.index(records.len() + 1)]);
        prop_assert_eq!(&entries[..fewer.len()], &fewer[..]);
    }
}
