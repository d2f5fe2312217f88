//! Parsers for values on the command line: counts, sizes, names, times. Pure: the command itself resolves a time that
//! depends on the clock.

use std::str::FromStr;

use tertulia_operations::cost::CostBy;
use tertulia_session::{Timestamp, UnknownWord};

use crate::clock::LocalTime;

/// A time as a person typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(Timestamp),
    /// The beginning of this day in local time.
    Day(jiff::civil::Date),
    /// Milliseconds before now.
    Ago(i64),
}

impl When {
    /// Returns the point in time, given the current time.
    pub(crate) fn resolve(&self, now_millis: i64, local: &LocalTime) -> Timestamp {
        match self {
            Self::At(moment) => moment.clone(),
            Self::Day(day) => Timestamp::from_millis(local.midnight(*day).unwrap_or(now_millis)),
            Self::Ago(millis) => Timestamp::from_millis(now_millis.saturating_sub(*millis)),
        }
    }
}

/// Parses a date, a timestamp or an age.
pub(super) fn when(text: &str) -> Result<When, String> {
    let wrong = || {
        "must be a date (2026-01-31), a timestamp (2026-01-31T12:00:00Z) or an age (90m, 12h, 3d, 2w)"
            .to_owned()
    };
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(When::At(moment));
    }
    let is_date = text.len() == "2026-01-31".len() && text.matches('-').count() == 2;
    if let Some(day) = text.parse().ok().filter(|_| is_date) {
        return Ok(When::Day(day));
    }
    let units = [("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)];
    let unit = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (digits, seconds) = unit.ok_or_else(wrong)?;
    let count = digits.parse::<u32>().map_err(|_| wrong())?;
    Ok(When::Ago(i64::from(count) * seconds * 1000))
}

/// Parses what costs are grouped by.
pub(super) fn cost_by(text: &str) -> Result<CostBy, String> {
    let words = CostBy::WORDS.map(|(_, word)| word).join(", ");
    CostBy::named(text).ok_or_else(|| format!("must be one of {words}"))
}

/// Parses a word from a fixed list: a tokenizer or a dialect.
pub(super) fn word<T: FromStr<Err = UnknownWord>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnknownWord| format!("must be {}", error.allowed))
}

pub(super) fn token_count(text: &str) -> Result<u64, String> {
    let units = [('k', 1_000), ('K', 1_000), ('M', 1_000_000)];
    let unit = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (digits, size) = unit.unwrap_or((text, 1));
    let tokens = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(size));
    tokens.ok_or_else(|| "must be a whole number of tokens, such as 60000 or 60k".to_owned())
}

pub(super) fn token_budget(text: &str) -> Result<u64, String> {
    match token_count(text)? {
        0 => Err("must be at least 1 token".to_owned()),
        tokens => Ok(tokens),
    }
}

pub(super) fn whole_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "must be a whole number of 0 or more".to_owned())
}

pub(super) fn one_or_more(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "must be a whole number of 1 or more".to_owned())
}

pub(super) fn byte_count(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let bytes = digits.trim().parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.ok_or_else(|| "must be a whole number of bytes, such as 65536 or 64KiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts_take_binary_units() {
        assert_eq!(byte_count("0"), Ok(0));
        assert_eq!(byte_count("64KiB"), Ok(65536));
        assert_eq!(byte_count("256 MiB"), Ok(268_435_456));
        for wrong in ["-1", "1.5", "", "KiB", "64KB", "99999999999GiB"] {
            assert!(byte_count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn token_counts_take_thousands_and_millions() {
        assert_eq!(token_count("8000"), Ok(8_000));
        assert_eq!(token_count("60k"), Ok(60_000));
        assert_eq!(token_count("1M"), Ok(1_000_000));
        assert_eq!(token_budget("1"), Ok(1));
        assert!(token_budget("0k").is_err());
        for wrong in ["", "k", "-1", "1.5k", "60kb", "99999999999999999999"] {
            assert!(token_count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_of_messages_is_at_least_one() {
        assert_eq!(one_or_more("20"), Ok(20));
        for wrong in ["0", "", "-1", "1.5", "x"] {
            assert!(one_or_more(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_dates_timestamps_or_ages() {
        let utc = LocalTime::new(crate::Zone::Utc);
        let noon = when("2026-01-31T12:00:00Z").unwrap().resolve(0, &utc);
        assert_eq!(noon.millis(), 1_769_860_800_000);
        assert_eq!(when("2026-01-31").unwrap().resolve(0, &utc).millis(), 1_769_817_600_000);
        assert_eq!(when("2h"), Ok(When::Ago(7_200_000)));
        assert_eq!(when("3d").unwrap().resolve(i64::MIN, &utc).millis(), i64::MIN);
        for wrong in ["", "yesterday", "d", "-1d", "1.5h", "2026-13-01", "99999999999w"] {
            assert!(when(wrong).is_err(), "{wrong}");
        }
    }
}
