//! The terminal. Finished lines scroll up and stay; the rows below them are redrawn: the unfinished line of the answer
//! and the input line. Owns the terminal's mode and restores it in all cases.

use std::borrow::Cow;
use std::io::{self, Write, stdin, stdout};
use std::os::fd::AsFd;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::{Line, Look};
use crate::terminal::{excerpt, visible};

/// The assumed size of a terminal that does not report one.
const USUAL_SIZE: (usize, usize) = (24, 80);
/// Prefix of all rows of the input line but the first.
const CONTINUED: &str = "  ";
/// Turns on bracketed paste, so that the program can distinguish pasted text from keys.
const PASTES_ON: &str = "\x1b[?2004h";
const PASTES_OFF: &str = "\x1b[?2004l";

/// Raw mode of the terminal. Dropping it restores the old mode, also during a panic.
pub(crate) struct RawMode {
    pub(crate) before: SavedMode,
}

/// The mode of the terminal before the chat.
#[derive(Clone)]
pub(crate) struct SavedMode(Termios);

impl SavedMode {
    /// Restores the mode without blocking. In the background the terminal already belongs to the shell, and setting its
    /// mode would stop this process.
    pub(crate) fn restore(&self) {
        if !is_foreground() {
            return;
        }
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

/// Returns whether this process is in the terminal's foreground group.
pub(crate) fn is_foreground() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

impl RawMode {
    /// Enters raw mode.
    pub(crate) fn enter() -> io::Result<Self> {
        let mode = Self { before: SavedMode(tcgetattr(stdin())?) };
        mode.set()?;
        Ok(mode)
    }

    /// Sets raw mode, also again after the process was stopped.
    pub(crate) fn set(&self) -> io::Result<()> {
        let SavedMode(mut raw) = self.before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        let _ = rustix::io::write(stdout(), PASTES_ON.as_bytes());
        Ok(())
    }

    /// Restores the old mode until raw mode is set again.
    pub(crate) fn leave(&self) {
        // Written directly, without buffers, so that it always gets through.
        let _ = rustix::io::write(stdout(), PASTES_OFF.as_bytes());
        self.before.restore();
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The rows below the finished lines.
pub(crate) struct Live<'l> {
    pub(crate) above: Vec<Line>,
    pub(crate) prompt: &'l str,
    pub(crate) text: &'l str,
    /// Byte index of the cursor in the text.
    pub(crate) cursor: usize,
}

/// A terminal with finished lines, and rows below them that are redrawn.
pub struct Screen<'s> {
    out: &'s mut dyn Write,
    colour: bool,
    rows: usize,
    columns: usize,
    /// Number of redrawn rows above the cursor.
    above_cursor: usize,
    /// Widths of the redrawn rows down to the cursor.
    widths: Vec<usize>,
}

impl<'s> Screen<'s> {
    /// Creates a screen that writes to this stream.
    pub fn new(out: &'s mut dyn Write, colour: bool) -> Self {
        let (rows, columns) = size();
        Self { out, colour, rows, columns, above_cursor: 0, widths: Vec::new() }
    }

    /// Returns the rows and columns of the last measurement.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Measures the terminal again. A narrower terminal has wrapped the redrawn rows.
    pub fn measure(&mut self) {
        (self.rows, self.columns) = size();
        self.above_cursor = rows_above(&self.widths, self.columns).min(self.rows.saturating_sub(1));
    }

    /// Adds finished lines, and redraws the rows below them.
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

    /// Adds finished lines, and redraws rows below them without an input line; the cursor is after the last row.
    pub fn draw(&mut self, lines: &[Line], below: &[Line]) -> io::Result<()> {
        // If nothing was drawn here, the rows may belong to another program.
        let mut bytes = if self.widths.is_empty() { String::new() } else { self.erased() };
        bytes.push_str(&self.talk(lines));
        self.forget();
        let columns = self.columns.saturating_sub(1).max(1);
        let rows: Vec<String> = below.iter().map(|line| self.row(line, columns)).collect();
        bytes.push_str(&rows.join("\r\n"));
        self.above_cursor = rows.len().saturating_sub(1);
        // After a row that fills the terminal, the cursor is still in that row.
        if let Some(last) = self.widths.last_mut() {
            *last = last.saturating_sub(1);
        }
        self.write(&bytes)
    }

    /// Returns a redrawn row, cut to the width: a wrapped row would count as two when it is erased.
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

    /// Clears the screen; finished lines stay in the scrollback.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.forget();
        self.out.write_all(b"\x1b[H\x1b[2J")
    }

    /// Forgets the redrawn rows.
    fn forget(&mut self) {
        self.above_cursor = 0;
        self.widths.clear();
    }

    /// Returns the codes that erase the redrawn rows.
    fn erased(&self) -> String {
        format!("\r{}\x1b[J", moved(self.above_cursor, 'A'))
    }

    fn talk(&self, lines: &[Line]) -> String {
        lines.iter().map(|line| line.painted(self.colour) + "\r\n").collect()
    }
}

/// Returns the number of rows above the cursor after rows of these widths wrap at this many columns. The last width is
/// that of the row up to the cursor.
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

/// Returns the code that moves the cursor.
fn moved(count: usize, direction: char) -> String {
    if count == 0 { String::new() } else { format!("\x1b[{count}{direction}") }
}

/// Returns the rows and columns of the terminal.
fn size() -> (usize, usize) {
    let size = tcgetwinsize(stdout().as_fd()).ok();
    match size.map(|size| (usize::from(size.ws_row), usize::from(size.ws_col))) {
        Some((rows, columns)) if rows > 0 && columns > 0 => (rows, columns),
        _ => USUAL_SIZE,
    }
}

/// The layout of the input line.
struct Layout {
    /// The rows, none wider than the screen.
    rows: Vec<String>,
    cursor_row: usize,
    cursor_column: usize,
}

/// Lays out a text after a prompt. If there are too many rows, returns those around the cursor.
fn lay_out(prompt: &str, text: &str, cursor: usize, columns: usize, rows_max: usize) -> Layout {
    // The last column stays empty, because terminals treat it differently.
    let columns = columns.saturating_sub(1).max(CONTINUED.len() + 4);
    let mut rows = vec![prompt.to_owned()];
    let mut width = prompt.chars().filter_map(UnicodeWidthChar::width).sum::<usize>();
    let mut at = None;
    for (index, c) in text.char_indices().chain([(text.len(), '\n')]) {
        let bytes = &mut [0; 4];
        let shown = shown(c, bytes);
        let needed: usize = shown.chars().filter_map(UnicodeWidthChar::width).sum();
        if width + needed > columns {
            rows.push(CONTINUED.to_owned());
            width = CONTINUED.len();
        }
        if index == cursor {
            at = Some((rows.len() - 1, width));
        }
        if c == '\n' && index < text.len() {
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

/// Returns how a typed or pasted character is shown. Borrows if possible, because the whole text is laid out after
/// every key.
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
