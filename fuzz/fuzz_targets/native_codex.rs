//! Reads any bytes as the lines of a session of Codex: there must be no panic, every byte must be kept, ids must be
//! unique, parents must come first, and more lines must not change earlier entries.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, Record, detect, original_bytes};
use tertulia_session::Entry;

fuzz_target!(|bytes: &[u8]| {
    let _ = detect(bytes);
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let entries = read(&lines);
    assert_eq!(original_bytes(&entries, ""), Some([bytes, b"\n".as_slice()].concat()));
    let mut ids = HashSet::new();
    for entry in &entries {
        assert!(entry.parent_id.as_ref().is_none_or(|parent| ids.contains(parent)));
        assert!(ids.insert(entry.id.clone()));
    }
    let fewer = read(&lines[..lines.len() / 2]);
    assert!(entries[..fewer.len()] == fewer[..]);
});

fn read(lines: &[&[u8]]) -> Vec<Entry> {
    let mut reader = NativeReader::new(NativeFormat::Codex);
    let mut entries = Vec::new();
    for (line, bytes) in (1..).zip(lines) {
        reader.read(Record { file: "", line, bytes, end: "\n" }, &mut entries);
    }
    entries
}
