//! Parses durations and times, as people write them, at the start of a text. [`super::fields`] and [`super::reset`]
//! call it.

use std::time::Duration;

use jiff::civil::{self, Weekday};
use tertulia_session::Timestamp;

use super::{Day, ResetTime, WallTime};

/// Maximum duration. A longer one cannot be a waiting time.
const SECONDS_MAX: f64 = 1e9;

/// Parses a duration: `3 days 4 hours`, `4h12m3.5s`, `174ms`, `2 hours and 5 minutes`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    if has_prefix(rest, "less than a minute") || has_prefix(rest, "a minute") {
        return Some(Duration::from_secs(60));
    }
    let mut total = None;
    while let Some((number, after)) = decimal(rest) {
        let (unit, after) = letters(after.trim_start());
        let Some(unit) = unit_seconds(unit) else { break };
        total = Some(total.unwrap_or(0.0) + number * unit);
        rest = after.trim_start_matches([',', ' ', '\n']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    seconds(total?)
}

/// Returns a duration of this number of seconds, with millisecond precision.
pub(super) fn seconds(seconds: f64) -> Option<Duration> {
    let is_usable = (0.0..=SECONDS_MAX).contains(&seconds);
    is_usable.then(|| Duration::from_millis((seconds * 1000.0).round() as u64))
}

fn unit_seconds(unit: &str) -> Option<f64> {
    match unit.to_ascii_lowercase().as_str() {
        "ms" | "millisecond" | "milliseconds" => Some(0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86_400.0),
        "w" | "week" | "weeks" => Some(604_800.0),
        _ => None,
    }
}

/// Parses a time of day with an optional day before it and an optional zone after it: `3pm`,
/// `3:05 PM`, `15:05`, `Oct 6, 10am (Europe/Berlin)`, `Nov 21st, 2026 3:05 PM`, `tomorrow at 9am`,
/// `2026-04-01 at 00:00 UTC`. A day without a time begins at midnight.
pub(super) fn moment(text: &str) -> Option<ResetTime> {
    dated(text).or_else(|| {
        let (day, rest) = day(text.trim_start());
        wall(day, rest)
    })
}

/// Parses a time that begins with a date such as `2026-04-01`.
pub(super) fn dated(text: &str) -> Option<ResetTime> {
    let date: civil::Date = text.get(..10)?.parse().ok()?;
    let end =
        text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | ':' | '.' | '+'));
    let whole = text.get(..end.unwrap_or(text.len()))?.trim_end_matches('.');
    if let Ok(timestamp) = whole.parse::<Timestamp>() {
        return Some(ResetTime::At(Timestamp::from_millis(timestamp.millis())));
    }
    let rest = text.get(10..)?;
    wall(Some(Day::Date(date)), rest.strip_prefix('T').unwrap_or(rest))
}

fn wall(day: Option<Day>, rest: &str) -> Option<ResetTime> {
    let (time, rest) =
        time(after_joint(rest)).map_or((None, rest), |(time, rest)| (Some(time), rest));
    if day.is_none() && time.is_none() {
        return None;
    }
    let wall = WallTime {
        day: day.unwrap_or(Day::Next),
        time: time.unwrap_or(civil::Time::midnight()),
        zone: zone(rest).map(Into::into),
    };
    Some(ResetTime::Wall(wall))
}

/// Parses a day, and returns the rest of the text.
fn day(text: &str) -> (Option<Day>, &str) {
    let (word, rest) = letters(text);
    if word.eq_ignore_ascii_case("tomorrow") {
        return (Some(Day::Tomorrow), rest);
    }
    if let Some(weekday) = weekday(word) {
        // A date may follow the name of the day. It is exact, so it is used instead.
        return match day(after_joint(rest)) {
            (Some(date @ (Day::MonthDay { .. } | Day::Date(_))), rest) => (Some(date), rest),
            _ => (Some(Day::Weekday(weekday)), rest),
        };
    }
    let date = month(word).and_then(|month| month_day(month, rest));
    date.map_or((None, text), |(day, rest)| (Some(day), rest))
}

/// Parses `6`, `6th` or `6th, 2026` after the name of a month.
fn month_day(month: i8, text: &str) -> Option<(Day, &str)> {
    let text = text.trim_start_matches(['.', ' ']);
    let (number, rest) = digits(text, 2)?;
    let rest =
        ["st", "nd", "rd", "th"].iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(rest);
    let day = i8::try_from(number).ok()?;
    // The year must have four digits, because `6, 10am` contains no year.
    let year = digits(after_joint(rest), 4).filter(|(year, _)| *year >= 1000);
    if let Some((year, rest)) = year
        && !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == ':')
    {
        let date = civil::Date::new(i16::try_from(year).ok()?, month, day).ok()?;
        return Some((Day::Date(date), rest));
    }
    // 2024 is a leap year, so every day exists in it.
    civil::Date::new(2024, month, day).ok()?;
    Some((Day::MonthDay { month, day }, rest))
}

/// Parses `3pm`, `3:05 PM`, `15:05` or `15:05:30`. A number alone is no time.
fn time(text: &str) -> Option<(civil::Time, &str)> {
    let (hour, rest) = digits(text, 2)?;
    let minutes = rest.strip_prefix(':').and_then(|rest| digits(rest, 2));
    let has_minutes = minutes.is_some();
    let (minute, rest) = minutes.unwrap_or((0, rest));
    let seconds = rest.strip_prefix(':').filter(|_| has_minutes).and_then(|rest| digits(rest, 2));
    let (second, rest) = seconds.unwrap_or((0, rest));
    let (half, after) = letters(rest.trim_start_matches(' '));
    let (hour, rest) = match half.to_ascii_lowercase().as_str() {
        "am" | "pm" if !(1..=12).contains(&hour) => return None,
        "am" => (hour % 12, after),
        "pm" => (hour % 12 + 12, after),
        _ if has_minutes => (hour, rest),
        _ => return None,
    };
    let [hour, minute, second] =
        [hour, minute, second].map(|part| i8::try_from(part).unwrap_or(-1));
    Some((civil::Time::new(hour, minute, second, 0).ok()?, rest))
}

