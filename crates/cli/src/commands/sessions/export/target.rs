//! Where an export goes: standard output, or a file that only its owner can read. A file is there whole or
//! not at all, and never in the place of another one by accident.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::Streams;
use crate::args::ExportArgs;
use crate::error::CliError;
use crate::terminal::visible;

/// An export under way. Dropped before its end, it leaves no file.
pub(super) enum Target<'a> {
    Stream(&'a mut dyn Write),
    /// A terminal, which nothing that an agent wrote may steer.
    Terminal(&'a mut dyn Write),
    File(NewFile),
}

/// A file that is being written under another name.
pub(crate) struct NewFile {
    out: BufWriter<File>,
    part: PathBuf,
    path: PathBuf,
    may_replace: bool,
    is_done: bool,
}

impl<'a> Target<'a> {
    pub(super) fn open(args: &ExportArgs, streams: &'a mut Streams<'_>) -> Result<Self, CliError> {
        match args.output.as_deref().filter(|path| *path != Path::new("-")) {
            Some(path) => Ok(Self::File(NewFile::open(path, args.force)?)),
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
            Self::File(mut file) => file.finish(),
        }
    }
}

impl NewFile {
    /// Begins a file of this path.
    pub(crate) fn open(path: &Path, may_replace: bool) -> Result<Self, CliError> {
        match path.symlink_metadata() {
            Ok(_) if !may_replace => return Err(CliError::ExportExists { path: path.into() }),
            // A device or a folder is never replaced.
            Ok(about) if !about.is_file() => return Err(CliError::NotAFile { path: path.into() }),
            _ => {}
        }
        let failed = |source| CliError::WriteFile { path: path.into(), source };
        let mut part_name = path.file_name().map(ToOwned::to_owned).unwrap_or_default();
        part_name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(part_name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let out = BufWriter::with_capacity(1 << 16, file.map_err(failed)?);
        Ok(Self { out, part, path: path.into(), may_replace, is_done: false })
    }

    /// Writes one line.
    pub(crate) fn write_line(&mut self, line: &str) -> Result<(), CliError> {
        writeln!(self.out, "{line}").map_err(|error| self.failed(error))
    }

    /// Gives the file its name.
    pub(crate) fn finish(&mut self) -> Result<(), CliError> {
        self.out.flush().map_err(|error| self.failed(error))?;
        self.out.get_ref().sync_all().map_err(|error| self.failed(error))?;
        if self.may_replace {
            fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))?;
            self.is_done = true;
            return Ok(());
        }
        // Unlike a rename, a link never takes the place of a file that came meanwhile.
        match fs::hard_link(&self.part, &self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(CliError::ExportExists { path: self.path.clone() })
            }
            linked => linked.map_err(|error| self.failed(error)),
        }
    }

    fn failed(&self, source: io::Error) -> CliError {
        CliError::WriteFile { path: self.path.clone(), source }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_done {
            // Half an export must not be taken for one; after a link only the other name stays.
            let _ = fs::remove_file(&self.part);
        }
    }
}
