//! There are two spellings of speakers and two of addressees: both can be read, the first is written.

use crate::wire::{ann_with, check, check_same, read, read_with_id, write_with_id};
use tertulia_session::{MessageId, SpeakerType};

#[test]
fn the_first_spelling_of_a_speaker_is_written_as_it_was_read() {
    check_same(
        r#"{"content":"hi","speaker":{"roleId":"max","roleName":"Max","roleTitle":"Architect","type":"ai"}}"#,
    );
}

#[test]
fn the_second_spelling_of_a_speaker_becomes_the_first() {
    check(
        r#"{"content":"hi","speaker":{"id":"max","name":"Max","displayName":"Architect","type":"ai"}}"#,
        r#"{"content":"hi","speaker":{"roleId":"max","roleName":"Max","roleTitle":"Architect","type":"ai"}}"#,
    );
}

#[test]
fn the_spellings_of_a_speaker_may_be_mixed() {
    check(
        r#"{"content":"hi","speaker":{"roleId":"max","name":"Max","displayName":"Architect"}}"#,
        r#"{"content":"hi","speaker":{"roleId":"max","roleName":"Max","roleTitle":"Architect"}}"#,
    );
}

#[test]
fn where_both_spellings_are_given_the_first_counts_and_the_second_is_kept() {
    let both = r#"{"content":"hi","speaker":{"id":"b","name":"B","displayName":"b.","roleId":"a","roleName":"A","roleTitle":"a."}}"#;
    let written = r#"{"content":"hi","speaker":{"roleId":"a","roleName":"A","roleTitle":"a.","id":"b","name":"B","displayName":"b."}}"#;
    check(both, written);
}

#[test]
fn the_second_spelling_counts_if_the_first_is_null() {
    check(
        r#"{"content":"hi","speaker":{"roleId":null,"id":"max","roleName":null,"name":"Max","roleTitle":null,"displayName":"Architect"}}"#,
        r#"{"content":"hi","speaker":{"roleId":"max","roleName":"Max","roleTitle":"Architect"}}"#,
    );
}

#[test]
fn a_missing_name_falls_back_to_the_id() {
    let message = read(r#"{"content":"hi","speaker":{"roleId":"max","type":"ai"}}"#).unwrap();
    assert_eq!(&*message.speaker.unwrap().role_name, "max");
    let message = read(r#"{"content":"hi","speaker":{"id":"max","roleName":null}}"#).unwrap();
    assert_eq!(&*message.speaker.unwrap().role_name, "max");
}

#[test]
fn a_missing_speaker_type_is_accepted_and_is_not_an_ai() {
    for speaker in [r#"{"roleId":"max"}"#, r#"{"roleId":"max","type":null}"#] {
        let message = read(&format!(r#"{{"content":"hi","speaker":{speaker}}}"#)).unwrap();
        let speaker = message.speaker.unwrap();
        assert_eq!(speaker.kind, None);
        assert!(!speaker.is_ai());
    }
}

#[test]
fn the_types_of_speakers_are_read_as_words_and_unknown_words_are_kept() {
    for (word, kind) in [
        ("human", SpeakerType::Human),
        ("ai", SpeakerType::Ai),
        ("system", SpeakerType::System),
        ("AI", SpeakerType::Other("AI".into())),
        ("robot", SpeakerType::Other("robot".into())),
        ("", SpeakerType::Other("".into())),
    ] {
        let text = format!(
            r#"{{"content":"hi","speaker":{{"roleId":"m","roleName":"M","type":"{word}"}}}}"#
        );
        check_same(&text);
        assert_eq!(read(&text).unwrap().speaker.unwrap().kind, Some(kind), "{word}");
    }
}

#[test]
fn addressees_may_be_names_or_objects_or_both() {
    let addressees = |text: &str| -> Vec<String> {
        let routing = format!(r#""routing":{{"resolvedAddressees":{text}}}"#);
        let message = read(&ann_with(&routing)).unwrap();
        let addressees = message.routing.unwrap().resolved_addressees.unwrap();
        addressees.into_iter().map(|one| one.identifier.into()).collect()
    };
    assert_eq!(addressees(r#"["max","sarah"]"#), ["max", "sarah"]);
    assert_eq!(addressees(r#"[{"identifier":"max"}]"#), ["max"]);
    assert_eq!(
        addressees(r#"["a",{"identifier":"b","roleId":"r","roleName":"R"},"c"]"#),
        ["a", "b", "c"]
    );
    assert_eq!(addressees(r#"["",{"identifier":""}]"#), ["", ""]);
    assert!(addressees("[]").is_empty());
}

#[test]
fn an_addressee_is_written_as_a_name_unless_the_source_said_more() {
    check(
        &ann_with(
            r#""routing":{"resolvedAddressees":["a",{"identifier":"b"},{"memberId":"m-3","identifier":"c"}]}"#,
        ),
        &ann_with(
            r#""routing":{"resolvedAddressees":["a","b",{"identifier":"c","memberId":"m-3"}]}"#,
        ),
    );
}

#[test]
fn no_addressees_and_an_empty_list_of_them_are_distinguished() {
    check_same(&ann_with(r#""routing":{"resolvedAddressees":[]}"#));
    check_same(&ann_with(r#""routing":{}"#));
    let silent = read(&ann_with(r#""routing":{"resolvedAddressees":null}"#)).unwrap();
    assert_eq!(silent.routing.unwrap().resolved_addressees, None);
}

#[test]
fn parent_and_intent_of_a_routing_are_read_and_written() {
    check_same(&ann_with(
        r#""routing":{"resolvedAddressees":["max"],"parentMessageId":"msg-3","intent":"P1_INTERRUPT"}"#,
    ));
}

#[test]
fn an_id_is_dropped_from_a_new_message_and_kept_in_a_stored_one() {
    let text = r#"{"id":"mine","content":"hi","speaker":{"roleId":"a","roleName":"A"}}"#;
    check(text, r#"{"content":"hi","speaker":{"roleId":"a","roleName":"A"}}"#);
    let stored = read_with_id(text).unwrap();
    assert_eq!(stored.id, MessageId::from("mine"));
    assert_eq!(write_with_id(&stored), text);
}

#[test]
fn every_id_is_written_as_it_was_read() {
    for id in ["msg-7", "msg-0007", "msg-18446744073709551615", "MSG-7", "", "ü \\\" x"] {
        let text =
            format!(r#"{{"id":"{id}","content":"","speaker":{{"roleId":"a","roleName":"A"}}}}"#);
        assert_eq!(write_with_id(&read_with_id(&text).unwrap()), text);
    }
}
