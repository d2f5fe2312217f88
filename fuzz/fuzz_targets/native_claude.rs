//! Reads any bytes as a session of Claude Code: there must be no panic, every byte of a complete line must be kept,
//! ids must be unique, and every parent must come before its children.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, Record, original_bytes};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = NativeReader::new(NativeFormat::Claude);
    let mut entries = Vec::new();
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for (number, line) in (1..).zip(&lines) {
        reader.read(Record { file: "", line: number, bytes: line, end: "\n" }, &mut entries);
    }
    let original = original_bytes(&entries, "").expect("no entry is purged");
    assert!(original.strip_suffix(b"\n") == Some(bytes));
    let mut before = HashSet::new();
    for entry in &entries {
        assert!(entry.parent_id.as_ref().is_none_or(|parent| before.contains(parent)));
        assert!(before.insert(entry.id.clone()));
    }
    let leaf = reader.finish().leaf;
    assert!(leaf.is_none_or(|leaf| before.contains(&leaf)));
});
