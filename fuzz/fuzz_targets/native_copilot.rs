//! Any bytes as a session of Copilot CLI: nothing panics, no byte is lost, every parent comes first, and more
//! lines only add entries.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, Record, original_bytes};
use tertulia_session::Entry;

fuzz_target!(|bytes: &[u8]| {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let entries = read(&lines);
    check(&entries);
    let kept = original_bytes(&entries, "").expect("nothing is redacted");
    assert!(bytes.starts_with(&kept));
    assert!(entries.starts_with(&read(&lines[..lines.len() / 2])));
    let mut whole = Vec::new();
    NativeReader::new(NativeFormat::Copilot).read_document("", bytes, &mut whole);
    check(&whole);
});

fn read(lines: &[&[u8]]) -> Vec<Entry> {
    let mut reader = NativeReader::new(NativeFormat::Copilot);
    let mut entries = Vec::new();
    for (line, whole) in (1..).zip(lines) {
        let (bytes, end) = match whole.strip_suffix(b"\n") {
            Some(bytes) => (bytes, "\n"),
            None => (*whole, ""),
        };
        reader.read(Record { file: "", line, bytes, end }, &mut entries);
    }
    entries
}

/// Checks that ids are unique and that parents come first.
fn check(entries: &[Entry]) {
    let mut known = HashSet::new();
    for entry in entries {
        assert!(entry.parent_id.as_ref().is_none_or(|parent| known.contains(parent)));
        assert!(known.insert(&entry.id), "{} twice", entry.id);
    }
}
