//! Read queries. A row is returned even if it is damaged; decoding detects the damage. Called with a reader's
//! connection, or with the writer's inside its transaction.

use std::cmp::Ordering;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};
use tertulia_session::{ChainLink, EntryId, RecordHash};

use crate::backend::{BranchPoint, Direction, OutlineRow, SessionStatus, State, UsageRow};
use crate::model::{ProjectScope, Seq, TokenCount};
use crate::plan::Tail;
use crate::row::{Encoding, Record, Row, Speaker};
use crate::{OutlineEntry, SessionId};

/// The number of low bits of a row id that contain the number of an entry.
pub(super) const SEQ_BITS: u32 = 32;
/// A page ends after about this many bytes of records.
const PAGE_BYTES: usize = 8 << 20;
/// The columns of an entry, in the order of [`row`].
const COLUMNS: &str = "place, id, parent, type, time, speaker, speaker_name, bytes, tokenizer, \
                       tokens, stored_at, encoding, record, hash, link";

type Result<T> = rusqlite::Result<T>;

#[derive(Clone, Debug)]
pub(super) struct SessionRow {
    pub(super) key: i64,
    pub(super) state: State,
    pub(super) created_at: i64,
    pub(super) names_parents: bool,
    /// The last entry that is in the id index.
    pub(super) ids_until: Seq,
    pub(super) project: Option<String>,
}

pub(super) struct Newest {
    pub(super) seq: Seq,
    pub(super) id: EntryId,
    pub(super) link: ChainLink,
    pub(super) stored_at: i64,
}

pub(super) fn row_id(key: i64, seq: Seq) -> i64 {
    (key << SEQ_BITS) | i64::try_from(seq).unwrap_or(i64::MAX).min(i64::from(u32::MAX))
}

pub(super) fn seq_of(row_id: i64) -> Seq {
    (row_id & i64::from(u32::MAX)).unsigned_abs()
}

/// Returns the stored code of a state. A single-bit error never turns one code into another, so it cannot hide or
/// delete a session.
pub(super) fn state_code(state: State) -> i64 {
    match state {
        State::Open => 0,
        State::Importing => 53,
        State::Deleting => 90,
    }
}

/// Reads the state of a session. An unknown code is damage, and the session counts as open.
pub(super) fn state_at(row: &rusqlite::Row<'_>, column: usize) -> State {
    let code = row.get::<_, i64>(column).ok();
    let is_meant = |state: &State| code == Some(state_code(*state));
    [State::Importing, State::Deleting].into_iter().find(is_meant).unwrap_or(State::Open)
}

pub(super) fn session(connection: &Connection, id: &SessionId) -> Result<Option<SessionRow>> {
    let sql = "SELECT key, state, created_at, names_parents, project, ids_until \
               FROM session WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(SessionRow {
            key: row.get(0)?,
            state: state_at(row, 1),
            created_at: row.get(2)?,
            names_parents: row.get(3)?,
            project: optional_text(row, 4)?,
            ids_until: row.get_ref(5)?.as_i64().unwrap_or(0).unsigned_abs(),
        })
    };
    let found = statement.query_row([id.as_str()], read).optional()?;
    Ok(found.filter(|session| session.state != State::Deleting))
}

