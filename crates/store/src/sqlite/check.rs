//! Checks a file. Runs SQLite's own check, and finds damage that it cannot detect: entries without a session,
//! sessions that are shorter than recorded, and errors in the id index. Changes nothing.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::read::{self, row_id};
use super::{connection, ids};
use crate::{Problem, StoreError};

const LINES: usize = 20;

pub(super) fn check(connection: &Connection, path: &Path) -> Result<Vec<String>, StoreError> {
    let mut lines = match integrity(connection) {
        Ok(lines) => lines,
        Err(error) => return damage(path, &error).map(|line| vec![line]),
    };
    for find in [lost_entries, cut_sessions, ids::check] {
        match find(connection) {
            Ok(found) => lines.extend(found),
            Err(error) => lines.push(damage(path, &error)?),
        }
    }
    Ok(lines)
}

/// Reports an unreadable file as damage instead of letting the check fail.
fn damage(path: &Path, error: &rusqlite::Error) -> Result<String, StoreError> {
    match connection::problem(path, error) {
        Problem::NotAStore { reason, .. } => Ok(reason),
        _ => Err(connection::cannot_open(path, error)),
    }
}

fn integrity(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines = lines.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

/// Finds entries without a session. Reads one entry per session key, so the cost grows with the number of sessions.
fn lost_entries(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let next = "SELECT place FROM entry WHERE place > ?1 ORDER BY place LIMIT 1";
    let mut next = connection.prepare(next)?;
    let mut session = connection.prepare("SELECT 1 FROM session WHERE key = ?1")?;
    let (mut lines, mut after) = (Vec::new(), i64::MIN);
    while let Some(found) = next.query_row([after], |row| row.get::<_, i64>(0)).optional()? {
        let key = found >> read::SEQ_BITS;
        if !session.exists([key])? && lines.len() < LINES {
            lines.push(format!(
                "entry {} and those after it belong to no session",
                read::seq_of(found)
            ));
        }
        // A damaged B-tree may return rows in any order. This value always increases, so that the loop ends.
        after = row_id(key, u64::from(u32::MAX)).max(found);
    }
    Ok(lines)
}

/// Finds sessions that end before their recorded anchor, or whose entry there is another one.
fn cut_sessions(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT s.id, s.anchor_seq, coalesce((SELECT max(e.place) FROM entry e WHERE \
               e.place > s.key << 32 AND e.place < (s.key + 1) << 32), 0) & 4294967295 AS newest \
               FROM session s WHERE s.anchor_seq > 0 AND s.state <> 90 AND NOT EXISTS (SELECT 1 \
               FROM entry e WHERE e.place = (s.key << 32) + s.anchor_seq \
               AND e.link = s.anchor_link) LIMIT 20";
    let mut statement = connection.prepare(sql)?;
    let lines = statement.query_map([], |row| {
        let (id, anchor, newest): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!(
            "session {id}: entries are missing at the end, or entry {anchor} was replaced; the \
             newest is entry {newest}, but at least {anchor} entries were stored"
        ))
    })?;
    lines.collect()
}
