//! Properties of every reader of native sessions, for any bytes: nothing panics, nothing is lost, ids are unique, and
//! the parent of an entry precedes it.

use std::collections::HashSet;

use proptest::prelude::*;
use tertulia_dialect::native::{
    Layout, NativeFormat, NativeReader, Record, detect, layout, original_bytes,
};
use tertulia_session::Entry;

const FIXTURES: [(NativeFormat, &str); 7] = [
    (NativeFormat::Goose, include_str!("../fixtures/native/goose/rows.jsonl")),
    (NativeFormat::Goose, include_str!("../fixtures/native/goose/lines.jsonl")),
    (NativeFormat::Goose, include_str!("../fixtures/native/goose/compacted.json")),
    (NativeFormat::Cline, include_str!("../fixtures/native/cline/session.messages.json")),
    (NativeFormat::Cline, include_str!("../fixtures/native/cline/extension.json")),
    (NativeFormat::Cline, include_str!("../fixtures/native/cline/compacted.messages.json")),
    (NativeFormat::Aider, include_str!("../fixtures/native/aider/history.md")),
];

fn read(format: NativeFormat, bytes: &[u8]) -> Vec<Entry> {
    let mut reader = NativeReader::new(format);
    let mut entries = Vec::new();
    match layout(format, bytes) {
        Layout::Document => reader.read_document("", bytes, &mut entries),
        Layout::Lines => {
            for (line, bytes) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
                let (bytes, end) = match bytes.strip_suffix(b"\n") {
                    Some(bytes) => (bytes, "\n"),
                    None => (bytes, ""),
                };
                reader.read(Record { file: "", line, bytes, end }, &mut entries);
            }
        }
    }
    entries
}

fn check(format: NativeFormat, bytes: &[u8]) {
    let entries = read(format, bytes);
    let mut seen = HashSet::new();
    for entry in &entries {
        let parent = entry.parent_id.as_ref();
        assert!(parent.is_none_or(|parent| seen.contains(parent)), "{entry:?}");
        assert!(seen.insert(&entry.id), "{entry:?}");
    }
    let original = original_bytes(&entries, "").unwrap();
    // Only an incomplete line may be left for later, and empty lines at the end of a history of aider.
    assert!(bytes.starts_with(&original));
    let rest = String::from_utf8_lossy(&bytes[original.len()..]);
    let is_blank = format == NativeFormat::Aider && rest.trim().is_empty();
    assert!(is_blank || !rest.contains('\n'), "{rest}");
}

#[test]
fn nothing_of_the_fixtures_is_lost() {
    for (format, text) in FIXTURES {
        check(format, text.as_bytes());
        assert_eq!(original_bytes(&read(format, text.as_bytes()), "").unwrap(), text.as_bytes());
    }
}

#[test]
fn the_first_lines_give_the_first_entries() {
    for (format, text) in FIXTURES {
        if layout(format, text.as_bytes()) == Layout::Document {
            continue;
        }
        let all = read(format, text.as_bytes());
        for (end, _) in text.match_indices('\n') {
            let some = read(format, &text.as_bytes()[..=end]);
            assert_eq!(some, all[..some.len()], "{format:?}");
        }
    }
}

/// Generates fixtures in which a piece is replaced.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        Just(b"\"".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"}".to_vec()),
        Just(br"\ud800".to_vec()),
        Just(b"[[[".to_vec()),
        Just(b"  \n#### ".to_vec()),
        Just(b"null".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    let place = (0..FIXTURES.len(), any::<prop::sample::Index>(), 0_usize..40);
    (place, pieces).prop_map(|((fixture, at, length), piece)| {
        let mut bytes = FIXTURES[fixture].1.as_bytes().to_vec();
        let at = at.index(bytes.len());
        let end = (at + length).min(bytes.len());
        bytes.splice(at..end, piece);
        bytes
    })
}

proptest! {
    #[test]
    fn damaged_files_are_read_without_loss(bytes in damaged()) {
        detect(&bytes);
        for format in [NativeFormat::Goose, NativeFormat::Cline, NativeFormat::Aider] {
            check(format, &bytes);
        }
    }

    #[test]
    fn any_text_is_read_without_loss(text in r#"([\[\]{},:"\\ \n>#a]|"role"|"messages"|> |#### )*"#) {
        for format in [NativeFormat::Goose, NativeFormat::Cline, NativeFormat::Aider] {
            check(format, text.as_bytes());
        }
    }
}
