//! Entries that differ from the golden form: how they are read, and how they are written.

use tertulia_session::{EntryKind, PartKind, SessionHeader, Usd};

use crate::entry_wire::{check, check_same, read};

fn message(payload: &str) -> String {
    format!(r#"{{"id":"a","type":"message","payload":{payload}}}"#)
}

const HI: &str = r#""parts":[{"kind":"text","payload":{"text":"hi"}}]"#;

#[test]
fn content_alone_is_one_text_part() {
    check(
        &message(r#"{"role":"user","content":"hi"}"#),
        &message(&format!(r#"{{"role":"user",{HI}}}"#)),
    );
    check(
        &message(r#"{"role":"user","content":"hi","parts":null}"#),
        &message(&format!(r#"{{"role":"user",{HI}}}"#)),
    );
}

#[test]
fn content_beside_parts_goes_if_it_says_the_same_and_stays_if_not() {
    let parts = format!(r#"{{"role":"user",{HI}}}"#);
    check(&message(&format!(r#"{{"content":"hi","role":"user",{HI}}}"#)), &message(&parts));
    for other in ["\"ho\"", "5", r#"[{"type":"text"}]"#] {
        check_same(&message(&format!(r#"{{"role":"user",{HI},"content":{other}}}"#)));
    }
}

#[test]
fn both_spellings_of_a_speaker_are_read() {
    check(
        &message(&format!(r#"{{{HI},"speaker":{{"id":"max","name":"Max"}}}}"#)),
        &message(&format!(r#"{{{HI},"speaker":{{"roleId":"max","roleName":"Max"}}}}"#)),
    );
}

#[test]
fn a_message_on_its_own_can_be_an_entry() {
    let entry = read(&message(r#"{"content":"a\nb","parts":[{"kind":"text","payload":{"text":"a"}},{"kind":"text","payload":{"text":"b"}}],"speaker":{"roleId":"x"}}"#)).unwrap();
    let EntryKind::Message(message) = entry.kind else { panic!("no message") };
    assert!(matches!(&message.parts[1].kind, PartKind::Text(text) if text == "b"));
    assert!(message.unknown.is_empty());
}

#[test]
fn null_in_an_optional_field_counts_as_not_there() {
    check(
        r#"{"id":"a","parentId":null,"type":"redaction","payload":{"targetId":"t","reason":null}}"#,
        r#"{"id":"a","type":"redaction","payload":{"targetId":"t"}}"#,
    );
    check(
        r#"{"id":"a","type":"message","payload":{"role":null,"content":"hi","speaker":{"roleId":"x","roleName":"X"},"routing":null}}"#,
        &message(&format!(r#"{{{HI},"speaker":{{"roleId":"x","roleName":"X"}}}}"#)),
    );
}

#[test]
fn notes_of_others_are_kept_when_they_cannot_be_read() {
    check_same(r#"{"id":"a","type":"custom","timestamp":"yesterday","runId":7,"meta":[]}"#);
    check_same(&message(&format!(r#"{{"role":"user",{HI},"runId":7,"timestamp":null,"meta":1}}"#)));
    let mut entry = read(r#"{"id":"a","type":"custom","runId":7}"#).unwrap();
    entry.run_id = Some("r".into());
    assert_eq!(crate::entry_wire::write(&entry), r#"{"id":"a","type":"custom","runId":"r"}"#);
}

#[test]
fn unknown_types_keep_their_payload_byte_for_byte() {
    for payload in [
        r#"{"z":1,"a":2,"a":3,"":{"id":"\ud800"}}"#,
        "1e400",
        "-0.00",
        "null",
        r#""\u0061""#,
        "[[[]]]",
    ] {
        check_same(&format!(r#"{{"id":"a","type":"surprise","payload":{payload},"x":{payload}}}"#));
        check_same(&format!(r#"{{"id":"a","type":"custom","payload":{payload},"x":{payload}}}"#));
    }
}

#[test]
fn a_header_without_a_version_is_of_version_1() {
    check(
        r#"{"id":"a","type":"session_header","payload":{}}"#,
        r#"{"id":"a","type":"session_header","payload":{"version":1}}"#,
    );
    let entry = read(r#"{"id":"a","type":"session_header","payload":{"version":1.0}}"#).unwrap();
    let header = SessionHeader { version: 1, ..SessionHeader::default() };
    assert_eq!(entry.kind, EntryKind::SessionHeader(header));
    assert!(read(r#"{"id":"a","type":"session_header","payload":{"version":0}}"#).is_err());
}

#[test]
fn a_recalled_text_that_does_not_say_so_replaces_nothing() {
    let recall = |rest: &str| {
        format!(r#"{{"id":"a","type":"recall","payload":{{"text":"x","sourceIds":["b"]{rest}}}}}"#)
    };
    for rest in ["", r#","replaces":null,"member":null"#] {
        check(&recall(rest), &recall(r#","replaces":false"#));
    }
    check_same(&recall(r#","replaces":true,"member":"max","lines":7"#));
}

#[test]
fn amounts_keep_their_digits() {
    let usage = |cost: &str| {
        let tokens = r#""member":"m","inputTokens":1,"outputTokens":2"#;
        format!(r#"{{"id":"a","type":"usage","payload":{{{tokens},"costUsd":{cost}}}}}"#)
    };
    for cost in ["0", "0.10", "1e-3", "12345678901234567890.5"] {
        check_same(&usage(cost));
    }
    assert_eq!(Usd::new(0.25).unwrap().amount(), 0.25);
    for none in [-0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(Usd::new(none), None);
    }
}
