//! Finding messages by id, speaker and time, whatever was imported and archived before.

use std::num::NonZeroUsize;

use tertulia_context::{ContextManager, ContextManagerOptions, MessageCap};
use tertulia_session::{Message, MessageId, Speaker, SpeakerType, Timestamp};

use crate::table::{ann, imported, ivo, say, snapshot_of_ids};

/// Returns a conversation that forgets all but the newest messages.
fn forgetting(messages_max: usize) -> ContextManager {
    ContextManager::new(ContextManagerOptions {
        message_cap: Some(MessageCap {
            messages_max: NonZeroUsize::new(messages_max).unwrap(),
            archive: Box::new(|_| {}),
        }),
        ..ContextManagerOptions::default()
    })
}

/// Returns the words of the message of this id.
fn by_id(table: &ContextManager, id: &str) -> Option<String> {
    let message = table.message_by_id(&MessageId::from(id))?;
    assert_eq!(message.id.to_string(), id);
    Some(message.message.text().into_owned())
}

fn by_speaker(table: &ContextManager, role_id: &str) -> Vec<String> {
    let messages = table.messages_by_speaker(role_id);
    messages.map(|message| message.message.text().into_owned()).collect()
}

fn by_time(table: &ContextManager, from: i64, to: i64) -> Vec<String> {
    let messages = table.messages_by_time(from..=to);
    messages.map(|message| message.message.text().into_owned()).collect()
}

fn say_at(table: &mut ContextManager, millis: i64, text: &str) {
    table.add_message(Message::said(ann(), text).at(Timestamp::from_millis(millis))).unwrap();
}

#[test]
fn messages_of_its_own_are_found_by_id() {
    let mut table = ContextManager::default();
    say(&mut table, &ann(), &["one", "two", "three"]);
    assert_eq!(by_id(&table, "msg-1").as_deref(), Some("one"));
    assert_eq!(by_id(&table, "msg-3").as_deref(), Some("three"));
    for unknown in ["msg-0", "msg-4", "msg-01", "msg-", "", "one", "msg-18446744073709551615"] {
        assert_eq!(by_id(&table, unknown), None, "{unknown}");
    }
}

#[test]
fn imported_messages_are_found_by_whatever_id_they_have() {
    let mut table = imported(&["x", "msg-0007", "", "msg-3", "msg-7", "msg-2"]);
    say(&mut table, &ann(), &["new"]);
    for id in ["x", "msg-0007", "", "msg-3", "msg-7", "msg-2"] {
        assert_eq!(by_id(&table, id), Some(format!("this is {id}")));
    }
    assert_eq!(by_id(&table, "msg-8").as_deref(), Some("new"));
    assert_eq!(by_id(&table, "msg-1"), None);
}

#[test]
fn of_a_repeated_id_the_oldest_message_is_found() {
    let mut table = forgetting(4);
    let mut snapshot = snapshot_of_ids(&["a", "msg-1", "a", "msg-1"]);
    // The contents tell the two apart.
    let other = snapshot_of_ids(&["b", "b", "b", "b"]);
    for place in [2, 3] {
        let mut message = (*snapshot.messages[place]).clone();
        message.message = other.messages[place].message.clone();
        snapshot.messages[place] = message.into();
    }
    table.import_snapshot(snapshot).unwrap();
    assert_eq!(by_id(&table, "a").as_deref(), Some("this is a"));
    assert_eq!(by_id(&table, "msg-1").as_deref(), Some("this is msg-1"));
    say(&mut table, &ann(), &["two"]);
    assert_eq!(by_id(&table, "a").as_deref(), Some("this is b"), "the first a was archived");
    assert_eq!(by_id(&table, "msg-1").as_deref(), Some("this is msg-1"));
    say(&mut table, &ann(), &["three"]);
    assert_eq!(by_id(&table, "msg-1").as_deref(), Some("this is b"));
    say(&mut table, &ann(), &["four", "five"]);
    assert_eq!(by_id(&table, "a"), None);
    assert_eq!(by_id(&table, "msg-1"), None);
    assert_eq!(by_id(&table, "msg-5").as_deref(), Some("five"));
}

