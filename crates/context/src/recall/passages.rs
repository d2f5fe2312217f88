//! Cuts a text, escaped or plain, into passages at line ends, in linear time. Called by the index; it does not
//! depend on the meaning of the text.

use std::ops::Range;

use tertulia_session::json::Escape;

/// A passage ends at the first line end after this many bytes.
const PASSAGE_BYTES: usize = 1_000;
/// Without a line end it ends here, if possible after a space.
const PASSAGE_BYTES_MAX: usize = 2 * PASSAGE_BYTES;
/// If the rest of a text is short, the last passage includes it, up to this length.
const LAST_BYTES_MAX: usize = PASSAGE_BYTES + PASSAGE_BYTES / 2;

/// Returns the passages of a text in order. Joined, they are the text.
pub(super) fn passages(raw: &str, escaped: bool) -> impl Iterator<Item = Range<usize>> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let rest = raw.get(begin..).filter(|rest| !rest.is_empty())?;
        let range = begin..begin + passage_bytes(rest, escaped);
        begin = range.end;
        Some(range)
    })
}

fn passage_bytes(text: &str, escaped: bool) -> usize {
    if text.len() <= LAST_BYTES_MAX {
        return text.len();
    }
    let (mut at, mut line_end, mut blank) = (0, 0, 0);
    while at < text.len() {
        let (bytes, kind) = step(text, at, escaped);
        if at > 0 && at + bytes > PASSAGE_BYTES_MAX {
            let mut cuts = [line_end, blank].into_iter();
            return cuts.find(|&cut| cut >= PASSAGE_BYTES / 2).unwrap_or(at);
        }
        at += bytes;
        match kind {
            StepKind::LineEnd if at >= PASSAGE_BYTES => return at,
            StepKind::LineEnd => line_end = at,
            StepKind::Blank => blank = at,
            StepKind::Other => {}
        }
    }
    text.len()
}

pub(super) enum StepKind {
    LineEnd,
    Blank,
    Other,
}

/// Returns the length and the kind of the character or escape at this position. A surrogate pair counts as one.
pub(super) fn step(text: &str, at: usize, escaped: bool) -> (usize, StepKind) {
    let byte = |ahead: usize| text.as_bytes().get(at + ahead).copied().unwrap_or_default();
    let bytes = match byte(0) {
        b'\\' if escaped => Escape::first(text.get(at..).unwrap_or_default()).bytes,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        _ => 1,
    };
    let kind = match (byte(0), byte(1)) {
        (b'\n', _) => StepKind::LineEnd,
        (b'\\', b'n') if escaped => StepKind::LineEnd,
        (b' ', _) => StepKind::Blank,
        _ => StepKind::Other,
    };
    (bytes, kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(raw: &str, escaped: bool) -> Vec<usize> {
        let mut end = 0;
        let check = |range: Range<usize>| {
            assert_eq!(range.start, end);
            end = range.end;
            assert!(raw.is_char_boundary(end));
            range.len()
        };
        let lengths = passages(raw, escaped).map(check).collect();
        assert_eq!(end, raw.len());
        lengths
    }

    #[test]
    fn passages_end_at_line_ends() {
        let lines = format!("{}\n", "x".repeat(99)).repeat(25);
        assert_eq!(lengths(&lines, false), [1_000, 1_500]);
        let escaped = format!("{}\\n", "x".repeat(98)).repeat(25);
        assert_eq!(lengths(&escaped, true), [1_000, 1_500]);
    }

    #[test]
    fn a_short_text_is_one_passage_and_an_empty_one_is_none() {
        assert_eq!(lengths("one\ntwo", false), [7]);
        assert_eq!(lengths("", false), [0_usize; 0]);
    }

    #[test]
    fn without_line_ends_the_cut_is_after_a_space_or_anywhere() {
        assert_eq!(lengths(&"x".repeat(4_100), false), [2_000, 2_000, 100]);
        assert_eq!(lengths(&"123456 ".repeat(600), false), [1_995, 1_995, 210]);
        assert_eq!(lengths(&"漢".repeat(1_000), false), [1_998, 1_002]);
    }

    #[test]
    fn an_escape_is_never_cut() {
        let pairs = r"\ud83d\ude00".repeat(500);
        for range in passages(&pairs, true) {
            assert_eq!(range.len() % 12, 0);
        }
        let quotes = format!("x{}", r#"\""#.repeat(2_000));
        assert!(passages(&quotes, true).all(|range| range.end % 2 == 1));
    }

    #[test]
    fn escapes_that_end_too_early_are_no_reason_to_stop() {
        for raw in ["\\", "\\u", "\\ud83d\\", "a\\"] {
            assert_eq!(lengths(raw, true), [raw.len()]);
        }
    }
}
