//! The tables, and the migration of files of earlier versions. After a copy of the file was made, the migration runs
//! step by step, each step in one transaction.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use super::connection::{
    self, BUSY_SECONDS, cannot_open, is_busy, not_a_store, problem, run_pragma,
};
use super::{migration_copy, write};
use crate::error::later_version;
use crate::{Result, StoreError};

/// `Tert` in ASCII: identifies files of this program.
const APPLICATION_ID: i32 = 0x5465_7274;

/// One step per version. A published step is never changed.
pub(super) const STEPS: [&str; 9] = [
    // The column `place` combines the key of the session, shifted, with the number of the entry. So one B-tree
    // contains all entries, and those of a session are adjacent. Ids are looked up by a hash, which keeps the index
    // of ids small, and then compared as text. Keys are never reused, because the search index refers to places.
    "CREATE TABLE session (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        state INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        names_parents INTEGER NOT NULL DEFAULT 0
     ) STRICT;
     CREATE TABLE entry (
        place INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        id_hash INTEGER NOT NULL,
        parent INTEGER,
        type TEXT NOT NULL,
        time INTEGER,
        speaker TEXT,
        speaker_name TEXT,
        bytes INTEGER NOT NULL,
        tokenizer TEXT,
        tokens INTEGER,
        stored_at INTEGER NOT NULL,
        encoding INTEGER NOT NULL,
        record BLOB NOT NULL,
        hash BLOB NOT NULL,
        link BLOB NOT NULL
     ) STRICT;
     CREATE INDEX entry_by_id ON entry (id_hash);",
    // The search index contains our own terms: letters and digits, separated by spaces.
    "ALTER TABLE session ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
     CREATE TABLE unindexed (session INTEGER PRIMARY KEY) STRICT;
     INSERT INTO unindexed SELECT key FROM session;
     CREATE VIRTUAL TABLE words USING fts5(
        terms, content = '', detail = none, columnsize = 0, tokenize = 'ascii'
     );
     INSERT INTO words (words, rank) VALUES ('secure-delete', 1);",
    // Few entries are branch points, so the index is small and most appends do not touch it.
    "CREATE INDEX landmark ON entry (place)
        WHERE type = 'team_task' OR parent IS NOT (place & 4294967295) - 1;",
    // Codes that no single-bit error turns into each other.
    "UPDATE session SET state = CASE state WHEN 1 THEN 53 WHEN 2 THEN 90 ELSE state END;",
    // The folder of the session's project.
    "ALTER TABLE session ADD COLUMN project TEXT;",
    // The last recorded entry of a session, to detect missing entries at the end.
    "ALTER TABLE session ADD COLUMN anchor_seq INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE session ADD COLUMN anchor_link BLOB;",
    // The newest entries of a session are not in the id index, so that most appends do not change it.
    "CREATE TABLE entry_id (
        hash INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (hash, seq)
     ) STRICT, WITHOUT ROWID;
     INSERT INTO entry_id SELECT id_hash, place & 4294967295 FROM entry ORDER BY id_hash, place;
     DROP INDEX entry_by_id;
     ALTER TABLE session ADD COLUMN ids_until INTEGER NOT NULL DEFAULT 0;
     UPDATE session SET ids_until = coalesce((SELECT max(place) FROM entry
        WHERE place > key << 32 AND place < (key + 1) << 32), 0) & 4294967295;",
    // The terms of recall: stems, marked common words, and whole identifiers with inner
    // punctuation. The index is rebuilt.
    "DROP TABLE words;
     CREATE VIRTUAL TABLE words USING fts5(
        terms, content = '', detail = none, columnsize = 0, tokenize = \"ascii tokenchars '_./-\\@'\"
     );
     INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
     UPDATE session SET indexed = 0;
     INSERT OR IGNORE INTO unindexed SELECT key FROM session WHERE state NOT IN (53, 90);",
    // Usage entries of all sessions by time. They are few, and only their appends touch the index.
    "CREATE INDEX usage ON entry (coalesce(time, stored_at)) WHERE type = 'usage';",
];

/// The additional tables of a backup.
pub(super) const MANIFEST_TABLES: [&str; 2] = [
    "CREATE TABLE backup (version INTEGER NOT NULL, sessions INTEGER NOT NULL, \
     entries INTEGER NOT NULL, digest BLOB NOT NULL) STRICT",
    "CREATE TABLE backup_session (id TEXT PRIMARY KEY, entries INTEGER NOT NULL, \
     head BLOB NOT NULL) STRICT, WITHOUT ROWID",
];

pub(super) const VERSION: usize = STEPS.len();

/// The [`digest`] of the current schema.
const DIGEST: &str = "fc0b1ccc7c39091517895b93f86405bb79074f692b49de198f2be32216906071";

pub(super) enum Found {
    /// Nothing was ever written to the file.
    Empty,
    Current,
    Earlier(usize),
}

pub(super) fn is_current(connection: &Connection, path: &Path) -> Result<bool> {
    let is_current = matches!(look(connection, path)?, Found::Current);
    let is_readonly = connection.is_readonly("main").unwrap_or(false);
    Ok(is_current && (is_readonly || is_wal(connection, path)?))
}

/// Creates the tables in a new file, or migrates an earlier version.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<()> {
    match look(connection, path)? {
        // A copy made by a backup is not in WAL mode yet.
        Found::Current if is_wal(connection, path)? => Ok(()),
        Found::Current => set_wal(connection, path),
        Found::Empty => {
            set_wal(connection, path)?;
            migrate(connection, path)
        }
        Found::Earlier(version) => {
            check(connection, path, version)?;
            migration_copy::make(connection, path, version)?;
            set_wal(connection, path)?;
            migrate(connection, path)
        }
    }
}

