//! Questions to the server. A row is read as it is, however damaged: whoever decodes it finds out.

use tertulia_session::{ChainLink, EntryId, RecordHash};
use tokio_postgres::Row as Answer;

use super::error::{Result, Trouble};
use super::link::{Link, Values};
use crate::backend::{Head, Landmark, State, Way};
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

const HEAD: &str = "SELECT id, created_at, updated_at, tail_seq, tail_id, tail_link, project \
    FROM tertulia.session WHERE id = $1 AND state <> 2";
const HEADS: &str = "SELECT id, created_at, updated_at, tail_seq, tail_id, tail_link, project \
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
/// The condition is that of the index.
const LANDMARKS: &str = "SELECT e.seq, e.parent, e.type FROM tertulia.entry e \
    WHERE e.session = (SELECT key FROM tertulia.session WHERE id = $1 AND state <> 2) \
    AND (e.type = '\\x7465616d5f7461736b'::bytea OR e.parent IS DISTINCT FROM e.seq - 1) \
    AND e.seq <= $2 ORDER BY e.seq DESC LIMIT $3";
const FIND: &str = "SELECT e.seq FROM tertulia.entry e WHERE e.session = (SELECT key \
    FROM tertulia.session WHERE id = $1 AND state <> 2) AND e.id = $2";

pub(super) fn state_code(state: State) -> i16 {
    match state {
        State::Open => 0,
        State::Importing => 1,
        State::Deleting => 2,
    }
}

pub(super) fn missing(id: &SessionId) -> Trouble {
    Trouble::Store(StoreError::SessionNotFound(id.clone()))
}

pub(super) async fn head(link: &mut Link, id: &SessionId) -> Result<Head> {
    let row = link.query_opt(HEAD, &[&id.as_str()]).await?;
    head_of(&row.ok_or_else(|| missing(id))?, id.clone())
}

pub(super) async fn heads(link: &mut Link, filter: &ListFilter) -> Result<Vec<Head>> {
    // The server's texts have no NUL; neither has an id.
    if filter.id_prefix.as_ref().is_some_and(|prefix| prefix.contains('\0')) {
        return Ok(Vec::new());
    }
    let since = filter.since.as_ref().map(|since| since.millis());
    let until = filter.until.as_ref().map(|until| until.millis());
    let limit = signed(filter.limit.unwrap_or(usize::MAX) as u64);
    let (is_any, project) = filter.project.values();
    let project = project.map(str::as_bytes);
    let values: Values<'_> = &[&filter.id_prefix, &since, &until, &is_any, &project, &limit];
    let rows = link.query(HEADS, values).await?;
    let mut heads = Vec::with_capacity(rows.len());
    for row in rows {
        // An id that somebody else wrote is none of ours.
        if let Ok(id) = row.try_get::<_, &str>(0)?.parse::<SessionId>() {
            heads.push(head_of(&row, id)?);
        }
    }
    Ok(heads)
}

fn head_of(row: &Answer, id: SessionId) -> Result<Head> {
    Ok(Head {
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
    link: &mut Link,
    id: &SessionId,
    way: Way,
    from: Seq,
    limit: usize,
) -> Result<Vec<Row>> {
    let sql = match way {
        Way::Forth => ROWS,
        Way::Back => ROWS_BACK,
    };
    let found = link.query(sql, &[&id.as_str(), &signed(from), &signed(limit as u64)]).await?;
    if found.is_empty() {
        // Nothing there, or nowhere to look?
        head(link, id).await?;
    }
    found.iter().map(row).collect()
}

pub(super) async fn landmarks(
    link: &mut Link,
    id: &SessionId,
    from: Seq,
    limit: usize,
) -> Result<Vec<Landmark>> {
    let found =
        link.query(LANDMARKS, &[&id.as_str(), &signed(from), &signed(limit as u64)]).await?;
    let mut marks = Vec::with_capacity(found.len());
    for row in &found {
        marks.push(Landmark {
            seq: row.try_get::<_, i64>(0)?.unsigned_abs(),
            parent: row.try_get::<_, Option<i64>>(1)?.map(i64::unsigned_abs),
            is_task: row.try_get::<_, &[u8]>(2)? == Landmark::TASK.as_bytes(),
        });
    }
    Ok(marks)
}

pub(super) async fn find(link: &mut Link, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
    match link.value(FIND, &[&id.as_str(), &entry.as_str().as_bytes()]).await? {
        Some(seq) => Ok(Some(i64::unsigned_abs(seq))),
        None => head(link, id).await.map(|_| None),
    }
}

/// The entry of a row that begins with its columns.
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
        // A code that nobody wrote: the hash will not fit.
        encoding: Encoding::of(i64::from(encoding)).unwrap_or(Encoding::Plain),
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

/// A text, with marks where bytes are no characters: it will not be the one in the record.
fn text(row: &Answer, column: usize) -> Result<String> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

pub(super) fn optional_text(row: &Answer, column: usize) -> Result<Option<String>> {
    let bytes: Option<&[u8]> = row.try_get(column)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// The link of the newest entry of a session, which may have none.
pub(super) fn chain_link(row: &Answer, column: usize) -> Result<ChainLink> {
    let link: Option<&[u8]> = row.try_get(column)?;
    Ok(link.map_or(ChainLink::START, |link| ChainLink::from_bytes(fixed(link))))
}

/// 32 bytes; zeros where they are not: no hash is all zeros.
pub(super) fn fixed(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap_or([0; 32])
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
