//! What is imported: a file that is really one, or standard input.

use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::commands::files::open_file;
use crate::error::CliError;

/// Something to read, and its size where that is known.
pub(super) struct Source<'a> {
    pub(super) reader: Box<dyn BufRead + 'a>,
    pub(super) bytes: Option<u64>,
}

impl<'a> Source<'a> {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path, stdin: &'a mut dyn BufRead) -> Result<Self, CliError> {
        if path == Path::new("-") {
            return Ok(Self { reader: Box::new(stdin), bytes: None });
        }
        let file = open_file(path)?;
        let bytes = file.metadata().ok().map(|about| about.len());
        Ok(Self { reader: Box::new(BufReader::with_capacity(1 << 16, file)), bytes })
    }
}