/// Returns the open sessions of a scope with their keys, unsorted.
pub(super) fn statuses(
    connection: &Connection,
    scope: &ProjectScope,
) -> Result<Vec<(SessionStatus, i64)>> {
    let sql = "SELECT s.id, s.created_at, s.key, e.place, e.id, e.link, e.stored_at, s.project \
               FROM session s LEFT JOIN entry e ON e.place = (SELECT n.place FROM entry n \
                 WHERE n.place > s.key << ?1 AND n.place < (s.key + 1) << ?1 \
                 ORDER BY n.place DESC LIMIT 1) \
               WHERE coalesce(s.state, 0) NOT IN (?2, ?3) AND (?4 OR s.project IS ?5)";
    let mut statement = connection.prepare_cached(sql)?;
    let hidden = (state_code(State::Importing), state_code(State::Deleting));
    let (is_any, project) = scope.values();
    let values = params![SEQ_BITS, hidden.0, hidden.1, is_any, project];
    let statuses = statement.query_map(values, |row| {
        let created_at: i64 = row.get(1)?;
        let row_id: Option<i64> = row.get(3)?;
        let link: Option<Vec<u8>> = row.get(5)?;
        let link = link.and_then(|link| link.try_into().ok()).map(ChainLink::from_bytes);
        let status = row.get::<_, String>(0)?.parse::<SessionId>().ok().map(|id| SessionStatus {
            id,
            created_at,
            updated_at: row.get::<_, Option<i64>>(6).ok().flatten().unwrap_or(created_at),
            seq: row_id.map_or(0, seq_of),
            tail: row.get::<_, Option<String>>(4).ok().flatten().map(EntryId::from),
            link: link.unwrap_or(ChainLink::START),
            project: optional_text(row, 7).unwrap_or_default(),
        });
        Ok(status.map(|status| (status, row.get::<_, i64>(2).unwrap_or(0))))
    })?;
    statuses.filter_map(Result::transpose).collect()
}

pub(super) fn newest(connection: &Connection, key: i64) -> Result<Option<Newest>> {
    let sql = "SELECT place, id, link, stored_at FROM entry WHERE place > ?1 AND place <= ?2 \
               ORDER BY place DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Newest {
            seq: seq_of(row.get(0)?),
            id: EntryId::from(text(row, 1)?),
            link: ChainLink::from_bytes(bytes(row, 2)?),
            stored_at: row.get(3)?,
        })
    };
    statement.query_row(bounds(key), read).optional()
}

/// Returns the last recorded entry of a session and its link. They are recorded whenever the session's row is
/// written anyway.
pub(super) fn anchor(connection: &Connection, key: i64) -> Result<Option<(Seq, ChainLink)>> {
    let sql = "SELECT anchor_seq, anchor_link FROM session WHERE key = ?1 AND anchor_seq > 0";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &rusqlite::Row<'_>| {
        let seq = row.get::<_, i64>(0)?.unsigned_abs();
        Ok((seq, ChainLink::from_bytes(bytes(row, 1)?)))
    };
    statement.query_row([key], read).optional()
}

pub(super) fn tail(connection: &Connection, session: &SessionRow) -> Result<Tail> {
    let names_parents = session.names_parents;
    Ok(match newest(connection, session.key)? {
        Some(Newest { seq, id, link, .. }) => Tail { seq, id: Some(id), link, names_parents },
        None => Tail { names_parents, ..Tail::start() },
    })
}

/// Returns the exclusive lower and inclusive upper bound of a session's row ids.
pub(super) fn bounds(key: i64) -> (i64, i64) {
    (row_id(key, 0), last_row_id(key))
}

/// Returns the highest possible row id of a session.
pub(super) fn last_row_id(key: i64) -> i64 {
    row_id(key, Seq::from(u32::MAX))
}

pub(super) fn rows(connection: &Connection, key: i64, after: Seq, limit: usize) -> Page {
    page(connection, key, Direction::Forward, after, limit)
}

pub(super) fn outline_rows(
    connection: &Connection,
    key: i64,
    after: Seq,
    limit: usize,
) -> Result<Vec<OutlineRow>> {
    let sql = "SELECT place, id, parent, type FROM entry WHERE place > ?1 AND place <= ?2 \
               ORDER BY place LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let read = |row: &rusqlite::Row<'_>| {
        let (number, id) = (seq_of(row.get(0)?), EntryId::from(text(row, 1)?));
        let parent = row.get::<_, Option<i64>>(2)?.map(i64::unsigned_abs);
        Ok((OutlineEntry { number, id, type_name: text(row, 3)?.into() }, parent))
    };
    statement.query_map((row_id(key, after), last_row_id(key), signed(limit)), read)?.collect()
}

