//! What is imported: a file that is really one, or standard input.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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

/// What was opened is asked, not the path: that may lead elsewhere by now. A pipe nobody writes to must not
/// stop the program either.
fn open_file(path: &Path) -> Result<File, CliError> {
    let failed = |source| CliError::ReadFile { path: path.into(), source };
    let not_blocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(not_blocking).open(path);
    let file = file.map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(CliError::NoFileToRead { path: path.into() });
    }
    Ok(file)
}
