//! The screen of a run: lines that stay, and below them a few rows that are drawn anew. The terminal keeps its
//! mode, so that Ctrl-C and the scroll bar work as everywhere.

use std::io;

use tertulia_chat::terminal::excerpt;
use tertulia_chat::{Line, Look, screen_size};

use crate::Streams;

pub(super) struct Canvas<'a, 's> {
    streams: &'a mut Streams<'s>,
    /// How wide the rows are that lie below and will be drawn anew.
    widths: Vec<usize>,
    below: Vec<Line>,
    /// Empty lines at the end, which are shown when something follows.
    blanks: usize,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
}

impl<'a, 's> Canvas<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>) -> Self {
        Self { streams, widths: Vec::new(), below: Vec::new(), blanks: 0, failed: None }
    }

    pub(super) fn columns(&self) -> usize {
        screen_size().1
    }

    /// Adds lines that stay, and draws anew what lies below them.
    pub(super) fn draw(&mut self, mut lines: Vec<Line>, below: Vec<Line>) {
        if self.failed.is_some() || (lines.is_empty() && below == self.below) {
            return;
        }
        let columns = self.columns();
        let colour = self.streams.stdout_has_colour;
        let mut text = self.erased(columns);
        let is_blank = |line: &Line| line.width() == 0;
        let behind = lines.iter().rev().take_while(|line| is_blank(line)).count();
        lines.truncate(lines.len() - behind);
        if !lines.is_empty() {
            text.push_str(&"\r\n".repeat(std::mem::take(&mut self.blanks)));
        }
        self.blanks += behind;
        for line in &lines {
            text.push_str(&line.painted(colour));
            text.push_str("\r\n");
        }
        self.widths.clear();
        for (place, line) in below.iter().enumerate() {
            // A row that the terminal breaks would be two when it is erased.
            let room = columns.saturating_sub(1).max(1);
            let cut =
                (line.width() > room).then(|| Line::new(&excerpt(&line.text(), room), Look::Dim));
            let line = cut.as_ref().unwrap_or(line);
            text.push_str(if place == 0 { "" } else { "\r\n" });
            text.push_str(&line.painted(colour));
            self.widths.push(line.width());
        }
        self.below = below;
        let out = &mut self.streams.stdout;
        self.failed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).err();
    }

    /// What lies below is taken away. The cursor stands at the end of its last row; where the screen has become
    /// narrow, the terminal has broken the rows.
    fn erased(&self, columns: usize) -> String {
        let Some((last, before)) = self.widths.split_last() else { return String::new() };
        let columns = columns.max(1);
        let rows = before.iter().map(|width| width.div_ceil(columns).max(1)).sum::<usize>();
        match rows + last.saturating_sub(1) / columns {
            0 => "\r\x1b[J".to_owned(),
            above => format!("\r\x1b[{above}A\x1b[J"),
        }
    }

    pub(super) fn failure(&mut self) -> io::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}
