//! Messages are found by id, speaker and time, whatever was imported and archived before.

use std::num::NonZeroUsize;

use tertulia_context::{ContextManager, ContextManagerOptions, MessageCap};
use tertulia_session::{Message, MessageId, Speaker, SpeakerType, Timestamp};

use crate::harness::{ann, imported, ivo, say, snapshot_of_ids};

/// Returns a conversation that archives all but the newest messages.
fn forgetting(messages_max: usize) -> ContextManager {
    ContextManager::new(ContextManagerOptions {
        message_cap: Some(MessageCap {
            messages_max: NonZeroUsize::new(messages_max).unwrap(),
            archive: Box::new(|_| {}),
        }),
        ..ContextManagerOptions::default()
    })
}

/// Returns the text of the message with this id.
fn by_id(manager: &ContextManager, id: &str) -> Option<String> {
    let message = manager.message_by_id(&MessageId::from(id))?;
    assert_eq!(message.id.to_string(), id);
    Some(message.message.text().into_owned())
}

fn by_speaker(manager: &ContextManager, role_id: &str) -> Vec<String> {
    let messages = manager.messages_by_speaker(role_id);
    messages.map(|message| message.message.text().into_owned()).collect()
}

fn by_time(manager: &ContextManager, from: i64, to: i64) -> Vec<String> {
    let messages = manager.messages_by_time(from..=to);
    messages.map(|message| message.message.text().into_owned()).collect()
}

fn say_at(manager: &mut ContextManager, millis: i64, text: &str) {
    manager.add_message(Message::said(ann(), text).at(Timestamp::from_millis(millis))).unwrap();
}

#[test]
fn messages_of_its_own_are_found_by_id() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["one", "two", "three"]);
    assert_eq!(by_id(&manager, "msg-1").as_deref(), Some("one"));
    assert_eq!(by_id(&manager, "msg-3").as_deref(), Some("three"));
    for unknown in ["msg-0", "msg-4", "msg-01", "msg-", "", "one", "msg-18446744073709551615"] {
        assert_eq!(by_id(&manager, unknown), None, "{unknown}");
    }
}

#[test]
fn imported_messages_are_found_by_whatever_id_they_have() {
    let mut manager = imported(&["x", "msg-0007", "", "msg-3", "msg-7", "msg-2"]);
    say(&mut manager, &ann(), &["new"]);
    for id in ["x", "msg-0007", "", "msg-3", "msg-7", "msg-2"] {
        assert_eq!(by_id(&manager, id), Some(format!("this is {id}")));
    }
    assert_eq!(by_id(&manager, "msg-8").as_deref(), Some("new"));
    assert_eq!(by_id(&manager, "msg-1"), None);
}

#[test]
fn of_a_repeated_id_the_oldest_message_is_found() {
    let mut manager = forgetting(4);
    let mut snapshot = snapshot_of_ids(&["a", "msg-1", "a", "msg-1"]);
    // The contents show which of the two snapshots a message is from.
    let other = snapshot_of_ids(&["b", "b", "b", "b"]);
    for place in [2, 3] {
        let mut message = (*snapshot.messages[place]).clone();
        message.message = other.messages[place].message.clone();
        snapshot.messages[place] = message.into();
    }
    manager.import_snapshot(snapshot).unwrap();
    assert_eq!(by_id(&manager, "a").as_deref(), Some("this is a"));
    assert_eq!(by_id(&manager, "msg-1").as_deref(), Some("this is msg-1"));
    say(&mut manager, &ann(), &["two"]);
    assert_eq!(by_id(&manager, "a").as_deref(), Some("this is b"), "the first a was archived");
    assert_eq!(by_id(&manager, "msg-1").as_deref(), Some("this is msg-1"));
    say(&mut manager, &ann(), &["three"]);
    assert_eq!(by_id(&manager, "msg-1").as_deref(), Some("this is b"));
    say(&mut manager, &ann(), &["four", "five"]);
    assert_eq!(by_id(&manager, "a"), None);
    assert_eq!(by_id(&manager, "msg-1"), None);
    assert_eq!(by_id(&manager, "msg-5").as_deref(), Some("five"));
}

