//! Removes characters that a document cannot show: control characters and the colours of terminals. Also shortens
//! long outputs.

use std::borrow::Cow;

/// Maximum size of an output that is not shortened.
const LINES_MAX: usize = 60;
const BYTES_MAX: usize = 6 * 1024;
/// The size of the parts that are kept at the start and the end, in lines and bytes.
const HEAD: (usize, usize) = (40, 4 * 1024);
const TAIL: (usize, usize) = (10, 1024);

/// Removes the escape sequences of terminals and shows other control characters as U+FFFD, except
/// tabs and line breaks. `\r\n` and `\r` become `\n`.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_odd) {
        let (plain, odd) = rest.split_at(at);
        cleaned.push_str(plain);
        let length = sequence(odd);
        let first = odd.chars().next().map_or(1, char::len_utf8);
        match odd.as_bytes() {
            [b'\r', b'\n', ..] => {}
            [b'\r', ..] => cleaned.push('\n'),
            _ if length == 0 => cleaned.push(char::REPLACEMENT_CHARACTER),
            _ => {}
        }
        rest = odd.get(length.max(first)..).unwrap_or_default();
    }
    cleaned.push_str(rest);
    Cow::Owned(cleaned)
}

/// Returns the length of the escape sequence at the start of a text: a colour or a movement of the
/// cursor. 0 if there is none.
fn sequence(text: &str) -> usize {
    const LENGTH_MAX: usize = 64;
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let end = rest.bytes().take(LENGTH_MAX).position(|byte| !matches!(byte, b' '..=b'?'));
    match end.and_then(|end| Some((end, rest.as_bytes().get(end)?))) {
        Some((end, b'@'..=b'~')) => 2 + end + 1,
        _ => 0,
    }
}

/// Returns a text as one line.
pub(super) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text as one line of at most this many characters.
pub(super) fn excerpt(text: &str, characters: usize) -> String {
    // These bytes are sufficient for the characters, whatever their size.
    let head = text.get(..text.floor_char_boundary(characters * 8)).unwrap_or_default();
    let line = one_line(head);
    match line.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None if head.len() < text.len() => format!("{line}…"),
        None => line,
    }
}

/// A whole text, or its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown<'a> {
    pub head: &'a str,
    pub rest: Option<LeftOut<'a>>,
}

/// The part of a text that was left out, and the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeftOut<'a> {
    pub lines: usize,
    pub bytes: usize,
    pub tail: &'a str,
}

impl LeftOut<'_> {
    /// Returns a note about the size of the missing part.
    pub(super) fn note(&self) -> String {
        match self.lines {
            0 | 1 => format!("… {} bytes left out; --full writes everything …", self.bytes),
            lines => {
                format!(
                    "… {lines} lines ({} bytes) left out; --full writes everything …",
                    self.bytes
                )
            }
        }
    }
}

/// Shortens a long text, unless `is_full` is set.
pub(super) fn shorten(text: &str, is_full: bool) -> Shown<'_> {
    let whole = Shown { head: text, rest: None };
    let is_long = text.len() > BYTES_MAX || text.lines().nth(LINES_MAX).is_some();
    if is_full || !is_long {
        return whole;
    }
    let line_end = text.match_indices('\n').nth(HEAD.0 - 1).map_or(text.len(), |(at, _)| at + 1);
    let head_end = text.floor_char_boundary(line_end.min(HEAD.1));
    let (head, after) = text.split_at_checked(head_end).unwrap_or((text, ""));
    let body = after.strip_suffix('\n').unwrap_or(after);
    let line_start = body.rmatch_indices('\n').nth(TAIL.0 - 1).map_or(0, |(at, _)| at + 1);
    let tail_start = after.ceil_char_boundary(line_start.max(after.len().saturating_sub(TAIL.1)));
    let (gone, tail) = after.split_at_checked(tail_start).unwrap_or(("", after));
    if gone.is_empty() {
        return whole;
    }
    let lines = gone.matches('\n').count();
    Shown { head, rest: Some(LeftOut { lines, bytes: gone.len(), tail }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_of_terminals_go_and_other_control_characters_are_marked() {
        assert_eq!(clean("\u{1b}[1;31mred\u{1b}[0m\r\nb\rc\td"), "red\nb\nc\td");
        assert_eq!(clean("a\u{0}b\u{1b}c\u{9b}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert!(matches!(clean("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_long_output_keeps_its_start_and_its_end() {
        let text: String = (1..=100).map(|line| format!("line {line}\n")).collect();
        let shown = shorten(&text, false);
        assert!(shown.head.ends_with("line 40\n"));
        let rest = shown.rest.unwrap();
        assert!(rest.tail.starts_with("line 91\n") && rest.lines == 50, "{rest:?}");
        assert_eq!(rest.note(), "… 50 lines (400 bytes) left out; --full writes everything …");
        assert_eq!(shorten(&text, true).rest, None);
    }

    #[test]
    fn an_excerpt_is_one_line() {
        assert_eq!(excerpt("a\n  b", 9), "a b");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(excerpt(&"é".repeat(100), 3), "ééé…");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_silently(text in r"([a-zé]{0,300}\n?){0,120}") {
            let shown = shorten(&text, false);
            let (gone, tail) = shown.rest.map_or((0, ""), |rest| (rest.bytes, rest.tail));
            prop_assert_eq!(shown.head.len() + gone + tail.len(), text.len());
            prop_assert!(text.starts_with(shown.head) && text.ends_with(tail));
        }

        #[test]
        fn a_clean_text_has_no_control_characters(text: String) {
            let odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
            prop_assert!(!clean(&text).contains(odd));
        }
    }
}