/// Parses a zone: `(Europe/Berlin)`, `(UTC)`, ` UTC`.
fn zone(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(' ');
    if let Some(named) = text.strip_prefix('(') {
        let name = named.split_once(')')?.0;
        let is_name = name.len() <= 40
            && name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
        return is_name.then_some(name);
    }
    let (word, _) = letters(text);
    matches!(word, "UTC" | "GMT" | "Z").then_some(word)
}

/// Returns the text after a comma, `at` or `on`.
fn after_joint(text: &str) -> &str {
    let text = text.trim_start_matches([' ', ',']);
    ["at ", "on "].iter().find_map(|joint| text.strip_prefix(joint)).unwrap_or(text).trim_start()
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Returns the number of a month that is written in full or with at least three letters.
fn month(word: &str) -> Option<i8> {
    let at = MONTHS.iter().position(|month| is_short_for(word, month))?;
    i8::try_from(at + 1).ok()
}

fn weekday(word: &str) -> Option<Weekday> {
    let days = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    days.into_iter().find(|(name, _)| is_short_for(word, name)).map(|(_, day)| day)
}

fn is_short_for(word: &str, name: &str) -> bool {
    word.len() >= 3 && has_prefix(name, word)
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Returns the letters at the start of a text, and the rest of the text.
fn letters(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    text.split_at(end)
}

/// Parses a whole number with at most this number of digits. A longer one counts as no number.
fn digits(text: &str, digits_max: usize) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (number.len() <= digits_max).then(|| number.parse().ok()).flatten().map(|number| (number, rest))
}

/// Parses a number with or without a fraction.
pub(super) fn decimal(text: &str) -> Option<(f64, &str)> {
    let whole = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let fraction = text.get(whole..)?.strip_prefix('.').map_or(0, |rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits == 0 { 0 } else { digits + 1 }
    });
    let (number, rest) = text.split_at(whole + fraction);
    if whole == 0 { None } else { Some((number.parse().ok()?, rest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_added_up_to_the_first_word_that_is_no_unit() {
        for (text, millis) in [
            ("3 days 4 hours.", 273_600_000),
            ("5 days 22 hours 11\nminutes", 511_860_000),
            ("2 hours and 5 minutes", 7_500_000),
            ("1 hour, 3 minutes", 3_780_000),
            ("4h12m3s.", 15_123_000),
            ("8h 13m attempt #1", 29_580_000),
            ("9.816s. Visit", 9_816),
            ("174ms", 174),
            ("6d", 518_400_000),
            ("less than a minute", 60_000),
            ("2 hours 3 apples", 7_200_000),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "soon", "5", "5 apples", "99999999999 days", "-5 minutes"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    fn shown(text: &str) -> String {
        match moment(text) {
            Some(ResetTime::Wall(WallTime { day, time, zone })) => {
                let day = match day {
                    Day::Next => "next".to_owned(),
                    Day::Tomorrow => "tomorrow".to_owned(),
                    Day::Weekday(day) => format!("{day:?}"),
                    Day::MonthDay { month, day } => format!("{month}-{day}"),
                    Day::Date(date) => date.to_string(),
                };
                format!("{day} {time} {}", zone.as_deref().unwrap_or("local"))
            }
            Some(ResetTime::At(at)) => at.to_iso(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn times_have_an_optional_day_and_an_optional_zone() {
        for (text, expected) in [
            ("3pm (Europe/Berlin)", "next 15:00:00 Europe/Berlin"),
            ("12:50am (America/Los_Angeles)", "next 00:50:00 America/Los_Angeles"),
            ("3:05 PM.", "next 15:05:00 local"),
            ("15:05", "next 15:05:00 local"),
            ("12am", "next 00:00:00 local"),
            ("12pm", "next 12:00:00 local"),
            ("Oct 6, 10am.", "10-6 10:00:00 local"),
            ("Sep 15 at 7pm", "9-15 19:00:00 local"),
            ("Jul 31, 2am (UTC)", "7-31 02:00:00 UTC"),
            ("Jul 25", "7-25 00:00:00 local"),
            ("Nov 21st, 2026 3:05 PM.", "2026-11-21 15:05:00 local"),
            ("April 20, 2026 at 2:00 AM or switch", "2026-04-20 02:00:00 local"),
            ("2026-04-01 at 00:00 UTC.", "2026-04-01 00:00:00 UTC"),
            ("2026-09-04 19:01:25", "2026-09-04 19:01:25 local"),
            ("2026-03-05T07:20:42Z.", "2026-03-05T07:20:42.000Z"),
            ("Mon 12:00am", "Monday 00:00:00 local"),
            ("Sat, Jul 25, 4:00 AM", "7-25 04:00:00 local"),
            ("tomorrow at 9am", "tomorrow 09:00:00 local"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_gives_none() {
        for text in [
            "",
            "3",
            "13pm",
            "0am",
            "25:00",
            "3:99",
            "later",
            "10 de jul. de 2026, 11:52",
            "may",
            "Feb 31, 3",
            "March on",
            "(every 5h)",
            "2026-13-01",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