#[test]
fn archived_messages_are_not_found() {
    let mut manager = forgetting(2);
    say(&mut manager, &ann(), &["one", "two", "three"]);
    assert_eq!(by_id(&manager, "msg-1"), None);
    assert_eq!(by_id(&manager, "msg-2").as_deref(), Some("two"));
    assert_eq!(by_speaker(&manager, "ann"), ["two", "three"]);
}

#[test]
fn speakers_are_distinguished_by_id_and_not_by_name() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["a1"]);
    say(&mut manager, &ivo(), &["i1"]);
    say(&mut manager, &Speaker::new("ann", "Anna", SpeakerType::Ai), &["a2"]);
    say(&mut manager, &Speaker::new("ivo-2", "Ivo", SpeakerType::Ai), &["i2"]);
    assert_eq!(by_speaker(&manager, "ann"), ["a1", "a2"]);
    assert_eq!(by_speaker(&manager, "ivo"), ["i1"]);
    assert_eq!(by_speaker(&manager, "ivo-2"), ["i2"]);
    assert!(by_speaker(&manager, "Ivo").is_empty());
    assert!(by_speaker(&manager, "").is_empty());
}

#[test]
fn a_message_keeps_the_speaker_that_it_came_with() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["1"]);
    say(&mut manager, &Speaker::new("ann", "Anna", SpeakerType::Ai), &["2"]);
    say(&mut manager, &ann(), &["3"]);
    let names: Vec<String> = manager
        .messages()
        .map(|message| message.message.speaker.as_deref().unwrap().role_name.to_string())
        .collect();
    assert_eq!(names, ["Ann", "Anna", "Ann"]);
}

#[test]
fn a_range_of_time_holds_both_its_ends() {
    let mut manager = ContextManager::default();
    for millis in [10, 20, 20, 30] {
        say_at(&mut manager, millis, &format!("at {millis}"));
    }
    assert_eq!(by_time(&manager, 20, 20), ["at 20", "at 20"]);
    assert_eq!(by_time(&manager, 10, 20), ["at 10", "at 20", "at 20"]);
    assert_eq!(by_time(&manager, 21, 29), [""; 0]);
    assert_eq!(by_time(&manager, i64::MIN, i64::MAX).len(), 4);
    assert_eq!(by_time(&manager, 30, 10), [""; 0]);
}

#[test]
fn messages_out_of_order_of_time_come_in_the_order_of_the_conversation() {
    let mut manager = ContextManager::default();
    for millis in [50, 10, 60, 20, -5, 60, 55] {
        say_at(&mut manager, millis, &format!("{millis}"));
    }
    assert_eq!(by_time(&manager, 10, 55), ["50", "10", "20", "55"]);
    assert_eq!(by_time(&manager, 60, 60), ["60", "60"]);
    assert_eq!(by_time(&manager, i64::MIN, 0), ["-5"]);
}

#[test]
fn messages_without_a_time_are_in_no_range() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["timeless"]);
    say_at(&mut manager, 0, "at 0");
    assert_eq!(by_time(&manager, i64::MIN, i64::MAX), ["at 0"]);
}

#[test]
fn times_are_found_after_archiving() {
    let mut manager = forgetting(3);
    for millis in [50, 10, 60, 20, 5, 70] {
        say_at(&mut manager, millis, &format!("{millis}"));
    }
    assert_eq!(by_time(&manager, i64::MIN, i64::MAX), ["20", "5", "70"]);
    for millis in [1, 2, 3] {
        say_at(&mut manager, millis, &format!("{millis}"));
    }
    assert_eq!(by_time(&manager, i64::MIN, i64::MAX), ["1", "2", "3"]);
    assert_eq!(by_time(&manager, 2, 100), ["2", "3"]);
}

#[test]
fn date_texts_are_found_by_their_moment() {
    let mut manager = ContextManager::default();
    let noon = "2026-01-31T13:00:00+01:00".parse::<Timestamp>().unwrap();
    manager.add_message(Message::said(ann(), "noon").at(noon)).unwrap();
    assert_eq!(by_time(&manager, 1_769_860_800_000, 1_769_860_800_000), ["noon"]);
}
