//! The second trip of an append: the entries, the new end of the session and the commit, all at once.
//! Called with the session locked, or just begun, in a transaction.

use tokio_postgres::Statement;

use super::chunk::{self, chunks};
use super::link::{Link, Values, both, timed};
use super::purge;
use super::read::signed;
use super::trouble::Trouble;
use crate::SessionId;
use crate::clock::now_millis;
use crate::model::Appended;
use crate::plan::{Batch, Plan};

const TAIL: &str = "UPDATE tertulia.session SET tail_seq = $2, tail_id = $3, tail_link = $4, \
    names_parents = $5, updated_at = $6 WHERE key = $1";
const MARK: &str = "INSERT INTO tertulia.unindexed (session) VALUES ($1) ON CONFLICT DO NOTHING";
const NOTIFY: &str = "SELECT pg_notify('tertulia', $1)";

/// What is to be written.
pub(super) struct New<'n> {
    pub(super) id: &'n SessionId,
    pub(super) key: i64,
    pub(super) batch: &'n Batch,
    pub(super) plan: &'n Plan,
}

/// The statements, prepared before the transaction begins.
pub(super) struct Writing {
    insert: Statement,
    tail: Statement,
    mark: Statement,
    notify: Statement,
}

impl Writing {
    pub(super) async fn prepare(link: &mut Link) -> Result<Self, Trouble> {
        Ok(Self {
            insert: link.prepared(chunk::INSERT).await?,
            tail: link.prepared(TAIL).await?,
            mark: link.prepared(MARK).await?,
            notify: link.prepared(NOTIFY).await?,
        })
    }

    /// Writes and commits; says whether something was purged. `in_doubt` is set when the commit is on
    /// its way.
    pub(super) async fn write(
        &self,
        link: &mut Link,
        new: &New<'_>,
        in_doubt: &mut Option<Appended>,
    ) -> Result<bool, Trouble> {
        let (key, plan, now) = (new.key, new.plan, now_millis());
        let mut chunks = chunks(new.batch, &plan.new);
        let last = if plan.redacts { None } else { chunks.pop() };
        for chunk in &chunks {
            timed(chunk.insert(link, &self.insert, key, now)).await??;
        }
        let purged = if plan.redacts { purge::purge(link, key).await? } else { false };
        let tail = &plan.tail;
        let (seq, parents) = (signed(tail.seq), tail.names_parents);
        let tail_id = tail.id.as_ref().map(|id| id.as_str().as_bytes());
        let tail_link = tail.link.as_bytes().as_slice();
        let (id, client) = (new.id.as_str(), &link.client);
        let insert = async {
            match &last {
                Some(chunk) => chunk.insert(link, &self.insert, key, now).await,
                None => Ok(0),
            }
        };
        *in_doubt = Some(plan.appended.clone());
        // The notice is outside of the transaction: inside, the server would let commits that tell
        // others something happen only one after the other, each with its own sync.
        let (named, marked): (Values<'_>, Values<'_>) = (&[&id], &[&key]);
        let ended: Values<'_> = &[&key, &seq, &tail_id, &tail_link, &parents, &now];
        let end = both(client.batch_execute("COMMIT"), client.query(&self.notify, named));
        let mark = both(client.execute(&self.mark, marked), end);
        let tail = both(client.execute(&self.tail, ended), mark);
        let (inserted, (ended, (marked, (committed, notified)))) =
            timed(both(insert, tail)).await?;
        inserted?;
        ended?;
        marked?;
        committed?;
        if let Err(error) = notified {
            // Whoever follows looks again after a moment.
            tracing::debug!(%error, "nobody was told of an append");
        }
        Ok(purged)
    }
}
