//! Renders streaming Markdown as styled lines. A line is rendered when it is complete; the result depends only on the
//! text, not on its chunks. Prose is wrapped, code is not.

mod inline;

use super::style::{Line, Look, wrap};

/// Longer lines are cut into lines of this size.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Maximum depth of nested quotes; deeper ones are text.
const QUOTES_MAX: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// The text since the last line break.
    open: String,
    /// The fence of the code block that the text is in.
    fence: Option<Fence>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    sign: u8,
    length: usize,
}

impl Markdown {
    /// Adds a piece; returns the lines that are complete now.
    pub(crate) fn push(&mut self, piece: &str, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(rest) => {
                    self.extend(rest, columns, &mut lines);
                    self.complete(columns, &mut lines);
                }
                None => self.extend(part, columns, &mut lines),
            }
        }
        lines
    }

    /// Ends the text; returns the last line.
    pub(crate) fn finish(&mut self, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if !self.open.is_empty() {
            self.complete(columns, &mut lines);
        }
        self.fence = None;
        lines
    }

    /// Returns the incomplete line; only its end if it is long.
    pub(crate) fn pending(&self, columns: usize, rows_max: usize) -> Vec<Line> {
        let room = columns.saturating_mul(rows_max);
        let from = self.open.len().saturating_sub(room);
        let tail = self.open.get(self.open.ceil_char_boundary(from)..).unwrap_or_default();
        let text = tail.trim_end_matches('\r').replace('\t', "    ");
        if text.is_empty() {
            return Vec::new();
        }
        let look = if self.fence.is_some() { Look::Code } else { Look::Plain };
        // Code is wrapped too, because these rows do not stay on the screen.
        let rows = wrap(&Line::new(&text, look), "", columns);
        let skipped = rows.len().saturating_sub(rows_max);
        rows.into_iter().skip(skipped).collect()
    }

    /// Adds to the open line. A line that is too long is cut, at the same position for every chunking.
    fn extend(&mut self, mut text: &str, columns: usize, lines: &mut Vec<Line>) {
        while self.open.len() + text.len() > LINE_BYTES_MAX {
            let room = LINE_BYTES_MAX.saturating_sub(self.open.len());
            let (head, rest) =
                text.split_at_checked(text.floor_char_boundary(room)).unwrap_or(("", text));
            if head.is_empty() && self.open.is_empty() {
                break;
            }
            self.open.push_str(head);
            self.complete(columns, lines);
            text = rest;
        }
        self.open.push_str(text);
    }

    fn complete(&mut self, columns: usize, lines: &mut Vec<Line>) {
        let open = std::mem::take(&mut self.open);
        let text = open.strip_suffix('\r').unwrap_or(&open);
        if let Some(fence) = self.fence {
            if fence.is_closed_by(text) {
                self.fence = None;
                lines.push(Line::new(text, Look::Dim));
            } else {
                lines.push(Line::new(text, Look::Code));
            }
        } else if let Some(fence) = Fence::opened_by(text) {
            self.fence = Some(fence);
            lines.push(Line::new(text, Look::Dim));
        } else {
            lines.extend(prose(text, columns, 0));
        }
    }
}

impl Fence {
    fn opened_by(text: &str) -> Option<Self> {
        let (sign, length, rest) = Self::run(text)?;
        // With backticks after the language, it is inline code.
        (length >= 3 && (sign != b'`' || !rest.contains('`'))).then_some(Self { sign, length })
    }

    fn is_closed_by(self, text: &str) -> bool {
        Self::run(text).is_some_and(|(sign, length, rest)| {
            sign == self.sign && length >= self.length && rest.trim().is_empty()
        })
    }

    fn run(text: &str) -> Option<(u8, usize, &str)> {
        let text = text.trim_start_matches(' ');
        let sign = *text.as_bytes().first().filter(|sign| matches!(sign, b'`' | b'~'))?;
        let rest = text.trim_start_matches(char::from(sign));
        Some((sign, text.len() - rest.len(), rest))
    }
}

/// Returns a line outside code.
fn prose(text: &str, columns: usize, depth: usize) -> Vec<Line> {
    let body = text.trim_start();
    let indent = text.get(..text.len() - body.len()).unwrap_or_default();
    if body.is_empty() {
        return vec![Line::default()];
    }
    if body.starts_with('|') || is_rule(body) {
        return vec![Line::new(text, Look::Plain)];
    }
    if let Some(heading) = heading(body) {
        let mut line = Line::default();
        inline::add(&mut line, heading, Look::Strong);
        return wrap(&line, "", columns);
    }
    if let Some(quoted) = body.strip_prefix('>').filter(|_| depth < QUOTES_MAX) {
        let quoted = quoted.strip_prefix(' ').unwrap_or(quoted);
        let rows = prose(quoted, columns.saturating_sub(2), depth + 1);
        let quote = |row: Line| Line::new("│ ", Look::Dim).with(&row.text(), Look::Dim);
        return rows.into_iter().map(quote).collect();
    }
    let mark = list_mark(body).unwrap_or_default();
    let rest = body.get(mark.len()..).unwrap_or_default();
    let indent = indent.replace('\t', "    ");
    let hanging = " ".repeat((indent.len() + mark.len()).min(columns / 2));
    let shown = mark.strip_prefix(['-', '*', '+']).map(|after| format!("•{after}"));
    let mut line = Line::new(&indent, Look::Plain);
    line.push(shown.as_deref().unwrap_or(mark), Look::Plain);
    inline::add(&mut line, rest, Look::Plain);
    wrap(&line, &hanging, columns)
}

fn heading(body: &str) -> Option<&str> {
    let rest = body.trim_start_matches('#');
    let level = body.len() - rest.len();
    let rest = rest.strip_prefix(' ').filter(|_| (1..=6).contains(&level))?;
    Some(rest.trim().trim_end_matches('#').trim_end())
}

fn is_rule(body: &str) -> bool {
    let body = body.trim_end();
    let mut signs = body.chars().filter(|c| *c != ' ');
    let first = signs.next();
    matches!(first, Some('-' | '*' | '_')) && body.len() >= 3 && signs.all(|c| Some(c) == first)
}

/// Returns the mark of a list item with the space after it: `- `, `* `, `+ `, `12. `, `3) `.
fn list_mark(body: &str) -> Option<&str> {
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let end = match body.as_bytes().get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    (body.as_bytes().get(end) == Some(&b' ')).then(|| body.get(..=end)).flatten()
}

#[cfg(test)]
mod tests;
