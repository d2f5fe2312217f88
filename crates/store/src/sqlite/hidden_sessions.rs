//! Deletes hidden sessions in small steps, and finds those that interrupted imports and deletions left. Used by
//! deletions and by the idle thread.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};

use super::read::{self, bounds, row_id, state_code};
use super::{ids, search_index};
use crate::backend::State;
use crate::import::{LeftBehind, is_silent, number_of};
use crate::lock;
use crate::new_file::with_suffix;
use crate::{SessionId, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepSize {
    rows: usize,
    bytes: i64,
}

impl StepSize {
    pub(super) const USUAL: Self = Self { rows: 1000, bytes: 4 << 20 };
    /// A step that fits into the reserve on a full disk, including the pages of the search index that it changes.
    pub(super) const SMALL: Self = Self { rows: 16, bytes: 32 << 10 };
}

type Result<T> = rusqlite::Result<T>;

/// Returns the path of the file that a process locks while it imports under this number.
pub(super) fn lock_path(store: &Path, number: u64) -> PathBuf {
    with_suffix(store, &format!("-import-{number}"))
}

/// Hides a session before it is deleted, which frees its name. Also finds sessions that were hidden under this id
/// before, because the name of a hidden session contains its former id.
pub(super) fn hide(connection: &Connection, id: &SessionId) -> Result<Vec<i64>> {
    let sql = "UPDATE session SET state = ?2, id = key || ':deleted:' || ?1 \
               WHERE id = ?1 OR (state = ?2 AND id = key || ':deleted:' || ?1) RETURNING key";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![id.as_str(), state_code(State::Deleting)];
    statement.query_map(values, |row| row.get(0))?.collect()
}

pub(super) fn hidden(connection: &Connection, id: &SessionId) -> Result<Vec<i64>> {
    let sql = "SELECT key FROM session WHERE state = ?2 AND id = key || ':deleted:' || ?1";
    let values = params![id.as_str(), state_code(State::Deleting)];
    connection.prepare_cached(sql)?.query_map(values, |row| row.get(0))?.collect()
}

/// Removes a hidden session if it has no entries left.
pub(super) fn forget(connection: &Connection, key: i64) -> Result<()> {
    if first_seq(connection, key)?.is_none() {
        ids::remove_all(connection, key)?;
        connection.execute("DELETE FROM unindexed WHERE session = ?1", [key])?;
        connection.execute("DELETE FROM session WHERE key = ?1", [key])?;
    }
    Ok(())
}

/// Hides a leftover session; `false` if it was published or deleted meanwhile.
pub(super) fn hide_leftover(connection: &Connection, key: i64) -> Result<bool> {
    let sql = "UPDATE session SET state = ?2 WHERE key = ?1 AND state IN (?2, ?3)";
    let states = (state_code(State::Deleting), state_code(State::Importing));
    Ok(connection.prepare_cached(sql)?.execute(params![key, states.0, states.1])? > 0)
}

/// Deletes some entries of a hidden session. Returns whether more may be left.
pub(super) fn delete_some(connection: &Connection, key: i64, size: StepSize) -> Result<bool> {
    let sql = "SELECT indexed FROM session WHERE key = ?1";
    let indexed = connection.query_row(sql, [key], |row| row.get::<_, i64>(0)).optional()?;
    let Some(indexed) = indexed.map(i64::unsigned_abs) else { return Ok(false) };
    // If the first entry is not in the search index, none is, so the entries need not be read.
    let is_indexed = first_seq(connection, key)?.is_some_and(|first| first <= indexed);
    let last = if is_indexed {
        remove_some_from_index(connection, key, indexed, size)?
    } else {
        last_of_step(connection, key, size)?
    };
    let Some(last) = last else { return Ok(false) };
    ids::remove(connection, key, last)?;
    let sql = "DELETE FROM entry WHERE place > ?1 AND place <= ?2";
    connection.execute(sql, [row_id(key, 0), last])?;
    Ok(true)
}

fn first_seq(connection: &Connection, key: i64) -> Result<Option<u64>> {
    let sql = "SELECT place FROM entry WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT 1";
    let first = connection.prepare_cached(sql)?.query_row(bounds(key), |row| row.get(0));
    Ok(first.optional()?.map(read::seq_of))
}

/// Removes some entries from the search index. Returns the row id of the last of them.
fn remove_some_from_index(
    connection: &Connection,
    key: i64,
    indexed: u64,
    size: StepSize,
) -> Result<Option<i64>> {
    let page = read::rows(connection, key, 0, size.rows);
    let last = page.rows.last().map(|row| row_id(key, row.seq));
    for row in page.rows {
        let (row_id, seq) = (row_id(key, row.seq), row.seq);
        if let Some(stored) = row.decode().ok().filter(|_| seq <= indexed) {
            search_index::remove(connection, row_id, &stored.entry)?;
        }
    }
    if last.is_some() { Ok(last) } else { last_of_step(connection, key, size) }
}

fn last_of_step(connection: &Connection, key: i64, size: StepSize) -> Result<Option<i64>> {
    let sql = "SELECT place, length(record) FROM entry WHERE place > ?1 AND place <= ?2 \
               ORDER BY place LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let (low, high) = bounds(key);
    let mut rows = statement.query(params![low, high, read::signed(size.rows)])?;
    let (mut last, mut bytes) = (None, 0_i64);
    while let Some(row) = rows.next()? {
        if bytes > size.bytes {
            break;
        }
        last = Some(row.get(0)?);
        bytes = bytes.saturating_add(row.get(1)?);
    }
    Ok(last)
}

pub(super) fn hidden_keys(connection: &Connection) -> Result<Vec<i64>> {
    // Any other state is damage, and counts as open everywhere.
    let sql = "SELECT key FROM session WHERE state IN (?1, ?2)";
    let mut statement = connection.prepare_cached(sql)?;
    let hidden = [State::Importing, State::Deleting].map(state_code);
    statement.query_map(hidden, |row| row.get(0))?.collect()
}

pub(super) fn leftover_keys(connection: &Connection, store: &Path) -> Result<Vec<i64>> {
    let sql = "SELECT key, id, state, coalesce((SELECT max(e.stored_at) FROM entry e WHERE e.place = \
               (SELECT max(n.place) FROM entry n WHERE n.place > s.key << 32 \
               AND n.place < (s.key + 1) << 32)), s.created_at) FROM session s WHERE state IN (?1, ?2)";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([State::Importing, State::Deleting].map(state_code))?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let is_left = match read::state_at(row, 2) {
            State::Deleting => true,
            State::Open => false,
            State::Importing => match number_of(&row.get::<_, String>(1)?) {
                Some(number) => lock::is_free(&lock_path(store, number)),
                None => is_silent(row.get(3)?),
            },
        };
        if is_left {
            keys.push(row.get(0)?);
        }
    }
    Ok(keys)
}

