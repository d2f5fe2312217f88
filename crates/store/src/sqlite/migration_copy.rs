//! The copy that is made of a file before it is brought to this version. It has its name only when it is
//! whole; one that is there already counts only if it is whole and of the same content.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tertulia_session::RecordHash;

use super::connection;
use super::schema::{self, migration_failed};
use crate::new_file::{is_being_written, is_part};
use crate::{NewFile, NewFileError, Readers, StoreError};

/// How many copies of one version there may be.
const COPIES_MAX: usize = 1000;

/// Makes a copy of the file as it is, beside it, unless there is one.
pub(super) fn make(connection: &Connection, path: &Path, version: usize) -> Result<(), StoreError> {
    let failed = |copy: &Path, reason: String| {
        migration_failed(path, &format!("the copy {} cannot be made: {reason}", copy.display()))
    };
    for number in 1..=COPIES_MAX {
        let copy = copy_path(path, version, number);
        let new = match NewFile::begin(&copy, Readers::Owner) {
            // Made by an attempt that did not get further, or by somebody else.
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

/// The first copy of a version is `FILE.v3.bak`, others are `FILE.v3.2.bak` and so on.
fn copy_path(path: &Path, version: usize, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    match number {
        1 => name.push(format!(".v{version}.bak")),
        _ => name.push(format!(".v{version}.{number}.bak")),
    }
    PathBuf::from(name)
}

/// Whether a file is a whole copy of what the connection sees. An error means that it is not.
fn is_same(connection: &Connection, copy: &Path, version: usize) -> bool {
    let same = || -> Option<bool> {
        if !connection::is_settled(copy) || copy.symlink_metadata().ok()?.is_symlink() {
            return None;
        }
        let other = connection::open_frozen(copy).ok()?;
        schema::check_version(&other, copy, version).ok()?;
        let is_version = schema::version_of(&other).ok()? == version;
        let is_whole = connection::run_pragma(&other, "PRAGMA integrity_check(1)").ok()? == "ok";
        Some(is_version && is_whole && content(&other).ok()? == content(connection).ok()?)
    };
    same().unwrap_or(false)
}

/// A hash of all sessions and entries.
fn content(connection: &Connection) -> rusqlite::Result<RecordHash> {
    let mut hash = RecordHash::of_bytes(b"");
    let sql = "SELECT key, id, state FROM session ORDER BY key";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (key, id, state): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        hash = RecordHash::of_bytes(format!("{hash} {key} {id} {state}").as_bytes());
    }
    let sql = "SELECT place, encoding, record, link FROM entry ORDER BY place";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (place, encoding): (i64, i64) = (row.get(0)?, row.get(1)?);
        let record = RecordHash::of_bytes(row.get_ref(2)?.as_blob().unwrap_or_default());
        let link = RecordHash::of_bytes(row.get_ref(3)?.as_blob().unwrap_or_default());
        let line = format!("{hash} {place} {encoding} {record} {link}");
        hash = RecordHash::of_bytes(line.as_bytes());
    }
    Ok(hash)
}

/// The copies that migrations left beside a file, whole or not. One that is being written is not among them.
pub(super) fn old_copies(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let files = folder.unwrap_or(Path::new(".")).read_dir().into_iter().flatten().flatten();
    let is_copy = |other: &str| {
        // What a killed process left of a copy begins with a dot.
        let other = other.strip_prefix('.').filter(|_| is_part(other)).unwrap_or(other);
        other.strip_prefix(name).is_some_and(is_copy_ending)
    };
    let copies = files.filter(|file| file.file_name().to_str().is_some_and(is_copy));
    let mut copies: Vec<PathBuf> =
        copies.map(|file| file.path()).filter(|path| !is_being_written(path)).collect();
    copies.sort();
    copies
}

/// Whether a name that begins as the store's ends as a copy: `.v3.bak`, `.v3.2.bak`, and what a copy that was
/// not finished is called.
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
