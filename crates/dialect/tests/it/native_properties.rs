//! Properties of every native format, for any bytes. The records are made of pieces that occur in the formats, so
//! that the readers do not reject them at once.

use std::collections::HashSet;

use proptest::prelude::*;
use tertulia_dialect::native::{NativeFormat, NativeReader, original_bytes};
use tertulia_session::Entry;

use crate::native_show::{read, read_lines};

const FORMATS: [NativeFormat; 2] = [NativeFormat::Gemini, NativeFormat::Pi];

fn id() -> impl Strategy<Value = String> {
    let ids = ["a", "b", "c", "line-2", "line-3#1", "a#1", "a~2", "é f", ""];
    prop::sample::select(ids.to_vec()).prop_map(ToOwned::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    let texts =
        ["x", "", "\\ud800", "<session_context>", "Got it. Thanks for the additional context!"];
    prop::sample::select(texts.to_vec()).prop_map(ToOwned::to_owned)
}

fn gemini_message() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec!["user", "gemini", "info", "oracle"]);
    let extras = prop::sample::select(vec![
        "",
        r#","tokens":{"input":1,"output":2},"model":"m""#,
        r#","toolCalls":[{"id":"t","name":"n","args":{},"status":"success","result":[{"functionResponse":{"id":"t","name":"n","response":{"output":"o"}}}]}]"#,
        r#","toolCalls":[{"name":"n","status":"error"},7]"#,
        r#","thoughts":[{"subject":"s","description":"d"}]"#,
    ]);
    let content = prop_oneof![
        text().prop_map(|text| format!("\"{text}\"")),
        text().prop_map(|text| format!(r#"[{{"text":"{text}"}}]"#)),
        Just(
            r#"[{"functionResponse":{"id":"t","name":"n","response":{"output":"o"}}}]"#.to_owned()
        ),
        Just(r#"[{"functionCall":{"id":"t","name":"n"}},{"text":"y","thought":true}]"#.to_owned()),
        Just("null".to_owned()),
    ];
    (id(), kinds, content, extras).prop_map(|(id, kind, content, extra)| {
        format!(r#"{{"id":"{id}","type":"{kind}","content":{content}{extra}}}"#)
    })
}

fn gemini() -> impl Strategy<Value = String> {
    let list = prop::collection::vec(gemini_message(), 0..5);
    prop_oneof![
        8 => gemini_message(),
        4 => list.prop_map(|list| format!(r#"{{"$set":{{"messages":[{}]}}}}"#, list.join(","))),
        2 => id().prop_map(|id| format!(r#"{{"$rewindTo":"{id}"}}"#)),
        1 => id().prop_map(|id| format!(r#"{{"sessionId":"{id}","projectHash":"h"}}"#)),
    ]
}

fn pi() -> impl Strategy<Value = String> {
    let roles = prop::sample::select(vec!["user", "assistant", "toolResult", "bashExecution", "x"]);
    let kinds = prop::sample::select(vec!["compaction", "branch_summary", "label", "session", "x"]);
    prop_oneof![
        (id(), id(), roles, text()).prop_map(|(id, parent, role, text)| format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"{role}","toolCallId":"t","content":[{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"t","name":"n"}}],"model":"m","usage":{{"input":1}}}}}}"#
        )),
        (id(), id(), kinds, id()).prop_map(|(id, parent, kind, kept)| format!(
            r#"{{"type":"{kind}","id":"{id}","parentId":"{parent}","summary":"s","firstKeptEntryId":"{kept}","fromId":"{kept}"}}"#
        )),
    ]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => gemini().prop_map(String::into_bytes),
        6 => pi().prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (gemini(), pi()).prop_map(|(one, other)| (one + &other).into_bytes()),
        1 => Just(br#"{"id":"#.to_vec()),
    ];
    let lines = prop::collection::vec(line, 0..16);
    (lines, any::<bool>()).prop_map(|(lines, ends)| {
        let mut file = lines.join(&b'\n');
        if ends {
            file.push(b'\n');
        }
        file
    })
}

fn assert_sound(entries: &[Entry]) {
    let mut ids = HashSet::new();
    for entry in entries {
        if let Some(parent) = &entry.parent_id {
            assert!(ids.contains(parent.as_str()), "{} follows {parent}", entry.id);
        }
        assert!(ids.insert(entry.id.as_str()), "{} is used twice", entry.id);
    }
}

proptest! {
    #[test]
    fn any_bytes_become_entries_that_hold_all_of_them(file in file()) {
        for format in FORMATS {
            let mut reader = NativeReader::new(format);
            let mut entries = Vec::new();
            read_lines(&mut reader, "", &file, &mut entries);
            assert_sound(&entries);
            let session = reader.finish();
            if let Some(leaf) = &session.leaf {
                prop_assert!(entries.iter().any(|entry| entry.id == *leaf));
            }
            let kept = original_bytes(&entries, "").unwrap_or_default();
            let is_cut = session.problems.iter().any(|problem| {
                problem.kind == tertulia_dialect::native::ProblemKind::Truncated
            });
            if is_cut {
                prop_assert!(file.starts_with(&kept));
            } else {
                prop_assert_eq!(&kept, &file);
            }
        }
    }

    #[test]
    fn the_first_lines_give_the_first_entries(file in file(), lines in 0_usize..16) {
        let end: usize = file.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len).sum();
        for format in FORMATS {
            let mut whole = Vec::new();
            read_lines(&mut NativeReader::new(format), "", &file, &mut whole);
            let mut part = Vec::new();
            read_lines(&mut NativeReader::new(format), "", &file[..end], &mut part);
            prop_assert!(part.len() <= whole.len());
            prop_assert_eq!(&part[..], &whole[..part.len()]);
        }
    }

    #[test]
    fn any_document_becomes_entries_that_hold_all_of_it(
        messages in prop::collection::vec(gemini_message(), 0..8),
        cut in 0_usize..2000,
        space in "[ \n]{0,2}",
    ) {
        let file = format!(
            "{{{space}\"sessionId\":\"s\",{space}\"projectHash\":\"h\",{space}\"messages\":[{}]{space}}}{space}",
            messages.join(&format!(",{space}"))
        );
        let (entries, session) = read(NativeFormat::Gemini, file.as_bytes());
        assert_sound(&entries);
        prop_assert_eq!(session.native_id.as_deref(), Some("s"));
        prop_assert_eq!(original_bytes(&entries, ""), Some(file.clone().into_bytes()));
        let cut = file.get(..cut).unwrap_or_default();
        let (entries, _) = read(NativeFormat::Gemini, cut.as_bytes());
        assert_sound(&entries);
    }
}
