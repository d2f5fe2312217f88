//! Files that are named on the command line; `-` is standard input. Used by the commands that read.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::Streams;
use crate::error::CliError;

/// A longer text is not read at once.
const TEXT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What to call a file in an error.
pub(super) fn name(path: &Path) -> PathBuf {
    if path == Path::new("-") { "standard input".into() } else { path.into() }
}

/// Opens a file that is really one. What was opened is asked, not the path: that may lead elsewhere by now. A
/// pipe nobody writes to must not stop the program either.
pub(super) fn open_file(path: &Path) -> Result<File, CliError> {
    let failed = |source| CliError::ReadFile { path: path.into(), source };
    let not_blocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(not_blocking).open(path);
    let file = file.map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(CliError::NoFileToRead { path: path.into() });
    }
    Ok(file)
}

/// The text of a file.
pub(super) fn read_text(path: &Path, streams: &mut Streams<'_>) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        let mut limited = Read::take(&mut *streams.stdin, TEXT_BYTES_MAX + 1);
        limited.read_to_end(&mut bytes).map_err(CliError::Input)?;
    } else {
        let failed = |source| CliError::ReadFile { path: path.into(), source };
        let file = open_file(path)?;
        check_length(path, file.metadata().map_err(failed)?.len())?;
        file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    }
    check_length(path, bytes.len() as u64)?;
    String::from_utf8(bytes).map_err(|error| CliError::NotUtf8 {
        path: name(path),
        offset: error.utf8_error().valid_up_to() + 1,
    })
}

fn check_length(path: &Path, bytes: u64) -> Result<(), CliError> {
    match bytes > TEXT_BYTES_MAX {
        true => Err(CliError::TextTooLarge { path: name(path), bytes_max: TEXT_BYTES_MAX }),
        false => Ok(()),
    }
}

/// Something to read, and its size where that is known.
pub(crate) struct Source<'a> {
    pub(crate) reader: Box<dyn BufRead + 'a>,
    pub(crate) bytes: Option<u64>,
}

impl<'a> Source<'a> {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path, stdin: &'a mut dyn BufRead) -> Result<Self, CliError> {
        if path == Path::new("-") {
            return Ok(Self { reader: Box::new(stdin), bytes: None });
        }
        let file = open_file(path)?;
        let bytes = file.metadata().ok().map(|about| about.len());
        Ok(Self { reader: Box::new(BufReader::with_capacity(1 << 16, file)), bytes })
    }
}
