//! Finds entries by id. Ids are random, so each id that is added to an index changes another page of it. Therefore
//! the newest entries of a session are not in the index. The writer remembers them, and other connections scan them.
//! They are added to the index together, in the transaction of an append.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use tertulia_session::{EntryId, RecordHash};

use super::read::{self, SEQ_BITS, SessionRow, row_id};
use crate::model::Seq;
use crate::plan::Known;

type Result<T> = rusqlite::Result<T>;

/// Returns the maximum number of entries of a session that may be missing in the index. The append that reaches it
/// adds all of them. This changes nearly every page that the session has in the index, so a longer session adds more
/// entries at a time.
fn recent_max(indexed: Seq) -> usize {
    usize::try_from(indexed / 16).unwrap_or(usize::MAX).clamp(256, 2048)
}

/// Returns the index key of an id. It has eight bytes, to keep the index small. It consists of the key of the
/// session and a hash, so that the ids of a session are adjacent. Different ids may have the same key, so lookups
/// compare the text.
pub(super) fn id_hash(key: i64, id: &EntryId) -> i64 {
    const BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let bytes = id.as_str().bytes();
    let hash = bytes.fold(BASIS, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(PRIME));
    (key << SEQ_BITS) | i64::from(hash)
}

/// Finds the entry with this id. If the row of the session is out of date, more entries than necessary are scanned.
pub(super) fn find(
    connection: &Connection,
    session: &SessionRow,
    id: &EntryId,
) -> Result<Option<Known>> {
    if let Some(known) = indexed(connection, session.key, id)? {
        return Ok(Some(known));
    }
    let sql = "SELECT place, hash FROM entry WHERE place > ?1 AND place <= ?2 AND id = ?3 LIMIT 1";
    let (from, to) = (row_id(session.key, session.ids_until), read::last_row_id(session.key));
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![from, to, id.as_str()], known).optional()
}

fn indexed(connection: &Connection, key: i64, id: &EntryId) -> Result<Option<Known>> {
    let sql = "SELECT e.place, e.hash FROM entry_id i CROSS JOIN entry e ON e.place = ?2 | i.seq \
               WHERE i.hash = ?1 AND i.seq > 0 AND i.seq <= 4294967295 AND e.id = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![id_hash(key, id), row_id(key, 0), id.as_str()], known).optional()
}

fn known(row: &rusqlite::Row<'_>) -> Result<Known> {
    let hash = RecordHash::from_bytes(read::bytes(row, 1)?);
    Ok(Known { seq: read::seq_of(row.get(0)?), hash })
}

/// The newest entries of a session, which are not in the index: their id hashes and numbers.
pub(super) struct Recent {
    entries: BTreeSet<(i64, Seq)>,
    last: Seq,
    max: usize,
}

impl Recent {
    pub(super) fn load(connection: &Connection, session: &SessionRow) -> Result<Self> {
        let sql = "SELECT place, id_hash FROM entry WHERE place > ?1 AND place <= ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let bounds = (row_id(session.key, session.ids_until), read::last_row_id(session.key));
        let rows = statement.query_map(bounds, |row| {
            // A value that is not a number is damage, and matches no id.
            Ok((row.get_ref(1)?.as_i64().unwrap_or(0), read::seq_of(row.get(0)?)))
        })?;
        let entries: BTreeSet<_> = rows.collect::<Result<_>>()?;
        let last = entries.iter().map(|(_, seq)| *seq).max().unwrap_or(session.ids_until);
        Ok(Self { entries, last, max: recent_max(session.ids_until) })
    }

    pub(super) fn push(&mut self, seq: Seq, hash: i64) {
        self.entries.insert((hash, seq));
        self.last = seq;
    }

    fn with_hash(&self, hash: i64) -> impl Iterator<Item = Seq> {
        self.entries.range((hash, 0)..=(hash, Seq::MAX)).map(|(_, seq)| *seq)
    }

