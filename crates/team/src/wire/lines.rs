//! Splits the bytes of a connection into lines. A line has a maximum length, so a connection cannot use up the memory.

use super::{LINE_BYTES_MAX, WireError};

/// The bytes of a connection that are not read yet.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// How many of the bytes contain no line break.
    searched: usize,
    /// The beginning of the first line that was not returned.
    start: usize,
}

impl LineBuffer {
    /// Adds bytes. Call [`Self::next_line`] until it returns `None` before adding more.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next whole line, without its line break; `None` if there is none yet. After an error, the connection
    /// is of no use.
    pub fn next_line(&mut self) -> Option<Result<&str, WireError>> {
        let rest = self.bytes.get(self.searched..).unwrap_or_default();
        let Some(found) = rest.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            let is_too_long = self.searched - self.start > LINE_BYTES_MAX;
            return is_too_long.then_some(Err(WireError::TooLong));
        };
        let (begin, end) = (self.start, self.searched + found);
        self.start = end + 1;
        self.searched = self.start;
        let line = self.bytes.get(begin..end).unwrap_or_default();
        if line.len() > LINE_BYTES_MAX {
            return Some(Err(WireError::TooLong));
        }
        Some(std::str::from_utf8(line).map_err(|_| WireError::NotUtf8))
    }
}
