//! Sessions on a PostgreSQL server: the same promises as in a file (docs/sessions.md). One thread per store speaks
//! with the server; callers wait for it on a plain channel, so a store may be used from inside any runtime.
//! Nothing waits for ever: 10 seconds for a connection or a lock, 60 for a statement.

mod address;
mod append;
mod change;
mod error;
mod link;
mod maintenance;
mod pool;
mod read;
mod schema;
mod search_index;

use std::sync::Arc;
use std::time::Duration;

use tertulia_session::EntryId;

use crate::backend::{Backend, Begun, Candidates, Head, Indexed, Landmark, Way};
use crate::clock::chance;
use crate::import::LeftBehind;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::{AnyOf, Frequencies, Wanted};
use crate::signal::Signal;
use crate::{Result, SessionId, StoreError};

use address::Address;
use error::Trouble;
use link::Link;
use pool::Thread;
use search_index::Turn;

/// So long is waited before looking for what a notice that was lost would have told.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) struct PostgresStore {
    place: String,
    signal: Arc<Signal>,
    thread: Thread,
}

impl PostgresStore {
    /// Connects, and makes the tables if they are not there.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let address = Address::read(url)?;
        let (place, signal) = (address.place.clone(), Arc::<Signal>::default());
        let thread = Thread::start(address, Arc::clone(&signal))?;
        let store = Self { place, signal, thread };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&self) -> Result<()> {
        self.thread.run(async |pool| {
            let place = pool.place();
            let done = pool.once(async |link| schema::prepare(link, place).await).await;
            done.map_err(|trouble| trouble.reading(place, None))
        })
    }

    /// Does something with a session, or with all of them; again if the connection is lost. `failed` says what
    /// an error means.
    fn work<T: Send + 'static>(
        &self,
        session: Option<&SessionId>,
        failed: fn(Trouble, &str, Option<&SessionId>) -> StoreError,
        work: impl AsyncFnMut(&mut Link) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        let session = session.cloned();
        self.thread.run(async move |pool| {
            let done = pool.work(work).await;
            done.map_err(|trouble| failed(trouble, pool.place(), session.as_ref()))
        })
    }

    fn work_on<T: Send + 'static>(
        &self,
        id: &SessionId,
        failed: fn(Trouble, &str, Option<&SessionId>) -> StoreError,
        mut work: impl AsyncFnMut(&mut Link, &SessionId) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        let name = id.clone();
        self.work(Some(id), failed, async move |link| work(link, &name).await)
    }

    /// The keys of sessions of this id that a deletion hid.
    fn hidden(&self, id: &SessionId) -> Result<Vec<i64>> {
        self.work_on(id, Trouble::reading, change::hidden)
    }
}

