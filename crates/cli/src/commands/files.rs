//! Reads files named on the command line; `-` is standard input.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::Streams;
use crate::error::{CliError, Result};

const TEXT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Returns the name of a file in an error.
pub(super) fn name(path: &Path) -> PathBuf {
    if path == Path::new("-") { "standard input".into() } else { path.into() }
}

/// Opens a regular file. Checks the opened file, because the path may change meanwhile. Does not block on a pipe without
/// a writer.
pub(super) fn open_file(path: &Path) -> Result<File> {
    let failed = |source| CliError::ReadFile { path: path.into(), source };
    let not_blocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(not_blocking).open(path);
    let file = file.map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        let problem = "is not a file; name a file, or - for standard input".to_owned();
        return Err(CliError::UnfitFile { path: path.into(), problem });
    }
    Ok(file)
}

pub(super) fn read_text(path: &Path, streams: &mut Streams<'_>) -> Result<String> {
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
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to() + 1;
        let problem = format!("is not UTF-8: byte {offset} is invalid; convert it first");
        CliError::UnfitFile { path: name(path), problem }
    })
}

fn check_length(path: &Path, bytes: u64) -> Result {
    if bytes <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let problem = format!("is longer than {} MiB; name a shorter file", TEXT_BYTES_MAX >> 20);
    Err(CliError::UnfitFile { path: name(path), problem })
}

/// A reader, and its size if known.
pub(crate) struct Source<'a> {
    pub(crate) reader: Box<dyn BufRead + 'a>,
    pub(crate) bytes: Option<u64>,
}

impl<'a> Source<'a> {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(path: &Path, stdin: &'a mut dyn BufRead) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self { reader: Box::new(stdin), bytes: None });
        }
        let file = open_file(path)?;
        let bytes = file.metadata().ok().map(|about| about.len());
        Ok(Self { reader: Box::new(BufReader::with_capacity(1 << 16, file)), bytes })
    }
}