    /// Returns whether there is room for one more entry, and no recent entry has this hash.
    pub(super) fn has_room_for(&self, hash: i64) -> bool {
        self.entries.len() + 1 < self.max && self.with_hash(hash).next().is_none()
    }

    /// Finds the entry with this id among the recent ones or in the index.
    pub(super) fn find(
        &self,
        connection: &Connection,
        key: i64,
        id: &EntryId,
    ) -> Result<Option<Known>> {
        let sql = "SELECT place, hash FROM entry WHERE place = ?1 AND id = ?2";
        for seq in self.with_hash(id_hash(key, id)) {
            let values = params![row_id(key, seq), id.as_str()];
            let found = connection.prepare_cached(sql)?.query_row(values, known).optional()?;
            if found.is_some() {
                return Ok(found);
            }
        }
        indexed(connection, key, id)
    }

    pub(super) fn index_if_many(
        &mut self,
        connection: &Connection,
        session: &mut SessionRow,
    ) -> Result<()> {
        if self.entries.len() < self.max {
            return Ok(());
        }
        // The ids are inserted in index order. Some may already be there, if damage in the session's row makes the
        // index look shorter than it is.
        let sql = "INSERT OR IGNORE INTO entry_id (hash, seq) VALUES (?1, ?2)";
        let mut statement = connection.prepare_cached(sql)?;
        for (hash, seq) in std::mem::take(&mut self.entries) {
            statement.execute(params![hash, seq.cast_signed()])?;
        }
        let sql = "UPDATE session SET ids_until = ?2 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute(params![session.key, self.last.cast_signed()])?;
        session.ids_until = self.last;
        self.max = recent_max(self.last);
        Ok(())
    }
}

/// Removes the ids of the entries up to a row id from the index.
pub(super) fn remove(connection: &Connection, key: i64, last: i64) -> Result<()> {
    let sql = "DELETE FROM entry_id WHERE (hash, seq) IN (SELECT id_hash, place & 4294967295 \
               FROM entry WHERE place > ?1 AND place <= ?2)";
    connection.prepare_cached(sql)?.execute([row_id(key, 0), last])?;
    Ok(())
}

pub(super) fn remove_all(connection: &Connection, key: i64) -> Result<()> {
    let sql = "DELETE FROM entry_id WHERE hash >= ?1 AND hash <= ?2";
    connection.execute(sql, [row_id(key, 0), read::last_row_id(key)])?;
    Ok(())
}

/// Returns the problems of the index: entries that cannot be looked up, and ids of missing entries.
pub(super) fn check(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT e.place, e.id, e.id_hash, s.ids_until, EXISTS (SELECT 1 FROM entry_id i \
               WHERE i.hash = e.id_hash AND i.seq = e.place & 4294967295) \
               FROM entry e LEFT JOIN session s ON s.key = e.place >> 32";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let (mut lost, mut first, mut there) = (0_u64, None, 0_i64);
    while let Some(row) = rows.next()? {
        let row_id: i64 = row.get(0)?;
        let id = EntryId::from(read::optional_text(row, 1)?.unwrap_or_default());
        let is_indexed: bool = row.get(4)?;
        there += i64::from(is_indexed);
        let until = row.get_ref(3)?.as_i64().unwrap_or(0).unsigned_abs();
        let is_hash = row.get_ref(2)?.as_i64() == Ok(id_hash(row_id >> SEQ_BITS, &id));
        if !is_hash || (!is_indexed && read::seq_of(row_id) <= until) {
            lost += 1;
            first = first.or(Some(id));
        }
    }
    let mut lines = Vec::new();
    if let Some(first) = first {
        lines.push(format!("{lost} entries cannot be found by their ids; the first is {first}"));
    }
    let all: i64 = connection.query_row("SELECT count(*) FROM entry_id", [], |row| row.get(0))?;
    if all != there {
        let more = all - there;
        lines.push(format!("the index of ids has {more} ids of entries that do not exist"));
    }
    Ok(lines)
}
