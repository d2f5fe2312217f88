//! Checks whether a request contains a text, and counts the results. The request may contain the text with line
//! numbers, as tools show files. Called by [`super::reuse`] and [`super::questions`].

use std::borrow::Cow;

use memchr::memmem::Finder;

use super::manager::Piece;

/// The number of texts that were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    pub(crate) hits: u64,
    pub(crate) of: u64,
}

impl Hits {
    pub(crate) fn add(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.of += 1;
    }

    /// In hundredths.
    pub(crate) fn percent(self) -> f64 {
        100.0 * self.hits as f64 / self.of as f64
    }
}

/// Returns whether one of the pieces contains this text.
pub(crate) fn holds(pieces: &[Piece], text: &str) -> bool {
    let finder = Finder::new(text);
    pieces.iter().any(|piece| {
        finder.find(piece.text.as_bytes()).is_some()
            || match without_line_numbers(&piece.text) {
                Cow::Owned(bare) => finder.find(bare.as_bytes()).is_some(),
                Cow::Borrowed(_) => false,
            }
    })
}

/// Returns the text without the spaces, number and arrow at the start of its lines.
fn without_line_numbers(text: &str) -> Cow<'_, str> {
    if !text.contains('→') {
        return Cow::Borrowed(text);
    }
    let mut bare = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let unspaced = line.trim_start_matches([' ', '\t']);
        let unnumbered = unspaced.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let has_number = unnumbered.len() < unspaced.len();
        bare.push_str(unnumbered.strip_prefix('→').filter(|_| has_number).unwrap_or(line));
    }
    Cow::Owned(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece {
        Piece { text: text.into(), tokens: 1, volatile: false }
    }

    #[test]
    fn line_numbers_do_not_hide_a_quote() {
        assert!(holds(&[piece("tool\n   9→a\n  10→\tb\nc")], "a\n\tb\nc"));
        assert!(holds(&[piece("1→ 2 apples → 3")], " 2 apples → 3"));
        assert!(!holds(&[piece("a\nb"), piece("c")], "b\nc"));
    }
}
