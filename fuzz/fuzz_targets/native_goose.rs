//! Reads any bytes as a session of goose, as lines and as an export: there must be no panic, and nothing may be lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, Record, detect, original_bytes};

fuzz_target!(|bytes: &[u8]| {
    detect(bytes);
    let mut entries = Vec::new();
    NativeReader::new(NativeFormat::Goose).read_document("", bytes, &mut entries);
    assert_eq!(original_bytes(&entries, "").as_deref().unwrap_or(bytes), bytes);
    let mut reader = NativeReader::new(NativeFormat::Goose);
    let mut entries = Vec::new();
    for (line, bytes) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        reader.read(Record { file: "", line, bytes, end: "\n" }, &mut entries);
    }
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    assert!(reader.finish().records >= lines);
});
