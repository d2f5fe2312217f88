//! Connections to the file, all opened alike, and SQLite's errors in our words.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, FileControl, MAIN_DB, OpenFlags};

use crate::new_file::beside;
use crate::{Outcome, Problem, SessionId, StoreError};

/// The first version without the fault that damages files in WAL mode when a checkpoint meets a
/// writer.
const SQLITE_MIN: i32 = 3_051_003;
/// How long a writer waits for another process.
pub(super) const BUSY_SECONDS: u64 = 10;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Reading,
    Writing,
}

/// Opens a file that was checked before.
pub(super) fn open(path: &Path, purpose: Purpose) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| cannot_open(path, &error);
    if rusqlite::version_number() < SQLITE_MIN {
        let version = rusqlite::version();
        let reason = format!("SQLite {version} can damage it; use 3.51.3 or later");
        return Err(not_a_store(path, reason));
    }
    if purpose == Purpose::Reading && is_frozen(path) {
        return open_frozen(path);
    }
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    if purpose == Purpose::Writing && connection.is_readonly("main").map_err(failed)? {
        // SQLite falls back to reading without a word.
        let problem = Problem::ReadOnly(path.display().to_string());
        let outcome = Outcome::NotStored;
        return Err(StoreError::SessionWriteFailed { session: None, outcome, problem });
    }
    wait_when_busy(&mut connection).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(32);
    // A file may come from anywhere: nothing in it is run, and its pages are looked at with care.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(failed)?;
    // A plan does not follow from the values, so nothing is prepared a second time for them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    // Making the journal and taking it away again is most of what a short command costs. It stays, and is
    // emptied by whoever leaves last.
    connection.file_control(Some(MAIN_DB), FileControl::PersistWal(&mut 1)).map_err(failed)?;
    let settings = match purpose {
        Purpose::Reading => {
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON; \
             PRAGMA journal_size_limit = 16777216;"
        }
        // FULL: every commit is synced. Checkpoints are ours, so that their errors are heard.
        Purpose::Writing => {
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA synchronous = FULL; \
             PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON; \
             PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -16384;"
        }
    };
    connection.execute_batch(settings).map_err(failed)?;
    Ok(connection)
}

/// Runs a pragma that does something, to its end: an error may come after its row. Gives the first
/// value of that row as text.
pub(super) fn run_pragma(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut answer = String::new();
    while let Some(row) = rows.next()? {
        answer = match row.get_ref(0)? {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Integer(number) => number.to_string(),
            _ => String::new(),
        };
    }
    Ok(answer)
}

/// Whether nobody can write beside the file, so that SQLite finds no place for what readers share. A
/// journal that lies there already is enough for reading.
fn is_frozen(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new("."));
    let closed = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err();
    closed && !journal_of(path).exists()
}

/// Whether nothing lies beside the file that is not in it yet.
pub(super) fn is_journal_empty(path: &Path) -> bool {
    match std::fs::metadata(journal_of(path)) {
        Ok(journal) => journal.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Whether nothing lies beside the file that a program which reads it would have to take in first.
pub(super) fn is_settled(path: &Path) -> bool {
    is_journal_empty(path)
        && std::fs::metadata(beside(path, "-journal")).map_or(0, |about| about.len()) == 0
}

/// The journal of a file.
pub(super) fn journal_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// Opens a file that nobody changes meanwhile, because nobody can.
pub(super) fn open_frozen(path: &Path) -> Result<Connection, StoreError> {
    frozen(path).map_err(|error| cannot_open(path, &error))
}

fn frozen(path: &Path) -> rusqlite::Result<Connection> {
    let mut name = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                name.push(char::from(*byte));
            }
            other => name.push_str(&format!("%{other:02x}")),
        }
    }
    name.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")?;
    Ok(connection)
}

/// Has a connection wait for other processes.
pub(super) fn wait_when_busy(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait_for_others))
}

/// Another process writes: short naps, so that turns change quickly. Says whether to go on waiting.
fn wait_for_others(times: i32) -> bool {
    const NAP: Duration = Duration::from_millis(1);
    thread::sleep(NAP);
    u64::try_from(times).is_ok_and(|times| times < BUSY_SECONDS * 900)
}

/// The file cannot be opened, or is not what it should be.
pub(super) fn cannot_open(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::SessionReadFailed { session: None, problem: problem(path, error) }
}

pub(super) fn not_a_store(path: &Path, reason: String) -> StoreError {
    let problem = Problem::NotAStore { place: path.display().to_string(), reason };
    StoreError::SessionReadFailed { session: None, problem }
}

/// What SQLite said, as a problem with its cure.
pub(super) fn problem(path: &Path, error: &rusqlite::Error) -> Problem {
    let place = || path.display().to_string();
    if is_busy(error) {
        return Problem::Busy { seconds: BUSY_SECONDS };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Problem::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Problem::ReadOnly(place()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Problem::NotAStore { place: place(), reason: error.to_string() }
        }
        Some(ErrorCode::SystemIoFailure) => {
            Problem::Disk { place: place(), reason: error.to_string() }
        }
        Some(ErrorCode::CannotOpen) => {
            let reason = format!("cannot be opened: {error}; is its folder writable?");
            Problem::BadPlace { path: path.to_owned(), reason }
        }
        _ => Problem::Database(error.to_string()),
    }
}

/// Whether the disk itself reported an error, after which nobody knows what it holds.
pub(super) fn is_disk_error(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Whether another process stands in the way.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Something of a session cannot be read.
pub(super) fn unreadable(path: &Path, session: &SessionId, error: &rusqlite::Error) -> StoreError {
    StoreError::unreadable(session, problem(path, error))
}
