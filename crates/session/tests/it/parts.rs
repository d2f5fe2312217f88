//! Parts of all kinds, unknown kinds, and `content` next to `parts`.

use crate::wire::{check, check_error, check_same, read};
use tertulia_session::{ImageSource, Part, PartKind};

fn with_parts(parts: &str) -> String {
    format!(r#"{{"parts":{parts},"speaker":{{"roleId":"a","roleName":"A"}}}}"#)
}

/// Returns the same message with this text in `content`, in the form in which it is written.
fn with_words(words: &str, parts: &str) -> String {
    format!(r#"{{"content":"{words}","parts":{parts},"speaker":{{"roleId":"a","roleName":"A"}}}}"#)
}

/// Checks the text that is written next to the parts.
#[track_caller]
fn check_words(parts: &str, words: &str) {
    check(&with_parts(parts), &with_words(words, parts));
}

#[test]
fn parts_of_every_kind_are_read_and_written() {
    for part in [
        r#"{"kind":"thinking","payload":{"text":"hm"}}"#,
        r#"{"kind":"tool_call","payload":{"toolCallId":"c1","toolName":"read","arguments":{"path":"a"}}}"#,
        r#"{"kind":"tool_call","payload":{"toolCallId":"c1","toolName":"read","arguments":null,"rawArgsText":"{pa"}}"#,
        r#"{"kind":"tool_result","payload":{"toolCallId":"c1","isError":false,"content":"text"}}"#,
        r#"{"kind":"tool_result","payload":{"toolCallId":"c1","isError":true,"content":[1e400]}}"#,
        r#"{"kind":"image","payload":{"mimeType":"image/png","data":"iVBO"}}"#,
        r#"{"kind":"image","payload":{"mimeType":"image/png","url":"https://example.com/a.png"}}"#,
        r#"{"kind":"file_ref","payload":{"path":"src/a.rs"}}"#,
        r#"{"kind":"file_ref","payload":{"path":"a","mimeType":"text/plain","size":18446744073709551615}}"#,
    ] {
        check_words(&format!("[{part}]"), "");
    }
}

#[test]
fn a_part_of_an_unknown_kind_is_kept_whole() {
    for part in [
        r#"{"kind":"hologram","payload":{"text":"not words","n":1.10},"x":[]}"#,
        r#"{"kind":"hologram","payload":"anything"}"#,
        r#"{"kind":"hologram","payload":null}"#,
        r#"{"kind":"hologram"}"#,
        r#"{"kind":"","payload":1}"#,
        r#"{"kind":"Text","payload":{"text":"not words"}}"#,
    ] {
        check_words(&format!("[{part}]"), "");
    }
}

#[test]
fn one_plain_text_is_written_as_content_alone() {
    check(
        &with_parts(r#"[{"kind":"text","payload":{"text":"hi"}}]"#),
        r#"{"content":"hi","speaker":{"roleId":"a","roleName":"A"}}"#,
    );
}

#[test]
fn a_text_with_more_to_it_is_written_as_a_part() {
    check_words(r#"[{"kind":"text","payload":{"text":"hi"},"cache":true}]"#, "hi");
    check_words(r#"[{"kind":"text","payload":{"text":"hi","lang":"en"}}]"#, "hi");
}

#[test]
fn the_words_of_several_texts_are_joined_with_line_breaks() {
    check_words(
        concat!(
            r#"[{"kind":"text","payload":{"text":"one"}},"#,
            r#"{"kind":"thinking","payload":{"text":"silent"}},"#,
            r#"{"kind":"text","payload":{"text":""}},"#,
            r#"{"kind":"text","payload":{"text":"two"}}]"#
        ),
        r"one\n\ntwo",
    );
}

#[test]
fn no_parts_at_all_are_a_message_without_words() {
    check_words("[]", "");
    let message = read(&with_parts("[]")).unwrap();
    assert!(message.parts.is_empty());
    assert_eq!(message.text(), "");
}

#[test]
fn parts_beside_content_count_when_they_say_the_same_words() {
    let message = read(&with_words(
        r"one\ntwo",
        r#"[{"kind":"text","payload":{"text":"one"}},{"kind":"text","payload":{"text":"two"}}]"#,
    ))
    .unwrap();
    assert_eq!(message.parts.as_slice(), [Part::text("one"), Part::text("two")]);
}

#[test]
fn parts_beside_content_that_say_something_else_are_somebody_elses_field() {
    for parts in [
        r#"[{"kind":"text","payload":{"text":"other"}}]"#,
        r#"[{"kind":"text","payload":{}}]"#,
        "[]",
        "\"none\"",
        "null",
        "{}",
    ] {
        let text = format!(
            r#"{{"content":"hi","speaker":{{"roleId":"a","roleName":"A"}},"parts":{parts}}}"#
        );
        check_same(&text);
        assert_eq!(read(&text).unwrap().parts.as_slice(), [Part::text("hi")]);
    }
}

#[test]
fn content_that_is_no_string_is_not_saved_by_parts() {
    check_error(
        r#"{"content":null,"parts":[],"speaker":{"roleId":"a"}}"#,
        "Message content must be a string",
    );
    check_error(r#"{"parts":{},"speaker":{"roleId":"a"}}"#, "Message content must be a string");
}

#[test]
fn a_fault_in_a_part_is_named() {
    for (parts, sentence) in [
        ("[7]", "parts[0] must be an object; got a number"),
        ("[{}]", "parts[0].kind is missing; give a string"),
        (r#"[{"kind":7}]"#, "parts[0].kind must be a string; got a number"),
        (r#"[{"kind":"text"}]"#, "parts[0].payload is missing; give an object"),
        (r#"[{"kind":"text","payload":"hi"}]"#, "parts[0].payload must be an object; got a string"),
        (
            r#"[{"kind":"x"},{"kind":"text","payload":{"text":5}}]"#,
            "parts[1].payload.text must be a string; got a number",
        ),
        (
            r#"[{"kind":"tool_call","payload":{"toolCallId":"c","toolName":"t"}}]"#,
            "parts[0].payload.arguments is missing; give the arguments as JSON",
        ),
        (
            r#"[{"kind":"tool_result","payload":{"toolCallId":"c"}}]"#,
            "parts[0].payload.content is missing; give the tool's answer as JSON",
        ),
        (
            r#"[{"kind":"tool_result","payload":{"toolCallId":"c","isError":"no","content":1}}]"#,
            "parts[0].payload.isError must be true or false; got a string",
        ),
        (
            r#"[{"kind":"image","payload":{"mimeType":"image/png"}}]"#,
            "parts[0].payload.data is missing; give data or url",
        ),
        (
            r#"[{"kind":"file_ref","payload":{"path":"a","size":-1}}]"#,
            "parts[0].payload.size must be a whole number of 0 or more; got -1",
        ),
    ] {
        check_error(&with_parts(parts), &format!("Message {sentence}"));
    }
}

#[test]
fn an_image_has_one_source() {
    let both = r#"[{"kind":"image","payload":{"mimeType":"image/png","data":"a","url":"b"}}]"#;
    check_error(
        &with_parts(both),
        "Message parts[0].payload.data and url exclude each other; leave one of them out",
    );
    let data = r#"[{"kind":"image","payload":{"mimeType":"image/png","data":"a","url":null}}]"#;
    let message = read(&with_parts(data)).unwrap();
    let [part] = message.parts.as_slice() else { panic!("{message:?}") };
    assert!(
        matches!(&part.kind, PartKind::Image(image) if image.source == ImageSource::Data("a".into()))
    );
}

#[test]
fn a_result_that_does_not_say_whether_it_failed_did_not() {
    check(
        &with_parts(r#"[{"kind":"tool_result","payload":{"toolCallId":"c","content":"x"}}]"#),
        &with_words(
            "",
            r#"[{"kind":"tool_result","payload":{"toolCallId":"c","isError":false,"content":"x"}}]"#,
        ),
    );
}
