//! The statements that write entries: new ones, the remainders of purged ones, and token counts.
//! Called inside a transaction.

use rusqlite::{Connection, ErrorCode, params};
use tertulia_session::EntryId;

use super::connection::is_busy;
use super::ids::{Recent, id_hash};
use super::read::{self, SessionRow, row_id};
use super::search_index;
use super::write_connection::Open;
use crate::backend::State;
use crate::clock::now_millis;
use crate::model::TokenCount;
use crate::plan::{Batch, Plan, PlannedEntry, purged_records};
use crate::row::{Encoding, Prepared, Record, Row, over_compressed};

/// Inserts the new entries of a plan and updates the session.
pub(super) fn write(
    connection: &Connection,
    open: &mut Open,
    batch: &Batch,
    plan: &Plan,
) -> rusqlite::Result<()> {
    if plan.new.is_empty() {
        return Ok(());
    }
    let key = open.session.key;
    let now = now_millis();
    for planned in &plan.new {
        if let Some(prepared) = batch.records.get(planned.index) {
            let hash = id_hash(key, &prepared.record.id);
            insert(connection, INSERT, (key, hash), planned, prepared, now)?;
            open.recent.push(planned.seq, hash);
        }
    }
    open.recent.index_if_many(connection, &mut open.session)?;
    if plan.tail.names_parents && !open.tail.names_parents {
        let sql = "UPDATE session SET names_parents = 1 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute([key])?;
    }
    // Imported entries are indexed once they are visible.
    if !open.is_marked && open.session.state == State::Open {
        search_index::mark(connection, key)?;
        open.is_marked = true;
    }
    Ok(())
}

/// Inserts the only entry of a plan in a separate transaction. Does nothing if the id may already be in the index,
/// or if another process has written. Returns whether the entry was inserted.
pub(super) fn write_alone(
    connection: &Connection,
    open: &mut Open,
    hash: i64,
    planned: &PlannedEntry,
    prepared: &Prepared,
) -> rusqlite::Result<bool> {
    let key = open.session.key;
    match insert(connection, INSERT_NEW, (key, hash), planned, prepared, now_millis()) {
        Ok(()) => {
            open.recent.push(planned.seq, hash);
            Ok(true)
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Ok(false)
        }
        Err(error) if is_busy(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The values are those of [`insert`], in column order. The SQL text is short, so that the statement cache finds it
/// faster.
macro_rules! insert_entry {
    ($link:literal) => {
        concat!("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,", $link, ")")
    };
}
const INSERT: &str = insert_entry!("?");
/// If the index has an id with the same hash, this inserts NULL as the link, which violates a constraint.
const INSERT_NEW: &str =
    insert_entry!("CASE WHEN EXISTS (SELECT 1 FROM entry_id WHERE hash = ?3) THEN NULL ELSE ? END");

fn insert(
    connection: &Connection,
    sql: &str,
    (key, hash): (i64, i64),
    planned: &PlannedEntry,
    prepared: &Prepared,
    now: i64,
) -> rusqlite::Result<()> {
    let record = &prepared.record;
    let inserted = connection.prepare_cached(sql)?.execute(params![
        row_id(key, planned.seq),
        record.id.as_str(),
        hash,
        planned.parent.map(u64::cast_signed),
        &*record.type_name,
        record.time,
        record.speaker.as_ref().map(|speaker| &*speaker.id),
        record.speaker.as_ref().and_then(|speaker| speaker.name.as_deref()),
        record.bytes.cast_signed(),
        record.count.as_ref().map(|count| &*count.tokenizer),
        record.count.as_ref().map(|count| count.tokens.cast_signed()),
        now,
        record.encoding.code(),
        record.body,
        record.hash.as_bytes(),
        planned.link.as_bytes(),
    ]);
    inserted.map(drop)
}

/// Removes the bytes of everything that is hidden from the file and from the search index. Returns
/// whether there were any.
pub(super) fn purge(connection: &Connection, session: &SessionRow) -> rusqlite::Result<bool> {
    let mut rows = Vec::new();
    loop {
        let after = rows.last().map_or(0, |row: &Row| row.seq);
        let page = read::rows(connection, session.key, after, usize::MAX);
        if let Some(error) = page.error {
            return Err(error);
        }
        if page.rows.is_empty() {
            break;
        }
        rows.extend(page.rows);
    }
    let indexed = indexed_until(connection, session.key)?;
    let left = purged_records(rows);
    for (seq, before, record) in &left {
        let row_id = row_id(session.key, *seq);
        let before = before.as_ref().filter(|_| *seq <= indexed);
        if let Some(Ok(entry)) = before.map(Record::entry) {
            search_index::remove(connection, row_id, &entry)?;
        }
        overwrite(connection, row_id, record)?;
    }
    Ok(!left.is_empty())
}

fn indexed_until(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let sql = "SELECT indexed FROM session WHERE key = ?1";
    let until: i64 = connection.prepare_cached(sql)?.query_row([key], |row| row.get(0))?;
    Ok(until.unsigned_abs())
}

fn overwrite(connection: &Connection, row_id: i64, left: &Record) -> rusqlite::Result<()> {
    let sql = "UPDATE entry SET speaker = NULL, speaker_name = NULL, bytes = ?2, tokenizer = NULL, \
               tokens = NULL, encoding = ?3, record = ?4 WHERE place = ?1";
    connection.prepare_cached(sql)?.execute(params![
        row_id,
        left.bytes.cast_signed(),
        left.encoding.code(),
        left.body
    ])?;
    Ok(())
}

/// Stores token counts; missing and purged entries are skipped.
pub(super) fn set_counts(
    connection: &Connection,
    session: &SessionRow,
    counts: &[(EntryId, TokenCount)],
) -> rusqlite::Result<()> {
    let sql = "UPDATE entry SET tokenizer = ?2, tokens = ?3 WHERE place = ?1 AND encoding <> 2";
    let mut statement = connection.prepare_cached(sql)?;
    let recent = Recent::load(connection, session)?;
    for (entry, count) in counts {
        if let Some(known) = recent.find(connection, session.key, entry)? {
            let tokens = count.tokens.min(u64::from(u32::MAX)).cast_signed();
            statement.execute(params![
                row_id(session.key, known.seq),
                &*count.tokenizer,
                tokens
            ])?;
        }
    }
    Ok(())
}

/// Decompresses records that earlier versions compressed beyond the current limit.
pub(super) fn expand_over_compressed(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT place, bytes FROM entry WHERE encoding = ?1 AND bytes > 16 * length(record)";
    let mut statement = connection.prepare(sql)?;
    let rows =
        statement.query_map([Encoding::Zstd.code()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (row_id, bytes) in rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()? {
        let sql = "SELECT record FROM entry WHERE place = ?1";
        let body: Vec<u8> = connection.query_row(sql, [row_id], |row| row.get(0))?;
        if let Some(record) = over_compressed(bytes.unsigned_abs(), &body) {
            let sql = "UPDATE entry SET encoding = ?2, record = ?3 WHERE place = ?1";
            connection.execute(sql, params![row_id, Encoding::Plain.code(), record])?;
        }
    }
    Ok(())
}
