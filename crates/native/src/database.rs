//! Opens a database of an agent without creating files in its folder. SQLite would create a journal and shared memory
//! next to a database that is in use, so such a database is read from a copy.

mod copy;

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};

use crate::{Cause, NativeError};
use copy::{Copy, side_path};

pub(crate) use copy::remove_abandoned;

/// Maximum number of attempts to copy a database that changes during the copy.
const TRIES: usize = 5;

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
}

impl Database {
    /// Opens a database for reading. Copies are made in the temporary folder.
    pub(crate) fn open(path: &Path, temporary: &Path) -> Result<Self, NativeError> {
        let about = |cause: Cause| NativeError { path: path.to_owned(), cause };
        for _ in 0..TRIES {
            let before = state(path).map_err(|error| about(error.into()))?;
            let opened = match before.journal {
                None => Self::unchanging(path, None),
                Some(_) => {
                    remove_abandoned(temporary);
                    Copy::of(path, temporary)
                        .map_err(|error| about(error.into()))
                        .and_then(|copy| Self::unchanging(&copy.file(), Some(copy)))
                }
            };
            // The agent may have moved content from the journal into the database during the copy.
            if state(path).map_err(|error| about(error.into()))? == before {
                return opened.map_err(|error| NativeError { path: path.to_owned(), ..error });
            }
        }
        Err(about(Cause::Busy))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Opens a database that no program writes to. If it is a copy, its journal is read too.
    fn unchanging(path: &Path, copy: Option<Copy>) -> Result<Self, NativeError> {
        let about = |error: rusqlite::Error| NativeError::new(path, error);
        let connection = match &copy {
            Some(_) => Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE),
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(uri(path), flags)
            }
        };
        let connection = connection.map_err(about)?;
        // The first query opens the files and reads them, so it reports a file that is not a database.
        connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
            .map_err(about)?;
        // SQLite can read open files after their removal. So nothing remains if this process is killed.
        drop(copy);
        Ok(Self { connection })
    }

    /// Returns the columns of a table; empty if it does not exist.
    pub(crate) fn columns(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let mut found = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = found.query_map([table], |row| row.get(0))?;
        names.collect()
    }
}

/// Properties of the files of a database that differ after a change.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
    /// `Some(0)` if the database has a journal. `None` if all content is in the database file.
    journal: Option<u64>,
}

fn state(path: &Path) -> io::Result<FileState> {
    let file = fs::metadata(path)?;
    let journal = fs::metadata(side_path(path, "-wal")).ok().map(|wal| wal.len());
    let journal = journal.filter(|bytes| *bytes > 0);
    // A journal may grow while it is copied, because SQLite ignores an incomplete change at its end.
    let journal = journal.map(|_| 0);
    Ok(FileState { modified: file.modified().ok(), bytes: file.len(), journal })
}

/// Returns the URI that tells SQLite to take no locks and create no files.
fn uri(path: &Path) -> String {
    let mut text = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                text.push(char::from(*byte));
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text + "?immutable=1"
}
