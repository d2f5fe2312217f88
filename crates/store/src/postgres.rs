//! Sessions on a PostgreSQL server, for many processes on many machines: the same promises as in a
//! file. The exact bytes of each entry are kept; numbers are given out under the lock of the session's
//! row; whoever follows a session is told by the server.
//!
//! An address is `postgres://USER:PASSWORD@HOST:PORT/DATABASE?SETTINGS`. Connections to this machine
//! (a socket in the file system, `localhost`, loopback addresses) are plain. All others are encrypted,
//! and the server's certificate must be of its name and of an authority that this machine trusts
//! (`SSL_CERT_FILE` names others), unless the address says `sslmode=disable` in so many words.
//! `require`, `verify-ca` and `verify-full` all mean the same: checked in full, on this machine too.
//! Of several hosts, the first that takes changes is used: a replica may be behind.
//!
//! One thread per store speaks with the server; callers wait for it on a plain channel, so a store may
//! be used from inside any runtime. Nothing waits for ever: 10 seconds for a connection or a lock, 60
//! for a statement.

mod address;
mod append;
mod bells;
mod change;
mod check;
mod chores;
mod chunk;
mod hub;
mod link;
mod purge;
mod read;
mod schema;
mod sweep;
mod thread;
mod trouble;
mod words;
mod write;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tertulia_session::EntryId;

use crate::backend::{Backend, Begun, Candidates, Head, Indexed, Landmark, State};
use crate::clock::chance;
use crate::import::LeftBehind;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::Question;
use crate::{Result, SessionId, StoreError};

use address::Address;
use bells::Bells;
use hub::Hub;
use link::Link;
use read::Way;
use thread::Thread;
use trouble::Trouble;
use words::Turn;

/// Sessions on a server.
pub(crate) struct PostgresStore {
    place: String,
    bells: Arc<Bells>,
    thread: Thread,
}

impl PostgresStore {
    /// Connects, and makes the tables if they are not there.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let address = Address::read(url)?;
        let (place, bells) = (address.place.clone(), Arc::<Bells>::default());
        let thread = Thread::start(address, Arc::clone(&bells))?;
        let store = Self { place, bells, thread };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&self) -> Result<()> {
        self.thread.run(async |hub: Rc<Hub>| {
            let place = hub.place();
            let done = hub.once(async |link: &mut Link| schema::prepare(link, place).await).await;
            done.map_err(|trouble| trouble.reading(place, None))
        })
    }

    /// Asks something; again if the connection is lost.
    fn read<T: Send + 'static>(
        &self,
        session: Option<&SessionId>,
        ask: impl AsyncFnMut(&mut Link) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        let session = session.cloned();
        self.thread.run(async move |hub: Rc<Hub>| {
            let asked = hub.work(ask).await;
            asked.map_err(|trouble| trouble.reading(hub.place(), session.as_ref()))
        })
    }

    /// Changes something; again if the connection is lost.
    fn change<T: Send + 'static>(
        &self,
        session: Option<&SessionId>,
        change: impl AsyncFnMut(&mut Link) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        let session = session.cloned();
        self.thread.run(async move |hub: Rc<Hub>| {
            let changed = hub.work(change).await;
            changed.map_err(|trouble| trouble.changing(hub.place(), session.as_ref()))
        })
    }

    fn page(&self, id: &SessionId, way: Way, from: Seq, limit: usize) -> Result<Vec<Row>> {
        let name = id.clone();
        self.read(Some(id), async move |link: &mut Link| {
            read::rows(link, &name, way, from, limit).await
        })
    }

    /// The keys of sessions of this id that a deletion hid.
    fn hidden(&self, id: &SessionId) -> Result<Vec<i64>> {
        let name = id.clone();
        self.read(Some(id), async move |link: &mut Link| change::hidden(link, &name).await)
    }
}

