//! Finds markers in a text. A marker name matches in any case of ASCII letters, but never other letters: the Kelvin
//! sign is not a K.
//!
//! The scanner is called with ascending positions and remembers what it found ahead. So each search reads the text
//! only once, however many brackets it opens.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    From,
    Next,
    Drop,
    TeamTask,
    /// `[TEAM_TASK]` without a colon. This is only the label; the caller decides where its text ends.
    TaskBlock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// From `[` to `]`, both inclusive.
    pub(super) whole: Range<usize>,
    /// Between `:` and `]`.
    pub(super) body: Range<usize>,
}

/// Scans one text from start to end.
pub(super) struct Scanner<'t> {
    text: &'t str,
    close: Lookahead,
    blank_line: Lookahead,
}

/// A search result for the text ahead. It is valid for every position from `from` up to `at`.
#[derive(Default)]
pub(super) struct Lookahead {
    from: usize,
    at: Option<usize>,
    looked: bool,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::From, Self::Next, Self::Drop, Self::TeamTask, Self::TaskBlock];

    fn opening(self) -> &'static [u8] {
        match self {
            Self::From => b"[FROM:",
            Self::Next => b"[NEXT:",
            Self::Drop => b"[DROP:",
            Self::TeamTask => b"[TEAM_TASK:",
            Self::TaskBlock => b"[TEAM_TASK]",
        }
    }
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, close: Lookahead::default(), blank_line: Lookahead::default() }
    }

    pub(super) fn marker_at(&mut self, at: usize) -> Option<Found> {
        Kind::ALL.into_iter().find_map(|kind| self.marker_of(kind, at))
    }

    pub(super) fn find(&mut self, kind: Kind, from: usize) -> Option<Found> {
        brackets(self.text, from).find_map(|at| self.marker_of(kind, at))
    }

    /// Returns the end of the paragraph at this position: the line break before a blank
    /// line, or the end of the text.
    pub(super) fn paragraph_end(&mut self, from: usize) -> usize {
        let text = self.text;
        self.blank_line.get(from, |from| find_blank_line(text, from)).unwrap_or(text.len())
    }

    fn marker_of(&mut self, kind: Kind, at: usize) -> Option<Found> {
        let bytes = self.text.as_bytes();
        let start = at + kind.opening().len();
        if !bytes.get(at..start)?.eq_ignore_ascii_case(kind.opening()) {
            return None;
        }
        if kind == Kind::TaskBlock {
            return Some(Found { kind, whole: at..start, body: start..start });
        }
        let look = |from| memchr(b']', &bytes[from..]).map(|length| from + length);
        let close = self.close.get(start, look)?;
        // In the contract's pattern, only FROM requires at least one character.
        let empty = close == start && kind == Kind::From;
        (!empty).then_some(Found { kind, whole: at..close + 1, body: start..close })
    }
}

impl Lookahead {
    /// Returns the first match at or after `from`. Callers must pass ascending positions.
    pub(super) fn get(
        &mut self,
        from: usize,
        look: impl FnOnce(usize) -> Option<usize>,
    ) -> Option<usize> {
        let known = self.looked && self.from <= from && self.at.is_none_or(|at| at >= from);
        if !known {
            *self = Self { from, at: look(from), looked: true };
        }
        self.at
    }
}

pub(super) fn brackets(text: &str, from: usize) -> impl Iterator<Item = usize> {
    memchr_iter(b'[', &text.as_bytes()[from..]).map(move |at| from + at)
}

/// Returns whether a byte is a space, a tab or `\r`.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn find_blank_line(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr_iter(b'\n', &bytes[from..]).map(|at| from + at).find(|newline| {
        let line = bytes[newline + 1..].iter().take_while(|byte| **byte != b'\n');
        line.into_iter().all(|byte| is_blank(*byte))
    })
}
