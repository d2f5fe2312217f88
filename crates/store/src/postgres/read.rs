//! Read queries. A row is returned even if it is damaged; decoding detects the damage.

use tertulia_session::{ChainLink, EntryId, RecordHash};
use tokio_postgres::Row as Answer;

use super::connection::{PgConnection, Values};
use super::error::{PgError, Result};
use crate::backend::{BranchPoint, Direction, SessionStatus, State, UsageRow};
use crate::model::{ListFilter, Seq, TokenCount};
use crate::row::{Encoding, Record, Row, Speaker};
use crate::{SessionId, StoreError};

/// The columns of an entry, in the order of [`row`].
macro_rules! columns {
    () => {
        "e.seq, e.id, e.parent, e.type, e.time, e.speaker, e.speaker_name, e.bytes, e.tokenizer, \
         e.tokens, e.stored_at, e.encoding, e.record, e.hash, e.link"
    };
}
pub(super) use columns;

pub(super) const COLUMNS: usize = 15;

const STATUS: &str = "SELECT id, created_at, updated_at, tail_seq, tail_id, tail_link, project \
    FROM tertulia.session WHERE id = $1 AND state <> 2";
const STATUSES: &str = "SELECT id, created_at, updated_at, tail_seq, tail_id, tail_link, project \
    FROM tertulia.session WHERE state = 0 AND ($1::text IS NULL OR starts_with(id, $1)) \
    AND ($2::bigint IS NULL OR updated_at >= $2) AND ($3::bigint IS NULL OR updated_at < $3) \
    AND ($4::boolean OR project IS NOT DISTINCT FROM $5::bytea) \
    ORDER BY updated_at DESC, key DESC LIMIT $6";
const ROWS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tertulia.entry e WHERE e.session = (SELECT key FROM tertulia.session \
      WHERE id = $1 AND state <> 2) AND e.seq > $2 ORDER BY e.seq LIMIT $3"
);
const ROWS_BACK: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tertulia.entry e WHERE e.session = (SELECT key FROM tertulia.session \
      WHERE id = $1 AND state <> 2) AND e.seq <= $2 ORDER BY e.seq DESC LIMIT $3"
);
/// The condition must be the same as that of the index.
const BRANCH_POINTS: &str = "SELECT e.seq, e.parent, e.type FROM tertulia.entry e \
    WHERE e.session = (SELECT key FROM tertulia.session WHERE id = $1 AND state <> 2) \
    AND (e.type = '\\x7465616d5f7461736b'::bytea OR e.parent IS DISTINCT FROM e.seq - 1) \
    AND e.seq <= $2 ORDER BY e.seq DESC LIMIT $3";
/// The condition and the order must be those of the index.
const USAGE: &str = concat!(
    "SELECT ",
    columns!(),
    ", s.key, s.id, s.project FROM tertulia.entry e \
      JOIN tertulia.session s ON s.key = e.session AND s.state = 0 \
      WHERE e.type = '\\x7573616765'::bytea \
      AND (coalesce(e.time, e.stored_at), e.session, e.seq) > ($1, $2, $3) \
      ORDER BY coalesce(e.time, e.stored_at), e.session, e.seq LIMIT $4"
);
/// The time of a usage entry, the key of its session, and its number.
pub(super) type UsagePosition = (i64, i64, i64);
const FIND: &str = "SELECT e.seq FROM tertulia.entry e WHERE e.session = (SELECT key \
    FROM tertulia.session WHERE id = $1 AND state <> 2) AND e.id = $2";

pub(super) fn state_code(state: State) -> i16 {
    match state {
        State::Open => 0,
        State::Importing => 1,
        State::Deleting => 2,
    }
}

pub(super) fn missing(id: &SessionId) -> PgError {
    PgError::Store(StoreError::SessionNotFound(id.clone()))
}

pub(super) async fn status(connection: &mut PgConnection, id: &SessionId) -> Result<SessionStatus> {
    let row = connection.query_opt(STATUS, &[&id.as_str()]).await?;
    status_from_row(&row.ok_or_else(|| missing(id))?, id.clone())
}

pub(super) async fn statuses(
    connection: &mut PgConnection,
    filter: &ListFilter,
) -> Result<Vec<SessionStatus>> {
    // Neither texts on the server nor ids can contain NUL.
    if filter.id_prefix.as_ref().is_some_and(|prefix| prefix.contains('\0')) {
        return Ok(Vec::new());
    }
    let since = filter.since.as_ref().map(|since| since.millis());
    let until = filter.until.as_ref().map(|until| until.millis());
    let limit = signed(filter.limit.unwrap_or(usize::MAX) as u64);
    let (is_any, project) = filter.project.values();
    let project = project.map(str::as_bytes);
    let values: Values<'_> = &[&filter.id_prefix, &since, &until, &is_any, &project, &limit];
    let rows = connection.query(STATUSES, values).await?;
    let mut statuses = Vec::with_capacity(rows.len());
    for row in rows {
        // Rows with an invalid id, which only another program can have written, are skipped.
        if let Ok(id) = row.try_get::<_, &str>(0)?.parse::<SessionId>() {
            statuses.push(status_from_row(&row, id)?);
        }
    }
    Ok(statuses)
}

