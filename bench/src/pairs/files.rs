//! The sessions in a folder, read as an import reads them. Files that end in `.zst` are unpacked by the program `zstd`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Cause, Environment, FoundSession, SessionReader, locate};
use tertulia_session::Entry;

use crate::quality::data::unpack;

/// A line or a document may have this many bytes.
const BYTES_MAX: u64 = 256 << 20;

/// A session that was read.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The file, within the folder.
    pub(crate) file: String,
    pub(crate) format: NativeFormat,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
    pub(crate) entries: Vec<Entry>,
}

/// What a file is.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    Session(Session),
    /// No session of a known agent.
    Other,
    Unreadable {
        file: String,
        what: String,
    },
}

/// Goes through the files of a folder in the order of their names.
#[derive(Debug)]
pub(crate) struct Sessions {
    folder: PathBuf,
    files: std::vec::IntoIter<PathBuf>,
    /// The sessions of the file before, if it has several.
    waiting: Vec<Opened>,
    temporary: TempDir,
}

impl Sessions {
    pub(crate) fn in_folder(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        files.sort();
        let (folder, files) = (folder.to_owned(), files.into_iter());
        Ok(Self { folder, files, waiting: Vec::new(), temporary: tempfile::tempdir()? })
    }

    /// Returns all sessions in a file, the last one first.
    fn open(&self, path: &Path) -> Vec<Opened> {
        let file = path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        let environment = Environment::new(self.temporary.path(), self.temporary.path());
        let unreadable = |what: String| vec![Opened::Unreadable { file: file.clone(), what }];
        let plain = match self.plain(path) {
            Ok(plain) => plain,
            Err(error) => return unreadable(error.to_string()),
        };
        let found = match locate(&environment, &plain, None) {
            Ok(found) => found,
            Err(error) if matches!(error.cause, Cause::UnknownFormat | Cause::NoSessions) => {
                return vec![Opened::Other];
            }
            Err(error) => return unreadable(error.to_string()),
        };
        let read = found.iter().rev().map(|found| match read(&environment, found, &file) {
            Ok(session) => Opened::Session(session),
            Err(error) => Opened::Unreadable { file: file.clone(), what: error.to_string() },
        });
        read.collect()
    }

    /// Returns the file itself, or where it was unpacked.
    fn plain(&self, path: &Path) -> Result<PathBuf, Box<dyn Error>> {
        if path.extension().is_none_or(|ending| ending != "zst") {
            return Ok(path.to_owned());
        }
        let plain = self.temporary.path().join(path.file_stem().unwrap_or_default());
        fs::write(&plain, unpack(path)?)?;
        Ok(plain)
    }
}

impl Iterator for Sessions {
    type Item = Opened;

    fn next(&mut self) -> Option<Opened> {
        while self.waiting.is_empty() {
            let path = self.files.next()?;
            self.waiting = self.open(&path);
        }
        self.waiting.pop()
    }
}

fn read(
    environment: &Environment,
    found: &FoundSession,
    file: &str,
) -> Result<Session, Box<dyn Error>> {
    let mut reader = SessionReader::open(environment, found, BYTES_MAX)?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(more) = reader.next(&mut entries)? {
        bytes += more;
    }
    let (format, records, file) = (found.format, reader.records(), file.to_owned());
    Ok(Session { file, format, bytes, records, entries })
}

/// Adds the files below a folder. Those of sub-agents are read with their session.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if path.file_name().is_none_or(|name| name != "subagents") {
            collect(&path, files)?;
        }
    }
    Ok(())
}
