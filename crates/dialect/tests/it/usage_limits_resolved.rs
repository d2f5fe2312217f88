//! Reported times of resets against a clock: the point in time, or none.

use jiff::tz::TimeZone;
use tertulia_dialect::stream::UsageLimit;
use tertulia_session::Timestamp;

/// Thursday, 19 November 2026.
const NOW: &str = "2026-11-19T12:00:00.000Z";

/// Rules of zones as POSIX writes them, so that the tests need no database.
fn zone(name: &str) -> Option<TimeZone> {
    let rules = match name {
        "Europe/Berlin" => "CET-1CEST,M3.5.0,M10.5.0/3",
        "America/New_York" => "EST5EDT,M3.2.0,M11.1.0",
        "America/Los_Angeles" => "PST8PDT,M3.2.0,M11.1.0",
        _ => return None,
    };
    TimeZone::posix(rules).ok()
}

/// Resolves the reset of a message for a machine in Berlin.
fn resolved(now: &str, message: &str) -> Option<String> {
    let resets = UsageLimit::from_message(message).unwrap().resets.unwrap();
    let berlin = zone("Europe/Berlin").unwrap();
    resets.resolve(&now.parse().unwrap(), &berlin, zone).map(|at| at.to_iso())
}

#[track_caller]
fn check(resets: &str, expected: &str) {
    let message = format!("You've hit your limit · {resets}");
    assert_eq!(resolved(NOW, &message).as_deref().unwrap_or("none"), expected, "{resets}");
}

#[test]
fn a_duration_counts_from_now() {
    check("try again in 2 hours 5 minutes", "2026-11-19T14:05:00.000Z");
    check("resets in 6d", "2026-11-25T12:00:00.000Z");
    check("resets in 39 days", "2026-12-28T12:00:00.000Z");
}

#[test]
fn a_time_of_day_is_the_next_one_in_its_zone_or_in_the_local_one() {
    check("resets 3pm (Europe/Berlin)", "2026-11-19T14:00:00.000Z");
    check("resets 3pm", "2026-11-19T14:00:00.000Z");
    check("resets 3pm (America/New_York)", "2026-11-19T20:00:00.000Z");
    check("resets 3pm (UTC)", "2026-11-19T15:00:00.000Z");
    check("resets 11am", "2026-11-20T10:00:00.000Z");
    check("resets 1pm", "2026-11-19T12:00:00.000Z");
    check("resets 12am (America/Los_Angeles)", "2026-11-20T08:00:00.000Z");
    check("resets tomorrow at 9am", "2026-11-20T08:00:00.000Z");
}

#[test]
fn a_day_without_a_year_is_the_next_such_day() {
    check("resets Nov 21 at 3pm", "2026-11-21T14:00:00.000Z");
    check("resets Dec 1", "2026-11-30T23:00:00.000Z");
    check("resets Mon 12:00am", "2026-11-22T23:00:00.000Z");
    check("resets Thu 3pm", "2026-11-19T14:00:00.000Z");
    check("resets Thu 11am", "2026-11-26T10:00:00.000Z");
    let new_year = resolved("2026-12-30T12:00:00Z", "You've hit your limit · resets Jan 2, 1am");
    assert_eq!(new_year.as_deref(), Some("2027-01-02T00:00:00.000Z"));
}

#[test]
fn a_whole_date_counts_as_it_is() {
    check("try again at Nov 21st, 2026 3:05 PM.", "2026-11-21T14:05:00.000Z");
    check("regain access on 2026-12-01 at 00:00 UTC", "2026-12-01T00:00:00.000Z");
    check("\"resets_at\": 1795176000", "2026-11-20T12:00:00.000Z");
    check("retry-after: Fri, 20 Nov 2026 07:28:00 GMT", "2026-11-20T07:28:00.000Z");
}

#[test]
fn a_reset_in_the_past_or_too_far_ahead_is_none() {
    check("try again at Nov 18th, 2026 3:05 PM.", "none");
    check("\"resets_at\": 1795089599", "none");
    check("\"resets_at\": 0", "2026-11-19T12:00:00.000Z");
    check("resets Nov 18, 3pm", "none");
    check("try again in 41 days", "none");
    check("try again at Jan 21st, 2027 3:05 PM.", "none");
    check("\"resets_at\": 99999999999999999", "none");
    check("retry-after: 999999999", "none");
}

#[test]
fn an_unknown_zone_is_none() {
    check("resets 3pm (Atlantis/Center)", "none");
}

#[test]
fn a_change_of_the_clocks_moves_the_reset() {
    let reset = |now, resets| resolved(now, &format!("You've hit your limit · {resets}"));
    // 25 October 2026: three hours later is 2:30 again, an hour earlier by the clock.
    let autumn = reset("2026-10-24T22:00:00Z", "resets 3:30am (Europe/Berlin)");
    assert_eq!(autumn.as_deref(), Some("2026-10-25T02:30:00.000Z"));
    // 29 March 2026: there is no 2:30.
    let spring = reset("2026-03-28T23:30:00Z", "resets 2:30am (Europe/Berlin)");
    assert_eq!(spring.as_deref(), Some("2026-03-29T01:30:00.000Z"));
}

#[test]
fn a_clock_outside_the_calendar_gives_none_for_times_of_day() {
    let resets = UsageLimit::from_message("You've hit your limit · resets 3pm").unwrap().resets;
    for millis in [i64::MIN, i64::MAX] {
        let now = Timestamp::from_millis(millis);
        assert_eq!(resets.clone().unwrap().resolve(&now, &TimeZone::UTC, |_| None), None);
    }
}
