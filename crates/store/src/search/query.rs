//! What a question asks for: the terms that an index is asked with, and the exact words that a text
//! must then have. `two words` must both be there, `"a phrase"` as it stands, `pre*` as a beginning.

use std::ops::Range;

use tertulia_session::script::{is_dense, is_word};

use super::terms::{each_term, flat, folded};
use crate::model::Snippet;

/// How often a word counts that is said again and again.
const SATURATION: u64 = 2;
/// The length, in characters, at which a text is neither long nor short.
const LENGTH: u64 = 1200;

/// How many places of one word are looked at.
const MARKS_MAX: usize = 64;
const CHARACTERS: usize = 160;
/// How many of them before the first place.
const BEFORE: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    items: Vec<Item>,
    pub(crate) terms: Vec<Term>,
}

/// A word or phrase that must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// In the form of [`folded`].
    needle: String,
    /// Whether a word may go on behind it.
    is_prefix: bool,
}

/// What an index is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    pub(crate) text: String,
    /// Whether terms that begin with it count too.
    pub(crate) is_prefix: bool,
}

impl Question {
    /// Reads a question; `None` if it asks for nothing that can be found.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let items: Vec<Item> = pieces(text).into_iter().filter_map(Item::read).collect();
        let mut terms: Vec<Term> = items.iter().flat_map(Item::terms).collect();
        terms.sort();
        terms.dedup();
        (!terms.is_empty()).then_some(Self { items, terms })
    }

    /// Whether a text with these terms has all that is asked for, as an index would say.
    pub(crate) fn is_in(&self, terms: &[String]) -> bool {
        self.terms.iter().all(|wanted| terms.iter().any(|term| wanted.fits(term)))
    }

    /// How well a text answers; `None` if something is not in it.
    pub(crate) fn score(&self, text: &str) -> Option<u64> {
        let text = folded(text);
        let length = text.chars().count() as u64;
        let mut score = 0;
        for item in &self.items {
            let times = item.places(&text).count() as u64;
            if times == 0 {
                return None;
            }
            // The more often the better, and less and less so; in a long text it says less.
            let damping = SATURATION * (LENGTH + 3 * length) / (4 * LENGTH);
            score += 1000 * times * (SATURATION + 1) / (times + damping.max(1));
        }
        Some(score)
    }

    pub(crate) fn snippet(&self, text: &str) -> Snippet {
        let lower = folded(text);
        let mut marks: Vec<_> =
            self.items.iter().flat_map(|item| item.places(&lower).take(MARKS_MAX)).collect();
        marks.sort_by_key(|mark| (mark.start, mark.end));
        around(text, &lower, &marks)
    }
}

impl Term {
    fn fits(&self, term: &str) -> bool {
        if self.is_prefix { term.starts_with(&self.text) } else { term == self.text }
    }
}

/// Words and phrases, as they are written.
fn pieces(text: &str) -> Vec<(&str, bool)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('"') {
        pieces.extend(before.split_whitespace().map(|word| (word, false)));
        let (phrase, after) = behind.split_once('"').unwrap_or((behind, ""));
        pieces.push((phrase, true));
        rest = after;
    }
    pieces.extend(rest.split_whitespace().map(|word| (word, false)));
    pieces
}

impl Item {
    fn read((text, is_phrase): (&str, bool)) -> Option<Self> {
        let is_prefix = !is_phrase && text.ends_with('*');
        let needle = folded(text);
        // Marks at the ends are how people write, not what they look for.
        let inner = |one: char| is_word(one) || is_dense(one);
        let needle = needle.trim_matches(|one| !inner(one));
        (!needle.is_empty()).then(|| Self { needle: needle.to_owned(), is_prefix })
    }

    fn terms(&self) -> Vec<Term> {
        let mut terms = Vec::new();
        each_term(&self.needle, &mut |term| {
            terms.push(Term { text: term.to_owned(), is_prefix: false });
        });
        let mut backwards = self.needle.chars().rev();
        let ends_dense = backwards.next().is_some_and(is_dense);
        let ends_in_pair = ends_dense && backwards.next().is_some_and(is_dense);
        if ends_in_pair {
            // The pair before it says more than the last character alone, which may go on in a text.
            terms.pop();
        } else if let Some(last) = terms.last_mut() {
            last.is_prefix = self.is_prefix || ends_dense;
        }
        terms
    }

    /// Where it is in a folded text.
    fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        text.match_indices(self.needle.as_str()).filter_map(|(at, found)| {
            let end = at + found.len();
            let before = text.get(..at)?.chars().next_back();
            let behind = text.get(end..)?.chars().next();
            let begins = !joins(before, found.chars().next());
            let ends = self.is_prefix || !joins(found.chars().next_back(), behind);
            (begins && ends).then_some(at..end)
        })
    }
}

/// Whether two neighbours belong to one word.
fn joins(one: Option<char>, other: Option<char>) -> bool {
    one.is_some_and(is_word) && other.is_some_and(is_word)
}

