//! Any bytes as a session of aider: nothing panics, nothing is lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, detect, original_bytes};

fuzz_target!(|bytes: &[u8]| {
    detect(bytes);
    let mut entries = Vec::new();
    NativeReader::new(NativeFormat::Aider).read_document("", bytes, &mut entries);
    if let Some(original) = original_bytes(&entries, "") {
        assert!(bytes.starts_with(&original));
    }
});
