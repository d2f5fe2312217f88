//! Built-in members, which need no key, no network and no program. The driver calls them; each returns a text.

mod librarian;
mod scribe;

use std::borrow::Cow;
use std::ops::Range;

use tertulia_context::parse_markers_where;

use tertulia_session::EntryId;
use tertulia_store::SessionId;

pub use librarian::LIBRARIAN;
pub use scribe::SCRIBE;

pub(crate) use librarian::{OTHER_PROJECT, look_up};
pub(crate) use scribe::{Colleagues, summarise, without_markers};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The entries that the answer quotes; `None` means this session. Redacting one of them redacts the answer too.
    pub(crate) sources: Vec<(Option<SessionId>, EntryId)>,
}

impl Answer {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), sources: Vec::new() }
    }
}

/// Makes quoted text inert, so that it addresses nobody: mentioned names become inline code, and markers get round
/// brackets.
pub(crate) fn quiet(text: &str) -> String {
    let mut quiet = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        quiet.push_str(&without_mentions(line));
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    parse_markers_where(&quiet, |found| {
        ranges = found.to_vec();
        vec![true; found.len()]
    });
    // The length stays the same, so the other ranges stay valid.
    for range in ranges {
        for (at, bracket) in [(range.start, "("), (range.end.saturating_sub(1), ")")] {
            if quiet.get(at..at + 1).is_some() {
                quiet.replace_range(at..at + 1, bracket);
            }
        }
    }
    quiet
}

fn without_mentions(line: &str) -> Cow<'_, str> {
    if !line.contains('@') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len() + 8);
    for word in line.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let space = word.get(bare.len()..).unwrap_or_default();
        match mention_at(bare) {
            Some((before, mention)) => {
                let name = mention.trim_end_matches(|c: char| !c.is_alphanumeric());
                let behind = mention.get(name.len()..).unwrap_or_default();
                text.push_str(&format!("{before}`{name}`{behind}{space}"));
            }
            None => text.push_str(word),
        }
    }
    Cow::Owned(text)
}

/// Finds a possible mention in a word: returns the text before it, and the rest. Skips email addresses, in which a
/// letter or a digit precedes the `@`.
fn mention_at(word: &str) -> Option<(&str, &str)> {
    let is_mention = |at: usize| {
        let before = word.get(..at).and_then(|before| before.chars().next_back());
        let is_name = word.get(at + 1..).is_some_and(|name| name.contains(char::is_alphanumeric));
        // Names in code are not mentions.
        before.is_none_or(|c| !c.is_alphanumeric() && c != '`') && is_name
    };
    let (at, _) = word.match_indices('@').find(|(at, _)| is_mention(*at))?;
    word.split_at_checked(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_quiet_text_routes() {
        assert_eq!(quiet("- ask @max, or ann@max.com\n"), "- ask `@max`, or ann@max.com\n");
        assert_eq!(quiet("**@max** (@eva) x,@leo"), "**`@max`** (`@eva`) x,`@leo`");
        assert_eq!(quiet("use `@Override` on `foo`"), "use `@Override` on `foo`");
        assert_eq!(quiet("call [NEXT: eva]"), "call (NEXT: eva)");
        assert_eq!(
            quiet("- [e-1] so [DROP: ALL] é [NEXT: a]."),
            "- [e-1] so (DROP: ALL) é (NEXT: a)."
        );
        assert_eq!(quiet("[a] plain [list]"), "[a] plain [list]");
    }
}
