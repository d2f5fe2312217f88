//! Sizes, depths and bytes at the limits of JSON. None of them may cause a panic, a hang or a lost byte.

use crate::wire::{ann_with, check_error, check_same, read, write};

const LEVELS: usize = 1_000_000;

fn deep_list() -> String {
    format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS))
}

fn deep_object() -> String {
    format!("{}1{}", "{\"a\":".repeat(LEVELS), "}".repeat(LEVELS))
}

/// Compares two texts without printing a million brackets if they differ.
#[track_caller]
fn check_survives(text: &str) {
    let message = read(text).unwrap();
    assert!(write(&message) == text, "something was lost");
    assert!(read(&write(&message)).unwrap() == message);
}

#[test]
fn a_million_levels_in_unknown_fields_survive() {
    for deep in [deep_list(), deep_object()] {
        check_survives(&ann_with(&format!(r#""x":{deep}"#)));
        check_survives(&ann_with(&format!(r#""meta":{{"x":{deep}}}"#)));
        check_survives(&ann_with(&format!(r#""timestamp":{deep}"#)));
        check_survives(&format!(
            r#"{{"content":"","speaker":{{"roleId":"a","roleName":"A","x":{deep}}}}}"#
        ));
        check_survives(&ann_with(&format!(
            r#""routing":{{"resolvedAddressees":[{{"identifier":"b","x":{deep}}}],"x":{deep}}}"#
        )));
    }
}

#[test]
fn a_million_levels_in_parts_survive() {
    let deep = deep_object();
    check_survives(&format!(
        concat!(
            r#"{{"content":"","parts":[{{"kind":"tool_call","payload":"#,
            r#"{{"toolCallId":"c","toolName":"t","arguments":{deep},"x":{deep}}},"x":{deep}}},"#,
            r#"{{"kind":"hologram","payload":{deep}}}],"speaker":{{"roleId":"a","roleName":"A"}}}}"#
        ),
        deep = deep
    ));
}

#[test]
fn a_million_levels_where_something_else_belongs_are_an_error() {
    for deep in [deep_list(), deep_object()] {
        check_error(
            &format!(r#"{{"content":{deep},"speaker":{{"roleId":"a"}}}}"#),
            "Message content must be a string",
        );
        let error = read(&format!(r#"{{"content":"","speaker":{deep}}}"#)).unwrap_err();
        assert_eq!(error.to_string(), "Message speaker.roleId is required");
        let error = read(&ann_with(&format!(r#""routing":{{"resolvedAddressees":[[{deep}]]}}"#)))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "Message routing.resolvedAddressees[0] must be a name or an object with an identifier; \
             got a list"
        );
    }
    let error = read(&deep_list()).unwrap_err();
    assert_eq!(error.to_string(), "Message content must be a string");
}

#[test]
fn nul_bytes_survive_in_every_text() {
    check_same(concat!(
        r#"{"content":"\u0000a\u0000","speaker":{"roleId":"\u0000","roleName":"a\u0000b","#,
        r#""roleTitle":"\u0000","type":"\u0000"},"routing":{"resolvedAddressees":["\u0000"],"#,
        r#""parentMessageId":"\u0000","intent":"\u0000"},"runId":"\u0000","x\u0000":"\u0000"}"#
    ));
    let message = read(r#"{"content":"\u0000a","speaker":{"roleId":"a"}}"#).unwrap();
    assert_eq!(message.text(), "\0a");
}

#[test]
fn every_character_survives() {
    let all: String = (char::MIN..=char::MAX).collect();
    let text = format!(
        r#"{{"content":{},"speaker":{{"roleId":"a","roleName":"A"}}}}"#,
        serde_json::to_string(&all).unwrap()
    );
    let message = read(&text).unwrap();
    assert!(message.text() == all);
    assert!(write(&message) == text);
}

#[test]
fn a_message_of_a_hundred_megabytes_is_read_and_written() {
    let line = "A line with \"quotes\", a tab\t, ünïcödé and 中文.\n";
    let content = line.repeat(100_000_000 / line.len() + 1);
    assert!(content.len() >= 100_000_000);
    let text = format!(
        r#"{{"content":{},"speaker":{{"roleId":"a","roleName":"A"}}}}"#,
        serde_json::to_string(&content).unwrap()
    );
    let message = read(&text).unwrap();
    assert!(message.text() == content);
    drop(content);
    assert!(write(&message) == text);
}

#[test]
fn a_message_of_a_hundred_thousand_fields_is_read_and_written() {
    let fields: Vec<String> = (0..100_000).map(|n| format!(r#""x{n}":{n}"#)).collect();
    check_survives(&ann_with(&fields.join(",")));
}

#[test]
fn a_message_of_a_hundred_thousand_parts_and_addressees_is_read_and_written() {
    let parts = vec![r#"{"kind":"thinking","payload":{"text":"hm"}}"#; 100_000].join(",");
    let names = vec!["\"max\""; 100_000].join(",");
    check_survives(&format!(
        concat!(
            r#"{{"content":"","parts":[{}],"speaker":{{"roleId":"a","roleName":"A"}},"#,
            r#""routing":{{"resolvedAddressees":[{}]}}}}"#
        ),
        parts, names
    ));
}
