//! Appends in two round trips: the first locks the row of the session and looks up entries, the second writes and
//! commits. If the connection is lost, the lock is requested on another one. The server grants it only when it has
//! finished with the first connection, so by then the entries are either stored or not.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{join3, join5};
use tertulia_session::{EntryId, RecordHash};
use tokio_postgres::Statement;

use super::connection::{PgConnection, Values, timed};
use super::error::{PgError, Result};
use super::pool::Pool;
use super::read::{self, columns, fixed, row, signed};
use crate::clock::now_millis;
use crate::lease::{Fence, Holder};
use crate::model::Appended;
use crate::plan::{Batch, Known, Plan, PlannedEntry, Tail, plan, purged_records};
use crate::row::Record;
use crate::{Outcome, Problem, SessionId, StoreError};

const LOCK: &str = "SELECT key, tail_seq, tail_id, tail_link, names_parents, \
    fence, lease_holder FROM tertulia.session WHERE id = $1 AND state <> 2 FOR UPDATE";
const KNOWN: &str = "SELECT e.id, e.seq, e.hash FROM tertulia.entry e WHERE e.session = \
    (SELECT key FROM tertulia.session WHERE id = $1) AND e.id = ANY($2)";
const TAIL: &str = "UPDATE tertulia.session SET tail_seq = $2, tail_id = $3, tail_link = $4, \
    names_parents = $5, updated_at = $6 WHERE key = $1";
const MARK: &str = "INSERT INTO tertulia.unindexed (session) VALUES ($1) ON CONFLICT DO NOTHING";
pub(super) const NOTIFY: &str = "SELECT pg_notify('tertulia', $1)";

/// The approximate number of bytes of entries per statement.
const STATEMENT_BYTES: usize = 8 << 20;

const INSERT: &str = "INSERT INTO tertulia.entry (session, stored_at, seq, id, parent, type, time, \
    speaker, speaker_name, bytes, tokenizer, tokens, encoding, record, hash, link) \
    SELECT $1, $2, n.* FROM unnest($3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[], \
    $7::bigint[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bytea[], $12::bigint[], \
    $13::smallint[], $14::bytea[], $15::bytea[], $16::bytea[]) AS n";
const LOG: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tertulia.entry e WHERE e.session = $1 AND e.seq > $2 ORDER BY e.seq LIMIT 1000"
);
const OVERWRITE: &str = "UPDATE tertulia.entry e SET speaker = NULL, speaker_name = NULL, \
    bytes = n.bytes, tokenizer = NULL, tokens = NULL, encoding = n.encoding, record = n.record \
    FROM unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::bytea[]) \
    AS n(seq, bytes, encoding, record) WHERE e.session = $1 AND e.seq = n.seq";
const FORGET: &str = "DELETE FROM tertulia.words WHERE session = $1 AND seq = ANY($2)";

/// Appends, and determines the outcome if the connection is lost.
pub(super) async fn append(
    pool: &Pool,
    id: &SessionId,
    batch: &Batch,
) -> Result<Appended, StoreError> {
    // The result of an append whose commit was sent but not yet confirmed.
    let mut in_doubt = None;
    let done =
        pool.work(async |connection| attempt(connection, id, batch, &mut in_doubt).await).await;
    let outcome = if in_doubt.is_some() { Outcome::Unknown } else { Outcome::NotStored };
    let appended = done.map_err(|error| error.writing(pool.location(), Some(id), outcome))?;
    pool.appended.notify_one();
    Ok(appended)
}

async fn attempt(
    connection: &mut PgConnection,
    id: &SessionId,
    batch: &Batch,
    in_doubt: &mut Option<Appended>,
) -> Result<Appended> {
    let writing = Writing::prepare(connection).await?;
    let Some(Locked { key, tail, known, fence, holder }) = lock(connection, id, batch).await?
    else {
        connection.run("ROLLBACK").await?;
        return Err(read::missing(id));
    };
    let find = |entry: &EntryId| Ok(known.get(entry).copied());
    // Checked while the row is locked, so a take-over is either complete or waits for this append. A repetition of an
    // append that was stored before the take-over is no new one.
    let is_fenced = batch.fence.is_some_and(|own| own != fence);
    let plan = match plan(id, &tail, batch, find) {
        Ok(plan) if plan.new.is_empty() || !is_fenced => Ok(plan),
        _ if is_fenced => Err(StoreError::SessionLeaseLost { session: id.clone(), holder }),
        planned => planned,
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(refusal) => {
            connection.run("ROLLBACK").await?;
            *in_doubt = None;
            return Err(refusal.into());
        }
    };
    if plan.new.is_empty() {
        connection.run("ROLLBACK").await?;
        // Everything is stored: either the commit whose confirmation was lost succeeded, or this append is a
        // repetition.
        return Ok(in_doubt.take().unwrap_or(plan.appended));
    }
    // The lock is held and the entries are missing: the earlier attempt failed.
    *in_doubt = None;
    let new = New { id, key, batch, plan: &plan };
    let written = writing.write(connection, &new, in_doubt).await;
    if matches!(written, Ok(()) | Err(PgError::Server(_) | PgError::Store(_))) {
        *in_doubt = None;
    }
    written.map(|()| plan.appended)
}