impl Backend for PostgresStore {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn create(&self, id: &SessionId, begun: Begun, first: Batch) -> Result<()> {
        let made_by = chance().cast_signed();
        self.work_on(id, Trouble::changing, async move |link, id| {
            change::create(link, id, made_by, &begun, &first).await
        })
    }

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        let project = project.map(str::to_owned);
        self.work_on(id, Trouble::changing, async move |link, id| {
            change::set_project(link, id, project.as_deref()).await
        })
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let id = id.clone();
        self.thread.run(async move |pool| append::append(&pool, &id, &batch).await)
    }

    fn head(&self, id: &SessionId) -> Result<Head> {
        self.work_on(id, Trouble::reading, read::head)
    }

    fn page(&self, id: &SessionId, way: Way, from: Seq, limit: usize) -> Result<Vec<Row>> {
        self.work_on(id, Trouble::reading, async move |link, id| {
            read::rows(link, id, way, from, limit).await
        })
    }

    fn landmarks(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Landmark>> {
        self.work_on(id, Trouble::reading, async move |link, id| {
            read::landmarks(link, id, from, limit).await
        })
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        let entry = entry.clone();
        self.work_on(id, Trouble::reading, async move |link, id| read::find(link, id, &entry).await)
    }

    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>> {
        let filter = filter.clone();
        self.work(None, Trouble::reading, async move |link| read::heads(link, &filter).await)
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        let names: Vec<SessionId> = sessions.iter().map(|(imported, _)| imported.clone()).collect();
        let keys = self.work(None, Trouble::reading, async move |link| {
            let mut keys = Vec::with_capacity(names.len());
            for name in &names {
                keys.push(change::key(link, name).await?);
            }
            Ok(keys)
        })?;
        let sessions = sessions.to_vec();
        self.work(None, Trouble::changing, async move |link| {
            let keys = keys.iter().copied();
            link.transaction(async |link| {
                for (key, (imported, id)) in keys.zip(&sessions) {
                    change::publish(link, key, imported, id).await?;
                }
                Ok(())
            })
            .await
        })
    }

    fn hold_imports(&self, number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
        self.thread.run(async move |pool| {
            let held = change::hold(&pool, number).await;
            held.map_err(|trouble| trouble.changing(pool.place(), None))
        })
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        self.work(None, Trouble::reading, change::measure)
    }

    fn delete_left_behind(&self) -> Result<()> {
        self.work(None, Trouble::changing, change::sweep)
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        match self.work_on(id, Trouble::reading, change::key) {
            Ok(key) => self.work_on(id, Trouble::changing, async move |link, id| {
                change::hide(link, key, id).await
            })?,
            // An interrupted deletion may have hidden it.
            Err(StoreError::SessionNotFound(_)) if self.is_half_deleted(id)? => {}
            Err(error) => return Err(error),
        }
        for key in self.hidden(id)? {
            while self.work(Some(id), Trouble::changing, async move |link| {
                change::delete_some(link, key).await
            })? {}
        }
        Ok(())
    }

    fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        Ok(!self.hidden(id)?.is_empty())
    }

    fn forget_deleted(&self, id: &SessionId) -> Result<()> {
        self.hidden(id)?.into_iter().try_for_each(|key| {
            self.work(Some(id), Trouble::changing, async move |link| {
                change::forget(link, key).await
            })
        })
    }

    fn scrub(&self) -> Result<Vec<Remains>> {
        self.thread.run(async |pool| {
            let cleaned = maintenance::clean(&pool).await;
            cleaned.map_err(|trouble| trouble.reading(pool.place(), None))
        })
    }

    fn know_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let counts = counts.to_vec();
        self.work_on(id, Trouble::changing, async move |link, id| {
            change::know_counts(link, id, &counts).await
        })
    }

    fn index_some(&self, limit: usize) -> Result<Indexed> {
        self.work(None, Trouble::changing, async move |link| {
            search_index::index_some(link, limit, Turn::Wait).await
        })
    }

    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies> {
        let terms = terms.to_vec();
        self.work(None, Trouble::reading, async move |link| {
            search_index::frequencies(link, &terms).await
        })
    }

    fn candidates(&self, wanted: &Wanted, query: &SearchQuery, limit: usize) -> Result<Candidates> {
        let (wanted, query) = (wanted.clone(), query.clone());
        let found = self.work(None, Trouble::reading, async move |link| {
            search_index::candidates(link, &wanted, &query, limit).await
        })?;
        Ok(Candidates::of(found, limit))
    }

    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()> {
        let watch = self.signal.watch(id);
        self.thread.run(async |pool| {
            pool.listen();
            Ok(())
        })?;
        match self.head(id) {
            Ok(head) if head.seq <= after => watch.wait(timeout.min(LOOK)),
            // Something is there, or the session is gone: whoever follows it will see.
            Ok(_) | Err(StoreError::SessionNotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        self.work(None, Trouble::reading, maintenance::check)
    }

    fn reopen(&self) -> Result<()> {
        self.thread.run(async |pool| {
            pool.forget();
            Ok(())
        })?;
        self.prepare()
    }
}
