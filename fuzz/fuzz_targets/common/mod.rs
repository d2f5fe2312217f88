//! Reads any bytes as a session of an agent: there must be no panic, no byte may be lost, ids must be unique, every
//! entry must follow an earlier one, and more lines may only add entries.

use std::collections::HashSet;

use tertulia_dialect::native::{
    NativeFormat, NativeReader, ProblemKind, Record, detect, layout, original_bytes,
};
use tertulia_session::Entry;

/// Reads the bytes as lines and as a document, and checks both.
pub fn check(format: NativeFormat, bytes: &[u8]) {
    let _ = (detect(bytes), layout(format, bytes));
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let (entries, is_cut) = read(format, &lines);
    check_chain(&entries);
    let kept = original_bytes(&entries, "").expect("nothing is redacted");
    // A record that ends in the middle is not kept.
    assert!(bytes.starts_with(&kept) && (is_cut || kept.len() == bytes.len()));
    assert!(entries.starts_with(&read(format, &lines[..lines.len() / 2]).0));
    let mut whole = Vec::new();
    NativeReader::new(format).read_document("", bytes, &mut whole);
    check_chain(&whole);
    let kept = original_bytes(&whole, "").expect("nothing is redacted");
    assert!(whole.is_empty() || kept.len() == bytes.len());
}

/// Returns the entries of these lines, and whether the last one ends in the middle of a record.
fn read(format: NativeFormat, lines: &[&[u8]]) -> (Vec<Entry>, bool) {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    for (line, whole) in (1..).zip(lines) {
        let (bytes, end) = match whole.strip_suffix(b"\n") {
            Some(bytes) => (bytes, "\n"),
            None => (*whole, ""),
        };
        reader.read(Record { file: "", line, bytes, end }, &mut entries);
    }
    let problems = reader.finish().problems;
    (entries, problems.iter().any(|one| one.kind == ProblemKind::Truncated))
}

/// Checks that ids are unique and that parents come first.
fn check_chain(entries: &[Entry]) {
    let mut known = HashSet::new();
    for entry in entries {
        assert!(entry.parent_id.as_ref().is_none_or(|parent| known.contains(parent)));
        assert!(known.insert(&entry.id), "{} twice", entry.id);
    }
}
