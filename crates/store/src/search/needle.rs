//! Words that must stand in a text as they are written, in any case. Called by the question and its matcher.

use std::ops::Range;

use tertulia_session::script::{fold, is_dense, is_word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needle {
    /// In lower case, on one line.
    text: String,
    /// Whether a word may go on behind it.
    is_prefix: bool,
}

impl Needle {
    /// Marks at the ends are how people write, not what they look for.
    pub(super) fn trimmed(text: &str) -> &str {
        text.trim_matches(|one| !is_word(one) && !is_dense(one))
    }

    /// `None` if there is nothing to look for.
    pub(super) fn new(written: &str, is_prefix: bool) -> Option<Self> {
        let text: String = written.chars().map(fold).collect();
        (!text.is_empty()).then_some(Self { text, is_prefix })
    }

    /// Where it is in a folded text.
    pub(super) fn places<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        text.match_indices(self.text.as_str()).filter_map(|(at, found)| {
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
