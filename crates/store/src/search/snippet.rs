//! The words around what was found, on one line, with the places to highlight. Called for the hits
//! that are shown, never for all candidates.

use std::ops::Range;

use super::terms::flat;
use crate::model::Snippet;

/// How many places of one word are looked at.
pub(super) const MARKS_MAX: usize = 64;
const CHARACTERS: usize = 160;
/// How many of them before the first place.
const BEFORE: usize = 40;

/// The piece of a text around the first of these places, which are bytes of its folded form.
pub(super) fn around(text: &str, lower: &str, marks: &[Range<usize>]) -> Snippet {
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
    use crate::search::Question;

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