/// The condition must be exactly that of the index; otherwise the whole session would be read.
const BRANCH_POINTS: &str = "SELECT place, parent, type FROM entry \
    WHERE (type = 'team_task' OR parent IS NOT (place & 4294967295) - 1) \
    AND place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT ?3";

pub(super) fn branch_points(
    connection: &Connection,
    key: i64,
    from: Seq,
    limit: usize,
) -> Result<Vec<BranchPoint>> {
    let mut statement = connection.prepare_cached(BRANCH_POINTS)?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(BranchPoint {
            seq: seq_of(row.get(0)?),
            parent: row.get::<_, Option<i64>>(1)?.map(i64::unsigned_abs),
            is_task: text(row, 2)? == BranchPoint::TASK,
        })
    };
    statement.query_map((row_id(key, 0), row_id(key, from), signed(limit)), read)?.collect()
}

/// The rows before the first one that the database could not return, and the error of that one. There may be fewer
/// rows than requested even if there are more.
pub(super) struct Page {
    pub(super) rows: Vec<Row>,
    pub(super) error: Option<rusqlite::Error>,
}

pub(super) fn page(
    connection: &Connection,
    key: i64,
    direction: Direction,
    from: Seq,
    limit: usize,
) -> Page {
    let (bounds, order) = match direction {
        Direction::Forward => ((row_id(key, from), last_row_id(key)), Ordering::Less),
        Direction::Backward => ((row_id(key, 0), row_id(key, from)), Ordering::Greater),
    };
    let mut rows = Vec::new();
    let error = collect(connection, bounds, limit, order, &mut rows).err();
    Page { rows, error }
}

