//! Reads any bytes as a session of aider: there must be no panic, nothing may be lost, and records must not change when the
//! history grows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, detect, original_bytes, unfinished};
use tertulia_session::Entry;

fuzz_target!(|bytes: &[u8]| {
    detect(bytes);
    let entries = read(bytes);
    if let Some(original) = original_bytes(&entries, "") {
        assert!(bytes.starts_with(&original));
    }
    let beginning = &bytes[..bytes.len() / 2];
    let finished = unfinished(NativeFormat::Aider, beginning).unwrap_or(beginning.len());
    if std::str::from_utf8(bytes).is_ok() {
        assert!(entries.starts_with(&read(&beginning[..finished])));
    }
});

fn read(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    NativeReader::new(NativeFormat::Aider).read_document("", bytes, &mut entries);
    entries
}
