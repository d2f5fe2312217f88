//! Appends. A session is locked by its row, so numbers are given out one after the other, whoever
//! appends from wherever. Two trips to the server: lock and look, then write and commit.
//!
//! When the connection is lost, what became of the append is found out: on another connection the lock
//! is asked for again, which waits until the server is done with the first one, and then the entries
//! are there or they are not.

use std::collections::{BTreeMap, BTreeSet};

use tertulia_session::{ChainLink, EntryId, RecordHash};
use tokio_postgres::Row as Answer;

use super::hub::Hub;
use super::link::{Link, both, timed};
use super::read::{self, fixed};
use super::trouble::{Result, Trouble};
use super::write::{New, Writing};
use crate::model::Appended;
use crate::plan::{Batch, Known, Tail, plan};
use crate::{Outcome, SessionId, StoreError};

const LOCK: &str = "SELECT key, tail_seq, tail_id, tail_link, names_parents \
    FROM tertulia.session WHERE id = $1 AND state <> 2 FOR UPDATE";
const KNOWN: &str = "SELECT e.id, e.seq, e.hash FROM tertulia.entry e WHERE e.session = \
    (SELECT key FROM tertulia.session WHERE id = $1) AND e.id = ANY($2)";

/// Appends, and finds out what became of it if the connection is lost.
pub(super) async fn append(
    hub: &Hub,
    id: &SessionId,
    batch: &Batch,
) -> Result<Appended, StoreError> {
    // Set while a commit is on its way and nobody knows what became of it.
    let mut in_doubt = None;
    let done = hub
        .work(async |link: &mut Link| {
            let mut attempt = Attempt { link, id, batch, in_doubt: &mut in_doubt };
            attempt.run().await
        })
        .await;
    let outcome = if in_doubt.is_some() { Outcome::Unknown } else { Outcome::NotStored };
    let appended = done.map_err(|trouble| trouble.writing(hub.place(), Some(id), outcome))?;
    hub.chores.notify_one();
    Ok(appended)
}

struct Attempt<'a> {
    link: &'a mut Link,
    id: &'a SessionId,
    batch: &'a Batch,
    in_doubt: &'a mut Option<Appended>,
}

/// A session that is locked.
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
        if matches!(written, Err(Trouble::Db(_) | Trouble::Store(_))) {
            *self.in_doubt = None;
        }
        written?;
        *self.in_doubt = None;
        Ok(plan.appended)
    }

    /// The first trip. What is known is asked for after the lock was given, in the same breath.
    async fn lock(&mut self) -> Result<Option<Locked>> {
        let (lock, known) = (self.link.prepared(LOCK).await?, self.link.prepared(KNOWN).await?);
        let id = self.id.as_str();
        let wanted = wanted(self.batch);
        let client = &self.link.client;
        let (begun, (locked, known)) = timed(both(
            client.batch_execute("BEGIN"),
            both(client.query_opt(&lock, &[&id]), client.query(&known, &[&id, &wanted])),
        ))
        .await?;
        begun?;
        let Some(locked) = locked? else { return Ok(None) };
        let mut there = BTreeMap::new();
        for row in known? {
            if let Some(id) = read::optional_text(&row, 0)? {
                there.insert(EntryId::from(id), known_of(&row)?);
            }
        }
        let link: Option<&[u8]> = locked.try_get(3)?;
        let tail = Tail {
            seq: locked.try_get::<_, i64>(1)?.unsigned_abs(),
            id: read::optional_text(&locked, 2)?.map(EntryId::from),
            link: link.map_or(ChainLink::START, |link| ChainLink::from_bytes(fixed(link))),
            names_parents: locked.try_get(4)?,
        };
        Ok(Some(Locked { key: locked.try_get(0)?, tail, known: there }))
    }
}

fn known_of(row: &Answer) -> Result<Known> {
    let hash = RecordHash::from_bytes(fixed(row.try_get(2)?));
    Ok(Known { seq: row.try_get::<_, i64>(1)?.unsigned_abs(), hash })
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
