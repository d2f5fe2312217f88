//! Sessions of Claude Code as entries.

use proptest::prelude::*;
use proptest::sample::subsequence;
use tertulia_dialect::native::{
    NativeFormat, NativeReader, ReadSession, Record, detect, original_bytes,
};
use tertulia_session::{Entry, EntryKind, Message, Part, PartKind, Role};

const SESSION: &str = include_str!("../fixtures/native/claude/session.jsonl");
const AGENT: &str = include_str!("../fixtures/native/claude/agent.jsonl");
const AGENT_FILE: &str = "subagents/agent-7.jsonl";

fn read_file(reader: &mut NativeReader, file: &str, text: &[u8], entries: &mut Vec<Entry>) {
    for (line, bytes) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        let (bytes, end) = match bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, "\n"),
            None => (bytes, ""),
        };
        reader.read(Record { file, line, bytes, end }, entries);
    }
}

pub(crate) fn read(text: &str) -> (Vec<Entry>, ReadSession) {
    let (mut reader, mut entries) = (NativeReader::new(NativeFormat::Claude), Vec::new());
    read_file(&mut reader, "", text.as_bytes(), &mut entries);
    (entries, reader.finish())
}

fn show(entry: &Entry) -> String {
    let parent = entry.parent_id.as_ref().map_or("-", |id| id.as_str());
    let said = match &entry.kind {
        EntryKind::Message(message) => show_message(message),
        EntryKind::NativeRecord(record) => record.record_type.as_deref().unwrap_or("?").to_owned(),
        EntryKind::Usage(usage) => {
            let cached = usage.cached_tokens.unwrap_or_default();
            format!("usage {} ({cached} cached) {}", usage.input_tokens, usage.output_tokens)
        }
        EntryKind::ModelChange(change) => format!("model {}", change.model),
        EntryKind::CompactionSummary(summary) => {
            let kept = summary.kept_ids.iter().flatten().map(|id| id.as_str());
            let first = summary.first_kept_entry_id.as_str();
            let kept = kept.chain([first]).collect::<Vec<_>>().join(" ");
            let (before, after) = (summary.tokens_before, summary.tokens_after);
            format!("summary {:?} keeps {kept}, {before:?} to {after:?}", summary.summary)
        }
        other => other.type_name().to_owned(),
    };
    format!("{} < {parent} {said}", entry.id)
}

pub(crate) fn show_message(message: &Message) -> String {
    let parts = message.parts.iter().map(show_part).collect::<Vec<_>>();
    format!("{}: {}", message.role.map_or("?", Role::as_str), parts.join(" + "))
}

fn show_part(part: &Part) -> String {
    match &part.kind {
        PartKind::Text(text) => format!("{text:?}"),
        PartKind::Thinking(text) => {
            let signature = part.unknown_payload().get("signature");
            format!("thinks {text:?} {}", signature.map_or("unsigned", |json| json.as_str()))
        }
        PartKind::ToolCall(call) => {
            format!("{} {} {}", call.tool_call_id, call.tool_name, call.arguments.as_str())
        }
        PartKind::ToolResult(result) => {
            let verb = if result.is_error { "fails" } else { "gives" };
            format!("{} {verb} {}", result.tool_call_id, result.content.as_str())
        }
        PartKind::Image(image) => format!("picture {}", image.mime_type),
        PartKind::FileRef(file) => format!("file {}", file.path),
        PartKind::Other(other) => format!("other {}", other.kind),
    }
}

#[track_caller]
fn check(lines: &str, expected: &[&str]) -> ReadSession {
    let (entries, session) = read(lines);
    assert_eq!(entries.iter().map(show).collect::<Vec<_>>(), expected);
    session
}

