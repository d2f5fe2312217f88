//! Sessions of goose: rows of its database, its files of lines, its exports.

use tertulia_dialect::native::{NativeFormat, NativeReader, ProblemKind, detect};

use crate::native_entry_lines::{read_lines, show};

const ROWS: &str = include_str!("../fixtures/native/goose/rows.jsonl");
const LINES: &str = include_str!("../fixtures/native/goose/lines.jsonl");
const EXPORT: &str = include_str!("../fixtures/native/goose/compacted.json");

#[test]
fn rows_of_the_database_are_read() {
    let (entries, session) = read_lines(NativeFormat::Goose, ROWS);
    let expected = r#"
line-1 <- - record: session
m-1 <- - user: Fix the "login" test
m-2 <- m-1 assistant: thinking(Look first.) [signature] + I look. + call t-1 developer__shell({"command":"cargo test"})
m-2#1 <- m-2 model: claude-sonnet-4
m-3 <- m-2#1 tool: error t-1 [{"type":"text","text":"1 failed"}]
line-5 <- m-3 record: usage
line-5#1 <- line-5 usage: claude-sonnet-4 1200 (1000) 40
m-4 <- line-5#1 record: assistant"#;
    assert_eq!(format!("\n{}", show(&entries)), expected);
    assert_eq!(session.native_id.as_deref(), Some("20260131_1"));
    assert_eq!(session.title.as_deref(), Some("Fix the test"));
    assert_eq!(session.folder.as_deref(), Some("/src/app"));
    assert_eq!(session.model.as_deref(), Some("claude-sonnet-4"));
    assert_eq!(session.started.map(|time| time.millis()), Some(1_769_860_800_000));
    assert_eq!(session.problems, []);
}

#[test]
fn a_file_of_lines_is_read_and_what_is_odd_is_reported() {
    let (entries, session) = read_lines(NativeFormat::Goose, LINES);
    let expected = r#"
line-1 <- - record: session
line-2 <- - user: hello + image image/png 4 bytes
line-3 <- line-2 assistant: other goose/toolRequest + other goose/redactedThinking
line-4 <- line-3 tool: error t-1 "The tool is not known."
line-5 <- line-4 user: result t-2 [{"type":"text","text":"ok"}] + go on
line-6 <- line-5 record: message
line-7 <- line-5 record: user"#;
    assert_eq!(format!("\n{}", show(&entries)), expected);
    assert_eq!(session.title.as_deref(), Some("Say hello"));
    let problems: Vec<_> = session.problems.into_iter().map(|one| one.kind).collect();
    let field = |field| ProblemKind::Field { field };
    assert_eq!(problems, [field("role"), field("content")]);
}

#[test]
fn an_export_is_read_and_its_summary_replaces_what_was_before() {
    let mut reader = NativeReader::new(NativeFormat::Goose);
    let mut entries = Vec::new();
    reader.read_document("", EXPORT.as_bytes(), &mut entries);
    let expected = r"
piece-1 <- - record: ?
m-1 <- - user: one
m-2 <- m-1 record: user
summary-1 <- m-1 summary: They said one. [keeps summary-1]
m-4 <- summary-1 record: assistant
m-5 <- summary-1 user: two
piece-end <- m-5 record: ?";
    assert_eq!(format!("\n{}", show(&entries)), expected);
    let session = reader.finish();
    assert_eq!(session.native_id.as_deref(), Some("20260131_2"));
    assert_eq!(session.model.as_deref(), Some("gpt-5"));
    assert_eq!(session.problems, []);
}

#[test]
fn files_and_exports_are_recognised() {
    for file in [LINES, EXPORT] {
        assert_eq!(detect(file.as_bytes()), Some(NativeFormat::Goose), "{file}");
    }
    let long = EXPORT.replace("\"one\"", &format!("\"{}\"", "one ".repeat(50_000)));
    assert_eq!(detect(&long.as_bytes()[..65_536]), Some(NativeFormat::Goose));
}
