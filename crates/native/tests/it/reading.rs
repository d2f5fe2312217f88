//! Files become records: nothing is lost, memory is bounded, and changed files are detected.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use tertulia_dialect::native::{NativeFormat, NativeOrigin, ProblemKind, original_bytes};
use tertulia_native::{Cause, FoundSession, NativeError, SessionReader, list, locate, prefix_hash};
use tertulia_session::Entry;

use crate::{Home, session};

const MAX: u64 = 1 << 20;

fn read(home: &Home, path: &Path, max: u64) -> Result<(Vec<Entry>, u64, String), NativeError> {
    let session = session(NativeFormat::Claude, path);
    let mut reader = SessionReader::open(&home.environment(), &session, max)?;
    let mut entries = Vec::new();
    while reader.next(&mut entries)?.is_some() {}
    Ok((entries, reader.bytes(), reader.hash()))
}

proptest! {
    #[test]
    fn the_records_of_any_file_are_the_file(
        lines in prop::collection::vec("[ -~é]{0,40}|\\{\"a\":\"[a-z]{0,9}\"\\}", 0..12),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        is_ended in any::<bool>(),
    ) {
        let home = Home::new();
        let mut text = lines.join(end);
        if is_ended {
            text.push_str(end);
        }
        let path = home.file("any.jsonl", &text);
        let (entries, bytes, hash) = read(&home, &path, MAX).unwrap();
        let whole = &text.as_bytes()[..bytes as usize];
        prop_assert_eq!(original_bytes(&entries, "").unwrap(), whole);
        // Only an incomplete record is left for later.
        prop_assert!(!text[bytes as usize..].contains('\n'));
        prop_assert_eq!(prefix_hash(&path, bytes).unwrap(), Some(hash));
        prop_assert_eq!(prefix_hash(&path, text.len() as u64 + 1).unwrap(), None);
    }
}

#[test]
fn a_record_longer_than_the_buffer_is_read_whole() {
    let home = Home::new();
    let long = format!("{{\"a\":\"{}\"}}\n{{}}\n", "x".repeat(5 << 20));
    let path = home.file("long.jsonl", &long);
    let (entries, ..) = read(&home, &path, 8 << 20).unwrap();
    assert_eq!(original_bytes(&entries, "").unwrap(), long.as_bytes());
    let error = read(&home, &path, 1 << 20).unwrap_err();
    assert!(matches!(error.cause, Cause::LineTooLong { line: 1, .. }), "{error}");
    assert!(error.to_string().contains("--max-line-bytes"), "{error}");
}

#[test]
fn a_truncated_last_line_is_reported_and_read_later() {
    let home = Home::new();
    let path = home.file("s.jsonl", "{\"a\":1}\n{\"b\":");
    let session = session(NativeFormat::Claude, &path);
    let mut reader = SessionReader::open(&home.environment(), &session, MAX).unwrap();
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap().is_some() {}
    let problems = reader.take_problems();
    assert_eq!((entries.len(), reader.records(), reader.bytes()), (1, 1, 8));
    let last = problems.last().unwrap();
    assert_eq!((last.line, &last.kind), (2, &ProblemKind::Truncated));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"2}\n").unwrap();
    assert_eq!(read(&home, &path, MAX).unwrap().0.len(), 2);
}

