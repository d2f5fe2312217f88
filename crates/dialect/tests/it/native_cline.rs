//! Sessions of Cline: the documents of its program and of its extension.

use tertulia_dialect::native::{NativeFormat, NativeReader, ProblemKind, ReadSession, detect};
use tertulia_session::Entry;

use crate::native_entry_lines::show;

const PROGRAM: &str = include_str!("../fixtures/native/cline/session.messages.json");
const EXTENSION: &str = include_str!("../fixtures/native/cline/extension.json");
const COMPACTED: &str = include_str!("../fixtures/native/cline/compacted.messages.json");

fn read(document: &str) -> (Vec<Entry>, ReadSession) {
    let mut reader = NativeReader::new(NativeFormat::Cline);
    let mut entries = Vec::new();
    reader.read_document("", document.as_bytes(), &mut entries);
    (entries, reader.finish())
}

#[test]
fn a_session_of_the_program_is_read() {
    let (entries, session) = read(PROGRAM);
    let expected = r#"
piece-1 <- - record: ?
msg_1 <- - user: Read @a.txt + <file_content path="/src/a.txt">
alpha
</file_content>
msg_2 <- msg_1 assistant: thinking(Easy.) [signature] + call t-1 read_files({"path":"/src/b.txt"})
msg_2#1 <- msg_2 model: claude-sonnet-4-6
msg_3 <- msg_2#1 tool: result t-1 [{"query":"/src/b.txt","result":"beta"}]
msg_4 <- msg_3 assistant: alpha and <task>beta</task>
msg_4#1 <- msg_4 usage: claude-sonnet-4-6 21 (3) 8
piece-end <- msg_4#1 record: ?"#;
    assert_eq!(format!("\n{}", show(&entries)), expected);
    assert_eq!(session.native_id.as_deref(), Some("1769860800000_abcde"));
    assert_eq!(session.model.as_deref(), Some("claude-sonnet-4-6"));
    assert_eq!(session.problems, []);
}

#[test]
fn a_session_of_the_extension_is_read_without_what_it_adds_to_the_words() {
    let (entries, session) = read(EXTENSION);
    let expected = r"
piece-1 <- - record: ?
piece-2 <- - user: Add a test
piece-3 <- piece-2 assistant: <thinking>fine</thinking>
<read_file>
<path>a.rs</path>
</read_file>
piece-3#1 <- piece-3 usage: ? 100 (60) 5
piece-4 <- piece-3#1 user: [read_file for 'a.rs'] Result: + fn a() {} + image image/png 4 bytes
piece-5 <- piece-4 record: user
piece-end <- piece-4 record: ?";
    assert_eq!(format!("\n{}", show(&entries)), expected);
    assert_eq!(session.folder.as_deref(), Some("/src/app"));
    assert_eq!(session.problems, []);
}

#[test]
fn a_summary_replaces_what_was_before_and_what_is_odd_is_reported() {
    let (entries, session) = read(COMPACTED);
    let expected = r"
piece-1 <- - record: ?
summary-1 <- - summary: Context summary:

They read a. [keeps summary-1]
m-2 <- summary-1 user: go on
m-3 <- m-2 record: ?
m-4 <- m-2 record: assistant
piece-6 <- m-2 record: ?
piece-end <- m-2 record: ?";
    assert_eq!(format!("\n{}", show(&entries)), expected);
    let problems: Vec<_> = session.problems.into_iter().map(|one| one.kind).collect();
    let expected = ["role", "content", "a message"].map(|field| ProblemKind::Field { field });
    assert_eq!(problems, expected);
}

#[test]
fn a_document_that_was_cut_off_gives_what_is_complete() {
    let end = PROGRAM.find("msg_3").unwrap();
    let (entries, session) = read(&PROGRAM[..end]);
    assert_eq!(entries.iter().filter(|entry| entry.id.as_str().starts_with("msg_")).count(), 3);
    assert!(matches!(session.problems[0].kind, ProblemKind::Syntax(_)), "{:?}", session.problems);
}

#[test]
fn documents_of_cline_are_recognised_and_others_are_not() {
    for document in [PROGRAM, EXTENSION, COMPACTED, &PROGRAM[..300], &EXTENSION[..90]] {
        assert_eq!(detect(document.as_bytes()), Some(NativeFormat::Cline), "{document}");
    }
    for other in [
        r#"{"messages":[{"role":"user","content":[]}],"version":1}"#,
        r#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#,
        r#"[{"role":"user","content":"a"}]"#,
        "[]",
        "[1,2]",
    ] {
        assert_eq!(detect(other.as_bytes()), None, "{other}");
    }
}
