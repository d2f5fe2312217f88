//! Lines of a text: where they begin and end, and how a line looks to a person who does not know the rules of
//! Markdown. Called by `markdown` and `own`. Each line is considered on its own.

use std::ops::Range;

use memchr::{memchr2, memrchr2};

/// Returns the lines of a text with their line breaks: `\n`, `\r\n` or `\r`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let range = start..end(text, start);
        start = range.end;
        (!range.is_empty()).then_some(range)
    })
}

pub(super) fn start(text: &str, at: usize) -> usize {
    memrchr2(b'\n', b'\r', &text.as_bytes()[..at]).map_or(0, |line_break| line_break + 1)
}

/// Returns the end of the line at this position, with its line break.
pub(super) fn end(text: &str, at: usize) -> usize {
    let rest = &text.as_bytes()[at..];
    match memchr2(b'\n', b'\r', rest) {
        Some(length) if rest[length..].starts_with(b"\r\n") => at + length + 2,
        Some(length) => at + length + 1,
        None => text.len(),
    }
}

pub(super) struct LineShape {
    pub(super) columns: usize,
    pub(super) is_quote: bool,
}

pub(super) fn shape(line: &str) -> LineShape {
    let mut columns = 0;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        columns = match c {
            '\n' | '\r' => break,
            '\t' => columns / 4 * 4 + 4,
            c if is_hidden(c) => columns,
            c if c.is_whitespace() || matches!(c, '\u{2800}' | '\u{3164}') => columns + 1,
            _ => break,
        };
        rest = &rest[c.len_utf8()..];
    }
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || is_hidden(c));
        let Some(width) = mark(rest) else { break };
        rest = &rest[width..];
    }
    LineShape { columns, is_quote: rest.starts_with('>') }
}

/// Returns the maximum number of lists and quotes that may be open in a line: one for every mark that it begins
/// with, and one for every two columns of spaces before a mark. A rule, such as `* * *`, opens none.
pub(super) fn depth_max(line: &str) -> usize {
    let (mut depth, mut spaces, mut marks) = (0, 0, 0);
    let mut rest = line;
    loop {
        let text = rest.trim_start_matches([' ', '\t']);
        let tabs = rest[..rest.len() - text.len()].bytes().filter(|byte| *byte == b'\t').count();
        spaces += rest.len() - text.len() + 3 * tabs;
        let Some(width) = text.starts_with('>').then_some(1).or_else(|| mark(text)) else { break };
        marks += 1;
        depth = marks + spaces / 2;
        rest = &text[width..];
    }
    let mut signs = line.trim_ascii().bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let is_rule = marks > 2 && signs.next().is_some_and(|sign| signs.all(|byte| byte == sign));
    if is_rule && !line.contains('>') { 0 } else { depth }
}

/// Returns the length in bytes of the list mark at the start of a text.
fn mark(text: &str) -> Option<usize> {
    let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
    let width = match (digits, text.as_bytes().get(digits)?) {
        (0, b'-' | b'+' | b'*') => 1,
        (1..=9, b'.' | b')') => digits + 1,
        _ => return None,
    };
    let behind = text.as_bytes().get(width);
    matches!(behind, None | Some(b' ' | b'\t' | b'\n' | b'\r')).then_some(width)
}

/// Returns whether a character is invisible.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' | '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'
    )
}