impl Backend for PostgresStore {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn create(&self, id: &SessionId, begun: Begun, first: Batch) -> Result<()> {
        let (name, made_by) = (id.clone(), chance().cast_signed());
        self.change(Some(id), async move |link: &mut Link| {
            change::create(link, &name, made_by, &begun, &first).await
        })
    }

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        let (name, project) = (id.clone(), project.map(str::to_owned));
        self.change(Some(id), async move |link: &mut Link| {
            change::set_project(link, &name, project.as_deref()).await
        })
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let id = id.clone();
        self.thread.run(async move |hub: Rc<Hub>| append::append(&hub, &id, &batch).await)
    }

    fn head(&self, id: &SessionId) -> Result<Head> {
        let name = id.clone();
        self.read(Some(id), async move |link: &mut Link| read::head(link, &name).await)
    }

    fn rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        self.page(id, Way::Forth, after, limit)
    }

    fn rows_back(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Row>> {
        self.page(id, Way::Back, from, limit)
    }

    fn landmarks(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Landmark>> {
        let name = id.clone();
        self.read(Some(id), async move |link: &mut Link| {
            read::landmarks(link, &name, from, limit).await
        })
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        let (name, entry) = (id.clone(), entry.clone());
        self.read(Some(id), async move |link: &mut Link| read::find(link, &name, &entry).await)
    }

    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>> {
        let filter = filter.clone();
        self.read(None, async move |link: &mut Link| read::heads(link, State::Open, &filter).await)
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        let names: Vec<SessionId> = sessions.iter().map(|(imported, _)| imported.clone()).collect();
        let keys = self.read(None, async move |link: &mut Link| {
            let mut keys = Vec::with_capacity(names.len());
            for name in &names {
                keys.push(change::key(link, name).await?);
            }
            Ok(keys)
        })?;
        let sessions = sessions.to_vec();
        self.change(None, async move |link: &mut Link| {
            let keys = keys.iter().copied();
            link.transaction(async |link: &mut Link| {
                for (key, (imported, id)) in keys.zip(&sessions) {
                    change::publish(link, key, imported, id).await?;
                }
                Ok(())
            })
            .await
        })
    }

    fn hold_imports(&self, number: u64) -> Result<bool> {
        self.thread.run(async move |hub: Rc<Hub>| {
            let held = sweep::hold(&hub, number).await;
            held.map_err(|trouble| trouble.changing(hub.place(), None))
        })
    }

    fn release_imports(&self, number: u64) {
        // If the thread is gone, so is the connection.
        let _ = self.thread.run(async move |hub: Rc<Hub>| {
            hub.holds.borrow_mut().remove(&number);
            Ok(())
        });
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        self.read(None, async |link: &mut Link| sweep::measure(link).await)
    }

    fn delete_left_behind(&self) -> Result<()> {
        self.change(None, async |link: &mut Link| sweep::sweep(link).await)
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        let name = id.clone();
        let key = self.read(Some(id), async move |link: &mut Link| change::key(link, &name).await);
        match key {
            Ok(key) => {
                let name = id.clone();
                let hide = async move |link: &mut Link| change::hide(link, key, &name).await;
                self.change(Some(id), hide)?;
            }
            // An interrupted deletion may have hidden it.
            Err(StoreError::SessionNotFound(_)) if self.is_half_deleted(id)? => {}
            Err(error) => return Err(error),
        }
        for key in self.hidden(id)? {
            let some = async move |link: &mut Link| change::delete_some(link, key).await;
            while self.change(Some(id), some)? {}
        }
        Ok(())
    }

    fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        Ok(!self.hidden(id)?.is_empty())
    }

    fn forget_deleted(&self, id: &SessionId) -> Result<()> {
        self.hidden(id)?.into_iter().try_for_each(|key| {
            self.change(Some(id), async move |link: &mut Link| change::forget(link, key).await)
        })
    }

    fn scrub(&self) -> Result<Vec<Remains>> {
        self.thread.run(async |hub: Rc<Hub>| {
            let cleaned = chores::clean(&hub).await;
            cleaned.map_err(|trouble| trouble.reading(hub.place(), None))
        })
    }

    fn know_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let (name, counts) = (id.clone(), counts.to_vec());
        self.change(Some(id), async move |link: &mut Link| {
            change::know_counts(link, &name, &counts).await
        })
    }

    fn index_some(&self, limit: usize) -> Result<Indexed> {
        self.change(None, async move |link: &mut Link| {
            words::index_some(link, limit, Turn::Wait).await
        })
    }

    fn candidates(&self, question: &Question, query: &SearchQuery) -> Result<Candidates> {
        let (question, query) = (question.clone(), query.clone());
        let found = self.read(None, async move |link: &mut Link| {
            words::candidates(link, &question, &query).await
        })?;
        Ok(Candidates::of(found))
    }

    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()> {
        let watch = self.bells.watch(id);
        let name = id.clone();
        let newest = self.thread.run(async move |hub: Rc<Hub>| {
            hub.listen();
            let head = hub.work(async |link: &mut Link| read::head(link, &name).await).await;
            head.map_err(|trouble| trouble.reading(hub.place(), Some(&name)))
        });
        match newest {
            Ok(head) if head.seq <= after => watch.wait(timeout),
            // Something is there, or the session is gone: whoever follows it will see.
            Ok(_) | Err(StoreError::SessionNotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        self.read(None, async |link: &mut Link| check::check(link).await)
    }

    fn reopen(&self) -> Result<()> {
        self.thread.run(async |hub: Rc<Hub>| {
            hub.forget();
            Ok(())
        })?;
        self.prepare()
    }
}