/// A locked session, and the stored entries of a batch.
struct Locked {
    key: i64,
    tail: Tail,
    known: BTreeMap<EntryId, Known>,
    fence: Fence,
    holder: Option<Box<str>>,
}

/// Runs the first round trip. Stored entries are looked up in the same round trip, after the lock is granted.
async fn lock(
    connection: &mut PgConnection,
    id: &SessionId,
    batch: &Batch,
) -> Result<Option<Locked>> {
    let (lock, known) = (connection.prepared(LOCK).await?, connection.prepared(KNOWN).await?);
    let id = id.as_str();
    let ids = ids_to_look_up(batch);
    let client = &connection.client;
    // All requests are sent before the first answer arrives.
    let (begun, locked, rows) = timed(join3(
        client.batch_execute("BEGIN"),
        client.query_opt(&lock, &[&id]),
        client.query(&known, &[&id, &ids]),
    ))
    .await?;
    begun?;
    let Some(locked) = locked? else { return Ok(None) };
    let mut known = BTreeMap::new();
    for row in rows? {
        if let Some(id) = read::optional_text(&row, 0)? {
            let hash = RecordHash::from_bytes(fixed(row.try_get(2)?));
            let seq = row.try_get::<_, i64>(1)?.unsigned_abs();
            known.insert(EntryId::from(id), Known { seq, hash });
        }
    }
    let tail = Tail {
        seq: locked.try_get::<_, i64>(1)?.unsigned_abs(),
        id: read::optional_text(&locked, 2)?.map(EntryId::from),
        link: read::chain_link(&locked, 3)?,
        names_parents: locked.try_get(4)?,
    };
    let key = locked.try_get(0)?;
    let fence = Fence { session: key, number: locked.try_get(5)? };
    let holder = read::optional_text(&locked, 6)?.map(|holder| Holder::describe(&holder));
    Ok(Some(Locked { key, tail, known, fence, holder }))
}

/// Returns all ids that a plan may look up.
fn ids_to_look_up(batch: &Batch) -> Vec<&[u8]> {
    let mut ids = BTreeSet::new();
    for prepared in &batch.records {
        ids.insert(prepared.record.id.as_str());
        ids.extend(prepared.parent_id.as_ref().map(EntryId::as_str));
        ids.extend(prepared.redacts.as_ref().map(EntryId::as_str));
    }
    ids.into_iter().map(str::as_bytes).collect()
}

pub(super) struct New<'n> {
    pub(super) id: &'n SessionId,
    pub(super) key: i64,
    pub(super) batch: &'n Batch,
    pub(super) plan: &'n Plan,
}

/// The statements of the second round trip, prepared before the transaction starts.
pub(super) struct Writing {
    insert: Statement,
    tail: Statement,
    mark: Statement,
    notify: Statement,
}

impl Writing {
    pub(super) async fn prepare(connection: &mut PgConnection) -> Result<Self> {
        Ok(Self {
            insert: connection.prepared(INSERT).await?,
            tail: connection.prepared(TAIL).await?,
            mark: connection.prepared(MARK).await?,
            notify: connection.prepared(NOTIFY).await?,
        })
    }

    /// Writes the entries and the new tail of a session that is locked or new, and commits. Sets `in_doubt` before
    /// the commit is sent.
    pub(super) async fn write(
        &self,
        connection: &mut PgConnection,
        new: &New<'_>,
        in_doubt: &mut Option<Appended>,
    ) -> Result<()> {
        let (key, plan, now) = (new.key, new.plan, now_millis());
        let mut chunks = chunks(new.batch, &plan.new);
        let last = if plan.redacts { None } else { chunks.pop() };
        for chunk in &chunks {
            timed(insert(chunk, connection, &self.insert, key, now)).await??;
        }
        if plan.redacts {
            purge(connection, key).await?;
        }
        let tail = &plan.tail;
        let (seq, parents) = (signed(tail.seq), tail.names_parents);
        let tail_id = tail.id.as_ref().map(|id| id.as_str().as_bytes());
        let tail_link = tail.link.as_bytes().as_slice();
        let (id, client) = (new.id.as_str(), &connection.client);
        let insert = async {
            match &last {
                Some(chunk) => insert(chunk, connection, &self.insert, key, now).await,
                None => Ok(0),
            }
        };
        *in_doubt = Some(plan.appended.clone());
        // The notification is sent outside of the transaction. Inside, the server would run all commits with a
        // notification one after the other, each with its own sync.
        let ended: Values<'_> = &[&key, &seq, &tail_id, &tail_link, &parents, &now];
        let (inserted, ended, marked, committed, notified) = timed(join5(
            insert,
            client.execute(&self.tail, ended),
            client.execute(&self.mark, &[&key]),
            client.batch_execute("COMMIT"),
            client.query(&self.notify, &[&id]),
        ))
        .await?;
        inserted?;
        ended?;
        marked?;
        committed?;
        if let Err(error) = notified {
            // Followers check again after a short time.
            tracing::debug!(%error, "followers were not notified of an append");
        }
        Ok(())
    }
}

