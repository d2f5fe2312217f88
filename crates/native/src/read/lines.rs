//! Reads the lines that a file has when it is opened. Lines that its agent adds later are not read. Keeps one line in
//! memory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{CHUNK, open};
use crate::{Cause, NativeError};

/// Maximum size of a buffer that is kept after a line. A larger one is freed.
const BUFFER_KEPT: usize = 4 * CHUNK;

/// A file that is read line by line.
#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    file: Option<File>,
    /// Number of bytes that are not read yet, of those that the file had when it was opened.
    left: u64,
    read: u64,
    bytes_max: u64,
    buffer: Vec<u8>,
    /// The range of the buffer that belongs to no line yet.
    waiting: Range<usize>,
    number: u64,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    range: Range<usize>,
    pub(super) end: &'static str,
    /// The number of the line, from 1.
    pub(super) number: u64,
}

impl LineFile {
    pub(super) fn open(path: &Path, bytes_max: u64) -> Result<Self, NativeError> {
        let file = open(path)?;
        let left = file.metadata().map_err(|error| NativeError::new(path, error))?.len();
        let (path, file) = (path.to_owned(), Some(file));
        Ok(Self { path, file, left, bytes_max, ..Self::empty() })
    }

    /// Returns a file without lines.
    pub(super) fn empty() -> Self {
        let (path, file, buffer) = (PathBuf::new(), None, Vec::new());
        Self { path, file, left: 0, read: 0, bytes_max: 0, buffer, waiting: 0..0, number: 0 }
    }

    /// Returns the bytes of the line that was read last.
    pub(super) fn bytes(&self, line: &Line) -> &[u8] {
        self.buffer.get(line.range.clone()).unwrap_or_default()
    }

    /// Reads the next line. Returns `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line>, NativeError> {
        let mut searched = self.waiting.start;
        loop {
            let new = self.buffer.get(searched..self.waiting.end).unwrap_or_default();
            if let Some(at) = memchr::memchr(b'\n', new) {
                let start = self.waiting.start;
                let newline = searched + at;
                self.waiting.start = newline + 1;
                let line = self.buffer.get(start..newline).unwrap_or_default();
                let (stop, end) = match line.last() {
                    Some(b'\r') => (newline - 1, "\r\n"),
                    _ => (newline, "\n"),
                };
                return Ok(Some(self.line(start..stop, end)));
            }
            searched = self.waiting.end;
            if self.left == 0 {
                let rest = self.waiting.clone();
                self.waiting.start = self.waiting.end;
                return Ok((!rest.is_empty()).then(|| self.line(rest, "")));
            }
            let moved = self.waiting.start;
            self.fill()?;
            searched -= moved;
        }
    }

    fn line(&mut self, range: Range<usize>, end: &'static str) -> Line {
        self.number += 1;
        Line { range, end, number: self.number }
    }

    /// Reads more bytes after the waiting ones, which move to the start of the buffer.
    fn fill(&mut self) -> Result<(), NativeError> {
        let about = |cause: Cause| NativeError { path: self.path.clone(), cause };
        self.buffer.copy_within(self.waiting.clone(), 0);
        self.waiting = 0..self.waiting.len();
        let waiting = self.waiting.end;
        if waiting as u64 > self.bytes_max {
            let (line, bytes_max) = (self.number + 1, self.bytes_max);
            return Err(about(Cause::LineTooLong { line, bytes_max }));
        }
        if self.buffer.len() > BUFFER_KEPT && waiting < CHUNK {
            self.buffer.truncate(CHUNK);
            self.buffer.shrink_to_fit();
        }
        if waiting == self.buffer.len() {
            self.buffer.resize((2 * waiting).max(CHUNK), 0);
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        let room = self.buffer.get_mut(waiting..).unwrap_or_default();
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(room.len());
        let room = room.get_mut(..wanted).unwrap_or_default();
        let count = loop {
            match file.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.map_err(|error| about(error.into()))?,
            }
        };
        if count == 0 {
            return Err(about(Cause::Truncated { bytes: self.read }));
        }
        self.read += count as u64;
        self.left -= count as u64;
        self.waiting.end += count;
        Ok(())
    }
}
