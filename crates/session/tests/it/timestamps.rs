//! Times in every spelling: they are read if possible, and always written as they were.

use crate::wire::{ann_with, check_same, read};
use tertulia_session::{Message, Speaker, SpeakerType, Timestamp};

/// Checks the time of a spelling, and that it is written as it was read.
#[track_caller]
fn check(spelling: &str, millis: Option<i64>) {
    let text = ann_with(&format!(r#""timestamp":{spelling}"#));
    check_same(&text);
    let timestamp = read(&text).unwrap().timestamp;
    assert_eq!(timestamp.as_ref().map(Timestamp::millis), millis, "{spelling}");
}

#[test]
fn whole_numbers_are_milliseconds() {
    for (spelling, millis) in [
        ("0", 0),
        ("1769860800000", 1_769_860_800_000),
        ("-1", -1),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        check(spelling, Some(millis));
    }
}

#[test]
fn date_texts_with_an_offset_are_moments() {
    for spelling in [
        r#""2026-01-31T12:00:00.000Z""#,
        r#""2026-01-31T12:00:00Z""#,
        r#""2026-01-31T12:00:00.000000000Z""#,
        r#""2026-01-31T13:00:00+01:00""#,
        r#""2026-01-31T06:30:00.000-05:30""#,
        r#""2026-01-31 12:00:00Z""#,
    ] {
        check(spelling, Some(1_769_860_800_000));
    }
    check(r#""1969-12-31T23:59:59.999Z""#, Some(-1));
    check(r#""0001-01-01T00:00:00.000Z""#, Some(-62_135_596_800_000));
    check(r#""2026-01-31T12:00:00.123456789Z""#, Some(1_769_860_800_123));
}

#[test]
fn what_is_no_moment_is_kept_as_it_is() {
    for spelling in [
        r#""yesterday""#,
        r#""""#,
        r#""2026-01-31""#,
        r#""2026-01-31T12:00:00""#,
        r#""2026-13-01T00:00:00Z""#,
        "1.5",
        "1769860800000.0",
        "1e3",
        "-0",
        "9223372036854775808",
        "true",
        "null",
        "[]",
        r#"{"seconds":5}"#,
        r#""\ud800""#,
    ] {
        check(spelling, None);
    }
}

#[test]
fn the_largest_numbers_are_shown_as_numbers() {
    let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
    let message = Message::said(ann, "hi").at(Timestamp::from_millis(i64::MAX));
    assert_eq!(message.timestamp.unwrap().to_string(), "9223372036854775807");
}
