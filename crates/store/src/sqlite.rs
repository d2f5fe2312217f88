//! Sessions in a SQLite file: the default, with nothing to install. WAL mode with a sync for every
//! commit; one connection writes and takes appends in groups, readers have connections of their own
//! and never wait. Several processes may use one file.

pub(crate) mod backup;
mod check;
mod connection;
mod desk;
mod idle;
mod ids;
mod journal;
mod migration_copy;
mod place;
mod read;
mod reserve;
mod schema;
mod sweep;
mod view;
mod words;
mod write;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, params};
use tertulia_session::{ChainLink, EntryId};

use crate::backend::{
    Backend, Begun, Brief, Candidates, Head, Indexed, Landmark, State, Way, newest_first,
};
use crate::hold::Hold;
use crate::import::LeftBehind;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::new_file::beside;
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::{AnyOf, Frequencies, Wanted};
use crate::signal::{self, Signal};
use crate::{Outcome, Problem, Result, SessionId, StoreError};

use connection::Purpose;
use desk::{Desk, Request};
use place::{Registered, Role};
use read::SessionRow;
use sweep::StepSize;
use writer::{Writer, lock};

const READERS_KEPT: usize = 8;
/// So long is waited before looking for what other processes stored.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) struct SqliteStore {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    /// Opened when something is written for the first time: who only reads needs none.
    writer: Mutex<Option<Arc<Writer>>>,
    signal: Arc<Signal>,
    role: Role,
    /// Dropped last, after every connection.
    _registered: Registered,
}

impl SqliteStore {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = place::prepare(path)?;
        let (registered, is_stamped) = Registered::look_at(&path);
        // Read before it is written to, so that a file of another program is never touched.
        let mut connection = connection::open(&path, Purpose::Reading)?;
        if !is_stamped && !schema::is_current(&connection, &path)? {
            drop(connection);
            connection = prepared(&path)?;
        }
        schema::check(&connection, &path, schema::VERSION)?;
        Ok(Self::of(path, connection, registered, Role::Store))
    }

    /// Opens the new file of a backup, whose folder need not be fit for a store.
    pub(crate) fn open_part(path: &Path) -> Result<Self> {
        let (registered, _) = Registered::look_at(path);
        Ok(Self::of(path.to_owned(), prepared(path)?, registered, Role::Part))
    }

    /// Opens a file that nobody writes to. It is only read, and nothing is created beside it.
    pub(crate) fn open_frozen(path: &Path) -> Result<Self> {
        let (registered, _) = Registered::look_at(path);
        let connection = connection::open_frozen(path)?;
        schema::check(&connection, path, schema::VERSION)?;
        Ok(Self::of(path.to_owned(), connection, registered, Role::Frozen))
    }

    fn of(path: PathBuf, reader: Connection, registered: Registered, role: Role) -> Self {
        Self {
            path,
            readers: Mutex::new(vec![reader]),
            writer: Mutex::new(None),
            signal: Arc::default(),
            role,
            _registered: registered,
        }
    }

    fn reader(&self) -> Result<Connection> {
        match self.role {
            Role::Frozen => connection::open_frozen(&self.path),
            Role::Store | Role::Part => connection::open(&self.path, Purpose::Reading),
        }
    }

    fn writer(&self) -> Result<Arc<Writer>> {
        let mut writer = lock(&self.writer);
        if let Some(writer) = &*writer {
            return Ok(Arc::clone(writer));
        }
        if self.role == Role::Frozen {
            let place = self.path.display().to_string();
            return Err(StoreError::write_failed(Problem::ReadOnly(place)));
        }
        let started = Writer::start(&self.path, Arc::clone(&self.signal));
        let started = Arc::new(started.map_err(StoreError::while_writing)?);
        *writer = Some(Arc::clone(&started));
        if self.role == Role::Store {
            reserve::create(&self.path);
        }
        Ok(started)
    }

    /// Asks with a connection that nobody else uses meanwhile.
    fn read<T>(&self, ask: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = lock(&self.readers).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.reader()?,
        };
        let answer = ask(&connection);
        let mut idle = lock(&self.readers);
        if idle.len() < READERS_KEPT {
            idle.push(connection);
        }
        answer
    }

    /// The same for a question about the file as a whole.
    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read(|connection| {
            ask(connection).map_err(|error| connection::cannot_open(&self.path, &error))
        })
    }

    /// The same for a question about a session.
    fn ask_of<T>(
        &self,
        id: &SessionId,
        ask: impl FnOnce(&Connection, SessionRow) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let failed = |error: rusqlite::Error| connection::unreadable(&self.path, id, &error);
        self.read(|connection| {
            let session = read::session(connection, id).map_err(failed)?;
            let session = session.ok_or_else(|| StoreError::SessionNotFound(id.clone()))?;
            ask(connection, session).map_err(failed)
        })
    }

    fn key(&self, id: &SessionId) -> Result<i64> {
        self.ask_of(id, |_, session| Ok(session.key))
    }

    fn hold_file(&self, path: &Path) -> Result<Option<Hold>> {
        let held = Hold::of_file(path);
        held.map_err(|error| connection::not_a_store(&self.path, error.to_string()))
    }

    /// Changes something in a transaction of the connection that writes.
    fn change<T>(
        &self,
        session: Option<&SessionId>,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.change_by(session, |desk| desk.transaction(|desk| change(desk.connection())))
    }

    /// Deletes the entries of a hidden session. On a full disk the steps are so small that the reserve suffices,
    /// and the journal is emptied after each.
    fn delete_entries(&self, id: &SessionId, key: i64) -> Result<()> {
        let mut size = StepSize::USUAL;
        loop {
            let step = |connection: &Connection| sweep::delete_some(connection, key, size);
            let is_full = |error: &StoreError| {
                matches!(error, StoreError::SessionWriteFailed { problem: Problem::DiskFull, .. })
            };
            match self.change_with_reserve(Some(id), step) {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                Err(error) if is_full(&error) && size == StepSize::USUAL => size = StepSize::SMALL,
                Err(error) => return Err(error),
            }
            if size == StepSize::SMALL {
                self.scrub()?;
            }
        }
    }

    /// The same as [`change`](Self::change), also on a full disk.
    fn change_with_reserve<T>(
        &self,
        session: Option<&SessionId>,
        change: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let once = |desk: &mut Desk| desk.transaction(|desk| change(desk.connection()));
        self.change_by(session, |desk| desk.with_reserve(once))
    }

    fn change_by<T>(
        &self,
        session: Option<&SessionId>,
        change: impl FnOnce(&mut Desk) -> Result<T, Failure>,
    ) -> Result<T> {
        self.writer()?.run(|desk: &mut Desk| {
            let changed = change(desk);
            desk.forget();
            if changed.is_ok() {
                desk.tidy_journal();
            }
            changed.map_err(|failure| failure.error(session.cloned()))
        })
    }
}

