//! Saves a session that was written for an agent, as a new file or as lines at the end of an existing one. An
//! existing file is never replaced. A file that changed after it was imported or written is not touched.

#![expect(clippy::disallowed_methods, reason = "it writes files")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tertulia_native::{NativeError, prefix_hash};
use tertulia_session::Entry;
use tertulia_store::{NewFile, NewFileError, Readers};

use super::links::{Link, bytes_of};

/// A saved session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    pub path: PathBuf,
    /// The size of the whole file.
    pub bytes: u64,
    /// The BLAKE3 hash of the whole file in hex.
    pub hash: String,
}

/// The reason why a session was not saved. The files are unchanged, unless the error says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    #[error("{} already exists and was not changed; use --new to write another session", .0.display())]
    Exists(PathBuf),
    #[error(
        "{} changed since it was last imported or written; import what is new with `tertulia sessions import \
         {}`, then try again, or use --new to write another session", .path.display(), .path.display()
    )]
    Changed { path: PathBuf },
    #[error("{} does not exist any more; use --new to write another session", .0.display())]
    Missing(PathBuf),
    #[error(
        "{} changed while Tertulia wrote to it, so its last lines may be mixed. Check the file, then \
         use --new to write another session", .0.display()
    )]
    Raced(PathBuf),
    #[error("{} keeps changing; try again when its agent is idle", .0.display())]
    ListChanged(PathBuf),
    #[error(
        "{} is locked by Gemini CLI; try again, or remove the folder {} if Gemini CLI is not running",
        .path.display(), .lock.display()
    )]
    Locked { path: PathBuf, lock: PathBuf },
    #[error("cannot write {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Native(#[from] NativeError),
}

impl From<NewFileError> for SaveError {
    fn from(error: NewFileError) -> Self {
        match error {
            NewFileError::Exists(path) => Self::Exists(path),
            NewFileError::Io { path, source } => Self::Io { path, source },
            other => Self::Io { path: PathBuf::new(), source: io::Error::other(other) },
        }
    }
}

/// Writes a new file, and creates the folders above it. Only the user can read the file.
pub fn create(path: &Path, text: &[u8]) -> Result<Saved, SaveError> {
    let saved = write_new(path, text, None)?;
    saved.ok_or_else(|| SaveError::Raced(path.to_owned()))
}

/// Writes a new file. Returns `None` if the text does not have this hash.
fn write_new(path: &Path, text: &[u8], hash: Option<&str>) -> Result<Option<Saved>, SaveError> {
    let failed = |source| SaveError::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file = NewFile::begin(path, Readers::Owner)?;
    file.write_all(text).map_err(failed)?;
    let written = saved(file.part(), text.len() as u64)?;
    if hash.is_some_and(|hash| *written.hash != *hash) {
        return Ok(None);
    }
    file.publish()?;
    Ok(Some(Saved { path: path.to_owned(), ..written }))
}

/// Restores a session that its agent has deleted, byte for byte as it was imported. Returns `None` if the log does
/// not contain all of it.
pub fn restore(entries: &[Entry], link: &Link) -> Result<Option<Saved>, SaveError> {
    let Some(path) = link.path.as_deref().map(Path::new) else { return Ok(None) };
    let Some(bytes) = bytes_of(entries, link) else { return Ok(None) };
    write_new(path, &bytes, Some(&link.hash))
}

