//! Stores sessions on a PostgreSQL server, with the same guarantees as in a file (docs/sessions.md). One thread per
//! store communicates with the server; callers wait for it on a plain channel, so a store can be used inside any
//! async runtime. All waits are limited: 10 seconds for a connection or a lock, 60 for a statement.

mod address;
mod append;
mod change;
mod connection;
mod error;
mod lease;
mod maintenance;
mod pool;
mod read;
mod schema;
mod search_index;

use std::sync::Arc;
use std::time::Duration;

use tertulia_session::EntryId;

use crate::backend::{
    Backend, BranchPoint, Candidates, Direction, Indexed, SessionStart, SessionStatus, UsageRow,
};
use crate::clock::random_u64;
use crate::import::LeftBehind;
use crate::lease::{Holder, Lease};
use crate::lock::SessionLock;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::{AnyOf, Frequencies, IndexQuery};
use crate::signal::Signal;
use crate::{Result, SessionId, StoreError};

use address::Address;
use connection::PgConnection;
use error::PgError;
use pool::WorkerThread;
use search_index::WhenBusy;

/// How often a follower checks for entries, because notifications can get lost.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The number of usage entries that are read together.
const USAGE_PAGE: usize = 4096;

pub(crate) struct PostgresStore {
    location: String,
    signal: Arc<Signal>,
    thread: Arc<WorkerThread>,
}

impl PostgresStore {
    /// Connects, and creates the tables if they do not exist.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let address = Address::parse(url)?;
        let (location, signal) = (address.location.clone(), Arc::<Signal>::default());
        let thread = Arc::new(WorkerThread::start(address, Arc::clone(&signal))?);
        let store = Self { location, signal, thread };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&self) -> Result<()> {
        self.thread.run(async |pool| {
            let location = pool.location();
            let done =
                pool.once(async |connection| schema::prepare(connection, location).await).await;
            done.map_err(|error| error.reading(location, None))
        })
    }

    /// Runs work on one session, or on all of them, and retries it if the connection is lost. `failed` converts the
    /// error.
    fn work<T: Send + 'static>(
        &self,
        session: Option<&SessionId>,
        failed: fn(PgError, &str, Option<&SessionId>) -> StoreError,
        work: impl AsyncFnMut(&mut PgConnection) -> Result<T, PgError> + Send + 'static,
    ) -> Result<T> {
        let session = session.cloned();
        self.thread.run(async move |pool| {
            let done = pool.work(work).await;
            done.map_err(|error| failed(error, pool.location(), session.as_ref()))
        })
    }

    fn work_on<T: Send + 'static>(
        &self,
        id: &SessionId,
        failed: fn(PgError, &str, Option<&SessionId>) -> StoreError,
        mut work: impl AsyncFnMut(&mut PgConnection, &SessionId) -> Result<T, PgError> + Send + 'static,
    ) -> Result<T> {
        let name = id.clone();
        self.work(Some(id), failed, async move |connection| work(connection, &name).await)
    }

    /// Returns the keys of the sessions with this id that a deletion has hidden.
    fn hidden(&self, id: &SessionId) -> Result<Vec<i64>> {
        self.work_on(id, PgError::reading, change::hidden)
    }
}

impl Backend for PostgresStore {
    fn location(&self) -> String {
        self.location.clone()
    }

