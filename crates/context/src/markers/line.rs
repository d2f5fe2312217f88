//! One line of Markdown: where lines end, how far a text is indented, marks of lists, fences, breaks.
//! Called by `blocks`; knows no other line.

use std::ops::Range;

/// The lines of a text with their line breaks: `\n`, `\r\n` or `\r`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.as_bytes().get(start..).filter(|rest| !rest.is_empty())?;
        let end = match memchr::memchr2(b'\n', b'\r', rest) {
            Some(at) if rest[at..].starts_with(b"\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let range = start..start + end;
        start = range.end;
        Some(range)
    })
}

/// A place in a line behind blanks, and its column. A tab reaches to the next multiple of four.
pub(super) struct Cursor<'t> {
    rest: &'t str,
    pub(super) column: usize,
}

impl<'t> Cursor<'t> {
    /// Behind the blanks that a line begins with.
    pub(super) fn at_text(line: &'t str) -> Self {
        let mut cursor = Self { rest: line, column: 0 };
        cursor.skip(0);
        cursor
    }

    /// What stands there, with the line break.
    pub(super) fn rest(&self) -> &'t str {
        self.rest
    }

    /// Goes over so many bytes of ASCII and the blanks behind them.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
        self.column += bytes;
        let blanks = self.rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
        let mut count = 0;
        for byte in blanks {
            count += 1;
            self.column = if byte == b'\t' { self.column / 4 * 4 + 4 } else { self.column + 1 };
        }
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}

/// The mark of a list item.
pub(super) struct Mark {
    /// How many bytes it has.
    pub(super) width: usize,
    /// Whether it begins an item in the middle of a paragraph too.
    pub(super) may_interrupt: bool,
}

impl Mark {
    /// The mark that a text begins with.
    pub(super) fn of(text: &str) -> Option<Self> {
        let digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
        let width = match (digits, text.as_bytes().get(digits)?) {
            (0, b'-' | b'+' | b'*') => 1,
            (1..=9, b'.' | b')') => digits + 1,
            _ => return None,
        };
        let behind = text.get(width..).unwrap_or_default();
        let stands_alone = behind.is_empty() || behind.starts_with([' ', '\t', '\n', '\r']);
        let is_first = digits == 0 || text.get(..digits).is_some_and(|number| number == "1");
        let may_interrupt = is_first && !behind.trim_ascii().is_empty();
        stands_alone.then_some(Self { width, may_interrupt })
    }
}

/// What opens a fenced block.
#[derive(Debug)]
pub(super) struct Fence {
    sign: u8,
    length: usize,
}

impl Fence {
    /// The fence that a text begins with.
    pub(super) fn of(text: &str) -> Option<Self> {
        let sign = text.bytes().next().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = text.bytes().take_while(|byte| *byte == sign).count();
        // "```a```" on one line is an inline span.
        let is_inline = sign == b'`' && text.get(length..)?.contains('`');
        (length >= 3 && !is_inline).then_some(Self { sign, length })
    }

    pub(super) fn is_closed_by(&self, text: &str) -> bool {
        let signs = text.trim_ascii_end();
        signs.len() >= self.length && signs.bytes().all(|byte| byte == self.sign)
    }
}

/// Whether a line is a heading by its `#`.
pub(super) fn is_heading(text: &str) -> bool {
    let signs = text.bytes().take(7).take_while(|byte| *byte == b'#').count();
    let behind = text.as_bytes().get(signs);
    (1..=6).contains(&signs) && matches!(behind, None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

/// Whether a line makes the paragraph before it a heading.
pub(super) fn is_underline(text: &str) -> bool {
    let signs = text.trim_ascii();
    let is_all = |sign| signs.bytes().all(|byte| byte == sign);
    !signs.is_empty() && (is_all(b'=') || is_all(b'-'))
}

/// Whether a line draws a rule: `---`, `* * *`.
pub(super) fn is_break(text: &str) -> bool {
    let Some(sign) = text.bytes().next().filter(|byte| b"-*_".contains(byte)) else {
        return false;
    };
    let mut signs = text.trim_ascii().bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    text.bytes().filter(|byte| *byte == sign).take(3).count() == 3 && signs.all(|byte| byte == sign)
}

/// How a line looks to somebody who knows no rules.
pub(super) struct Looks {
    /// How far it is indented, by blanks of any kind.
    pub(super) columns: usize,
    /// Whether it begins with `>`, behind whatever may stand before it.
    pub(super) is_quote: bool,
}

pub(super) fn looks(line: &str) -> Looks {
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
        let Some(mark) = Mark::of(rest) else { break };
        rest = rest.get(mark.width..).unwrap_or_default();
    }
    Looks { columns, is_quote: rest.starts_with('>') }
}

/// Takes no room on a screen.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' | '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}'
    )
}
