//! The stores for comparison: SQLite in its usual form, with one connection and one transaction per append, and a
//! plain file whose appends are synced in groups.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

use rusqlite::{Connection, params};

/// SQLite with every commit synced.
pub(crate) fn plain_sqlite(file: &Path) -> Result<Connection, Box<dyn Error>> {
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 60000;
         CREATE TABLE IF NOT EXISTS entry (
            number INTEGER PRIMARY KEY, session TEXT NOT NULL, record BLOB NOT NULL
         );",
    )?;
    Ok(connection)
}

pub(crate) fn insert(connection: &Connection, record: &[u8]) -> Result<(), Box<dyn Error>> {
    let sql = "INSERT INTO entry (session, record) VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute(params!["talk", record])?;
    Ok(())
}

/// A file to which many threads append; the first one syncs for all that wait.
pub(crate) struct GroupedFile {
    file: File,
    state: Mutex<Waiting>,
    synced: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The numbers of the current group and of the last synced one.
    group: u64,
    done: u64,
    is_syncing: bool,
}

impl GroupedFile {
    pub(crate) fn new(path: &Path) -> Result<Self, Box<dyn Error>> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let state = Mutex::new(Waiting { group: 1, ..Waiting::default() });
        Ok(Self { file, state, synced: Condvar::new() })
    }

    /// Returns once the record is on disk.
    pub(crate) fn append(&self, record: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes.extend_from_slice(record);
        let mine = state.group;
        loop {
            if state.done >= mine {
                return Ok(());
            }
            if !state.is_syncing {
                break;
            }
            state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_syncing = true;
        let bytes = std::mem::take(&mut state.bytes);
        let group = state.group;
        state.group += 1;
        drop(state);
        (&self.file).write_all(&bytes)?;
        self.file.sync_data()?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done = group;
        state.is_syncing = false;
        drop(state);
        self.synced.notify_all();
        Ok(())
    }
}
