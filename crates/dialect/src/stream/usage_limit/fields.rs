//! Reads fields of structured data (JSON and HTTP headers) inside a message, by their names. [`super::scope`] and
//! [`super::reset`] call it.

use jiff::fmt::rfc2822;
use tertulia_session::Timestamp;

use super::ResetTime;
use super::moment::{self, decimal};
use super::search_text::SearchText;

/// Maximum number of bytes of a value that are read.
const VALUE_BYTES_MAX: usize = 64;

/// Returns the value of a field, and possibly more text after it.
pub(super) fn value<'a>(message: &'a SearchText, name: &str) -> Option<&'a str> {
    message.lower.match_indices(name).find_map(|(at, _)| {
        let before = message.lower.get(..at)?.chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || matches!(before, '-' | '_')) {
            return None;
        }
        let rest = message.from(at + name.len()).strip_prefix([':', '='])?;
        let rest = rest.trim_start_matches([' ', '[']);
        rest.get(..rest.floor_char_boundary(VALUE_BYTES_MAX))
    })
}

/// Returns the number at the start of a field's value.
pub(super) fn number(message: &SearchText, name: &str) -> Option<f64> {
    decimal(value(message, name)?).map(|(number, _)| number)
}

/// Returns the time in a field. The value is a number, a duration or a date.
pub(super) fn time(message: &SearchText, name: &str) -> Option<ResetTime> {
    let value = value(message, name)?;
    // `2026-…` is a date, not a number.
    if let Some(moment) = moment::dated(value) {
        return Some(moment);
    }
    let Some((number, rest)) = decimal(value) else { return http_date(value) };
    if rest.starts_with(|next: char| next.is_ascii_alphabetic()) {
        return moment::duration(value).map(ResetTime::After);
    }
    if name.ends_with("-ms") {
        return moment::seconds(number / 1000.0).map(ResetTime::After);
    }
    // The name of a field may mean a point in time although its value is the number of seconds until then.
    match number {
        number if number >= SINCE_1970_MIN => since_1970(number as u64),
        _ => moment::seconds(number).map(ResetTime::After),
    }
}

/// Numbers from here on are points in time. As durations they would exceed 30 years.
const SINCE_1970_MIN: f64 = 1e9;
/// Numbers from here on are milliseconds. As seconds they would be after the year 5000.
const MILLIS_MIN: u64 = 100_000_000_000;

/// Returns the time of seconds or milliseconds since 1970.
pub(super) fn since_1970(number: u64) -> Option<ResetTime> {
    let millis = if number >= MILLIS_MIN { number } else { number.checked_mul(1000)? };
    Some(ResetTime::At(Timestamp::from_millis(i64::try_from(millis).ok()?)))
}

/// Returns the time of a header such as `Wed, 21 Oct 2026 07:28:00 GMT`.
fn http_date(value: &str) -> Option<ResetTime> {
    let end = value.find("GMT")? + "GMT".len();
    let date = rfc2822::parse(value.get(..end)?).ok()?;
    Some(ResetTime::At(Timestamp::from_millis(date.timestamp().as_millisecond())))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn after(seconds: u64) -> Option<ResetTime> {
        Some(ResetTime::After(Duration::from_secs(seconds)))
    }

    #[track_caller]
    fn check(message: &str, name: &str, expected: impl Into<Option<ResetTime>>) {
        assert_eq!(time(&SearchText::new(message), name), expected.into(), "{message}");
    }

    #[test]
    fn a_time_is_a_number_a_duration_or_a_date() {
        let at = |millis| Some(ResetTime::At(Timestamp::from_millis(millis)));
        check("retry-after: 120", "retry-after", after(120));
        check(r#"{"retryDelay": "57s"}"#, "retrydelay", after(57));
        check("x-ratelimit-reset-requests: 6m0s", "x-ratelimit-reset-requests", after(360));
        check(
            r#"{"retry-after-ms":"2500"}"#,
            "retry-after-ms",
            moment::seconds(2.5).map(ResetTime::After),
        );
        check(r#"{"resets_at":1777936568,"x":1}"#, "resets_at", at(1_777_936_568_000));
        check(
            r#"{"X-RateLimit-Reset":"1741305600000"}"#,
            "x-ratelimit-reset",
            at(1_741_305_600_000),
        );
        check("reset: 2026-03-05T07:20:42Z}", "reset", at(1_772_695_242_000));
        check(
            "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\nx: 1",
            "retry-after",
            at(1_792_567_680_000),
        );
    }

    #[test]
    fn another_field_or_value_is_no_time() {
        check("x-retry-after: 120", "retry-after", None);
        check("retry-after-ms: 120", "retry-after", None);
        check("retry-after: soon", "retry-after", None);
        check("retry-after", "retry-after", None);
        check("retry-after: 99999999999999999999999999", "retry-after", None);
    }
}
