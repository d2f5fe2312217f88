//! Where an export goes: standard output, or a file.

use std::io::Write;
use std::path::Path;

use tertulia_chat::terminal::visible;
use tertulia_operations::export_file::ExportFile;

use crate::Streams;
use crate::args::ExportArgs;
use crate::error::CliError;

/// An export under way. Dropped before its end, it leaves no file.
pub(super) enum Target<'a> {
    Stream(&'a mut dyn Write),
    /// A terminal, which nothing that an agent wrote may steer.
    Terminal(&'a mut dyn Write),
    File(ExportFile),
}

impl<'a> Target<'a> {
    pub(super) fn open(args: &ExportArgs, streams: &'a mut Streams<'_>) -> Result<Self, CliError> {
        match args.output.as_deref().filter(|path| *path != Path::new("-")) {
            Some(path) => Ok(Self::File(ExportFile::open(path, args.force)?)),
            None if streams.stdout_is_terminal => Ok(Self::Terminal(&mut *streams.stdout)),
            None => Ok(Self::Stream(&mut *streams.stdout)),
        }
    }

    pub(super) fn write_line(&mut self, line: &str) -> Result<(), CliError> {
        match self {
            Self::Stream(out) => writeln!(out, "{line}").map_err(CliError::output),
            Self::Terminal(out) => writeln!(out, "{}", visible(line)).map_err(CliError::output),
            Self::File(file) => Ok(file.write_line(line)?),
        }
    }

    pub(super) fn finish(self) -> Result<(), CliError> {
        match self {
            Self::Stream(_) | Self::Terminal(_) => Ok(()),
            Self::File(file) => Ok(file.finish()?),
        }
    }
}