/// The entries of one statement.
type Chunk<'b> = Vec<(&'b PlannedEntry, &'b Record)>;

/// Splits the new entries of a batch into chunks, so that each statement stays small.
fn chunks<'b>(batch: &'b Batch, new: &'b [PlannedEntry]) -> Vec<Chunk<'b>> {
    let mut chunks = Vec::new();
    let (mut chunk, mut bytes) = (Chunk::new(), 0);
    for planned in new {
        let Some(prepared) = batch.records.get(planned.index) else { continue };
        if bytes >= STATEMENT_BYTES {
            chunks.push(std::mem::take(&mut chunk));
            bytes = 0;
        }
        bytes += prepared.record.body.len() + 256;
        chunk.push((planned, &prepared.record));
    }
    chunks.push(chunk);
    chunks
}

async fn insert(
    chunk: &Chunk<'_>,
    connection: &PgConnection,
    statement: &Statement,
    key: i64,
    now: i64,
) -> Result<u64, tokio_postgres::Error> {
    fn column<'c, T>(chunk: &'c Chunk<'_>, of: impl Fn(&'c Record) -> T) -> Vec<T> {
        chunk.iter().map(|(_, record)| of(record)).collect()
    }
    let seqs: Vec<_> = chunk.iter().map(|(planned, _)| signed(planned.seq)).collect();
    let parents: Vec<_> = chunk.iter().map(|(planned, _)| planned.parent.map(signed)).collect();
    let links: Vec<_> =
        chunk.iter().map(|(planned, _)| planned.link.as_bytes().as_slice()).collect();
    let speakers = column(chunk, |one| one.speaker.as_ref().map(|speaker| speaker.id.as_bytes()));
    let names = column(chunk, |one| one.speaker.as_ref()?.name.as_deref().map(str::as_bytes));
    let tokenizers =
        column(chunk, |one| one.count.as_ref().map(|count| count.tokenizer.as_bytes()));
    let tokens = column(chunk, |one| one.count.as_ref().map(|count| signed(count.tokens)));
    connection
        .client
        .execute(
            statement,
            &[
                &key,
                &now,
                &seqs,
                &column(chunk, |one| one.id.as_str().as_bytes()),
                &parents,
                &column(chunk, |one| one.type_name.as_bytes()),
                &column(chunk, |one| one.time),
                &speakers,
                &names,
                &column(chunk, |one| signed(one.bytes)),
                &tokenizers,
                &tokens,
                &column(chunk, |one| one.encoding.code()),
                &column(chunk, |one| one.body.as_slice()),
                &column(chunk, |one| one.hash.as_bytes().as_slice()),
                &links,
            ],
        )
        .await
}

/// Removes the bytes of everything that is hidden in a locked session from the tables and the search index. Before a
/// redaction returns, old rows are also removed from the server's files.
async fn purge(connection: &mut PgConnection, key: i64) -> Result<()> {
    let mut log = Vec::new();
    let mut after = 0_i64;
    loop {
        let page = connection.query(LOG, &[&key, &after]).await?;
        let Some(last) = page.last() else { break };
        after = last.try_get(0)?;
        for one in &page {
            log.push(row(one)?);
        }
    }
    // Decoding a long log takes time. It runs on another thread, so that other work can continue.
    let Ok(left) = tokio::task::spawn_blocking(move || purged_records(log)).await else {
        connection.run("ROLLBACK").await?;
        let problem = Problem::Database("the log could not be read for a purge".to_owned());
        return Err(StoreError::write_failed(problem).into());
    };
    if left.is_empty() {
        return Ok(());
    }
    let seqs: Vec<i64> = left.iter().map(|(seq, ..)| signed(*seq)).collect();
    let bytes: Vec<i64> = left.iter().map(|(.., record)| signed(record.bytes)).collect();
    let encodings: Vec<i16> = left.iter().map(|(.., record)| record.encoding.code()).collect();
    let bodies: Vec<&[u8]> = left.iter().map(|(.., record)| record.body.as_slice()).collect();
    connection.execute(OVERWRITE, &[&key, &seqs, &bytes, &encodings, &bodies]).await?;
    connection.execute(FORGET, &[&key, &seqs]).await.map(drop)
}