fn status_from_row(row: &Answer, id: SessionId) -> Result<SessionStatus> {
    Ok(SessionStatus {
        id,
        created_at: row.try_get(1)?,
        updated_at: row.try_get(2)?,
        seq: row.try_get::<_, i64>(3)?.unsigned_abs(),
        tail: optional_text(row, 4)?.map(EntryId::from),
        link: chain_link(row, 5)?,
        project: optional_text(row, 6)?,
    })
}

pub(super) async fn rows(
    connection: &mut PgConnection,
    id: &SessionId,
    direction: Direction,
    from: Seq,
    limit: usize,
) -> Result<Vec<Row>> {
    let sql = match direction {
        Direction::Forward => ROWS,
        Direction::Backward => ROWS_BACK,
    };
    let found =
        connection.query(sql, &[&id.as_str(), &signed(from), &signed(limit as u64)]).await?;
    if found.is_empty() {
        // The page is empty. If the session does not exist, this returns an error.
        status(connection, id).await?;
    }
    found.iter().map(row).collect()
}

pub(super) async fn branch_points(
    connection: &mut PgConnection,
    id: &SessionId,
    from: Seq,
    limit: usize,
) -> Result<Vec<BranchPoint>> {
    let found = connection
        .query(BRANCH_POINTS, &[&id.as_str(), &signed(from), &signed(limit as u64)])
        .await?;
    let mut points = Vec::with_capacity(found.len());
    for row in &found {
        points.push(BranchPoint {
            seq: row.try_get::<_, i64>(0)?.unsigned_abs(),
            parent: row.try_get::<_, Option<i64>>(1)?.map(i64::unsigned_abs),
            is_task: row.try_get::<_, &[u8]>(2)? == BranchPoint::TASK.as_bytes(),
        });
    }
    Ok(points)
}

/// Reads the usage entries of all open sessions after a position, in the order of the index. Returns also the position
/// from which to continue, if there may be more.
pub(super) async fn usage(
    connection: &mut PgConnection,
    (time, session, seq): UsagePosition,
    limit: usize,
) -> Result<(Vec<UsageRow>, Option<UsagePosition>)> {
    let found = connection.query(USAGE, &[&time, &session, &seq, &signed(limit as u64)]).await?;
    let (mut rows, mut last) = (Vec::with_capacity(found.len()), None);
    for one in &found {
        let row = row(one)?;
        last = Some((row.time(), one.try_get(COLUMNS)?, signed(row.seq)));
        if let Ok(session) = one.try_get::<_, &str>(COLUMNS + 1)?.parse() {
            rows.push(UsageRow { session, project: optional_text(one, COLUMNS + 2)?, row });
        }
    }
    Ok((rows, last.filter(|_| found.len() == limit)))
}

pub(super) async fn find(
    connection: &mut PgConnection,
    id: &SessionId,
    entry: &EntryId,
) -> Result<Option<Seq>> {
    match connection.value(FIND, &[&id.as_str(), &entry.as_str().as_bytes()]).await? {
        Some(seq) => Ok(Some(i64::unsigned_abs(seq))),
        None => status(connection, id).await.map(|_| None),
    }
}

/// Reads an entry from a row that starts with its columns.
pub(super) fn row(from: &Answer) -> Result<Row> {
    let tokenizer = optional_text(from, 8)?;
    let tokens: Option<i64> = from.try_get(9)?;
    let count = tokenizer.zip(tokens).map(|(tokenizer, tokens)| TokenCount {
        tokenizer: tokenizer.into(),
        tokens: tokens.unsigned_abs(),
    });
    let name = optional_text(from, 6)?.map(Into::into);
    let speaker = optional_text(from, 5)?.map(|id| Speaker { id: id.into(), name });
    let encoding: i16 = from.try_get(11)?;
    let record = Record {
        id: EntryId::from(text(from, 1)?),
        type_name: text(from, 3)?.into(),
        time: from.try_get(4)?,
        speaker,
        bytes: from.try_get::<_, i64>(7)?.unsigned_abs(),
        count,
        // An unknown code is damage, which is detected when the hashes are compared.
        encoding: Encoding::from_code(i64::from(encoding)).unwrap_or(Encoding::Plain),
        body: from.try_get(12)?,
        hash: RecordHash::from_bytes(fixed(from.try_get(13)?)),
    };
    Ok(Row {
        seq: from.try_get::<_, i64>(0)?.unsigned_abs(),
        parent: from.try_get::<_, Option<i64>>(2)?.map(i64::unsigned_abs),
        stored_at: from.try_get(10)?,
        link: ChainLink::from_bytes(fixed(from.try_get(14)?)),
        record,
    })
}

/// Reads a text. Invalid bytes become replacement characters, so that the text does not match the record.
fn text(row: &Answer, column: usize) -> Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

pub(super) fn optional_text(row: &Answer, column: usize) -> Result<Option<String>> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// Reads the link of a session's newest entry; the start of the chain if there is none.
pub(super) fn chain_link(row: &Answer, column: usize) -> Result<ChainLink> {
    let link: Option<&[u8]> = row.try_get(column)?;
    Ok(link.map_or(ChainLink::START, |connection| ChainLink::from_bytes(fixed(connection))))
}

/// Converts to 32 bytes. If the length is wrong, returns zeros, which are never a valid hash.
pub(super) fn fixed(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap_or([0; 32])
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