pub(super) fn measure(connection: &Connection, store: &Path) -> Result<LeftBehind> {
    let keys = leftover_keys(connection, store)?;
    let sql = "SELECT count(*), coalesce(sum(length(record)), 0) FROM entry \
               WHERE place > ?1 AND place <= ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut sum = LeftBehind { sessions: keys.len() as u64, ..LeftBehind::default() };
    for key in keys {
        let (entries, bytes): (i64, i64) =
            statement.query_row(bounds(key), |row| Ok((row.get(0)?, row.get(1)?)))?;
        sum.entries += entries.unsigned_abs();
        sum.bytes += bytes.unsigned_abs();
    }
    Ok(sum)
}

/// Makes imported sessions visible under their ids, and marks them for indexing. The inner error means that an id is
/// taken or an import is missing. In that case nothing is changed.
pub(super) fn publish(
    connection: &Connection,
    sessions: &[(SessionId, SessionId)],
) -> Result<crate::Result<()>> {
    for (imported, id) in sessions {
        let sql = "SELECT state FROM session WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let mut state = |id: &SessionId| {
            statement.query_row([id.as_str()], |row| Ok(read::state_at(row, 0))).optional()
        };
        if state(id)?.is_some() {
            return Ok(Err(StoreError::SessionExists(id.clone())));
        }
        if state(imported)? != Some(State::Importing) {
            return Ok(Err(StoreError::SessionNotFound(imported.clone())));
        }
    }
    for (imported, id) in sessions {
        let sql = "UPDATE session SET id = ?2, state = ?3 WHERE id = ?1 RETURNING key";
        let values = params![imported.as_str(), id.as_str(), state_code(State::Open)];
        let key: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
        search_index::mark(connection, key)?;
    }
    Ok(Ok(()))
}
