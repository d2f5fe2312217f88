//! Opens connections to the file, all with the same settings, and converts SQLite's errors.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, FileControl, MAIN_DB, OpenFlags};

use crate::new_file::with_suffix;
use crate::{Outcome, Problem, SessionId, StoreError};

/// The first version of SQLite without a bug that damages files in WAL mode if a checkpoint runs while another
/// process writes.
const SQLITE_MIN: i32 = 3_051_003;
/// How long a writer waits for another process.
pub(super) const BUSY_SECONDS: u64 = 10;

/// The purpose of a connection.
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
    if purpose == Purpose::Reading && is_folder_read_only(path) {
        return open_immutable(path);
    }
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    if purpose == Purpose::Writing && connection.is_readonly("main").map_err(failed)? {
        // Without this check, SQLite silently falls back to read-only mode.
        let problem = Problem::ReadOnly(path.display().to_string());
        let outcome = Outcome::NotStored;
        return Err(StoreError::SessionWriteFailed { session: None, outcome, problem });
    }
    wait_when_busy(&mut connection).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(32);
    // A file may come from anywhere. So nothing in it is executed, and its pages are checked.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(failed)?;
    // Query plans do not depend on the values, so no statement is prepared again for them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    // Creating and removing the journal would be the main cost of a short command. So the journal is kept, and the
    // last process to close the file empties it.
    connection.file_control(Some(MAIN_DB), FileControl::PersistWal(&mut 1)).map_err(failed)?;
    let settings = match purpose {
        Purpose::Reading => {
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON; \
             PRAGMA journal_size_limit = 16777216;"
        }
        // FULL syncs every commit. Checkpoints are run explicitly, so that their errors are noticed.
        Purpose::Writing => {
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA synchronous = FULL; \
             PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON; \
             PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -16384;"
        }
    };
    connection.execute_batch(settings).map_err(failed)?;
    Ok(connection)
}

/// Runs a pragma with side effects to its end, because an error may come after its row. Returns the first value of
/// that row as text.
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

/// Returns whether no process can write next to the file. In that case SQLite cannot create the files that readers
/// share. An existing journal is enough for reading.
fn is_folder_read_only(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new("."));
    let closed = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err();
    closed && !journal_of(path).exists()
}

/// Returns whether the journal contains nothing that is missing in the file.
pub(super) fn is_journal_empty(path: &Path) -> bool {
    match std::fs::metadata(journal_of(path)) {
        Ok(journal) => journal.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Returns whether the file can be read without applying a journal first.
pub(super) fn is_readable_without_journal(path: &Path) -> bool {
    is_journal_empty(path)
        && std::fs::metadata(with_suffix(path, "-journal")).map_or(0, |about| about.len()) == 0
}

/// Returns the path of the journal.
pub(super) fn journal_of(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

/// Opens a file that cannot change while it is open.
pub(super) fn open_immutable(path: &Path) -> Result<Connection, StoreError> {
    open_immutable_uri(path).map_err(|error| cannot_open(path, &error))
}

fn open_immutable_uri(path: &Path) -> rusqlite::Result<Connection> {
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

/// Makes a connection wait for other processes.
pub(super) fn wait_when_busy(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait_for_others))
}

/// Called while another process writes. Sleeps briefly, so that writers alternate quickly. Returns whether to
/// continue waiting.
fn wait_for_others(times: i32) -> bool {
    const RETRY_PAUSE: Duration = Duration::from_millis(1);
    thread::sleep(RETRY_PAUSE);
    u64::try_from(times).is_ok_and(|times| times < BUSY_SECONDS * 900)
}

/// Creates the error of a file that cannot be opened or is not a store.
pub(super) fn cannot_open(path: &Path, error: &rusqlite::Error) -> StoreError {
    StoreError::SessionReadFailed { session: None, problem: problem(path, error) }
}

pub(super) fn not_a_store(path: &Path, reason: String) -> StoreError {
    let problem = Problem::NotAStore { location: path.display().to_string(), reason };
    StoreError::SessionReadFailed { session: None, problem }
}

/// Converts an SQLite error into a problem with a fix.
pub(super) fn problem(path: &Path, error: &rusqlite::Error) -> Problem {
    let location = || path.display().to_string();
    if is_busy(error) {
        return Problem::Busy { seconds: BUSY_SECONDS };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Problem::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Problem::ReadOnly(location()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Problem::NotAStore { location: location(), reason: error.to_string() }
        }
        Some(ErrorCode::SystemIoFailure) => {
            Problem::Disk { location: location(), reason: error.to_string() }
        }
        Some(ErrorCode::CannotOpen) => {
            let reason = format!("cannot be opened: {error}; is its folder writable?");
            Problem::UnusablePath { path: path.to_owned(), reason }
        }
        _ => Problem::Database(error.to_string()),
    }
}

/// Returns whether the disk itself reported an error, after which its content is unknown.
pub(super) fn is_disk_error(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}

/// Returns whether another process holds a lock.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Creates the error of data of a session that cannot be read.
pub(super) fn unreadable(path: &Path, session: &SessionId, error: &rusqlite::Error) -> StoreError {
    StoreError::unreadable(session, problem(path, error))
}
