//! Where an export goes: standard output, or a file that only its owner can read. A file is there whole or
//! not at all, and never in the place of another one by accident.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tertulia_store::{NewFile, NewFileError, Readers};

use crate::Streams;
use crate::args::ExportArgs;
use crate::error::CliError;
use crate::terminal::visible;

/// An export under way. Dropped before its end, it leaves no file.
pub(super) enum Target<'a> {
    Stream(&'a mut dyn Write),
    /// A terminal, which nothing that an agent wrote may steer.
    Terminal(&'a mut dyn Write),
    File(ExportFile),
}

/// A file with lines. Dropped before its end, it is not there.
pub(crate) struct ExportFile {
    out: BufWriter<NewFile>,
    path: PathBuf,
    may_replace: bool,
}

impl<'a> Target<'a> {
    pub(super) fn open(args: &ExportArgs, streams: &'a mut Streams<'_>) -> Result<Self, CliError> {
        match args.output.as_deref().filter(|path| *path != Path::new("-")) {
            Some(path) => Ok(Self::File(ExportFile::open(path, args.force)?)),
            None if streams.stdout_is_terminal => Ok(Self::Terminal(&mut *streams.stdout)),
            None => Ok(Self::Stream(&mut *streams.stdout)),
        }
    }

    /// Writes one line.
    pub(super) fn write_line(&mut self, line: &str) -> Result<(), CliError> {
        match self {
            Self::Stream(out) => writeln!(out, "{line}").map_err(CliError::output),
            Self::Terminal(out) => writeln!(out, "{}", visible(line)).map_err(CliError::output),
            Self::File(file) => file.write_line(line),
        }
    }

    pub(super) fn finish(self) -> Result<(), CliError> {
        match self {
            Self::Stream(_) | Self::Terminal(_) => Ok(()),
            Self::File(file) => file.finish(),
        }
    }
}

impl ExportFile {
    /// Begins a file of this path.
    pub(crate) fn open(path: &Path, may_replace: bool) -> Result<Self, CliError> {
        let begun = match path.symlink_metadata() {
            // A device or a folder is never replaced.
            Ok(about) if may_replace && !about.is_file() => {
                return Err(CliError::NotAFile { path: path.into() });
            }
            _ if may_replace => NewFile::begin_replacement(path, Readers::Owner),
            _ => NewFile::begin(path, Readers::Owner),
        };
        let out = BufWriter::with_capacity(1 << 16, begun.map_err(failed)?);
        Ok(Self { out, path: path.into(), may_replace })
    }

    /// Writes one line.
    pub(crate) fn write_line(&mut self, line: &str) -> Result<(), CliError> {
        writeln!(self.out, "{line}").map_err(|source| self.not_written(source))
    }

    /// Gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.out.flush().map_err(|source| self.not_written(source))?;
        let file = self.out.into_inner().map_err(|error| CliError::WriteFile {
            path: self.path.clone(),
            source: error.into_error(),
        })?;
        if self.may_replace { file.replace() } else { file.publish() }.map_err(failed)
    }

    fn not_written(&self, source: io::Error) -> CliError {
        CliError::WriteFile { path: self.path.clone(), source }
    }
}

fn failed(error: NewFileError) -> CliError {
    match error {
        NewFileError::Exists(path) => CliError::ExportExists { path },
        NewFileError::Io { path, source } => CliError::WriteFile { path, source },
        NewFileError::Unsupported(ref path) => {
            let path = path.clone();
            CliError::WriteFile { path, source: io::Error::other(error) }
        }
    }
}