/// Why a transaction did not come about, as everybody who waited for it is told.
#[derive(Clone, Debug)]
struct Failure {
    outcome: Outcome,
    problem: Problem,
}

impl Failure {
    fn of(&self, session: &SessionId) -> StoreError {
        self.error(Some(session.clone()))
    }

    fn error(&self, session: Option<SessionId>) -> StoreError {
        let Self { outcome, problem } = self.clone();
        StoreError::SessionWriteFailed { session, outcome, problem }
    }
}

/// Makes the tables, or brings them to this version, and opens the file for reading.
fn prepared(path: &Path) -> Result<Connection> {
    schema::prepare(&mut connection::open(path, Purpose::Writing)?, path)?;
    connection::open(path, Purpose::Reading)
}

impl Backend for SqliteStore {
    fn place(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn create(&self, id: &SessionId, begun: Begun, first: Batch) -> Result<()> {
        let request = Request { session: id.clone(), batch: first };
        self.writer()?.run(|desk: &mut Desk| desk.create(&request, &begun))
    }

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        let changed = self.change(Some(id), |connection| {
            let sql = "UPDATE session SET project = ?2 WHERE id = ?1 AND state <> ?3";
            let deleting = read::state_code(State::Deleting);
            connection.execute(sql, params![id.as_str(), project, deleting])
        })?;
        if changed == 1 { Ok(()) } else { Err(StoreError::SessionNotFound(id.clone())) }
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        self.writer()?.append(id, batch)
    }

    fn head(&self, id: &SessionId) -> Result<Head> {
        self.ask_of(id, |connection, session| {
            let newest = read::newest(connection, session.key)?;
            Ok(Head {
                id: id.clone(),
                created_at: session.created_at,
                updated_at: newest.as_ref().map_or(session.created_at, |one| one.stored_at),
                seq: newest.as_ref().map_or(0, |one| one.seq),
                link: newest.as_ref().map_or(ChainLink::START, |one| one.link),
                tail: newest.map(|one| one.id),
                project: session.project,
            })
        })
    }

    fn page(&self, id: &SessionId, way: Way, from: Seq, limit: usize) -> Result<Vec<Row>> {
        let page = self.ask_of(id, |connection, session| {
            Ok(read::page(connection, session.key, way, from, limit))
        })?;
        // An error counts only if nothing came before it.
        let Some(error) = page.error.filter(|_| page.rows.is_empty()) else { return Ok(page.rows) };
        let place = if way == Way::Forth { from + 1 } else { from.max(1) };
        let problem = match connection::problem(&self.path, &error) {
            Problem::NotAStore { reason, .. } => Problem::Damaged { place, entry: None, reason },
            problem => problem,
        };
        Err(StoreError::unreadable(id, problem))
    }

