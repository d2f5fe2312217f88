//! Words that name a time, and questions that ask for one. The index uses them for passages, and the scoring for
//! requests.

use std::sync::LazyLock;

use tertulia_session::search::terms::terms;

/// Words that name a day or a period of time. "May" is missing, because it usually has another meaning.
#[rustfmt::skip]
const WORDS: [&str; 36] = [
    "january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "apr", "jun", "jul", "aug", "sept", "oct", "nov", "monday", "tuesday", "wednesday",
    "thursday", "friday", "saturday", "sunday", "yesterday", "today", "tonight", "tomorrow", "ago", "week", "weekend",
    "month", "year",
];

/// Numbers that are years.
const YEARS: std::ops::Range<u32> = 1_900..2_100;

/// In ascending order.
static TERMS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let years: Vec<String> = YEARS.map(|year| year.to_string()).collect();
    let mut found = Vec::new();
    for word in WORDS.into_iter().chain(years.iter().map(String::as_str)) {
        terms(word, &mut |term, _| found.push(term));
    }
    found.sort_unstable();
    found
});

/// Returns whether a term names a time.
pub(super) fn is_date(term: u64) -> bool {
    TERMS.binary_search(&term).is_ok()
}

/// The beginnings of questions for a time.
const WHEN: [&str; 6] = ["when", "wann", "cuándo", "cuando", "quand", "quando"];

/// The same in scripts without spaces.
const WHEN_UNSPACED: [&str; 4] = ["什么时候", "何时", "いつ", "언제"];

/// Words after "what" and "which" that ask for a time.
const TIMES: [&str; 5] = ["date", "day", "month", "year", "time"];

/// Returns whether a text asks for a time.
pub(super) fn asks_when(text: &str) -> bool {
    let small = text.to_lowercase();
    let asks = |sentence: &str| {
        let words = sentence.split(|one: char| !one.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let begins = words.iter().take(2).any(|word| WHEN.contains(word));
        let asks_for = words.windows(3).any(|three| match three {
            ["what" | "which", next, last] => TIMES.contains(next) || TIMES.contains(last),
            ["how", "long", "ago"] => true,
            _ => false,
        });
        begins || asks_for
    };
    WHEN_UNSPACED.iter().any(|when| small.contains(when))
        || small.split(['.', '?', '!', '\n']).any(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_months_and_years_name_a_time() {
        let names_time = |text: &str| {
            let mut found = false;
            terms(text, &mut |term, _| found |= is_date(term));
            found
        };
        for text in ["on Monday", "two weeks", "in 2023", "yesterday", "December"] {
            assert!(names_time(text), "{text}");
        }
        for text in ["a cookie", "2203", "12", "you may go", ""] {
            assert!(!names_time(text), "{text}");
        }
    }

    #[test]
    fn questions_for_a_time_are_recognised() {
        for text in [
            "When did Ann leave?",
            "And when was that?",
            "What day is it?",
            "Fine. How long ago did it fail?",
            "Wann war das?",
            "他是什么时候走的？",
        ] {
            assert!(asks_when(text), "{text}");
        }
        for text in
            ["What did Ann say when she left?", "How does it work?", "", "Whenever you like"]
        {
            assert!(!asks_when(text), "{text}");
        }
    }
}
