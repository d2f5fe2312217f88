//! The input line: text, cursor, history. Pure: takes keys and returns what to do; the caller draws it.

use super::keys::Key;

pub(crate) const HISTORY_MAX: usize = 1000;
/// Maximum length of the input.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    /// In bytes.
    cursor: usize,
    history: Vec<String>,
    /// Index of the history line that is shown; its length means the new line.
    index: usize,
    /// The new line, kept while a line of the history is shown.
    aside: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Edited,
    /// The line is complete; the next one is empty.
    Entered(String),
    Complete,
    Stop,
    Interrupt,
    Leave,
    Redraw,
    Suspend,
}

impl Editor {
    /// Creates an editor with this history, oldest line first.
    pub(crate) fn new(history: Vec<String>) -> Self {
        let index = history.len();
        Self { history, index, ..Self::default() }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    pub(crate) fn clear(&mut self) {
        self.set(String::new());
        self.index = self.history.len();
    }

    /// Replaces the text between `from` and the cursor.
    pub(crate) fn replace_from(&mut self, from: usize, text: &str) {
        let from = self.text.floor_char_boundary(from.min(self.cursor));
        self.text.replace_range(from..self.cursor, text);
        self.cursor = from + text.len();
    }

    pub(crate) fn press(&mut self, key: Key) -> Done {
        match key {
            Key::Enter => return self.enter(),
            Key::Tab => return Done::Complete,
            Key::Escape => return Done::Stop,
            Key::Control('c') => return Done::Interrupt,
            Key::Control('z') => return Done::Suspend,
            Key::Control('l') => return Done::Redraw,
            Key::Control('d') if self.text.is_empty() => return Done::Leave,
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&text),
            Key::Newline => self.insert("\n"),
            Key::Backspace | Key::Control('h') => self.remove_to(self.left()),
            Key::Delete | Key::Control('d') => {
                let right = self.right();
                self.text.replace_range(self.cursor..right, "");
            }
            Key::Left | Key::Control('b') => self.cursor = self.left(),
            Key::Right | Key::Control('f') => self.cursor = self.right(),
            Key::WordLeft => self.cursor = self.word_left(),
            Key::WordRight => self.cursor = self.word_right(),
            Key::Home | Key::Control('a') => self.cursor = self.line_start(),
            Key::End | Key::Control('e') => self.cursor = self.line_end(),
            Key::Control('k') => {
                let end = self.line_end();
                self.text.replace_range(self.cursor..end, "");
            }
            Key::Control('u') => self.remove_to(self.line_start()),
            Key::Control('w') => self.remove_to(self.word_left()),
            Key::Up | Key::Control('p') => self.older(),
            Key::Down | Key::Control('n') => self.newer(),
            Key::Control(_) => {}
        }
        Done::Edited
    }

    fn enter(&mut self) -> Done {
        // A backslash at the end continues the text on the next line.
        if self.after().is_empty() && self.text.ends_with('\\') {
            self.remove_to(self.left());
            self.insert("\n");
            return Done::Edited;
        }
        let text = std::mem::take(&mut self.text);
        self.remember(&text);
        self.clear();
        Done::Entered(text)
    }

    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.last().is_some_and(|last| last == text) {
            return;
        }
        self.history.push(text.to_owned());
        let over = self.history.len().saturating_sub(HISTORY_MAX);
        self.history.drain(..over);
    }

    fn insert(&mut self, text: &str) {
        let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
        let text = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn remove_to(&mut self, from: usize) {
        self.text.replace_range(from..self.cursor, "");
        self.cursor = from;
    }

    fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Returns the index before the character at the left, with its combining marks.
    fn left(&self) -> usize {
        let mut chars = self.before().char_indices().rev();
        chars.find(|(_, c)| !is_mark(*c)).map_or(0, |(index, _)| index)
    }

    fn right(&self) -> usize {
        let mut chars = self.after().char_indices().skip(1);
        let next = chars.find(|(_, c)| !is_mark(*c)).map(|(index, _)| index);
        self.cursor + next.unwrap_or(self.after().len())
    }

    fn word_left(&self) -> usize {
        let before = self.before().trim_end();
        let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
        before.len() - word.len()
    }

    fn word_right(&self) -> usize {
        let after = self.after();
        let word = after.trim_start();
        let end = word.find(char::is_whitespace).unwrap_or(word.len());
        self.cursor + (after.len() - word.len()) + end
    }

    fn line_start(&self) -> usize {
        self.before().rfind('\n').map_or(0, |index| index + 1)
    }

    fn line_end(&self) -> usize {
        self.cursor + self.after().find('\n').unwrap_or(self.after().len())
    }

    fn older(&mut self) {
        let Some(index) = self.index.checked_sub(1) else { return };
        if self.index >= self.history.len() {
            self.aside.clone_from(&self.text);
        }
        self.index = index;
        let text = self.history.get(index).cloned().unwrap_or_default();
        self.set(text);
    }

    fn newer(&mut self) {
        if self.index >= self.history.len() {
            return;
        }
        self.index += 1;
        let text = match self.history.get(self.index) {
            Some(text) => text.clone(),
            None => std::mem::take(&mut self.aside),
        };
        self.set(text);
    }
}

/// Returns whether a character combines with the one before it.
fn is_mark(c: char) -> bool {
    unicode_width::UnicodeWidthChar::width(c) == Some(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::Keys;

    fn typed(bytes: &str) -> Editor {
        let mut editor = Editor::default();
        for key in Keys::default().push(bytes.as_bytes()) {
            editor.press(key);
        }
        editor
    }

    #[track_caller]
    fn check(bytes: &str, text: &str, cursor: usize) {
        let editor = typed(bytes);
        assert_eq!((editor.text(), editor.cursor()), (text, cursor));
    }

    #[test]
    fn the_usual_keys_edit_the_line() {
        check("helo\x1b[Dl", "hello", 4);
        check("one two\x17", "one ", 4);
        check("one two\x1b[H\x0b", "", 0);
        check("one two\x15", "", 0);
        check("设计\x7f", "设", 3);
        check("e\u{301}x\x7f\x7f", "", 0);
        check("ab\x01\x04", "b", 0);
        check("a b\x1bb\x1bb\x1bf", "a b", 1);
    }

    #[test]
    fn a_backslash_at_the_end_makes_a_second_line() {
        check("one\\\rtwo", "one\ntwo", 7);
        check("one\x1b\rtwo\x01>", "one\n>two", 5);
    }

    #[test]
    fn the_arrows_walk_the_history_and_keep_the_new_line() {
        let mut editor = typed("one\rtwo\rtwo\rnew");
        let mut seen = Vec::new();
        for key in [Key::Up, Key::Up, Key::Up, Key::Down, Key::Down, Key::Down] {
            editor.press(key);
            seen.push(editor.text().to_owned());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "new", "new"]);
    }

    #[test]
    fn an_entered_line_is_handed_over_and_the_next_is_empty() {
        let mut editor = typed("hello");
        assert_eq!(editor.press(Key::Enter), Done::Entered("hello".to_owned()));
        assert_eq!(editor.text(), "");
        assert_eq!(editor.press(Key::Control('d')), Done::Leave);
    }

    proptest! {
        #[test]
        fn no_keys_lead_out_of_the_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut editor = Editor::new(vec!["安e\u{301} old\nlines".to_owned()]);
            for key in Keys::default().push(&bytes) {
                editor.press(key);
                prop_assert!(editor.text().is_char_boundary(editor.cursor()));
            }
        }
    }
}
