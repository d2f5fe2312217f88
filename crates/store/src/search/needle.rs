//! A phrase that must occur literally in a text, ignoring case.

use std::ops::Range;

use tertulia_session::writing_system::{fold, is_unspaced, is_word};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needle {
    /// The phrase in lower case, on one line.
    text: String,
    /// Whether a word may continue after it.
    is_prefix: bool,
}

impl Needle {
    /// Returns a text without punctuation at its ends, which is not searched for.
    pub(super) fn trimmed(text: &str) -> &str {
        text.trim_matches(|one| !is_word(one) && !is_unspaced(one))
    }

    /// Creates a phrase; `None` if there is nothing to search for.
    pub(super) fn new(written: &str, is_prefix: bool) -> Option<Self> {
        let text: String = written.chars().map(fold).collect();
        (!text.is_empty()).then_some(Self { text, is_prefix })
    }

    /// Returns its positions in a folded text.
    pub(super) fn positions<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = Range<usize>> + 't {
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

/// Returns whether two adjacent characters belong to one word.
fn joins(one: Option<char>, other: Option<char>) -> bool {
    one.is_some_and(is_word) && other.is_some_and(is_word)
}