    fn briefs(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Brief>> {
        self.ask_of(id, |connection, session| read::briefs(connection, session.key, after, limit))
    }

    fn landmarks(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Landmark>> {
        self.ask_of(id, |connection, session| read::landmarks(connection, session.key, from, limit))
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        let known =
            self.ask_of(id, |connection, session| ids::find(connection, &session, entry))?;
        Ok(known.map(|known| known.seq))
    }

    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>> {
        let heads = self.ask(|connection| read::heads(connection, &filter.project))?;
        Ok(newest_first(heads.into_iter(), filter))
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        self.change(None, |connection| sweep::publish(connection, sessions))?
    }

    fn hold_imports(&self, number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
        let held = self.hold_file(&sweep::hold_path(&self.path, number));
        let held = held.map_err(StoreError::while_writing)?;
        Ok(held.map(|hold| Box::new(hold) as _))
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        self.ask(|connection| sweep::measure(connection, &self.path))
    }

    fn delete_left_behind(&self) -> Result<()> {
        let keys = self.ask(|connection| sweep::left_keys(connection, &self.path))?;
        for key in keys {
            if self.change(None, |connection| sweep::hide_left(connection, key))? {
                while self.change(None, |connection| {
                    sweep::delete_some(connection, key, StepSize::USUAL)
                })? {}
                self.change(None, |connection| sweep::forget(connection, key))?;
            }
        }
        Ok(())
    }

    fn anchor(&self, id: &SessionId) -> Result<Option<(Seq, ChainLink)>> {
        self.ask_of(id, |connection, session| read::anchor(connection, session.key))
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        // From here on nobody sees it; its name is free at once.
        let keys = self.change_with_reserve(Some(id), |connection| sweep::hide(connection, id))?;
        if keys.is_empty() {
            return Err(StoreError::SessionNotFound(id.clone()));
        }
        keys.into_iter().try_for_each(|key| self.delete_entries(id, key))
    }

    fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        Ok(!self.ask(|connection| sweep::hidden(connection, id))?.is_empty())
    }

    fn forget_deleted(&self, id: &SessionId) -> Result<()> {
        self.change_with_reserve(Some(id), |connection| {
            let mut keys = sweep::hidden(connection, id)?.into_iter();
            keys.try_for_each(|key| sweep::forget(connection, key))
        })?;
        // The journal holds its name.
        self.scrub().map(drop)
    }

    fn scrub(&self) -> Result<Vec<Remains>> {
        let is_clean = self.writer()?.run(|desk: &mut Desk| Ok(desk.empty_journal()))?;
        Ok(if is_clean { Vec::new() } else { vec![Remains::Journal] })
    }

    fn old_copies(&self) -> Vec<PathBuf> {
        migration_copy::old_copies(&self.path)
    }

    fn know_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let session = self.ask_of(id, |_, session| Ok(session))?;
        self.change(Some(id), |connection| write::set_counts(connection, &session, counts))
    }

    fn index_some(&self, limit: usize) -> Result<Indexed> {
        if !self.ask(words::is_behind)? {
            return Ok(Indexed::default());
        }
        self.change(None, |connection| words::index_some(connection, limit))
    }

    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies> {
        self.ask(|connection| words::frequencies(connection, terms))
    }

    fn candidates(&self, wanted: &Wanted, query: &SearchQuery, limit: usize) -> Result<Candidates> {
        let key = query.session.as_ref().map(|id| self.key(id)).transpose()?;
        let found =
            self.ask(|connection| words::candidates(connection, wanted, query, key, limit))?;
        Ok(Candidates::of(found, limit))
    }

    fn wait(&self, id: &SessionId, _after: Seq, timeout: Duration) -> Result<()> {
        self.signal.watch(id).wait(timeout.min(LOOK));
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        // A connection of its own: SQLite's check of the search index goes by what its connection
        // remembers of it, and takes what others changed since for damage.
        check::check(&self.reader()?, &self.path)
    }

    fn reopen(&self) -> Result<()> {
        lock(&self.readers).clear();
        self.writer()?.run(Desk::reopen)
    }

    fn hold(&self, id: &SessionId) -> Result<Option<Hold>> {
        // Keys are never used again.
        self.hold_file(&beside(&self.path, &format!("-table-{}", self.key(id)?)))
    }

    fn copy_to(&self, file: &Path) -> Result<bool> {
        if self.role == Role::Frozen {
            return Ok(false);
        }
        // Reading connections may write nothing, not even another file.
        // Where the store itself cannot be written to, its sessions are copied one by one.
        match connection::open(&self.path, Purpose::Writing) {
            Ok(connection) => schema::copy_into(&connection, file).map(|()| true),
            Err(_) => Ok(false),
        }
    }
}
