//! The errors for values that are not messages: four fixed texts in a fixed order, or else one sentence with the
//! field.

use crate::wire::{ann_with, check_error, read_with_id};

const NULL: &str = "Message cannot be null or undefined";
const CONTENT: &str = "Message content must be a string";
const SPEAKER: &str = "Message speaker is required";
const ROLE_ID: &str = "Message speaker.roleId is required";

#[test]
fn what_javascript_takes_for_false_is_no_message_at_all() {
    for nothing in ["null", "false", "0", "-0", "0.0", "0e9", "\"\"", " null "] {
        check_error(nothing, NULL);
    }
}

#[test]
fn what_is_no_object_has_no_content() {
    for other in ["true", "7", "\"hi\"", "[]", "{}", "[{\"content\":\"x\"}]"] {
        check_error(other, CONTENT);
    }
}

#[test]
fn content_must_be_a_string() {
    for content in ["null", "5", "true", "[]", "{}", "[\"hi\"]"] {
        check_error(&format!(r#"{{"content":{content},"speaker":{{"roleId":"a"}}}}"#), CONTENT);
    }
}

#[test]
fn a_speaker_must_be_there() {
    check_error(r#"{"content":"x"}"#, SPEAKER);
    for speaker in ["null", "false", "0", "\"\""] {
        check_error(&format!(r#"{{"content":"x","speaker":{speaker}}}"#), SPEAKER);
    }
}

#[test]
fn a_speaker_must_have_an_id() {
    for speaker in [
        "{}",
        "[]",
        "5",
        "\"ann\"",
        "true",
        r#"{"roleName":"Ann"}"#,
        r#"{"roleId":""}"#,
        r#"{"roleId":null}"#,
        r#"{"roleId":0}"#,
        r#"{"roleId":false}"#,
        r#"{"id":""}"#,
        r#"{"id":null}"#,
    ] {
        check_error(&format!(r#"{{"content":"x","speaker":{speaker}}}"#), ROLE_ID);
    }
}

#[test]
fn of_several_faults_the_first_in_order_is_reported() {
    check_error(r#"{"content":5,"speaker":null,"routing":7}"#, CONTENT);
    check_error(r#"{"speaker":{},"routing":7}"#, CONTENT);
    check_error(r#"{"routing":7,"speaker":null,"content":""}"#, SPEAKER);
    check_error(r#"{"routing":7,"speaker":{"roleName":5,"type":5},"content":""}"#, ROLE_ID);
    check_error(
        r#"{"routing":7,"speaker":{"roleId":"a","type":5},"content":""}"#,
        "Message speaker.type must be a string; got a number",
    );
}

#[test]
fn a_speaker_field_of_the_wrong_type_is_named() {
    for (speaker, sentence) in [
        (r#"{"roleId":7}"#, "Message speaker.roleId must be a string; got a number"),
        (r#"{"id":["a"]}"#, "Message speaker.id must be a string; got a list"),
        (
            r#"{"roleId":"a","roleName":{}}"#,
            "Message speaker.roleName must be a string; got an object",
        ),
        (r#"{"roleId":"a","name":true}"#, "Message speaker.name must be a string; got a boolean"),
        (
            r#"{"roleId":"a","roleTitle":1}"#,
            "Message speaker.roleTitle must be a string; got a number",
        ),
        (
            r#"{"roleId":"a","displayName":[]}"#,
            "Message speaker.displayName must be a string; got a list",
        ),
    ] {
        check_error(&format!(r#"{{"content":"x","speaker":{speaker}}}"#), sentence);
    }
}

#[test]
fn a_routing_field_of_the_wrong_type_is_named() {
    for (routing, sentence) in [
        ("\"max\"", "Message routing must be an object; got a string"),
        (
            r#"{"resolvedAddressees":"max"}"#,
            "Message routing.resolvedAddressees must be a list; got a string",
        ),
        (
            r#"{"resolvedAddressees":["max",7]}"#,
            "Message routing.resolvedAddressees[1] must be a name or an object with an identifier; got a number",
        ),
        (
            r#"{"resolvedAddressees":[null]}"#,
            "Message routing.resolvedAddressees[0] must be a name or an object with an identifier; got null",
        ),
        (
            r#"{"resolvedAddressees":[{"roleId":"max"}]}"#,
            "Message routing.resolvedAddressees[0].identifier is missing; give a string",
        ),
        (
            r#"{"resolvedAddressees":["a","b",{"identifier":null}]}"#,
            "Message routing.resolvedAddressees[2].identifier must be a string; got null",
        ),
    ] {
        check_error(&ann_with(&format!(r#""routing":{routing}"#)), sentence);
    }
}

#[test]
fn half_a_surrogate_pair_is_named_where_a_text_is_needed() {
    let half = |field: &str| {
        format!(
            "Message {field} contains half a surrogate pair (an escape such as \\ud800 alone), which \
             is not a character; write both halves or leave it out"
        )
    };
    for (text, field) in [
        (r#"{"content":"a\ud83d","speaker":{"roleId":"a"}}"#, "content"),
        (r#"{"content":"\ude00\ud83d","speaker":{"roleId":"a"}}"#, "content"),
        (r#"{"content":"","speaker":{"roleId":"\udfff"}}"#, "speaker.roleId"),
        (r#"{"content":"","speaker":{"roleId":"a","name":"\ud800x"}}"#, "speaker.name"),
        (
            r#"{"content":"","speaker":{"roleId":"a"},"routing":{"resolvedAddressees":["\ud800"]}}"#,
            "routing.resolvedAddressees[0]",
        ),
    ] {
        check_error(text, &half(field));
    }
}

#[test]
fn half_a_surrogate_pair_in_a_name_is_reported() {
    let half = |subject: &str| {
        format!(
            "Message {subject}has a field name with half a surrogate pair (an escape such as \\ud800 \
             alone), which is not a character; write both halves or leave it out"
        )
    };
    check_error(r#"{"\ud800":1,"content":"","speaker":{"roleId":"a"}}"#, &half(""));
    check_error(r#"{"content":"","speaker":{"roleId":"a","\udc00":1}}"#, &half("speaker "));
    check_error(&ann_with(r#""routing":{"\ud800x":1}"#), &half("routing "));
}

#[test]
fn a_whole_surrogate_pair_is_a_character() {
    let message =
        crate::wire::read(r#"{"content":"\ud83d\ude00","speaker":{"roleId":"a"}}"#).unwrap();
    assert_eq!(message.text(), "😀");
}

#[test]
fn a_stored_message_must_have_an_id_that_is_a_string() {
    let error = |text: &str| read_with_id(text).unwrap_err().to_string();
    assert_eq!(error("null"), NULL);
    assert_eq!(error("7"), CONTENT);
    assert_eq!(
        error(r#"{"content":"x","speaker":{"roleId":"a"}}"#),
        "Message id is missing; give a string"
    );
    for (id, got) in [("1", "a number"), ("null", "null"), ("{}", "an object")] {
        assert_eq!(
            error(&format!(r#"{{"id":{id},"content":"x","speaker":{{"roleId":"a"}}}}"#)),
            format!("Message id must be a string; got {got}")
        );
    }
    assert_eq!(error(r#"{"id":"msg-1","content":"x"}"#), SPEAKER);
}

#[test]
fn a_text_that_is_not_json_is_reported_with_its_position() {
    let error = tertulia_session::json::parse("{\"content\":\n  oops}").unwrap_err();
    assert_eq!((error.line, error.column), (2, 3));
    assert!(error.to_string().starts_with("not JSON at line 2, column 3: "), "{error}");
}
