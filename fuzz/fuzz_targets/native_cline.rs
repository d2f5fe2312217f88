//! Reads any bytes as a session of Cline: there must be no panic, and nothing may be lost.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::native::{NativeFormat, NativeReader, detect, original_bytes};

fuzz_target!(|bytes: &[u8]| {
    detect(bytes);
    let mut entries = Vec::new();
    NativeReader::new(NativeFormat::Cline).read_document("", bytes, &mut entries);
    if let Some(original) = original_bytes(&entries, "") {
        assert!(bytes.starts_with(&original));
    }
});
