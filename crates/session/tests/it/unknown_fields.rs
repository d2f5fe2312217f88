//! Unknown fields survive a round trip unchanged, at every level and with every digit.

use tertulia_session::{Role, Speaker, SpeakerType, Timestamp};

use crate::wire::{ann_with, check, check_same, read, write};

/// Values that a reader with floats or with a limited depth would change.
const EXACT: [&str; 12] = [
    "123456789012345678901234567890",
    "-123456789012345678901234567890.000",
    "1e400",
    "1E+400",
    "1.10",
    "-0",
    "0.1000000000000000055511151231257827",
    r#""\ud800 alone, \u0000 and \u00e9 escaped""#,
    r#"{"$serde_json::private::RawValue":"1"}"#,
    r#"{"a":1,"a":2}"#,
    "[[],{},[null,true,false]]",
    r#""""#,
];

/// A message with the field `§` at every level.
const EVERYWHERE: &str = concat!(
    r#"{"content":"","parts":[{"kind":"thinking","payload":{"text":"hm","x":§},"y":§},"#,
    r#"{"kind":"hologram","payload":§,"y":§}],"#,
    r#""speaker":{"roleId":"a","roleName":"A","x":§},"#,
    r#""routing":{"resolvedAddressees":[{"identifier":"b","x":§}],"x":§},"meta":{"x":§},"x":§}"#,
);

#[test]
fn unknown_fields_survive_at_every_level_with_exact_values() {
    for value in EXACT {
        check_same(&EVERYWHERE.replace('§', value));
    }
}

#[test]
fn only_whitespace_between_tokens_is_lost() {
    let spaced = EVERYWHERE.replace('§', " [ 1.10 ,\n\t{ \"a b\" : \" c \" } ]\r\n");
    let tight = EVERYWHERE.replace('§', r#"[1.10,{"a b":" c "}]"#);
    check(&spaced, &tight);
}

#[test]
fn unknown_fields_keep_their_order() {
    check_same(&ann_with(r#""z":1,"a":2,"m":3,"":4"#));
}

#[test]
fn names_with_escapes_survive() {
    check(&ann_with(r#""a\u0000\u00e9\"":1"#), &ann_with(r#""a\u0000é\"":1"#));
}

#[test]
fn of_a_repeated_known_field_the_last_counts() {
    check(
        r#"{"content":"a","content":"b","speaker":{"roleId":"x"},"speaker":{"roleId":"y","roleId":"z","roleName":"Z"},"role":"user","role":"tool"}"#,
        r#"{"role":"tool","content":"b","speaker":{"roleId":"z","roleName":"Z"}}"#,
    );
    let gone = read(r#"{"content":"a","content":null,"speaker":{"roleId":"x"}}"#).unwrap_err();
    assert_eq!(gone.to_string(), "Message content must be a string");
}

#[test]
fn a_repeated_unknown_field_is_kept_twice_and_the_last_is_found() {
    let text = ann_with(r#""note":1,"note":2"#);
    check_same(&text);
    let message = read(&text).unwrap();
    assert_eq!(message.unknown.get("note").unwrap().as_str(), "2");
}

#[test]
fn fields_outside_the_contract_are_kept_when_they_cannot_be_read() {
    for field in [
        r#""role":"wizard""#,
        r#""role":7"#,
        r#""role":null"#,
        r#""runId":["a"]"#,
        r#""runId":"\ud800""#,
        r#""timestamp":"yesterday""#,
        r#""timestamp":null"#,
        r#""meta":"text""#,
        r#""meta":[]"#,
        r#""routing":null"#,
        r#""routing":{"intent":5}"#,
        r#""routing":{"parentMessageId":{"id":1}}"#,
        r#""parts":"none""#,
    ] {
        check_same(&ann_with(field));
    }
}

#[test]
fn known_names_at_the_wrong_level_are_unknown_fields() {
    check_same(&ann_with(r#""roleId":"b","identifier":5,"kind":"text","payload":{},"type":"ai""#));
}

#[test]
fn a_round_trip_of_everything_unknown_is_stable() {
    let text = ann_with(r#""timestamp":"later","b":1,"role":[],"a":{"role":[]}"#);
    let message = read(&text).unwrap();
    let once = write(&message);
    assert_eq!(write(&read(&once).unwrap()), once);
    assert_eq!(read(&once).unwrap(), message);
}

#[test]
fn what_is_set_later_counts_more_than_what_could_not_be_read() {
    let text = ann_with(r#""routing":null,"timestamp":"later","role":null,"runId":5,"meta":[]"#);
    let mut message = read(&text).unwrap().to(["max"]).at(Timestamp::from_millis(5));
    message.role = Some(Role::User);
    message.run_id = Some("run-1".into());
    let again = read(&write(&message)).unwrap();
    assert_eq!(again.routing, message.routing);
    assert_eq!(again.timestamp, message.timestamp);
    assert_eq!(again.role, message.role);
    assert_eq!(again.run_id, message.run_id);
}

#[test]
fn a_role_that_is_not_named_follows_the_speaker() {
    let role = |kind: Option<SpeakerType>| {
        let mut message = read(&ann_with(r#""x":1"#)).unwrap();
        message.speaker =
            Some(Speaker { kind, ..Speaker::new("a", "A", SpeakerType::Human) }.into());
        message.effective_role()
    };
    assert_eq!(role(None), Role::User);
    assert_eq!(role(Some(SpeakerType::Human)), Role::User);
    assert_eq!(role(Some(SpeakerType::Other("robot".into()))), Role::User);
    assert_eq!(role(Some(SpeakerType::Ai)), Role::Assistant);
    assert_eq!(role(Some(SpeakerType::System)), Role::System);
    let named = read(&ann_with(r#""role":"tool""#)).unwrap();
    assert_eq!(named.effective_role(), Role::Tool);
}
