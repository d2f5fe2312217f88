//! The days on which messages were said, and the days that a request names, such as "May 2nd" or "2023-05-08". The
//! index uses them for messages, and the scoring for requests.

use tertulia_session::Timestamp;

/// A day in 16 bits: the year since 1970, the month and the day of the month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Day(u16);

/// A day that a request names: the bits that it determines, and their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedDay {
    mask: u16,
    bits: u16,
}

const YEARS: std::ops::Range<u16> = 1_970..2_097;
const YEAR_SHIFT: u16 = 9;
const MONTH_SHIFT: u16 = 5;
const YEAR_MASK: u16 = u16::MAX << YEAR_SHIFT;
const MONTH_MASK: u16 = 0b1111 << MONTH_SHIFT;
const DAY_MASK: u16 = 0b1_1111;

/// The months by their first letters; a word must have at least three of them.
#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
];

/// Months that are also other words: they count only next to a number.
const AMBIGUOUS: [&str; 2] = ["march", "may"];

/// The maximum number of days of a request.
const DAYS_MAX: usize = 8;

impl Day {
    /// Returns the day of a time. If the time was written as a date, the day is the written one.
    pub(super) fn of(time: Option<&Timestamp>) -> Self {
        let date = time.map(|time| time.text().unwrap_or_else(|| time.to_iso()));
        let numbers = date.as_deref().and_then(|date| {
            let mut numbers = date.get(..10)?.split('-').map(|number| number.parse::<u16>().ok());
            Some((numbers.next()??, numbers.next()??, numbers.next()??))
        });
        let day =
            numbers.and_then(|(year, month, day)| NamedDay::new(Some(year), month, Some(day)));
        day.map_or_else(Self::default, |day| Self(day.bits))
    }

    /// Returns whether the day is known and matches a named one.
    pub(super) fn is(self, named: &NamedDay) -> bool {
        self != Self::default() && self.0 & named.mask == named.bits
    }
}

impl NamedDay {
    fn new(year: Option<u16>, month: u16, day: Option<u16>) -> Option<Self> {
        let year = match year {
            Some(year) if YEARS.contains(&year) => Some(year - YEARS.start),
            Some(_) => return None,
            None => None,
        };
        if !(1..=12).contains(&month) || day.is_some_and(|day| !(1..=31).contains(&day)) {
            return None;
        }
        let year_mask = if year.is_some() { YEAR_MASK } else { 0 };
        let day_mask = if day.is_some() { DAY_MASK } else { 0 };
        let bits =
            year.unwrap_or_default() << YEAR_SHIFT | month << MONTH_SHIFT | day.unwrap_or_default();
        Some(Self { mask: year_mask | MONTH_MASK | day_mask, bits })
    }
}

/// Returns the days and months that a text names.
pub(super) fn named_days(text: &str) -> Vec<NamedDay> {
    let words: Vec<String> = text
        .split(|one: char| !one.is_alphanumeric())
        .filter(|word| !word.is_empty() && !["of", "the"].contains(word))
        .map(str::to_lowercase)
        .collect();
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).map(String::as_str);
    let mut days = Vec::new();
    for (at, here) in words.iter().enumerate() {
        days.extend(dense(here));
        let numbers = [at, at + 1, at + 2].map(|at| word(Some(at)).and_then(number));
        if let [Some(year), Some(month), Some(day)] = numbers {
            days.extend(NamedDay::new(Some(year), month, Some(day)));
        }
        let Some(month) = month(here) else { continue };
        let before = word(at.checked_sub(1)).and_then(ordinal);
        let behind = word(Some(at + 1)).and_then(ordinal);
        let year_at = if behind.is_some() { at + 2 } else { at + 1 };
        let year = word(Some(year_at)).and_then(number).filter(|year| YEARS.contains(year));
        let day = behind.or(before);
        let is_whole = MONTHS.contains(&here.as_str()) && !AMBIGUOUS.contains(&here.as_str());
        if is_whole || day.is_some() || year.is_some() {
            days.extend(NamedDay::new(year, month, day));
        }
    }
    days.truncate(DAYS_MAX);
    days
}

fn month(word: &str) -> Option<u16> {
    let is_long = word.len() >= 3;
    let at = MONTHS.iter().position(|month| is_long && month.starts_with(word));
    let at = at.or_else(|| (word == "sept").then_some(8))?;
    u16::try_from(at + 1).ok()
}

fn number(word: &str) -> Option<u16> {
    word.parse().ok()
}

/// Parses the day of a month: `2`, `2nd`.
fn ordinal(word: &str) -> Option<u16> {
    let bare = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending));
    number(bare.unwrap_or(word)).filter(|day| (1..=31).contains(day))
}

/// Parses a date of a script without spaces: `5月2日`.
fn dense(word: &str) -> Option<NamedDay> {
    let (before, behind) = word.split_once('月')?;
    let digits = |text: &str| text.chars().rev().take_while(char::is_ascii_digit).count();
    let month = before.get(before.len() - digits(before)..)?.parse().ok()?;
    let year = before.rsplit_once('年').and_then(|(year, _)| {
        let year: &str = year.get(year.len() - digits(year)..)?;
        year.parse().ok()
    });
    let end = behind.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(behind.len());
    let day = behind.get(..end)?.parse().ok();
    NamedDay::new(year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::of(text.parse::<Timestamp>().ok().as_ref())
    }

    #[track_caller]
    fn check(request: &str, others: [bool; 4]) {
        let days = ["2023-05-02", "2023-05-31", "2024-05-02", "2023-06-02"];
        let days = days.map(|text| day(&format!("{text}T23:30:00-08:00")));
        let named = named_days(request);
        assert_eq!(days.map(|day| named.iter().any(|one| day.is(one))), others, "{request}");
    }

    #[test]
    fn a_day_is_named_in_many_ways() {
        let second = [true, false, true, false];
        for request in ["On May 2nd?", "the 2nd of May", "2 may", "5月2日", "on May 2."] {
            check(request, second);
        }
        let exact = [true, false, false, false];
        for request in ["2 May, 2023", "May 2nd 2023", "2023-05-02", "2023/5/2", "2023年5月2日"]
        {
            check(request, exact);
        }
    }

    #[test]
    fn a_month_alone_names_all_its_days() {
        check("in June", [false, false, false, true]);
        check("in May 2023", [true, true, false, false]);
        check("during Jun 2023", [false, false, false, true]);
    }

    #[test]
    fn other_words_and_numbers_name_no_day() {
        for request in ["you may go", "march on", "5/2", "2023", "May 32nd", "junior", "月", ""] {
            check(request, [false; 4]);
        }
    }

    #[test]
    fn a_message_without_a_time_has_no_day() {
        assert!(named_days("May 2nd").iter().all(|named| !Day::of(None).is(named)));
        let before = Timestamp::from_millis(-1);
        assert_eq!(Day::of(Some(&before)), Day::default());
    }
}
