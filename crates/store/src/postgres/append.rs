//! Appends, in two trips to the server: lock the row of the session and look, then write and commit. When the
//! connection is lost, the lock is asked for on another one, which waits until the server is done with the first;
//! then the entries are there or they are not.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{join3, join5};
use tertulia_session::{EntryId, RecordHash};
use tokio_postgres::Statement;

use super::error::{Result, Trouble};
use super::link::{Link, Values, timed};
use super::pool::Pool;
use super::read::{self, fixed, signed};
use super::write;
use crate::clock::now_millis;
use crate::model::Appended;
use crate::plan::{Batch, Known, Plan, Tail, plan};
use crate::{Outcome, SessionId, StoreError};

const LOCK: &str = "SELECT key, tail_seq, tail_id, tail_link, names_parents \
    FROM tertulia.session WHERE id = $1 AND state <> 2 FOR UPDATE";
const KNOWN: &str = "SELECT e.id, e.seq, e.hash FROM tertulia.entry e WHERE e.session = \
    (SELECT key FROM tertulia.session WHERE id = $1) AND e.id = ANY($2)";
const TAIL: &str = "UPDATE tertulia.session SET tail_seq = $2, tail_id = $3, tail_link = $4, \
    names_parents = $5, updated_at = $6 WHERE key = $1";
const MARK: &str = "INSERT INTO tertulia.unindexed (session) VALUES ($1) ON CONFLICT DO NOTHING";
pub(super) const NOTIFY: &str = "SELECT pg_notify('tertulia', $1)";

/// Appends, and finds out what became of it if the connection is lost.
pub(super) async fn append(
    pool: &Pool,
    id: &SessionId,
    batch: &Batch,
) -> Result<Appended, StoreError> {
    // Set while a commit is on its way and nobody knows what became of it.
    let mut in_doubt = None;
    let done = pool
        .work(async |link| {
            let mut attempt = Attempt { link, id, batch, in_doubt: &mut in_doubt };
            attempt.run().await
        })
        .await;
    let outcome = if in_doubt.is_some() { Outcome::Unknown } else { Outcome::NotStored };
    let appended = done.map_err(|trouble| trouble.writing(pool.place(), Some(id), outcome))?;
    pool.appended.notify_one();
    Ok(appended)
}

struct Attempt<'a> {
    link: &'a mut Link,
    id: &'a SessionId,
    batch: &'a Batch,
    in_doubt: &'a mut Option<Appended>,
}

struct Locked {
    key: i64,
    tail: Tail,
    known: BTreeMap<EntryId, Known>,
}

impl Attempt<'_> {
    async fn run(&mut self) -> Result<Appended> {
        let writing = Writing::prepare(self.link).await?;
        let Some(locked) = self.lock().await? else {
            self.link.run("ROLLBACK").await?;
            return Err(read::missing(self.id));
        };
        let find = |entry: &EntryId| Ok(locked.known.get(entry).copied());
        let plan = match plan(self.id, &locked.tail, self.batch, find) {
            Ok(plan) => plan,
            Err(refusal) => {
                self.link.run("ROLLBACK").await?;
                *self.in_doubt = None;
                return Err(refusal.into());
            }
        };
        if plan.new.is_empty() {
            self.link.run("ROLLBACK").await?;
            // All there: the commit whose answer was lost had come about, or it is a repetition.
            return Ok(self.in_doubt.take().unwrap_or(plan.appended));
        }
        // Under the lock, and not there: whatever was sent before came to nothing.
        *self.in_doubt = None;
        let new = New { id: self.id, key: locked.key, batch: self.batch, plan: &plan };
        let written = writing.write(self.link, &new, self.in_doubt).await;
        if matches!(written, Ok(()) | Err(Trouble::Db(_) | Trouble::Store(_))) {
            *self.in_doubt = None;
        }
        written.map(|()| plan.appended)
    }

    /// The first trip. What is known is asked for after the lock was given, in the same breath.
    async fn lock(&mut self) -> Result<Option<Locked>> {
        let (lock, known) = (self.link.prepared(LOCK).await?, self.link.prepared(KNOWN).await?);
        let id = self.id.as_str();
        let wanted = wanted(self.batch);
        let client = &self.link.client;
        // All are sent before the first is answered.
        let (begun, locked, rows) = timed(join3(
            client.batch_execute("BEGIN"),
            client.query_opt(&lock, &[&id]),
            client.query(&known, &[&id, &wanted]),
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
        Ok(Some(Locked { key: locked.try_get(0)?, tail, known }))
    }
}

/// All ids that a plan may ask for.
fn wanted(batch: &Batch) -> Vec<&[u8]> {
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

/// The statements of the second trip, prepared before the transaction begins.
pub(super) struct Writing {
    insert: Statement,
    tail: Statement,
    mark: Statement,
    notify: Statement,
}

impl Writing {
    pub(super) async fn prepare(link: &mut Link) -> Result<Self> {
        Ok(Self {
            insert: link.prepared(write::INSERT).await?,
            tail: link.prepared(TAIL).await?,
            mark: link.prepared(MARK).await?,
            notify: link.prepared(NOTIFY).await?,
        })
    }

    /// Writes the entries and the new end of the session and commits, with the session locked or just begun.
    /// `in_doubt` is set when the commit is on its way.
    pub(super) async fn write(
        &self,
        link: &mut Link,
        new: &New<'_>,
        in_doubt: &mut Option<Appended>,
    ) -> Result<()> {
        let (key, plan, now) = (new.key, new.plan, now_millis());
        let mut chunks = write::chunks(new.batch, &plan.new);
        let last = if plan.redacts { None } else { chunks.pop() };
        for chunk in &chunks {
            timed(write::insert(chunk, link, &self.insert, key, now)).await??;
        }
        if plan.redacts {
            write::purge(link, key).await?;
        }
        let tail = &plan.tail;
        let (seq, parents) = (signed(tail.seq), tail.names_parents);
        let tail_id = tail.id.as_ref().map(|id| id.as_str().as_bytes());
        let tail_link = tail.link.as_bytes().as_slice();
        let (id, client) = (new.id.as_str(), &link.client);
        let insert = async {
            match &last {
                Some(chunk) => write::insert(chunk, link, &self.insert, key, now).await,
                None => Ok(0),
            }
        };
        *in_doubt = Some(plan.appended.clone());
        // The notice is outside of the transaction: inside, the server would let commits that tell
        // others something happen only one after the other, each with its own sync.
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
            // Whoever follows looks again after a moment.
            tracing::debug!(%error, "nobody was told of an append");
        }
        Ok(())
    }
}
