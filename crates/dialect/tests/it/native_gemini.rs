//! Reading sessions of Gemini CLI.

use tertulia_dialect::native::{NativeFormat, NativeReader, ReadSession};

use crate::native_show;

const HEADER: &str = r#"{"sessionId":"s-1","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}"#;
const CONTEXT: &str = r#"{"$set":{"messages":[{"id":"env","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /src\n</session_context>"}]}]}}"#;

#[track_caller]
fn check(lines: &[&str], expected: &str) -> ReadSession {
    let file = [&[HEADER], lines].concat().join("\n") + "\n";
    let expected = format!("line-1 ← - record -\n{}", expected.trim());
    let session = native_show::check(NativeFormat::Gemini, &file, &expected);
    assert_eq!(session.problems, []);
    assert_eq!(session.native_id.as_deref(), Some("s-1"));
    session
}

fn user(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","type":"user","content":[{{"text":"{text}"}}]}}"#)
}

fn gemini(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","type":"gemini","content":"{text}"}}"#)
}

fn set(messages: &[&str]) -> String {
    format!(r#"{{"$set":{{"messages":[{}]}}}}"#, messages.join(","))
}

/// A question, an answer that calls a tool, its result, and an answer.
const TURN: [&str; 6] = [
    r#"{"id":"a","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"list"}]}"#,
    r#"{"id":"b","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"Running.","thoughts":[{"subject":"Plan","description":"run it"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":3,"tool":1,"total":16},"model":"m-1"}"#,
    r#"{"$set":{"lastUpdated":"2026-01-01T00:00:02.000Z"}}"#,
    r#"{"id":"b","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"Running.","thoughts":[{"subject":"Plan","description":"run it"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":3,"tool":1,"total":16},"model":"m-1","toolCalls":[{"id":"t","name":"shell","args":{"command":"ls"},"result":[{"functionResponse":{"id":"t","name":"shell","response":{"output":"x\n"}}}],"status":"success"}]}"#,
    r#"{"id":"c","type":"user","content":[{"functionResponse":{"id":"t","name":"shell","response":{"output":"x\n"}}}]}"#,
    r#"{"id":"d","timestamp":"2026-01-01T00:00:03.000Z","type":"gemini","content":"Done.","tokens":{"input":0,"output":0},"model":"m-2"}"#,
];

const TURN_SHOWN: &str = r#"
line-2 ← - record $set
a ← - user: "list"
b ← a assistant: thinks "**Plan** run it" | "Running."
b#1 ← b usage of m-1: 11 in, 4 cached, 5 out
line-5 ← b#1 record $set
b~2 ← a assistant: thinks "**Plan** run it" | "Running." | calls t shell {"command":"ls"}
b~2#1 ← b~2 tool: t returns "x\n"
c ← b~2#1 record user
d ← b~2#1 assistant: "Done."
d#1 ← d model m-2
"#;

#[test]
fn a_record_that_is_written_again_is_another_version_of_the_message() {
    let session = check(&[&[CONTEXT], &TURN[..]].concat(), TURN_SHOWN);
    assert_eq!(session.folder.as_deref(), Some("/src"));
    assert_eq!(session.model.as_deref(), Some("m-2"));
    assert_eq!(session.leaf.unwrap().as_str(), "d#1");
}

/// The messages of [`TURN`] in the form in which the agent writes them when it resumes the session.
const RESUMED: [&str; 6] = [
    r#"{"id":"env","type":"user","content":[{"text":"<session_context>\n</session_context>"}]}"#,
    r#"{"id":"a","type":"user","content":[{"text":"list"}]}"#,
    r#"{"id":"b","type":"gemini","content":[{"text":"**Plan** run it","thought":true},{"text":"Running."},{"functionCall":{"id":"t","name":"shell","args":{"command":"ls"}}}]}"#,
    r#"{"id":"b_response","type":"user","content":[{"functionResponse":{"id":"t","name":"shell","response":{"output":"x\n"}}}]}"#,
    r#"{"id":"c","type":"user","content":[{"functionResponse":{"id":"t","name":"shell","response":{"output":"x\n"}}}]}"#,
    r#"{"id":"d","type":"gemini","content":[{"text":"Done."}]}"#,
];

#[test]
fn a_resume_repeats_nothing() {
    let (list, id) = (set(&RESUMED), r#"{"$set":{"sessionId":"s-1"}}"#);
    let more = user("e", "more");
    let resumed = [HEADER, CONTEXT, id, &list, &more];
    let expected = format!(
        "{TURN_SHOWN}
line-9 ← d#1 record -
line-10 ← d#1 record $set
line-11 ← d#1 record $set
line-12 ← d#1 record $set
e ← d#1 user: \"more\""
    );
    let expected = expected.replace("\n\n", "\n");
    check(&[&[CONTEXT], &TURN[..], &resumed].concat(), &expected);
}

#[test]
fn a_list_without_the_failed_turn_goes_back_to_before_it() {
    let [a, b] = [user("a", "one"), gemini("b", "1")];
    let (failed, back) = (user("c", "two"), set(&[&a, &b]));
    let again = user("d", "two");
    let session = check(
        &[&a, &b, &failed, &back, &again],
        r#"
a ← - user: "one"
b ← a assistant: "1"
c ← b user: "two"
line-5 ← b record $set
d ← b user: "two"
"#,
    );
    assert_eq!(session.leaf.unwrap().as_str(), "d");
}

#[test]
fn another_list_is_a_branch_from_the_last_common_message() {
    let [a, b, c] = [user("a", "one"), gemini("b", "1"), user("c", "two")];
    let call = r#"{"id":"x","type":"gemini","content":[{"text":"look"},{"functionCall":{"id":"t","name":"shell","args":{}}}]}"#;
    let result = r#"{"id":"y","type":"user","content":[{"functionResponse":{"id":"t","name":"shell","response":{"error":"no"}}}]}"#;
    let list = set(&[&a, &user("n", "zwei"), call, result, &gemini("z", "2")]);
    check(
        &[&a, &b, &c, &list, &list, &user("e", "three")],
        r#"
a ← - user: "one"
b ← a assistant: "1"
c ← b user: "two"
line-5 ← a record $set
line-5#1 ← line-5 user: "zwei"
line-5#2 ← line-5#1 assistant: "look" | calls t shell {}
line-5#3 ← line-5#2 tool: t fails "no"
line-5#4 ← line-5#3 assistant: "2"
line-6 ← line-5#4 record $set
e ← line-5#4 user: "three"
"#,
    );
}

#[test]
fn a_message_of_a_list_can_be_written_again_and_gone_back_to() {
    let [a, b] = [user("a", "one"), gemini("b", "1")];
    let again = r#"{"id":"b","type":"gemini","content":"1","toolCalls":[{"id":"t","name":"shell","args":"{\"x\":1}","status":"cancelled"}]}"#;
    check(
        &[
            &set(&[&a, &b]),
            again,
            r#"{"$rewindTo":"b"}"#,
            &gemini("c", "uno"),
            r#"{"$rewindTo":"?"}"#,
        ],
        r#"
line-2 ← - record $set
line-2#1 ← line-2 user: "one"
line-2#2 ← line-2#1 assistant: "1"
b ← line-2#1 assistant: "1" | calls t shell {"x":1}
b#1 ← b tool: t fails "cancelled"
line-4 ← line-2#1 record $rewindTo
c ← line-2#1 assistant: "uno"
line-6 ← - record $rewindTo
"#,
    );
}

const GOT_IT: &str = "Got it. Thanks for the additional context!";

#[test]
fn a_compression_is_a_summary_that_keeps_the_last_messages() {
    let [a, b, c, d] = [user("a", "one"), gemini("b", "1"), user("c", "two"), gemini("d", "2")];
    let list = set(&[&user("s", "They count."), &gemini("g", GOT_IT), &c, &d]);
    let resumed =
        set(&[&user("s", "They count."), &gemini("g", GOT_IT), &c, &d, &user("e", "three")]);
    check(
        &[&a, &b, &c, &d, &list, &user("e", "three"), &resumed, &gemini("f", "3")],
        r#"
a ← - user: "one"
b ← a assistant: "1"
c ← b user: "two"
d ← c assistant: "2"
line-6 ← d summary "They count.", keeps c
e ← line-6 user: "three"
line-8 ← e record $set
f ← e assistant: "3"
"#,
    );
}

#[test]
fn a_compression_that_keeps_other_messages_brings_them() {
    let [a, b] = [user("a", "one"), gemini("b", "1")];
    let list = set(&[&user("s", "They count."), &gemini("g", GOT_IT), &user("c", "uno"), &b]);
    let alone = set(&[&user("t", "All."), &gemini("g", GOT_IT)]);
    check(
        &[&a, &b, &list, &alone, &user("e", "three")],
        r#"
a ← - user: "one"
b ← a assistant: "1"
line-4 ← b summary "They count.", keeps line-4
line-4#1 ← line-4 user: "uno"
line-4#2 ← line-4#1 assistant: "1"
line-5 ← line-4#2 summary "All.", keeps line-5
e ← line-5 user: "three"
"#,
    );
}

#[test]
fn the_documents_of_earlier_versions_are_read_message_by_message() {
    let file = r#"{
  "sessionId": "s-1",
  "projectHash": "h",
  "summary": "Files",
  "messages": [
    {"id": "a", "type": "user", "content": "one"},
    {"id": "b", "type": "info", "content": "Request cancelled."},
    {"id": "c", "type": "gemini", "content": "1", "toolCalls": [{"name": "read", "args": {"path": "x"}, "status": "success", "resultDisplay": "text"}]}
  ]
}"#;
    let expected = r#"
piece-1 ← - record -
a ← - user: "one"
b ← a record info
c ← a assistant: "1" | calls unnamed-1 read {"path":"x"}
c#1 ← c tool: unnamed-1 returns "text"
piece-end ← c#1 record -
"#;
    let session = native_show::check(NativeFormat::Gemini, file, expected);
    assert_eq!(session.title.as_deref(), Some("Files"));
    assert_eq!(session.problems, []);
}

#[test]
fn a_checkpoint_is_a_document_too() {
    let file = r#"{"history":[{"role":"user","parts":[{"text":"What is it?"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},{"role":"model","parts":[{"text":"A cat."}]}]}"#;
    let expected = r#"
piece-1 ← - record -
piece-2 ← - user: "What is it?" | picture image/png
piece-3 ← piece-2 assistant: "A cat."
piece-end ← piece-3 record -
"#;
    native_show::check(NativeFormat::Gemini, file, expected);
}

#[test]
fn results_with_pictures_and_of_other_calls_are_distinguished() {
    let record = r#"{"id":"a","type":"gemini","content":"","toolCalls":[
{"id":"t","name":"look","args":{},"status":"success","result":[{"functionResponse":{"id":"t","name":"look","response":{"output":"a cat"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AA"}}]}},{"functionResponse":{"id":"u","name":"read","response":{"output":"two"}}}]},
{"id":"u","name":"read","args":{},"status":"error","result":[{"functionResponse":{"id":"t","name":"look","response":{"output":"a cat"}}},{"functionResponse":{"id":"u","name":"read","response":{"output":"two"}}}]},
{"id":"v","name":"ask","args":{},"status":"success","result":"plain"}]}"#;
    check(
        &[&record.replace('\n', "")],
        r#"
a ← - assistant: calls t look {} | calls u read {} | calls v ask {}
a#1 ← a tool: t returns [{"type":"text","text":"a cat"},{"type":"image","mimeType":"image/png","data":"AA"}]
a#2 ← a#1 tool: u fails "two"
a#3 ← a#2 tool: v returns "plain"
"#,
    );
}

#[test]
fn a_sub_agent_is_a_conversation_of_its_own() {
    let mut reader = NativeReader::new(NativeFormat::Gemini);
    let mut entries = Vec::new();
    let main = [HEADER, &user("a", "one"), &gemini("b", "1")].join("\n");
    native_show::read_lines(&mut reader, "", main.as_bytes(), &mut entries);
    let header =
        r#"{"sessionId":"sub","projectHash":"h","kind":"subagent","directories":["/other"]}"#;
    let sub = [header, &user("x", "look"), &gemini("y", "seen")].join("\n");
    native_show::read_lines(&mut reader, "s-1/sub.jsonl", sub.as_bytes(), &mut entries);
    let expected = r#"
line-1 ← - record -
a ← - user: "one"
b ← a assistant: "1"
s-1/sub.jsonl/line-1 ← b record -
x ← - user: "look"
y ← x assistant: "seen"
"#;
    assert_eq!(native_show::show(&entries).trim(), expected.trim());
    let session = reader.finish();
    assert_eq!(session.leaf.unwrap().as_str(), "b");
    assert_eq!((session.native_id.as_deref(), session.folder), (Some("s-1"), None));
}

#[test]
fn a_late_version_of_an_earlier_message_does_not_move_the_branch() {
    let [a, b, c] = [user("a", "one"), gemini("b", "1"), user("c", "two")];
    let session = check(
        &[&a, &b, &c, &gemini("b", "1!"), &user("d", "three")],
        r#"
a ← - user: "one"
b ← a assistant: "1"
c ← b user: "two"
b~2 ← a assistant: "1!"
d ← c user: "three"
"#,
    );
    assert_eq!(session.leaf.unwrap().as_str(), "d");
}

#[test]
fn odd_records_are_kept_and_reported() {
    let lines = [
        HEADER,
        "[]",
        r#"{"id":"a","type":"oracle","content":"x"}"#,
        r#"{"id":"b","type":"user"}"#,
        r#"{"id":"c d","type":"user","content":[{"text":"\ud800"},{"functionCall":{}},7]}"#,
        r#"{"$set":7}"#,
        r#"{"$set":{"messages":7}}"#,
        r#"{"id":"e","type":"gemini","content":"x","toolCalls":[7]}"#,
    ];
    let (entries, session) = native_show::read(NativeFormat::Gemini, lines.join("\n").as_bytes());
    let expected = r#"
line-1 ← - record -
line-2 ← - record -
a ← - record oracle
b ← - record user
line-5 ← - user: "�" | other gemini/part | other gemini/part
line-6 ← line-5 record $set
line-7 ← line-5 record $set
e ← line-5 assistant: "x"
"#;
    assert_eq!(native_show::show(&entries).trim(), expected.trim());
    assert_eq!(session.problems.len(), 7, "{:?}", session.problems);
}