/// The piece of a text around the first of these places, which are bytes of its folded form.
fn around(text: &str, lower: &str, marks: &[Range<usize>]) -> Snippet {
    let shown = flat(text);
    // Both forms have as many characters; only their bytes differ.
    let starts: Vec<usize> = shown.char_indices().map(|(at, _)| at).collect();
    let byte = |character: usize| starts.get(character).copied().unwrap_or(shown.len());
    let count = |end: usize| lower.get(..end).map_or(0, |text| text.chars().count());
    let marks: Vec<_> = marks.iter().map(|mark| count(mark.start)..count(mark.end)).collect();
    let total = starts.len();
    let first = marks.first().map_or(0, |mark| mark.start);
    // Rather more before the place than an empty end of the line.
    let begin = first.saturating_sub(BEFORE).min(total.saturating_sub(CHARACTERS));
    let end = (begin + CHARACTERS).min(total);
    let offset = byte(begin);
    let piece = shown.get(offset..byte(end)).unwrap_or_default();
    let inside = marks.iter().filter(|mark| mark.start >= begin && mark.end <= end);
    let marks = inside.map(|mark| byte(mark.start) - offset..byte(mark.end) - offset);
    Snippet {
        text: piece.to_owned(),
        marks: joined(marks),
        cut_before: begin > 0,
        cut_after: end < total,
    }
}

/// Marks that overlap or touch become one.
fn joined(marks: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => joined.push(mark),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(question: &str, text: &str) -> bool {
        Question::read(question).is_some_and(|question| question.score(text).is_some())
    }

    fn terms(question: &str) -> Vec<String> {
        let question = Question::read(question).unwrap();
        let shown = |term: &Term| format!("{}{}", term.text, if term.is_prefix { "*" } else { "" });
        question.terms.iter().map(shown).collect()
    }

    #[test]
    fn all_words_must_be_there_in_any_order_and_case() {
        assert!(finds("login PAGE", "The page for the Login"));
        assert!(!finds("login page", "The login is done"));
    }

    #[test]
    fn a_word_is_not_found_inside_another() {
        assert!(!finds("log", "the login"));
        assert!(finds("log*", "the login"));
        assert!(!finds("gin*", "the login"));
    }

    #[test]
    fn a_phrase_must_stand_as_it_is() {
        assert!(finds("\"login page\"", "the Login\n   page"));
        assert!(!finds("\"page login\"", "the login page"));
        assert!(finds("\"unclosed phrase", "an unclosed phrase"));
    }

    #[test]
    fn a_name_with_marks_is_one_thing() {
        assert!(finds("src/main.rs", "see (src/main.rs)."));
        assert!(!finds("src/main.rs", "main.rs is not in src"));
        assert!(finds("max_tokens", "max_tokens=5"));
        assert_eq!(terms("src/main.rs"), ["main", "rs", "src"]);
    }

    #[test]
    fn chinese_and_japanese_words_are_found_in_the_midst() {
        assert!(finds("数据", "这是数据库。"));
        assert!(finds("据", "这是数据库。"));
        assert!(finds("タワ", "東京タワー"));
        assert!(!finds("京東", "東京タワー"));
        assert_eq!(terms("数据"), ["数据"]);
        assert_eq!(terms("据"), ["据*"]);
    }

    #[test]
    fn a_question_of_marks_asks_for_nothing() {
        for text in ["", "   ", "\"\"", "***", "-- ; '", "\" \""] {
            assert_eq!(Question::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn more_often_and_shorter_is_better() {
        let question = Question::read("cache").unwrap();
        let score = |text: &str| question.score(text).unwrap();
        assert!(score("cache and cache") > score("cache and cash"));
        assert!(score("cache") > score(&format!("cache {}", "word ".repeat(2000))));
    }

    /// The snippet with its marks in brackets.
    fn show(question: &str, text: &str) -> String {
        let snippet = Question::read(question).unwrap().snippet(text);
        let mut shown = String::new();
        let mut last = 0;
        for mark in &snippet.marks {
            shown += &snippet.text[last..mark.start];
            shown += &format!("[{}]", &snippet.text[mark.clone()]);
            last = mark.end;
        }
        shown += &snippet.text[last..];
        let dots = |cut: bool| if cut { "…" } else { "" };
        format!("{}{shown}{}", dots(snippet.cut_before), dots(snippet.cut_after))
    }

    #[test]
    fn what_was_found_is_marked() {
        assert_eq!(show("page login", "The Login\npage."), "The [Login] [page].");
        assert_eq!(show("数据", "这是数据库"), "这是[数据]库");
        assert_eq!(show("istanbul", "İstanbul? ISTANBUL"), "[İstanbul]? [ISTANBUL]");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_place() {
        let text = format!("{}needle{}", "a ".repeat(500), " b".repeat(500));
        let shown = show("needle", &text);
        assert!(shown.starts_with("…") && shown.ends_with("…"), "{shown}");
        assert!(shown.contains("a [needle] b"), "{shown}");
        assert_eq!(shown.chars().count(), 160 + 4);
    }

    #[test]
    fn the_end_of_a_text_is_shown_with_what_comes_before_it() {
        let text = format!("{}needle", "a ".repeat(500));
        let shown = show("needle", &text);
        assert!(shown.starts_with("…") && shown.ends_with("[needle]"), "{shown}");
        assert_eq!(shown.chars().count(), 160 + 3);
    }
}
