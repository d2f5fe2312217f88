//! A log as JSON lines: one entry per line. Fed line by line by whoever holds the file; knows no files
//! itself.

use super::{EntryReadError, read_entry};
use crate::Entry;
use crate::json::{self, SyntaxError};

/// Reads the lines of a log, and counts them so that an error can name its line.
///
/// ```
/// use tertulia_session::record::EntryLines;
///
/// let log = "{\"id\":\"a\",\"type\":\"custom\"}\n\n{\"id\":\"b\"}\n";
/// let mut lines = EntryLines::new();
/// let read: Vec<_> = log.lines().map(|line| lines.read(line)).collect();
/// assert!(matches!(&read[0], Ok(Some(entry)) if entry.id.as_str() == "a"));
/// assert!(matches!(read[1], Ok(None)));
/// let error = read[2].as_ref().unwrap_err().to_string();
/// assert_eq!(error, "line 3: Entry b: type is missing; give a string");
/// ```
#[derive(Clone, Debug, Default)]
pub struct EntryLines {
    line: usize,
}

/// A line that is not an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}{cause}")]
pub struct LineError {
    /// The line, from 1.
    pub line: usize,
    #[source]
    pub cause: LineProblem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineProblem {
    /// It is not JSON. The last line of a log whose writer was killed may be cut short.
    #[error(", column {column}: invalid JSON: {reason}; fix or remove the line", column = .0.column, reason = .0.reason)]
    Syntax(#[source] SyntaxError),
    #[error(": {0}")]
    Entry(#[source] EntryReadError),
}

impl EntryLines {
    /// Before the first line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next line, with or without its line break; a blank line is none. After an error the
    /// next line can be read.
    pub fn read(&mut self, line: &str) -> Result<Option<Entry>, LineError> {
        self.line += 1;
        // Some editors put a byte order mark before the first line.
        let text = if self.line == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        read_entry_line(self.line, text).map(Some)
    }
}

/// Reads one line of a log, for whoever counts lines themselves.
pub fn read_entry_line(line: usize, text: &str) -> Result<Entry, LineError> {
    let entry = match json::parse(text) {
        Ok(raw) => read_entry(raw).map_err(LineProblem::Entry),
        Err(error) => Err(LineProblem::Syntax(error)),
    };
    entry.map_err(|cause| LineError { line, cause })
}