/// Returns whether the header of the file identifies a store of this version in WAL mode, and no journal can
/// contradict it. Otherwise the database must be queried, which would be the main cost of a short command.
pub(super) fn is_stamped(path: &Path) -> std::io::Result<bool> {
    if !connection::is_journal_empty(path) {
        return Ok(false);
    }
    let mut header = [0_u8; 72];
    std::fs::File::open(path)?.read_exact(&mut header)?;
    let number = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_be_bytes)
    };
    // Offsets of the SQLite file format: write and read version (2 for WAL), `user_version` and
    // `application_id`.
    let is_wal = header.starts_with(b"SQLite format 3\0") && header.get(18..20) == Some(&[2, 2]);
    let version = u32::try_from(VERSION).ok();
    let is_ours = number(68) == u32::try_from(APPLICATION_ID).ok();
    Ok(is_wal && is_ours && number(60) == version)
}

pub(super) fn look(connection: &Connection, path: &Path) -> Result<Found> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    // Both values are read in one transaction, because another process may create the tables in between.
    let marks = connection.unchecked_transaction().and_then(|moment| {
        let marks = (number("application_id")?, number("user_version")?, number("schema_version")?);
        moment.finish().map(|()| marks)
    });
    let (application, version, schema) = marks.map_err(|error| cannot_open(path, &error))?;
    if application != i64::from(APPLICATION_ID) {
        let is_empty = application == 0 && version == 0 && schema == 0;
        let reason = || "it was created by another program".to_owned();
        return if is_empty { Ok(Found::Empty) } else { Err(not_a_store(path, reason())) };
    }
    match usize::try_from(version) {
        Ok(VERSION) => Ok(Found::Current),
        Ok(version) if version < VERSION => Ok(Found::Earlier(version)),
        _ => Err(migration_failed(path, &later_version(version, VERSION))),
    }
}

pub(super) fn version_of(connection: &Connection) -> rusqlite::Result<usize> {
    let version =
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

pub(super) fn is_wal(connection: &Connection, path: &Path) -> Result<bool> {
    let mode = run_pragma(connection, "PRAGMA journal_mode");
    mode.map(|mode| mode == "wal").map_err(|error| cannot_open(path, &error))
}

/// Switches to WAL mode and checks the result, because the store's guarantees depend on it.
fn set_wal(connection: &Connection, path: &Path) -> Result<()> {
    // SQLite does not wait here while another process opens the new file.
    let until = Instant::now() + Duration::from_secs(BUSY_SECONDS);
    loop {
        match run_pragma(connection, "PRAGMA journal_mode = WAL") {
            Err(error) if is_busy(&error) && Instant::now() < until => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(cannot_open(path, &error)),
            Ok(_) => break,
        }
    }
    match is_wal(connection, path)? {
        true => Ok(()),
        false => Err(not_a_store(path, "the file system allows no WAL".to_owned())),
    }
}

/// Runs the missing steps. Another process may have run them already.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<()> {
    let failed =
        |error: rusqlite::Error| migration_failed(path, &problem(path, &error).to_string());
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(failed)?;
    let done = version_of(&transaction).map_err(failed)?;
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    if (1..VERSION).contains(&done) {
        write::expand_over_compressed(&transaction).map_err(failed)?;
    }
    if done < VERSION {
        let version = i64::try_from(VERSION).unwrap_or(i64::MAX);
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", version).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

pub(super) fn copy_into(connection: &Connection, copy: &Path) -> Result<()> {
    let name =
        copy.to_str().ok_or_else(|| not_a_store(copy, "its name is not UTF-8".to_owned()))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| cannot_open(copy, &error))?;
    Ok(())
}

/// Checks that the file has exactly the tables and indexes of this version. In place of a table, there might be a
/// view or trigger that runs other SQL.
pub(super) fn check(connection: &Connection, path: &Path, version: usize) -> Result<()> {
    let found = schema_of(connection).map_err(|error| cannot_open(path, &error))?;
    if version == VERSION && digest(&found) == DIGEST {
        return Ok(());
    }
    if found != schema_made(version).map_err(|error| cannot_open(path, &error))? {
        let reason = "its tables are not those of a store, or were changed".to_owned();
        return Err(not_a_store(path, reason));
    }
    Ok(())
}

/// Returns the schema that the steps up to a version create. This takes longer than a short command.
fn schema_made(version: usize) -> rusqlite::Result<Schema> {
    let new = Connection::open_in_memory()?;
    STEPS.iter().take(version).try_for_each(|step| new.execute_batch(step))?;
    schema_of(&new)
}

fn digest(schema: &Schema) -> String {
    let mut hasher = blake3::Hasher::new();
    for sql in schema {
        hasher.update(&(sql.len() as u64).to_le_bytes());
        hasher.update(sql.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

type Schema = BTreeSet<String>;

/// Returns the schema of a file without the manifest. It is limited to more entries than any store has.
fn schema_of(connection: &Connection) -> rusqlite::Result<Schema> {
    let sql =
        "SELECT coalesce(substr(sql, 1, 4096), type || ' ' || name) FROM sqlite_schema LIMIT 64";
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?;
    let is_ours = |sql: &rusqlite::Result<String>| {
        sql.as_ref().map_or(true, |sql| !MANIFEST_TABLES.contains(&sql.as_str()))
    };
    found.filter(is_ours).collect()
}

pub(super) fn migration_failed(path: &Path, reason: &str) -> StoreError {
    let location = path.display().to_string();
    StoreError::SessionMigrationFailed { location, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_what_the_steps_make() {
        assert_eq!(digest(&schema_made(VERSION).unwrap()), DIGEST);
    }
}
