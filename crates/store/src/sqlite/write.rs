//! The statements that write entries: new ones, what a redaction leaves of old ones, and counts. Called by the
//! desk and the store inside a transaction.

use rusqlite::{Connection, ErrorCode, params};
use tertulia_session::EntryId;

use super::connection::is_busy;
use super::desk::Open;
use super::ids::{Recent, id_hash};
use super::read::{self, SessionRow, place};
use super::words;
use crate::backend::State;
use crate::clock::now_millis;
use crate::model::TokenCount;
use crate::plan::{Batch, Placed, Plan, what_is_left};
use crate::row::{Encoding, Prepared, Record, Row, over_compressed};

/// Inserts what a plan adds to a session, and says in the file what changed with it.
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
    for placed in &plan.new {
        if let Some(prepared) = batch.records.get(placed.index) {
            let hash = id_hash(key, &prepared.record.id);
            insert(connection, INSERT, (key, hash), placed, prepared, now)?;
            open.recent.push(placed.seq, hash);
        }
    }
    open.recent.index_if_many(connection, &mut open.session)?;
    if plan.tail.names_parents && !open.tail.names_parents {
        let sql = "UPDATE session SET names_parents = 1 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute([key])?;
    }
    // What is being imported is indexed once it is seen.
    if !open.is_marked && open.session.state == State::Open {
        words::mark(connection, key)?;
        open.is_marked = true;
    }
    Ok(())
}

/// Inserts the only entry of a plan in a transaction of its own, unless an id of the index may be the same or
/// another process has written. Says whether it did.
pub(super) fn write_alone(
    connection: &Connection,
    open: &mut Open,
    hash: i64,
    placed: &Placed,
    prepared: &Prepared,
) -> rusqlite::Result<bool> {
    let key = open.session.key;
    match insert(connection, INSERT_NEW, (key, hash), placed, prepared, now_millis()) {
        Ok(()) => {
            open.recent.push(placed.seq, hash);
            Ok(true)
        }
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Ok(false)
        }
        Err(error) if is_busy(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The values are those of [`insert`], in the order of the columns. A short text is found sooner among the
/// statements that are kept.
macro_rules! insert_entry {
    ($link:literal) => {
        concat!("INSERT INTO entry VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,", $link, ")")
    };
}
const INSERT: &str = insert_entry!("?");
/// Without a link, which no entry may be, where the index has an id with the same hash.
const INSERT_NEW: &str =
    insert_entry!("CASE WHEN EXISTS (SELECT 1 FROM entry_id WHERE hash = ?3) THEN NULL ELSE ? END");

fn insert(
    connection: &Connection,
    sql: &str,
    (key, hash): (i64, i64),
    placed: &Placed,
    prepared: &Prepared,
    now: i64,
) -> rusqlite::Result<()> {
    let record = &prepared.record;
    let inserted = connection.prepare_cached(sql)?.execute(params![
        place(key, placed.seq),
        record.id.as_str(),
        hash,
        placed.parent.map(u64::cast_signed),
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
        placed.link.as_bytes(),
    ]);
    inserted.map(drop)
}

/// Takes the bytes of all that is hidden out of the file and out of the search index. Says whether
/// there were any.
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
    let left = what_is_left(rows);
    for (seq, before, record) in &left {
        let place = place(session.key, *seq);
        let before = before.as_ref().filter(|_| *seq <= indexed);
        if let Some(Ok(entry)) = before.map(Record::entry) {
            words::remove(connection, place, &entry)?;
        }
        overwrite(connection, place, record)?;
    }
    Ok(!left.is_empty())
}

fn indexed_until(connection: &Connection, key: i64) -> rusqlite::Result<u64> {
    let sql = "SELECT indexed FROM session WHERE key = ?1";
    let until: i64 = connection.prepare_cached(sql)?.query_row([key], |row| row.get(0))?;
    Ok(until.unsigned_abs())
}

fn overwrite(connection: &Connection, place: i64, left: &Record) -> rusqlite::Result<()> {
    let sql = "UPDATE entry SET speaker = NULL, speaker_name = NULL, bytes = ?2, tokenizer = NULL, \
               tokens = NULL, encoding = ?3, record = ?4 WHERE place = ?1";
    connection.prepare_cached(sql)?.execute(params![
        place,
        left.bytes.cast_signed(),
        left.encoding.code(),
        left.body
    ])?;
    Ok(())
}

/// Notes how many tokens entries have; those that are not there, or purged, are passed over.
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
            statement.execute(params![place(session.key, known.seq), &*count.tokenizer, tokens])?;
        }
    }
    Ok(())
}

/// Stores records that earlier versions compressed more than may be expanded now as they are.
pub(super) fn expand_over_compressed(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT place, bytes FROM entry WHERE encoding = ?1 AND bytes > 16 * length(record)";
    let mut statement = connection.prepare(sql)?;
    let rows =
        statement.query_map([Encoding::Zstd.code()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (place, bytes) in rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()? {
        let sql = "SELECT record FROM entry WHERE place = ?1";
        let body: Vec<u8> = connection.query_row(sql, [place], |row| row.get(0))?;
        if let Some(record) = over_compressed(bytes.unsigned_abs(), &body) {
            let sql = "UPDATE entry SET encoding = ?2, record = ?3 WHERE place = ?1";
            connection.execute(sql, params![place, Encoding::Plain.code(), record])?;
        }
    }
    Ok(())
}
