//! Wrapping a line of prose at blanks, by columns: a wide character takes two. A word that is wider than
//! the screen is cut. Pure.

use unicode_width::UnicodeWidthChar;

use crate::style::{Line, Look};

/// The rows of a line; all but the first begin with `hanging`.
pub(crate) fn wrap(line: &Line, hanging: &str, columns: usize) -> Vec<Line> {
    let columns = columns.max(8);
    if line.width() <= columns {
        return vec![line.clone()];
    }
    let mut wrapped =
        Wrapped { rows: Vec::new(), row: Line::default(), width: 0, hanging, columns };
    for word in words(line) {
        wrapped.take(&word);
    }
    wrapped.rows.push(wrapped.row);
    wrapped.rows
}

/// Characters that stay together, with their looks, and the blanks before them.
#[derive(Default)]
struct Word {
    blanks: Vec<(char, Look)>,
    letters: Vec<(char, Look)>,
}

fn words(line: &Line) -> Vec<Word> {
    let mut words = vec![Word::default()];
    let mut was_wide = false;
    for (c, look) in line.chars() {
        let is_wide = c.width() == Some(2);
        let Some(last) = words.last_mut() else { break };
        if c == ' ' || c == '\t' {
            if last.letters.is_empty() {
                last.blanks.push((' ', look));
            } else {
                words.push(Word { blanks: vec![(' ', look)], letters: Vec::new() });
            }
        } else if !last.letters.is_empty() && was_wide && is_wide {
            // Scripts without blanks may be cut between any two of their signs.
            words.push(Word { blanks: Vec::new(), letters: vec![(c, look)] });
        } else {
            last.letters.push((c, look));
        }
        was_wide = is_wide;
    }
    words
}

struct Wrapped<'h> {
    rows: Vec<Line>,
    row: Line,
    width: usize,
    hanging: &'h str,
    columns: usize,
}

impl Wrapped<'_> {
    fn take(&mut self, word: &Word) {
        let needed = width(&word.blanks) + width(&word.letters);
        let is_first = self.rows.is_empty() && self.width == 0;
        if self.width + needed > self.columns && !word.letters.is_empty() && !is_first {
            self.next_row();
        } else {
            self.add_all(&word.blanks);
        }
        self.add_all(&word.letters);
    }

    fn add_all(&mut self, letters: &[(char, Look)]) {
        for (c, look) in letters {
            let wide = c.width().unwrap_or(0);
            if self.width + wide > self.columns {
                self.next_row();
            }
            self.row.push_again(*c, *look);
            self.width += wide;
        }
    }

    fn next_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        self.row.push(self.hanging, Look::Plain);
        self.width = self.hanging.len();
    }
}

fn width(letters: &[(char, Look)]) -> usize {
    letters.iter().map(|(c, _)| c.width().unwrap_or(0)).sum()
}
