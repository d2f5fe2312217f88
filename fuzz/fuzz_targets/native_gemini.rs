//! Any bytes as a session of Gemini CLI: nothing panics, nothing is lost, and every entry follows an
//! earlier one.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{
    NativeFormat, NativeReader, ProblemKind, Record, detect, layout, original_bytes,
};

const FORMAT: NativeFormat = NativeFormat::Gemini;

fuzz_target!(|bytes: &[u8]| {
    let _ = (detect(bytes), layout(FORMAT, bytes));
    let mut reader = NativeReader::new(FORMAT);
    let mut entries = Vec::new();
    reader.read_document("", bytes, &mut entries);
    assert_eq!(
        original_bytes(&entries, "").as_deref().unwrap_or_default().len(),
        match entries.len() {
            0 => 0,
            _ => bytes.len(),
        }
    );

    let mut reader = NativeReader::new(FORMAT);
    let mut entries = Vec::new();
    for (line, bytes) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let (bytes, end) = match bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, "\n"),
            None => (bytes, ""),
        };
        reader.read(Record { file: "", line, bytes, end }, &mut entries);
    }
    let mut ids = HashSet::new();
    for entry in &entries {
        assert!(entry.parent_id.as_ref().is_none_or(|parent| ids.contains(parent.as_str())));
        assert!(ids.insert(entry.id.as_str()));
    }
    let session = reader.finish();
    let is_cut = session.problems.iter().any(|one| one.kind == ProblemKind::Truncated);
    let kept = original_bytes(&entries, "").unwrap_or_default();
    assert!(bytes.starts_with(&kept) && (is_cut || kept.len() == bytes.len()));
});
