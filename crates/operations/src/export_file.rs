//! The file of an export. Only its owner can read it, it appears only when it is complete, and it replaces a file
//! only on request.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tertulia_store::{NewFile, NewFileError, Readers};

/// A file of lines. Nothing remains of it if it is dropped before [`Self::finish`].
pub struct ExportFile {
    out: BufWriter<NewFile>,
    path: PathBuf,
    may_replace: bool,
}

/// An error while writing an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    #[error("{} already exists; name another file", .path.display())]
    Exists { path: PathBuf },
    /// The path is a folder, a pipe or a device, which is never replaced.
    #[error("{} is not a file; name a file", .path.display())]
    NotAFile { path: PathBuf },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl ExportFile {
    /// Creates a file that will get this path.
    pub fn open(path: &Path, may_replace: bool) -> Result<Self, ExportError> {
        let begun = match path.symlink_metadata() {
            Ok(about) if may_replace && !about.is_file() => {
                return Err(ExportError::NotAFile { path: path.into() });
            }
            _ if may_replace => NewFile::begin_replacement(path, Readers::Owner),
            _ => NewFile::begin(path, Readers::Owner),
        };
        let out = BufWriter::with_capacity(1 << 16, begun.map_err(|error| failed(path, error))?);
        Ok(Self { out, path: path.into(), may_replace })
    }

    /// Writes a text unchanged.
    pub fn write(&mut self, text: &str) -> Result<(), ExportError> {
        self.out.write_all(text.as_bytes()).map_err(|source| self.not_written(source))
    }

    /// Writes one line.
    pub fn write_line(&mut self, line: &str) -> Result<(), ExportError> {
        writeln!(self.out, "{line}").map_err(|source| self.not_written(source))
    }

    /// Completes the file under its path.
    pub fn finish(mut self) -> Result<(), ExportError> {
        self.out.flush().map_err(|source| self.not_written(source))?;
        let file = self.out.into_inner().map_err(|error| ExportError::Write {
            path: self.path.clone(),
            source: error.into_error(),
        })?;
        let named = if self.may_replace { file.replace() } else { file.publish() };
        named.map_err(|error| failed(&self.path, error))
    }

    fn not_written(&self, source: io::Error) -> ExportError {
        ExportError::Write { path: self.path.clone(), source }
    }
}

fn failed(path: &Path, error: NewFileError) -> ExportError {
    match error {
        NewFileError::Exists(path) => ExportError::Exists { path },
        NewFileError::Io { path, source } => ExportError::Write { path, source },
        other => ExportError::Write { path: path.into(), source: io::Error::other(other) },
    }
}