/// Reads the entries between two row ids. `order` is the expected result of comparing a row with the next one.
fn collect(
    connection: &Connection,
    (low, high): (i64, i64),
    limit: usize,
    order: Ordering,
    into: &mut Vec<Row>,
) -> Result<()> {
    let direction = if order == Ordering::Less { "ASC" } else { "DESC" };
    let sql = format!(
        "SELECT {COLUMNS} FROM entry WHERE place > ?1 AND place <= ?2 \
         ORDER BY place {direction} LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query((low, high, signed(limit)))?;
    let (mut before, mut bytes) = (None, 0);
    while let Some(one) = found.next()? {
        let row_id: i64 = one.get(0)?;
        // A damaged B-tree may return rows in any order. Without this check, reading page by page might never end.
        let is_inside = low < row_id && row_id <= high;
        if !is_inside || before.is_some_and(|before: i64| before.cmp(&row_id) != order) {
            let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            let reason = "an entry is out of order".to_owned();
            return Err(rusqlite::Error::SqliteFailure(corrupt, Some(reason)));
        }
        before = Some(row_id);
        let row = row(one)?;
        // Pages are also limited by their stored and decompressed sizes, because a file may have large entries.
        let expanded = usize::try_from(row.record.bytes).unwrap_or(usize::MAX);
        bytes = row.record.body.len().max(expanded).saturating_add(bytes);
        into.push(row);
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(())
}

/// The condition and the order must be those of the index; otherwise all entries would be read.
const USAGE: &str = "SELECT s.id, s.project, \
    e.place, e.id, e.parent, e.type, e.time, e.speaker, e.speaker_name, e.bytes, e.tokenizer, \
    e.tokens, e.stored_at, e.encoding, e.record, e.hash, e.link \
    FROM entry e INDEXED BY usage JOIN session s ON s.key = e.place >> ?1 \
    WHERE e.type = 'usage' AND coalesce(e.time, e.stored_at) >= ?2 \
    AND coalesce(s.state, 0) NOT IN (?3, ?4) ORDER BY coalesce(e.time, e.stored_at), e.place";

/// Passes the usage entries of all open sessions since a time to a function, oldest first.
pub(super) fn usage(
    connection: &Connection,
    since: i64,
    visit: &mut dyn FnMut(UsageRow),
) -> Result<()> {
    let mut statement = connection.prepare_cached(USAGE)?;
    let hidden = (state_code(State::Importing), state_code(State::Deleting));
    let mut found = statement.query(params![SEQ_BITS, since, hidden.0, hidden.1])?;
    while let Some(one) = found.next()? {
        if let Ok(session) = one.get::<_, String>(0)?.parse() {
            visit(UsageRow { session, project: optional_text(one, 1)?, row: row_at(one, 2)? });
        }
    }
    Ok(())
}

pub(super) fn one(connection: &Connection, row_id: i64) -> Result<Option<Row>> {
    let sql = format!("SELECT {COLUMNS} FROM entry WHERE place = ?1");
    connection.prepare_cached(&sql)?.query_row([row_id], row).optional()
}

fn row(row: &rusqlite::Row<'_>) -> Result<Row> {
    row_at(row, 0)
}

/// Reads an entry from a row whose columns begin at this one.
fn row_at(row: &rusqlite::Row<'_>, first: usize) -> Result<Row> {
    let row_id: i64 = row.get(first)?;
    let tokenizer = optional_text(row, first + 8)?;
    let tokens = row.get::<_, Option<i64>>(first + 9)?;
    let count = tokenizer.zip(tokens).map(|(tokenizer, tokens)| TokenCount {
        tokenizer: tokenizer.into(),
        tokens: tokens.unsigned_abs(),
    });
    let name = optional_text(row, first + 6)?.map(Into::into);
    let speaker = optional_text(row, first + 5)?.map(|id| Speaker { id: id.into(), name });
    let record = Record {
        id: EntryId::from(text(row, first + 1)?),
        type_name: text(row, first + 3)?.into(),
        time: row.get(first + 4)?,
        speaker,
        bytes: row.get::<_, i64>(first + 7)?.unsigned_abs(),
        count,
        // An unknown code is damage, which is detected when the hashes are compared.
        encoding: Encoding::from_code(row.get(first + 11)?).unwrap_or(Encoding::Plain),
        body: row.get(first + 12)?,
        hash: RecordHash::from_bytes(bytes(row, first + 13)?),
    };
    Ok(Row {
        seq: seq_of(row_id),
        parent: row.get::<_, Option<i64>>(first + 2)?.map(i64::unsigned_abs),
        stored_at: row.get(first + 10)?,
        link: ChainLink::from_bytes(bytes(row, first + 14)?),
        record,
    })
}

/// Reads a text. Invalid bytes become replacement characters, so that the text does not match the record.
fn text(row: &rusqlite::Row<'_>, column: usize) -> Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

pub(super) fn optional_text(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    })
}

/// Reads 32 bytes. If they are invalid, returns zeros, which are never a valid hash.
pub(super) fn bytes(row: &rusqlite::Row<'_>, column: usize) -> Result<[u8; 32]> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) => bytes.try_into().unwrap_or([0; 32]),
        _ => [0; 32],
    })
}

pub(super) fn signed(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::schema::STEPS;

    #[test]
    fn landmarks_are_found_by_their_index() {
        let connection = Connection::open_in_memory().unwrap();
        STEPS.iter().for_each(|step| connection.execute_batch(step).unwrap());
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {BRANCH_POINTS}")).unwrap();
        let plan: Vec<String> =
            plan.query_map((0, 9, 1), |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        assert_eq!(plan.len(), 1, "{plan:?}");
        assert!(plan[0].contains("USING INDEX landmark (place>? AND place<?)"), "{plan:?}");
    }

    #[test]
    fn usage_is_found_by_its_index_in_the_order_of_the_index() {
        let connection = Connection::open_in_memory().unwrap();
        STEPS.iter().for_each(|step| connection.execute_batch(step).unwrap());
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {USAGE}")).unwrap();
        let plan: Vec<String> = plan
            .query_map((32, 0, 53, 90), |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(plan[0].contains("USING INDEX usage (<expr>>?)"), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
    }
}
