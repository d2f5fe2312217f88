//! Reads lines of limited length, so that one line cannot use up all memory, and reads the entries of a log, one per
//! line.

use std::io::{self, BufRead};

use tertulia_session::Entry;
use tertulia_session::record::{self, read_entry_line};

/// The default maximum length of a line: 256 MiB.
pub const LINE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Maximum size of a buffer that is kept after a line. A larger one is freed.
const BUFFER_BYTES_KEPT: usize = 1024 * 1024;

/// Reads lines one by one.
pub struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    bytes_max: u64,
    buffer: Vec<u8>,
    number: u64,
}

/// One line of the input. Numbers start at 1.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub number: u64,
    pub text: Result<&'a str, LineError>,
}

/// An error in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line was skipped.
    #[error("line {number} is longer than {bytes_max} bytes; raise --max-line-bytes or split it")]
    TooLong { number: u64, bytes_max: u64 },
    /// The number of the line and of the byte in it; both start at 1.
    #[error("line {number} is not UTF-8: byte {offset} of it is invalid; encode it as UTF-8")]
    NotUtf8 { number: u64, offset: usize },
}

/// An error in a line of a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    #[error(transparent)]
    Input(#[from] io::Error),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error(transparent)]
    Entry(#[from] record::LineError),
}

impl Line<'_> {
    /// Returns the length of its text.
    pub fn bytes(&self) -> u64 {
        self.text.as_ref().map_or(0, |text| text.len() as u64)
    }

    /// Returns the entry in this line of a log.
    pub fn entry(self) -> Result<Entry, LogError> {
        let number = usize::try_from(self.number).unwrap_or(usize::MAX);
        Ok(read_entry_line(number, self.text?)?)
    }
}

/// Reads a whole log, one entry per line.
pub fn read_log(reader: &mut dyn BufRead) -> Result<Vec<Entry>, LogError> {
    let mut lines = Lines::new(reader, LINE_BYTES_MAX);
    let mut entries = Vec::new();
    while let Some(line) = lines.next_line()? {
        entries.push(line.entry()?);
    }
    Ok(entries)
}

impl<'a> Lines<'a> {
    /// Creates a reader of lines with a limited number of bytes.
    pub fn new(reader: &'a mut dyn BufRead, bytes_max: u64) -> Self {
        Self { reader, bytes_max, buffer: Vec::new(), number: 0 }
    }

    /// Returns the next line that is not empty, without its line break. Returns `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            if self.buffer.capacity() > BUFFER_BYTES_KEPT {
                self.buffer = Vec::new();
            }
            self.buffer.clear();
            let Some(whole) = self.read_line()? else {
                return Ok(None);
            };
            self.number += 1;
            if whole && without_mark(&self.buffer, self.number).trim_ascii().is_empty() {
                continue;
            }
            // The borrow checker requires that the line is borrowed at the end of the loop.
            let number = self.number;
            let text = if whole {
                line_text(&self.buffer, number)
            } else {
                Err(LineError::TooLong { number, bytes_max: self.bytes_max })
            };
            return Ok(Some(Line { number, text }));
        }
    }

    fn read_line(&mut self) -> io::Result<Option<bool>> {
        let mut seen = false;
        let mut whole = true;
        loop {
            let chunk = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                return Ok(seen.then_some(whole));
            }
            seen = true;
            let newline = chunk.iter().position(|byte| *byte == b'\n');
            let piece = &chunk[..newline.unwrap_or(chunk.len())];
            whole &= (self.buffer.len() + piece.len()) as u64 <= self.bytes_max;
            if whole {
                self.buffer.extend_from_slice(piece);
            }
            let used = piece.len() + usize::from(newline.is_some());
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(Some(whole));
            }
        }
    }
}

fn line_text(bytes: &[u8], number: u64) -> Result<&str, LineError> {
    let text = std::str::from_utf8(without_mark(bytes, number))
        .map_err(|error| LineError::NotUtf8 { number, offset: error.valid_up_to() + 1 })?;
    Ok(text.strip_suffix('\r').unwrap_or(text))
}

/// Removes a byte order mark. Some programs begin a stream with one.
fn without_mark(mut line: &[u8], number: u64) -> &[u8] {
    while number == 1
        && let Some(rest) = line.strip_prefix("\u{feff}".as_bytes())
    {
        line = rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn read_all(input: &[u8], chunk: usize, bytes_max: u64) -> Vec<Result<String, LineError>> {
        let mut reader = BufReader::with_capacity(chunk, input);
        let mut lines = Lines::new(&mut reader, bytes_max);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push(line.text.map(str::to_owned));
        }
        all
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            input in prop::collection::vec(prop::sample::select(b"ab\n\r {\xc3\xa9".to_vec()), 0..60),
            chunk in 1usize..20,
        ) {
            prop_assert_eq!(read_all(&input, chunk, 10), read_all(&input, 1000, 10));
        }
    }

    #[test]
    fn empty_lines_are_passed_over_and_the_last_needs_no_line_break() {
        let lines = read_all(b"\na\r\n  \n\nb", 3, 10);
        assert_eq!(lines, [Ok("a".to_owned()), Ok("b".to_owned())]);
    }

    #[test]
    fn a_line_beyond_the_limit_is_named_and_the_next_is_read() {
        let lines = read_all(b"abc\nabcd\nx", 2, 3);
        let too_long = LineError::TooLong { number: 2, bytes_max: 3 };
        assert_eq!(lines, [Ok("abc".to_owned()), Err(too_long), Ok("x".to_owned())]);
    }

    #[test]
    fn a_line_that_is_not_utf8_is_named_with_the_byte() {
        let lines = read_all(b"ok\nab\xffc\n", 100, 100);
        assert_eq!(lines, [Ok("ok".to_owned()), Err(LineError::NotUtf8 { number: 2, offset: 3 })]);
    }

    #[test]
    fn a_byte_order_mark_at_the_start_is_no_text() {
        assert_eq!(read_all("\u{feff}{}".as_bytes(), 100, 100), [Ok("{}".to_owned())]);
        assert_eq!(read_all("\u{feff}\r\n{}".as_bytes(), 100, 100), [Ok("{}".to_owned())]);
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_named_with_its_line() {
        let log = "{\"id\":\"a\",\"type\":\"custom\"}\n\n{\"id\":\"b\"}\n";
        let error = read_log(&mut log.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "line 3: Entry b: type is missing; give a string");
        let first = log.lines().next().unwrap_or_default();
        assert_eq!(read_log(&mut first.as_bytes()).unwrap().len(), 1);
    }
}