/// Returns a line with these fields and those that every record has.
fn line(id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent == "-" { "null".into() } else { format!("{parent:?}") };
    format!(r#"{{"uuid":"{id}","parentUuid":{parent},"isSidechain":false,"sessionId":"s",{rest}}}"#)
        + "\n"
}

fn said(id: &str, parent: &str, text: &str) -> String {
    let message = format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#);
    line(id, parent, &message)
}

fn answered(id: &str, parent: &str, answer: &str, block: &str) -> String {
    let message = format!(r#"{{"id":"{answer}","role":"assistant","content":[{block}]}}"#);
    line(id, parent, &format!(r#""type":"assistant","message":{message}"#))
}

#[test]
fn a_session_is_its_messages_with_all_other_records_beside_them() {
    let session = check(
        SESSION,
        &[
            "line-1 < - summary",
            "line-2 < - queue-operation",
            "p-0 < - progress",
            "u-0 < - user",
            r#"u-1 < - user: "Fix the parser." + picture image/png"#,
            "t-1 < u-1 attachment/date",
            r#"a-1 < u-1 assistant: thinks "Two files." "c2ln""#,
            "a-1#1 < a-1 usage 123 (100 cached) 1",
            r#"a-2 < a-1#1 assistant: toolu_1 Read {"file_path":"/src/app/a.rs"}"#,
            "p-1 < a-2 progress",
            r#"a-3 < a-2 assistant: toolu_2 Task {"prompt":"Look at b.rs."}"#,
            "a-3#1 < a-3 usage 0 (0 cached) 89",
            r#"r-1 < a-3#1 tool: toolu_1 gives "fn a() {}""#,
            r#"r-2 < r-1 tool: toolu_2 fails [{"type":"text","text":"gave up"}]"#,
            r#"t-2 < r-2 user: "Only a.rs, please.""#,
            "e-1 < t-2 assistant",
            r#"a-4 < t-2 assistant: "Done.""#,
            "a-4#1 < a-4 usage 200 (0 cached) 5",
            "a-4#2 < a-4#1 model claude-haiku-5",
            "line-16 < a-4#2 ai-title",
            r#"u-2 < r-2 user: "Both files after all.""#,
            r#"a-5 < u-2 assistant: "Both then.""#,
            "a-5#1 < a-5 usage 190 (0 cached) 4",
            "line-19 < a-5#1 custom-title",
            "line-20 < a-5#1 ai-title",
            "b-1 < a-5#1 system/compact_boundary",
            r#"c-1 < a-5#1 summary "The parser was fixed." keeps a-5 c-1, Some(900) to Some(80)"#,
            "u-3 < c-1 user",
            r#"u-4 < c-1 user: "Next.""#,
        ],
    );
    assert_eq!(session.native_id.as_deref(), Some("s-1"));
    assert_eq!(session.title.as_deref(), Some("My parser"));
    assert_eq!(session.folder.as_deref(), Some("/src/app"));
    assert_eq!(session.model.as_deref(), Some("claude-haiku-5"));
    assert_eq!(session.agent_version.as_deref(), Some("2.1.325"));
    assert_eq!(session.leaf_record.as_deref(), Some("u-4"));
    assert_eq!(session.problems, []);
}

#[test]
fn a_sub_agent_is_a_branch_at_the_call_that_started_it() {
    let mut reader = NativeReader::new(NativeFormat::Claude);
    let mut entries = Vec::new();
    read_file(&mut reader, "", SESSION.as_bytes(), &mut entries);
    let leaf = reader.session().leaf.clone();
    let count = entries.len();
    read_file(&mut reader, AGENT_FILE, AGENT.as_bytes(), &mut entries);
    assert_eq!(
        entries[count..].iter().map(show).collect::<Vec<_>>(),
        [
            // The second entry of the call is its usage.
            r#"s-1 < a-3#1 user: "Look at b.rs.""#,
            "s-2 < s-1 attachment/date",
            r#"s-3 < s-1 assistant: toolu_s Bash {"command":"cat b.rs"}"#,
            "s-3#1 < s-3 usage 9 (0 cached) 2",
            r#"s-4 < s-3#1 tool: toolu_s gives "b""#,
        ]
    );
    assert_eq!(original_bytes(&entries, AGENT_FILE).unwrap(), AGENT.as_bytes());
    let session = reader.finish();
    assert_eq!(session.leaf, leaf);
    assert_eq!(session.model.as_deref(), Some("claude-haiku-5"));
}

#[test]
fn a_rewound_prompt_starts_a_branch() {
    let lines = said("1", "-", "a")
        + &answered("2", "1", "m", r#"{"type":"text","text":"b"}"#)
        + &said("3", "2", "c")
        + &said("4", "2", "d")
        + &answered("5", "1", "n", r#"{"type":"text","text":"e"}"#);
    let session = check(
        &lines,
        &[
            r#"1 < - user: "a""#,
            r#"2 < 1 assistant: "b""#,
            r#"3 < 2 user: "c""#,
            r#"4 < 2 user: "d""#,
            r#"5 < 1 assistant: "e""#,
        ],
    );
    assert_eq!(session.leaf.as_ref().map(|id| id.as_str()), Some("5"));
}

#[test]
fn a_parent_that_is_missing_is_the_record_before() {
    let session = check(
        &(said("1", "-", "a") + &said("2", "gone", "b")),
        &[r#"1 < - user: "a""#, r#"2 < 1 user: "b""#],
    );
    assert_eq!(
        session.problems[0].to_string(),
        "line 2: the parent \"gone\" does not come before the record; it gets the previous record \
         as its parent"
    );
}

#[test]
fn two_records_on_one_line_are_two() {
    let lines = said("1", "-", "a").trim_end().to_owned() + &said("2", "1", "b");
    let session = check(&lines, &[r#"1 < - user: "a""#, r#"2 < 1 user: "b""#]);
    assert_eq!(session.problems, []);
}

#[test]
fn what_the_agent_says_in_the_users_name_is_no_message() {
    for text in [
        "<command-name>/clear</command-name>",
        "<local-command-stdout>ok</local-command-stdout>",
        " <system-reminder>Be brief.</system-reminder>",
        "<task-notification>done</task-notification>",
        "[Request interrupted by user]",
    ] {
        check(&said("1", "-", text), &["1 < - user"]);
    }
    check(&said("1", "-", "<b>Bold</b>"), &[r#"1 < - user: "<b>Bold</b>""#]);
}

#[test]
fn a_block_that_cannot_be_read_is_kept_whole() {
    let blocks = r#"{"type":"text","text":"a"},{"type":"tool_use","name":"Bash"},{"type":"new"}"#;
    let session = check(
        &answered("1", "-", "m", blocks),
        &[r#"1 < - assistant: "a" + other anthropic/tool_use + other anthropic/new"#],
    );
    let problems: Vec<String> = session.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["line 1: message.content is missing or has the wrong type; kept as it is"]
    );
}

#[test]
fn half_a_character_is_a_mark() {
    check(&said("1", "-", r"a\ud800"), &["1 < - user: \"a\u{fffd}\""]);
}

#[test]
fn records_that_are_unknown_or_not_as_expected_are_kept_and_reported() {
    for (record, name, problem) in [
        ("[]", "?", "the record is missing"),
        ("{}", "?", "type is missing"),
        (r#"{"type":"new"}"#, "new", "the record has the unknown type \"new\""),
        (r#"{"type":"user"}"#, "user", "message.content is missing"),
        (r#"{"type":"assistant","message":7}"#, "assistant", "message is missing"),
    ] {
        let session = check(&format!("{record}\n"), &[&format!("line-1 < - {name}")]);
        let told = session.problems[0].to_string();
        assert!(told.starts_with(&format!("line 1: {problem}")), "{told}");
    }
}

#[test]
fn only_files_of_claude_code_are_recognized() {
    assert_eq!(detect(SESSION.as_bytes()), Some(NativeFormat::Claude));
    assert_eq!(detect(AGENT.as_bytes()), Some(NativeFormat::Claude));
    for other in [
        r#"{"id":"e-1","type":"message","payload":{}}"#,
        r#"{"type":"user","message":{"role":"user","content":"a"},"session_id":"s","uuid":"u"}"#,
        r#"{"type":"summary","text":"a"}"#,
        r#"{"type":"session","id":"1","version":3}"#,
    ] {
        assert_ne!(detect(other.as_bytes()), Some(NativeFormat::Claude), "{other}");
    }
}

/// Generates lines of the fixtures, some of them damaged.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let all: Vec<&str> = SESSION.split_inclusive('\n').chain(AGENT.split_inclusive('\n')).collect();
    let line =
        (proptest::sample::select(all), any::<Option<(u16, u8)>>()).prop_map(|(line, broken)| {
            let mut bytes = line.as_bytes().to_vec();
            if let Some((at, byte)) = broken {
                let at = usize::from(at) % bytes.len();
                bytes[at] = byte;
            }
            bytes
        });
    let whole: Vec<Vec<u8>> = SESSION.split_inclusive('\n').map(|line| line.into()).collect();
    let count = whole.len();
    prop_oneof![subsequence(whole, 0..=count), proptest::collection::vec(line, 0..30),]
}

proptest! {
    #[test]
    fn a_prefix_of_a_session_gives_a_prefix_of_its_entries(lines in lines(), part: u8) {
        let (mut reader, mut entries) = (NativeReader::new(NativeFormat::Claude), Vec::new());
        let whole = lines.concat();
        read_file(&mut reader, "", &whole, &mut entries);
        if let Some(bytes) = whole.strip_suffix(b"\n") {
            prop_assert_eq!(original_bytes(&entries, "").unwrap(), [bytes, b"\n"].concat());
        }
        let first = lines[..usize::from(part) % (lines.len() + 1)].concat();
        let (mut reader, mut prefix) = (NativeReader::new(NativeFormat::Claude), Vec::new());
        read_file(&mut reader, "", &first, &mut prefix);
        if first.is_empty() || first.ends_with(b"\n") {
            prop_assert_eq!(&prefix[..], &entries[..prefix.len()]);
        }
        let mut before = std::collections::HashSet::new();
        for entry in &entries {
            prop_assert!(entry.parent_id.as_ref().is_none_or(|parent| before.contains(parent)));
            prop_assert!(before.insert(entry.id.clone()), "{} twice", entry.id);
        }
    }
}