#[test]
fn archived_messages_are_not_found() {
    let mut table = forgetting(2);
    say(&mut table, &ann(), &["one", "two", "three"]);
    assert_eq!(by_id(&table, "msg-1"), None);
    assert_eq!(by_id(&table, "msg-2").as_deref(), Some("two"));
    assert_eq!(by_speaker(&table, "ann"), ["two", "three"]);
}

#[test]
fn speakers_are_distinguished_by_id_and_not_by_name() {
    let mut table = ContextManager::default();
    say(&mut table, &ann(), &["a1"]);
    say(&mut table, &ivo(), &["i1"]);
    say(&mut table, &Speaker::new("ann", "Anna", SpeakerType::Ai), &["a2"]);
    say(&mut table, &Speaker::new("ivo-2", "Ivo", SpeakerType::Ai), &["i2"]);
    assert_eq!(by_speaker(&table, "ann"), ["a1", "a2"]);
    assert_eq!(by_speaker(&table, "ivo"), ["i1"]);
    assert_eq!(by_speaker(&table, "ivo-2"), ["i2"]);
    assert!(by_speaker(&table, "Ivo").is_empty());
    assert!(by_speaker(&table, "").is_empty());
}

#[test]
fn a_message_keeps_the_speaker_that_it_came_with() {
    let mut table = ContextManager::default();
    say(&mut table, &ann(), &["1"]);
    say(&mut table, &Speaker::new("ann", "Anna", SpeakerType::Ai), &["2"]);
    say(&mut table, &ann(), &["3"]);
    let names: Vec<String> = table
        .messages()
        .map(|message| message.message.speaker.as_deref().unwrap().role_name.to_string())
        .collect();
    assert_eq!(names, ["Ann", "Anna", "Ann"]);
}

#[test]
fn a_range_of_time_holds_both_its_ends() {
    let mut table = ContextManager::default();
    for millis in [10, 20, 20, 30] {
        say_at(&mut table, millis, &format!("at {millis}"));
    }
    assert_eq!(by_time(&table, 20, 20), ["at 20", "at 20"]);
    assert_eq!(by_time(&table, 10, 20), ["at 10", "at 20", "at 20"]);
    assert_eq!(by_time(&table, 21, 29), [""; 0]);
    assert_eq!(by_time(&table, i64::MIN, i64::MAX).len(), 4);
    assert_eq!(by_time(&table, 30, 10), [""; 0]);
}

#[test]
fn messages_out_of_order_of_time_come_in_the_order_of_the_conversation() {
    let mut table = ContextManager::default();
    for millis in [50, 10, 60, 20, -5, 60, 55] {
        say_at(&mut table, millis, &format!("{millis}"));
    }
    assert_eq!(by_time(&table, 10, 55), ["50", "10", "20", "55"]);
    assert_eq!(by_time(&table, 60, 60), ["60", "60"]);
    assert_eq!(by_time(&table, i64::MIN, 0), ["-5"]);
}

#[test]
fn messages_without_a_time_are_in_no_range() {
    let mut table = ContextManager::default();
    say(&mut table, &ann(), &["timeless"]);
    say_at(&mut table, 0, "at 0");
    assert_eq!(by_time(&table, i64::MIN, i64::MAX), ["at 0"]);
}

#[test]
fn times_are_found_after_archiving() {
    let mut table = forgetting(3);
    for millis in [50, 10, 60, 20, 5, 70] {
        say_at(&mut table, millis, &format!("{millis}"));
    }
    assert_eq!(by_time(&table, i64::MIN, i64::MAX), ["20", "5", "70"]);
    for millis in [1, 2, 3] {
        say_at(&mut table, millis, &format!("{millis}"));
    }
    assert_eq!(by_time(&table, i64::MIN, i64::MAX), ["1", "2", "3"]);
    assert_eq!(by_time(&table, 2, 100), ["2", "3"]);
}

#[test]
fn date_texts_are_found_by_their_moment() {
    let mut table = ContextManager::default();
    let noon = "2026-01-31T13:00:00+01:00".parse::<Timestamp>().unwrap();
    table.add_message(Message::said(ann(), "noon").at(noon)).unwrap();
    assert_eq!(by_time(&table, 1_769_860_800_000, 1_769_860_800_000), ["noon"]);
}
