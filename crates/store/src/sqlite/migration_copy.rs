//! The copy of a file that is made before a migration. It gets its name only when it is complete. An existing copy
//! is reused only if it is complete and has the same content.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::connection;
use super::schema::{self, migration_failed};
use crate::new_file::{folder_of, is_being_written, is_part, with_suffix};
use crate::{NewFile, NewFileError, Readers, StoreError};

const COPIES_MAX: usize = 1000;

/// Copies the file into its folder, unless there is already such a copy.
pub(super) fn make(connection: &Connection, path: &Path, version: usize) -> Result<(), StoreError> {
    let failed = |copy: &Path, reason: String| {
        migration_failed(path, &format!("the copy {} cannot be made: {reason}", copy.display()))
    };
    for number in 1..=COPIES_MAX {
        let copy = copy_path(path, version, number);
        let new = match NewFile::begin(&copy, Readers::Owner) {
            // The copy was made by an interrupted migration, or by another process.
            Err(NewFileError::Exists(_)) if is_same(connection, &copy, version) => return Ok(()),
            Err(NewFileError::Exists(_)) => continue,
            begun => begun.map_err(|error| failed(&copy, error.to_string()))?,
        };
        let copied = schema::copy_into(connection, new.part());
        copied.map_err(|error| failed(&copy, error.to_string()))?;
        match new.publish() {
            // Another process made the same copy meanwhile.
            Err(NewFileError::Exists(_)) if is_same(connection, &copy, version) => return Ok(()),
            Err(NewFileError::Exists(_)) => {}
            published => return published.map_err(|error| failed(&copy, error.to_string())),
        }
    }
    Err(migration_failed(path, "there are too many copies of it (.bak); move them away"))
}

/// Returns the path of a copy. The first copy of version 3 is `FILE.v3.bak`, the next one `FILE.v3.2.bak`.
fn copy_path(path: &Path, version: usize, number: usize) -> PathBuf {
    match number {
        1 => with_suffix(path, &format!(".v{version}.bak")),
        _ => with_suffix(path, &format!(".v{version}.{number}.bak")),
    }
}

/// Returns whether a file is a complete copy of the database of this connection. An error counts as no.
fn is_same(connection: &Connection, copy: &Path, version: usize) -> bool {
    let same = || -> Option<bool> {
        if !connection::is_readable_without_journal(copy)
            || copy.symlink_metadata().ok()?.is_symlink()
        {
            return None;
        }
        let other = connection::open_immutable(copy).ok()?;
        schema::check(&other, copy, version).ok()?;
        let is_version = schema::version_of(&other).ok()? == version;
        let is_whole = connection::run_pragma(&other, "PRAGMA integrity_check(1)").ok()? == "ok";
        Some(is_version && is_whole && content(&other).ok()? == content(connection).ok()?)
    };
    same().unwrap_or(false)
}

fn content(connection: &Connection) -> rusqlite::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    for sql in [
        "SELECT key, id, state FROM session ORDER BY key",
        "SELECT place, encoding, record, link FROM entry ORDER BY place",
    ] {
        let mut statement = connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Integer(number) => hasher.update(&number.to_le_bytes()),
                    // The hash of the value is hashed, so that adjacent values cannot be confused.
                    value => hasher.update(blake3::hash(value.as_bytes()?).as_bytes()),
                };
            }
        }
    }
    Ok(hasher.finalize())
}

/// Returns the copies that migrations left next to a file, complete or not. Copies that are being written are not
/// included.
pub(super) fn old_copies(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let files = folder_of(path).read_dir().into_iter().flatten().flatten();
    let is_copy = |other: &str| {
        // The incomplete copy of a killed process starts with a dot.
        let other = other.strip_prefix('.').filter(|_| is_part(other)).unwrap_or(other);
        other.strip_prefix(name).is_some_and(is_copy_ending)
    };
    let copies = files.filter(|file| file.file_name().to_str().is_some_and(is_copy));
    let mut copies: Vec<PathBuf> =
        copies.map(|file| file.path()).filter(|path| !is_being_written(path)).collect();
    copies.sort();
    copies
}

/// Returns whether a file name, after the store's name, is that of a copy: `.v3.bak`, `.v3.2.bak`, or an incomplete
/// copy.
fn is_copy_ending(ending: &str) -> bool {
    let Some((version, rest)) = ending.strip_prefix(".v").and_then(|rest| rest.split_once('.'))
    else {
        return false;
    };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = match rest.split_once('.') {
        Some((number, rest)) if is_number(number) => rest,
        _ => rest,
    };
    is_number(version) && rest.starts_with("bak")
}
