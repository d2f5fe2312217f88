//! Plain text for the `command` agent: all output is the answer. [`super::StreamParser`] calls it chunk by chunk, so
//! that text without line feeds is shown too.

use super::event::{StreamEvent, Unparsed};
use super::turn::Turn;

/// The start of a character that the next chunk may complete, and the number of invalid sequences.
#[derive(Debug, Default)]
pub(super) struct PlainText {
    /// The start of an incomplete character. At most three bytes.
    open: Vec<u8>,
    pub(super) unparsed: u64,
}

impl PlainText {
    pub(super) fn push(&mut self, mut bytes: &[u8], turn: &mut Turn) {
        while !self.open.is_empty() {
            let Some((&first, rest)) = bytes.split_first() else { return };
            self.open.push(first);
            bytes = rest;
            let open = std::mem::take(&mut self.open);
            self.take(&open, turn);
        }
        self.take(bytes, turn);
    }

    /// Ends the text. An incomplete character at the end is invalid.
    pub(super) fn finish(&mut self, turn: &mut Turn) {
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            let mut text = String::new();
            self.replace(&open, &mut text, turn);
            turn.delta(text);
        }
    }

    /// Takes whole characters, and keeps the start of an incomplete one.
    fn take(&mut self, mut bytes: &[u8], turn: &mut Turn) {
        let mut text = String::new();
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(rest) => {
                    text.push_str(rest);
                    break;
                }
                Err(error) => error,
            };
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(length) = error.error_len() else {
                self.open.extend_from_slice(rest);
                break;
            };
            let (bad, rest) = rest.split_at(length);
            self.replace(bad, &mut text, turn);
            bytes = rest;
        }
        turn.delta(text);
    }

    /// Replaces invalid bytes by U+FFFD. Only the first is reported and the others are counted, because a binary file
    /// would cause too many events.
    fn replace(&mut self, bad: &[u8], text: &mut String, turn: &mut Turn) {
        self.unparsed += 1;
        if self.unparsed == 1 {
            // Earlier text is reported first.
            turn.delta(std::mem::take(text));
            turn.events.push(StreamEvent::Unparsed { reason: Unparsed::NotUtf8, line: bad.into() });
        }
        text.push(char::REPLACEMENT_CHARACTER);
    }
}
