//! A point in time as a source wrote it: milliseconds since 1970 or a date text. Times are only data: they never
//! determine the order of entries, and this crate reads no clock.

use std::fmt;
use std::str::FromStr;

/// A point in time, and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamp {
    millis: i64,
    spelling: Spelling,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Spelling {
    Millis,
    /// `2026-01-31T12:00:00.000Z`, the form that JavaScript writes.
    Iso,
    /// Another date text, kept so that it is written as it was read.
    Text(Box<str>),
}

impl Timestamp {
    /// Creates a time from milliseconds since the start of 1970, UTC.
    pub fn from_millis(millis: i64) -> Self {
        Self { millis, spelling: Spelling::Millis }
    }

    /// Returns the milliseconds since the start of 1970, UTC.
    pub fn millis(&self) -> i64 {
        self.millis
    }

    /// Returns a date text in UTC, whatever the original form.
    pub fn to_iso(&self) -> String {
        iso(self.millis)
    }

    /// Returns the date and the time in UTC for people, without seconds.
    pub fn to_minute(&self) -> String {
        jiff::Timestamp::from_millisecond(self.millis).map_or_else(
            |_| self.millis.to_string(),
            |moment| moment.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        )
    }

    /// Returns the date text, if the time was written as one; `None` if it was written as a number.
    pub fn text(&self) -> Option<String> {
        match &self.spelling {
            Spelling::Millis => None,
            Spelling::Iso => Some(iso(self.millis)),
            Spelling::Text(text) => Some(text.to_string()),
        }
    }
}

/// A text that is not a date with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a date with its offset, such as 2026-01-31T12:00:00Z")]
#[non_exhaustive]
pub struct InvalidTimestamp;

/// Parses a date text with an offset (RFC 3339).
impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        let millis = moment.as_millisecond();
        let spelling =
            if iso(millis) == text { Spelling::Iso } else { Spelling::Text(text.into()) };
        Ok(Self { millis, spelling })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => f.write_str(&text),
            None => write!(f, "{}", self.millis),
        }
    }
}

fn iso(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis)
        .map_or_else(|_| millis.to_string(), |moment| format!("{moment:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_for_people_has_minutes_and_names_its_zone() {
        let timestamp = "2026-01-31T13:05:59.5+01:00".parse::<Timestamp>().unwrap();
        assert_eq!(timestamp.to_minute(), "2026-01-31 12:05 UTC");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_minute(), i64::MAX.to_string());
    }

    #[test]
    fn every_spelling_is_written_as_it_was_read() {
        for text in
            ["2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00"]
        {
            let timestamp = text.parse::<Timestamp>().unwrap();
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(timestamp.millis(), 1_769_860_800_000);
        }
        assert_eq!(Timestamp::from_millis(5).to_string(), "5");
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["yesterday", "", "2026-01-31", "12:00"] {
            assert_eq!(text.parse::<Timestamp>().ok(), None, "{text:?}");
        }
    }
}