/// Undoes a save, if no program has written to the file since. Removes a new file, or the lines after those that the
/// link counts.
pub fn undo(saved: &Saved, continued: Option<&Link>) -> Result<(), SaveError> {
    let failed = |source| SaveError::Io { path: saved.path.clone(), source };
    let file = OpenOptions::new().write(true).open(&saved.path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() != saved.bytes {
        return Err(SaveError::Raced(saved.path.clone()));
    }
    match continued {
        Some(link) => file.set_len(link.bytes).map_err(failed),
        None => fs::remove_file(&saved.path).map_err(failed),
    }
}

/// Appends lines to a file. Fails if the file differs from the link.
pub fn append(path: &Path, link: &Link, text: &str) -> Result<Saved, SaveError> {
    let failed = |source| SaveError::Io { path: path.to_owned(), source };
    let opened = OpenOptions::new().read(true).append(true).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SaveError::Missing(path.to_owned()));
        }
        opened => opened.map_err(failed)?,
    };
    let bytes = file.metadata().map_err(failed)?.len();
    let is_as_known = prefix_hash(path, link.bytes)?.as_deref() == Some(&*link.hash);
    if !is_as_known || !is_line_break(&mut file, link.bytes, bytes).map_err(failed)? {
        return Err(SaveError::Changed { path: path.to_owned() });
    }
    let break_before =
        if bytes > 0 && !ends_in_line(&mut file).map_err(failed)? { "\n" } else { "" };
    let added = format!("{break_before}{text}");
    // One call, so that no other program can write a line between two of ours.
    if let Err(error) = file.write_all(added.as_bytes()).and_then(|()| file.sync_all()) {
        // An incomplete record would be worse than none.
        file.set_len(bytes).map_err(failed)?;
        return Err(failed(error));
    }
    let expected = bytes + added.len() as u64;
    if file.metadata().map_err(failed)?.len() != expected {
        return Err(SaveError::Raced(path.to_owned()));
    }
    saved(path, expected)
}

fn saved(path: &Path, bytes: u64) -> Result<Saved, SaveError> {
    let hash = prefix_hash(path, bytes)?.ok_or_else(|| SaveError::Raced(path.to_owned()))?;
    Ok(Saved { path: path.to_owned(), bytes, hash })
}

/// Whether a file has nothing between these places, or only the line break that its last line did not have yet.
fn is_line_break(file: &mut File, from: u64, to: u64) -> io::Result<bool> {
    if to.saturating_sub(from) > 2 {
        return Ok(false);
    }
    let mut rest = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(2).read_to_end(&mut rest)?;
    Ok(matches!(rest.as_slice(), b"" | b"\n" | b"\r\n"))
}

pub(super) fn ends_in_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tertulia_dialect::native::NativeFormat;
    use tertulia_session::NativeDirection;

    fn link(saved: &Saved) -> Link {
        Link {
            entry: "n1".into(),
            format: NativeFormat::Claude,
            native_session_id: "0a1b".into(),
            direction: NativeDirection::Written,
            path: Some(saved.path.display().to_string().into()),
            records: 1,
            bytes: saved.bytes,
            hash: saved.hash.as_str().into(),
            last_record_id: None,
            anchor: "n0".into(),
            timestamp: None,
            written: Vec::new(),
        }
    }

    #[test]
    fn a_file_that_exists_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/session.jsonl");
        create(&path, b"{}\n").unwrap();
        assert!(matches!(create(&path, b"[]\n"), Err(SaveError::Exists(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
    }

    #[test]
    fn lines_are_added_to_a_file_that_is_as_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let first = create(&path, b"{}").unwrap();
        let second = append(&path, &link(&first), "[]\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n[]\n");
        let third = append(&path, &link(&second), "1\n").unwrap();
        assert_eq!((third.bytes, fs::read_to_string(&path).unwrap().len()), (8, 8));
    }

    /// An agent may write a record and its line break in two steps, with an import between them.
    #[test]
    fn lines_are_added_after_a_line_break_that_was_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let first = create(&path, b"{}").unwrap();
        for end in ["\n", "\r\n"] {
            fs::write(&path, format!("{{}}{end}")).unwrap();
            append(&path, &link(&first), "[]\n").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{{}}{end}[]\n"));
        }
        fs::write(&path, "{}\n\n").unwrap();
        assert!(matches!(append(&path, &link(&first), "[]\n"), Err(SaveError::Changed { .. })));
    }

    #[test]
    fn a_file_that_grew_or_is_gone_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let first = create(&path, b"{}\n").unwrap();
        fs::write(&path, "{}\n{}\n").unwrap();
        let refused = append(&path, &link(&first), "[]\n").unwrap_err();
        assert!(refused.to_string().contains("changed since it was last imported"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n{}\n");
        fs::remove_file(&path).unwrap();
        assert!(matches!(append(&path, &link(&first), "[]\n"), Err(SaveError::Missing(_))));
        assert!(!path.exists());
    }
}