#[test]
fn what_is_added_while_a_file_is_read_is_read_another_time() {
    let home = Home::new();
    let path = home.file("s.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    let session = session(NativeFormat::Claude, &path);
    let mut reader = SessionReader::open(&home.environment(), &session, MAX).unwrap();
    let mut entries = Vec::new();
    reader.next(&mut entries).unwrap();
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"a\":3}\n").unwrap();
    while reader.next(&mut entries).unwrap().is_some() {}
    assert_eq!(entries.len(), 2);
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
    let home = Home::new();
    let path = home.file("s.jsonl", "{\"a\":1}\n".repeat(400_000));
    let session = session(NativeFormat::Claude, &path);
    let mut reader = SessionReader::open(&home.environment(), &session, MAX).unwrap();
    let mut entries = Vec::new();
    reader.next(&mut entries).unwrap();
    fs::write(&path, "").unwrap();
    let error = loop {
        match reader.next(&mut entries) {
            Ok(Some(_)) => entries.clear(),
            Ok(None) => panic!("the end was reached"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error.cause, Cause::Truncated { .. }), "{error}");
}

#[test]
fn a_byte_order_mark_is_kept_and_does_not_hinder() {
    let home = Home::new();
    let text = "\u{feff}{\"a\":1}\n";
    let path = home.file("s.jsonl", text);
    let (entries, ..) = read(&home, &path, MAX).unwrap();
    assert_eq!(original_bytes(&entries, "").unwrap(), text.as_bytes());
    let problems = read_problems(&home, &path);
    assert!(problems.iter().all(|problem| !problem.contains("JSON")), "{problems:?}");
}

fn read_problems(home: &Home, path: &Path) -> Vec<String> {
    let session = session(NativeFormat::Claude, path);
    let mut reader = SessionReader::open(&home.environment(), &session, MAX).unwrap();
    while reader.next(&mut Vec::new()).unwrap().is_some() {}
    reader.take_problems().iter().map(ToString::to_string).collect()
}

#[test]
fn the_files_of_sub_agents_follow_the_main_file_in_the_order_of_their_names() {
    let home = Home::new();
    let path = home.file("p/s.jsonl", "{\"a\":1}\n");
    home.file("p/s/subagents/agent-2.jsonl", "{\"a\":3}\n{\"a\":");
    home.file("p/s/subagents/agent-1.jsonl", "{\"a\":2}\n");
    home.file("p/s/subagents/agent-1.meta.json", "{}");
    let (entries, bytes, _) = read(&home, &path, MAX).unwrap();
    let files: Vec<_> =
        entries.iter().map(|entry| NativeOrigin::of(entry).unwrap().file.into_string()).collect();
    assert_eq!(files, ["", "subagents/agent-1.jsonl", "subagents/agent-2.jsonl"]);
    assert_eq!(bytes, 8, "the main file alone");
    let problems = read_problems(&home, &path);
    assert!(
        problems.last().unwrap().starts_with("subagents/agent-2.jsonl: line 2: "),
        "{problems:?}"
    );
}

#[test]
fn old_files_of_sub_agents_beside_the_sessions_belong_to_the_session_that_they_name() {
    let home = Home::new();
    let record = |session: &str, id: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"sessionId\":\"{session}\",\"isSidechain\":true}}\n"
        )
    };
    let folder = ".claude/projects/-src";
    for (name, session) in [
        ("one", "one"),
        ("two", "two"),
        ("agent-2", "one"),
        ("agent-1", "one"),
        ("agent-3", "two"),
        ("agent-4", "gone"),
    ] {
        home.file(&format!("{folder}/{name}.jsonl"), record(session, name));
    }
    home.file(&format!("{folder}/one/subagents/agent-5.jsonl"), record("one", "agent-5"));
    home.file(&format!("{folder}/agent-6.jsonl"), "half of a rec");
    let files = |session: &FoundSession| {
        let mut reader = SessionReader::open(&home.environment(), session, MAX).unwrap();
        let mut entries = Vec::new();
        while reader.next(&mut entries).unwrap().is_some() {}
        let file = |entry| NativeOrigin::of(entry).unwrap().file.into_string();
        entries.iter().map(file).collect::<Vec<_>>()
    };
    let mut listed = list(&home.environment(), &[NativeFormat::Claude]).sessions;
    listed.sort_by(|one, other| one.native_id.cmp(&other.native_id));
    let shown: Vec<_> = listed.iter().map(|one| (&*one.native_id, files(one))).collect();
    let of_one =
        ["", "agent-1.jsonl", "agent-2.jsonl", "subagents/agent-5.jsonl"].map(str::to_owned);
    let of_two = ["", "agent-3.jsonl"].map(str::to_owned);
    assert_eq!(shown, [("one", of_one.to_vec()), ("two", of_two.to_vec())]);
    let path = home.path().join("home").join(folder).join("one.jsonl");
    let named = locate(&home.environment(), &path, None).unwrap();
    assert_eq!(files(&named[0]), of_one);
}

#[test]
fn an_edit_changes_what_is_kept_and_not_the_hash() {
    let home = Home::new();
    let path = home.file("s.jsonl", "{\"a\":\"secret\"}\n");
    let (.., plain) = read(&home, &path, MAX).unwrap();
    let session = session(NativeFormat::Claude, &path);
    let mut reader = SessionReader::open(&home.environment(), &session, MAX)
        .unwrap()
        .with_edit(|bytes| Some(String::from_utf8_lossy(bytes).replace("secret", "…").into()));
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap().is_some() {}
    assert_eq!(NativeOrigin::of(&entries[0]).unwrap().bytes, "{\"a\":\"…\"}".as_bytes());
    assert_eq!(reader.hash(), plain);
}

#[test]
fn a_document_that_is_too_long_is_an_error() {
    let home = Home::new();
    let path = home.file("s.json", "[]".repeat(100));
    let session = session(NativeFormat::Cline, &path);
    let mut reader = SessionReader::open(&home.environment(), &session, 100).unwrap();
    let error = reader.next(&mut Vec::new()).unwrap_err();
    assert!(matches!(error.cause, Cause::DocumentTooLong { bytes: 200 }), "{error}");
}