    fn create(&self, id: &SessionId, start: SessionStart, first: Batch) -> Result<()> {
        let made_by = random_u64().cast_signed();
        self.work_on(id, PgError::changing, async move |connection, id| {
            change::create(connection, id, made_by, &start, &first).await
        })
    }

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        let project = project.map(str::to_owned);
        self.work_on(id, PgError::changing, async move |connection, id| {
            change::set_project(connection, id, project.as_deref()).await
        })
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let id = id.clone();
        self.thread.run(async move |pool| append::append(&pool, &id, &batch).await)
    }

    fn status(&self, id: &SessionId) -> Result<SessionStatus> {
        self.work_on(id, PgError::reading, read::status)
    }

    fn page(
        &self,
        id: &SessionId,
        direction: Direction,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Row>> {
        self.work_on(id, PgError::reading, async move |connection, id| {
            read::rows(connection, id, direction, from, limit).await
        })
    }

    fn branch_points(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<BranchPoint>> {
        self.work_on(id, PgError::reading, async move |connection, id| {
            read::branch_points(connection, id, from, limit).await
        })
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        let entry = entry.clone();
        self.work_on(id, PgError::reading, async move |connection, id| {
            read::find(connection, id, &entry).await
        })
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<SessionStatus>> {
        let filter = filter.clone();
        self.work(None, PgError::reading, async move |connection| {
            read::statuses(connection, &filter).await
        })
    }

    fn usage(&self, since: i64, visit: &mut dyn FnMut(UsageRow)) -> Result<()> {
        // Keys and numbers are positive.
        let mut next = Some((since, 0, 0));
        while let Some(after) = next {
            let page = self.work(None, PgError::reading, async move |connection| {
                read::usage(connection, after, USAGE_PAGE).await
            });
            let (rows, more) = page?;
            rows.into_iter().for_each(&mut *visit);
            next = more;
        }
        Ok(())
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        let names: Vec<SessionId> = sessions.iter().map(|(imported, _)| imported.clone()).collect();
        let keys = self.work(None, PgError::reading, async move |connection| {
            let mut keys = Vec::with_capacity(names.len());
            for name in &names {
                keys.push(change::key(connection, name).await?);
            }
            Ok(keys)
        })?;
        let sessions = sessions.to_vec();
        self.work(None, PgError::changing, async move |connection| {
            let keys = keys.iter().copied();
            connection
                .transaction(async |connection| {
                    for (key, (imported, id)) in keys.zip(&sessions) {
                        change::publish(connection, key, imported, id).await?;
                    }
                    Ok(())
                })
                .await
        })
    }

    fn lock_imports(&self, number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
        self.thread.run(async move |pool| {
            let held = change::lock_imports(&pool, number).await;
            held.map_err(|error| error.changing(pool.location(), None))
        })
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        self.work(None, PgError::reading, change::measure)
    }

    fn delete_left_behind(&self) -> Result<()> {
        self.work(None, PgError::changing, change::delete_leftovers)
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        match self.work_on(id, PgError::reading, change::key) {
            Ok(key) => self.work_on(id, PgError::changing, async move |connection, id| {
                change::hide(connection, key, id).await
            })?,
            // An interrupted deletion may have hidden it.
            Err(StoreError::SessionNotFound(_)) if self.is_half_deleted(id)? => {}
            Err(error) => return Err(error),
        }
        for key in self.hidden(id)? {
            while self.work(Some(id), PgError::changing, async move |connection| {
                change::delete_some(connection, key).await
            })? {}
        }
        Ok(())
    }

    fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        Ok(!self.hidden(id)?.is_empty())
    }

    fn forget_deleted(&self, id: &SessionId) -> Result<()> {
        self.hidden(id)?.into_iter().try_for_each(|key| {
            self.work(Some(id), PgError::changing, async move |connection| {
                change::forget(connection, key).await
            })
        })
    }

    fn scrub(&self) -> Result<Vec<Remains>> {
        self.thread.run(async |pool| {
            let cleaned = maintenance::clean(&pool).await;
            cleaned.map_err(|error| error.reading(pool.location(), None))
        })
    }

    fn store_token_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let counts = counts.to_vec();
        self.work_on(id, PgError::changing, async move |connection, id| {
            change::store_token_counts(connection, id, &counts).await
        })
    }

    fn index_some(&self, limit: usize) -> Result<Indexed> {
        self.work(None, PgError::changing, async move |connection| {
            search_index::index_some(connection, limit, WhenBusy::Wait).await
        })
    }

    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies> {
        let terms = terms.to_vec();
        self.work(None, PgError::reading, async move |connection| {
            search_index::frequencies(connection, &terms).await
        })
    }

    fn candidates(
        &self,
        index_query: &IndexQuery,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<Candidates> {
        let (index_query, query) = (index_query.clone(), query.clone());
        let found = self.work(None, PgError::reading, async move |connection| {
            search_index::candidates(connection, &index_query, &query, limit).await
        })?;
        Ok(Candidates::from_rows(found, limit))
    }

    fn lock_session(&self, id: &SessionId) -> Result<Option<SessionLock>> {
        let session = id.clone();
        let taken = self.thread.run(async move |pool| {
            let taken = lease::take(&pool, &session).await;
            taken.map_err(|error| error.changing(pool.location(), Some(&session)))
        })?;
        let thread = Arc::clone(&self.thread);
        // The thread lives at least as long as the lease, so that the lease is released on the server.
        Ok(taken.map(|taken| SessionLock::leased(Lease::new(taken, Box::new(thread)))))
    }

    fn holder(&self, id: &SessionId) -> Result<Option<Holder>> {
        self.work_on(id, PgError::reading, lease::holder)
    }

    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()> {
        let watch = self.signal.watch(id);
        self.thread.run(async |pool| {
            pool.listen();
            Ok(())
        })?;
        match self.status(id) {
            Ok(status) if status.seq <= after => watch.wait(timeout.min(POLL_INTERVAL)),
            // Either there are new entries or the session was deleted. The follower finds out which.
            Ok(_) | Err(StoreError::SessionNotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        self.work(None, PgError::reading, maintenance::check)
    }

    fn reopen(&self) -> Result<()> {
        self.thread.run(async |pool| {
            pool.forget();
            Ok(())
        })?;
        self.prepare()
    }
}
