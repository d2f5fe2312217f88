//! The terminal, by lines: what was said scrolls up and stays; below it lies what changes, the answer's
//! last line and the line that is typed. Owns the terminal's mode and gives it back whatever happens.

use std::borrow::Cow;
use std::io::{self, Write, stdin, stdout};
use std::os::fd::AsFd;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{Line, Look};
use crate::terminal::{excerpt, visible};

/// What a screen is taken to be that does not say how large it is.
const USUAL_SIZE: (usize, usize) = (24, 80);
/// What rows of the line that is typed begin with, but the first.
const CONTINUED: &str = "  ";
/// So that a paste comes as one, and is taken for what it is.
const PASTES_ON: &str = "\x1b[?2004h";
const PASTES_OFF: &str = "\x1b[?2004l";

/// The mode of the terminal while keys are read one by one; the old one comes back with the drop, also
/// when a panic unwinds.
pub(crate) struct RawMode {
    pub(crate) before: Cooked,
}

/// The terminal as it was before.
#[derive(Clone)]
pub(crate) struct Cooked(Termios);

impl Cooked {
    /// Gives it back. Takes no time, whatever the terminal does. In the background it is the shell's already,
    /// and who sets its mode from there is stopped.
    pub(crate) fn restore(&self) {
        if !is_foreground() {
            return;
        }
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

/// Whether the terminal listens to this process and not to another one.
pub(crate) fn is_foreground() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

impl RawMode {
    /// Lets every key through at once, and shows none.
    pub(crate) fn enter() -> io::Result<Self> {
        let mode = Self { before: Cooked(tcgetattr(stdin())?) };
        mode.set()?;
        Ok(mode)
    }

    /// Sets the mode again, as after the process was stopped and goes on.
    pub(crate) fn set(&self) -> io::Result<()> {
        let Cooked(mut raw) = self.before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        let _ = rustix::io::write(stdout(), PASTES_ON.as_bytes());
        Ok(())
    }

    /// Gives the terminal back as it was, until the mode is set again.
    pub(crate) fn leave(&self) {
        // Past every buffer: this must get through when nothing else does.
        let _ = rustix::io::write(stdout(), PASTES_OFF.as_bytes());
        self.before.restore();
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What lies below the talk and changes.
pub(crate) struct Live<'l> {
    pub(crate) above: Vec<Line>,
    pub(crate) prompt: &'l str,
    pub(crate) text: &'l str,
    /// Where the cursor is in it, in bytes.
    pub(crate) cursor: usize,
}

/// A terminal on which lines stay, and rows below them are drawn anew.
pub struct Screen<'s> {
    out: &'s mut dyn Write,
    colour: bool,
    rows: usize,
    columns: usize,
    /// How many rows of what changes lie above the cursor.
    above_cursor: usize,
    /// How wide what changes is, row by row down to the cursor.
    widths: Vec<usize>,
}

impl<'s> Screen<'s> {
    /// The terminal that is written to by this stream.
    pub fn new(out: &'s mut dyn Write, colour: bool) -> Self {
        let (rows, columns) = size();
        Self { out, colour, rows, columns, above_cursor: 0, widths: Vec::new() }
    }

    /// How many rows and columns it had when it was measured last.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Looks again how large it is. Where it has become narrow, the terminal has broken what lies there.
    pub fn measure(&mut self) {
        (self.rows, self.columns) = size();
        self.above_cursor = rows_above(&self.widths, self.columns).min(self.rows.saturating_sub(1));
    }

    /// Adds lines to the talk, and draws what lies below it anew.
    pub(crate) fn show(&mut self, lines: &[Line], live: &Live<'_>) -> io::Result<()> {
        let mut bytes = self.erased() + &self.talk(lines);
        let rows_max = self.rows.saturating_sub(1).max(1);
        let layout = lay_out(live.prompt, live.text, live.cursor, self.columns, rows_max);
        let room = rows_max.saturating_sub(layout.rows.len());
        let skipped = live.above.len().saturating_sub(room);
        let above = live.above.len() - skipped;
        self.widths.clear();
        for line in live.above.iter().skip(skipped) {
            bytes.push_str(&self.row(line, self.columns));
            bytes.push_str("\r\n");
        }
        bytes.push_str(&layout.rows.join("\r\n"));
        let below = layout.rows.len() - 1 - layout.cursor_row.min(layout.rows.len() - 1);
        bytes.push_str(&moved(below, 'A'));
        bytes.push('\r');
        bytes.push_str(&moved(layout.cursor_column, 'C'));
        self.above_cursor = above + layout.cursor_row;
        let before = layout.rows.iter().take(layout.cursor_row);
        self.widths.extend(before.map(|row| row.width()));
        self.widths.push(layout.cursor_column);
        self.write(&bytes)
    }

    /// Adds lines to the talk, and draws rows below it anew. Nothing is typed: the cursor stands behind the last row.
    pub fn draw(&mut self, lines: &[Line], below: &[Line]) -> io::Result<()> {
        // Where nothing of ours lies there may be something of somebody else's.
        let mut bytes = if self.widths.is_empty() { String::new() } else { self.erased() };
        bytes.push_str(&self.talk(lines));
        self.forget();
        let columns = self.columns.saturating_sub(1).max(1);
        let rows: Vec<String> = below.iter().map(|line| self.row(line, columns)).collect();
        bytes.push_str(&rows.join("\r\n"));
        self.above_cursor = rows.len().saturating_sub(1);
        // Behind a row that fills the terminal the cursor is still in that row.
        if let Some(last) = self.widths.last_mut() {
            *last = last.saturating_sub(1);
        }
        self.write(&bytes)
    }

    /// A row of what changes. One that the terminal breaks would be two when it is erased.
    fn row(&mut self, line: &Line, columns: usize) -> String {
        let is_too_wide = line.width() > columns;
        let cut = is_too_wide.then(|| Line::new(excerpt(&line.text(), columns), Look::Dim));
        let line = cut.as_ref().unwrap_or(line);
        self.widths.push(line.width());
        line.painted(self.colour)
    }

    fn write(&mut self, bytes: &str) -> io::Result<()> {
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Clears the whole screen; the talk is in the terminal's memory.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.forget();
        self.out.write_all(b"\x1b[H\x1b[2J")
    }

    /// Nothing that changes lies there any more.
    fn forget(&mut self) {
        self.above_cursor = 0;
        self.widths.clear();
    }

    /// What changes is taken away.
    fn erased(&self) -> String {
        format!("\r{}\x1b[J", moved(self.above_cursor, 'A'))
    }

    fn talk(&self, lines: &[Line]) -> String {
        lines.iter().map(|line| line.painted(self.colour) + "\r\n").collect()
    }
}

/// How many rows lie above the cursor once rows of these widths are broken at so many columns. The last
/// is the one up to the cursor.
fn rows_above(widths: &[usize], columns: usize) -> usize {
    let columns = columns.max(1);
    match widths.split_last() {
        Some((cursor, before)) => {
            let rows = before.iter().map(|width| width.div_ceil(columns).max(1));
            rows.sum::<usize>() + cursor / columns
        }
        None => 0,
    }
}

/// The cursor goes so many places up or right.
fn moved(count: usize, direction: char) -> String {
    if count == 0 { String::new() } else { format!("\x1b[{count}{direction}") }
}

/// How many rows and columns the terminal has.
fn size() -> (usize, usize) {
    let size = tcgetwinsize(stdout().as_fd()).ok();
    match size.map(|size| (usize::from(size.ws_row), usize::from(size.ws_col))) {
        Some((rows, columns)) if rows > 0 && columns > 0 => (rows, columns),
        _ => USUAL_SIZE,
    }
}

/// How the line that is typed lies on the screen.
struct Layout {
    /// The rows, none wider than the screen.
    rows: Vec<String>,
    cursor_row: usize,
    cursor_column: usize,
}

/// Lays a text out behind a prompt. Of many rows those around the cursor are given.
fn lay_out(prompt: &str, text: &str, cursor: usize, columns: usize, rows_max: usize) -> Layout {
    // The last column stays empty: what a terminal does there differs.
    let columns = columns.saturating_sub(1).max(CONTINUED.len() + 4);
    let mut rows = vec![prompt.to_owned()];
    let mut width = prompt.chars().filter_map(UnicodeWidthChar::width).sum::<usize>();
    let mut at = None;
    for (place, c) in text.char_indices().chain([(text.len(), '\n')]) {
        let bytes = &mut [0; 4];
        let shown = shown(c, bytes);
        let needed: usize = shown.chars().filter_map(UnicodeWidthChar::width).sum();
        if width + needed > columns {
            rows.push(CONTINUED.to_owned());
            width = CONTINUED.len();
        }
        if place == cursor {
            at = Some((rows.len() - 1, width));
        }
        if c == '\n' && place < text.len() {
            rows.push(CONTINUED.to_owned());
            width = CONTINUED.len();
        } else if let Some(row) = rows.last_mut() {
            row.push_str(&shown);
            width += needed;
        }
    }
    let (cursor_row, cursor_column) = at.unwrap_or((rows.len() - 1, width));
    let from = (cursor_row + 1).saturating_sub(rows_max.max(1));
    let rows: Vec<String> = rows.into_iter().skip(from).take(rows_max.max(1)).collect();
    Layout { rows, cursor_row: cursor_row - from, cursor_column }
}

/// How a character that was typed or pasted is shown. Most of them as they are: a long paste is laid out
/// anew with every key.
fn shown(c: char, bytes: &mut [u8; 4]) -> Cow<'_, str> {
    match c {
        '\n' => Cow::Borrowed(""),
        '\t' => Cow::Borrowed("    "),
        c => visible(c.encode_utf8(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_that_a_narrow_screen_breaks_are_counted() {
        assert_eq!(rows_above(&[], 40), 0);
        assert_eq!(rows_above(&[0, 30, 10], 40), 2);
        assert_eq!(rows_above(&[80, 41, 40], 40), 5);
        assert_eq!(rows_above(&[80, 41, 40], 100), 2);
        assert_eq!(rows_above(&[3], 0), 3);
    }

    #[test]
    fn a_line_is_wrapped_behind_its_prompt_and_the_cursor_is_found() {
        let layout = lay_out("> ", "abcdefgh", 3, 8, 9);
        assert_eq!(layout.rows, ["> abcde", "  fgh"]);
        assert_eq!((layout.cursor_row, layout.cursor_column), (0, 5));
        let layout = lay_out("> ", "ab\n设", 6, 20, 9);
        assert_eq!(layout.rows, ["> ab", "  设"]);
        assert_eq!((layout.cursor_row, layout.cursor_column), (1, 4));
        assert_eq!(lay_out("> ", "a\x1b[2J\tb", 0, 40, 9).rows, ["> a␛[2J    b"]);
    }

    #[test]
    fn of_many_rows_those_around_the_cursor_are_shown() {
        let text = "a\n".repeat(50);
        let layout = lay_out("> ", &text, text.len(), 20, 5);
        assert_eq!((layout.rows.len(), layout.cursor_row), (5, 4));
        assert_eq!(lay_out("> ", &text, 0, 20, 5).cursor_row, 0);
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_screen(
            text in "(?s)[a-z设\\t\\n\u{301}\u{1b}]{0,80}",
            cursor in 0_usize..90,
            columns in 1_usize..40,
            rows_max in 0_usize..6,
        ) {
            let cursor = text.floor_char_boundary(cursor);
            let layout = lay_out("> ", &text, cursor, columns, rows_max);
            for row in &layout.rows {
                let width: usize = row.chars().filter_map(UnicodeWidthChar::width).sum();
                prop_assert!(width < columns.max(7), "{row:?}");
                prop_assert!(!row.chars().any(char::is_control));
            }
            prop_assert!(layout.cursor_row < layout.rows.len());
        }
    }
}
