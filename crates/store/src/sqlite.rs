//! Sessions in a SQLite file: the default, with nothing to install. WAL mode with a sync for every
//! commit; one connection writes and takes appends in groups, readers have connections of their own
//! and never wait. Several processes may use one file.

pub(crate) mod backup;
mod check;
mod connection;
mod desk;
mod failure;
mod heads;
mod idle;
mod ids;
mod journal;
mod migration_copy;
mod place;
mod read;
mod registered;
mod reserve;
mod schema;
mod signal;
mod sweep;
mod words;
mod write;
mod writer;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, params};
use tertulia_session::{ChainLink, EntryId};

use crate::backend::{
    Backend, Begun, Brief, Candidates, Head, Indexed, Landmark, State, newest_first,
};
use crate::hold::Hold;
use crate::import::LeftBehind;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::Question;
use crate::{Outcome, Problem, Result, SessionId, StoreError};

use connection::Purpose;
use desk::{Desk, Request};
use failure::Failure;
use heads::all_heads;
use read::SessionRow;
use registered::{Registered, Role};
use signal::Signal;
use sweep::{StepSize, Unpublished};
use writer::{Writer, lock};

/// How many connections for reading are kept.
const READERS_KEPT: usize = 8;

/// A SQLite file with sessions.
pub(crate) struct SqliteStore {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    /// Opened when something is written for the first time: who only reads needs none.
    writer: Mutex<Option<Arc<Writer>>>,
    signal: Arc<Signal>,
    /// The numbers that imports of this store hold.
    imports: Mutex<HashMap<u64, Hold>>,
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
            let mut writing = connection::open(&path, Purpose::Writing)?;
            schema::prepare(&mut writing, &path)?;
            drop(writing);
            connection = connection::open(&path, Purpose::Reading)?;
        }
        schema::check(&connection, &path)?;
        Ok(Self::of(path, connection, registered, Role::Store))
    }

    /// Opens the new file of a backup, whose folder need not be fit for a store.
    pub(crate) fn open_part(path: &Path) -> Result<Self> {
        let (registered, _) = Registered::look_at(path);
        let mut writing = connection::open(path, Purpose::Writing)?;
        schema::prepare(&mut writing, path)?;
        drop(writing);
        let connection = connection::open(path, Purpose::Reading)?;
        Ok(Self::of(path.to_owned(), connection, registered, Role::Part))
    }

    /// Opens a file that nobody writes to. It is only read, and nothing is created beside it.
    pub(crate) fn open_frozen(path: &Path) -> Result<Self> {
        let (registered, _) = Registered::look_at(path);
        let connection = connection::open_frozen(path)?;
        schema::check(&connection, path)?;
        Ok(Self::of(path.to_owned(), connection, registered, Role::Frozen))
    }

    fn of(path: PathBuf, reader: Connection, registered: Registered, role: Role) -> Self {
        Self {
            path,
            readers: Mutex::new(vec![reader]),
            writer: Mutex::new(None),
            signal: Arc::default(),
            imports: Mutex::default(),
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
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            return Ok(Arc::clone(writer));
        }
        if self.role == Role::Frozen {
            let problem = Problem::ReadOnly(self.path.display().to_string());
            let outcome = Outcome::NotStored;
            return Err(StoreError::SessionWriteFailed { session: None, outcome, problem });
        }
        let started = Writer::start(&self.path, Arc::clone(&self.signal));
        let started = Arc::new(started.map_err(StoreError::while_writing)?);
        *writer = Some(Arc::clone(&started));
        if self.role == Role::Store {
            reserve::create(&self.path);
        }
        Ok(started)
    }

    fn idle_readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks with a connection that nobody else uses meanwhile.
    fn read<T>(&self, ask: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self.idle_readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.reader()?,
        };
        let answer = ask(&connection);
        let mut idle = self.idle_readers();
        if idle.len() < READERS_KEPT {
            idle.push(connection);
        }
        answer
    }

    /// The same for a question about the file as a whole.
    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read(|connection| ask(connection).map_err(|error| self.failed(&error)))
    }

    /// The same for a question about a session.
    fn ask_of<T>(
        &self,
        id: &SessionId,
        ask: impl FnOnce(&Connection, SessionRow) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.read(|connection| {
            let answer = ask(connection, self.session(connection, id)?);
            answer.map_err(|error| connection::unreadable(&self.path, id, &error))
        })
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        connection::cannot_open(&self.path, error)
    }

    fn session(&self, connection: &Connection, id: &SessionId) -> Result<SessionRow> {
        let found = read::session(connection, id);
        let found = found.map_err(|error| connection::unreadable(&self.path, id, &error))?;
        found.ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }

    /// A page of rows: an error counts only if nothing came before it.
    fn page(&self, id: &SessionId, after: Seq, page: read::Page) -> Result<Vec<Row>> {
        match page.error {
            Some(error) if page.rows.is_empty() => match connection::problem(&self.path, &error) {
                Problem::NotAStore { reason, .. } => {
                    let place = after + 1;
                    let problem = Problem::Damaged { place, entry: None, reason };
                    Err(StoreError::unreadable(id, problem))
                }
                problem => Err(StoreError::unreadable(id, problem)),
            },
            _ => Ok(page.rows),
        }
    }

    /// Changes something in a transaction of the connection that writes.
    fn change<T>(
        &self,
        session: Option<&SessionId>,
        change: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let once = |desk: &mut Desk| desk.transaction(|desk| change(desk.connection()));
        self.change_by(session, once)
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
        let session = session.cloned();
        self.writer()?.run(|desk: &mut Desk| {
            let changed = change(desk);
            desk.forget();
            if changed.is_ok() {
                desk.tidy_journal();
            }
            changed.map_err(|failure| failure.error(session))
        })
    }
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
        let (name, project) = (id.clone(), project.map(str::to_owned));
        let changed = self.change(Some(id), move |connection| {
            let sql = "UPDATE session SET project = ?2 WHERE id = ?1 AND state <> ?3";
            let deleting = read::state_code(State::Deleting);
            connection.execute(sql, params![name.as_str(), project, deleting])
        })?;
        if changed == 1 { Ok(()) } else { Err(StoreError::SessionNotFound(id.clone())) }
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let request = Request { session: id.clone(), batch };
        self.writer()?.append(request)
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

    fn rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        self.read(|connection| {
            let key = self.session(connection, id)?.key;
            self.page(id, after, read::rows(connection, key, after, limit))
        })
    }

    fn rows_back(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Row>> {
        self.read(|connection| {
            let key = self.session(connection, id)?.key;
            let before = from.saturating_sub(1);
            self.page(id, before, read::rows_back(connection, key, from, limit))
        })
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
        let heads = self.ask(|connection| all_heads(connection, State::Open, &filter.project))?;
        Ok(newest_first(heads.into_iter(), filter))
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        let published = self.change(None, |connection| sweep::publish(connection, sessions))?;
        published.map_err(|unpublished| match unpublished {
            Unpublished::Taken(id) => StoreError::SessionExists(id),
            Unpublished::Gone(id) => StoreError::SessionNotFound(id),
        })
    }

    fn hold_imports(&self, number: u64) -> Result<bool> {
        let held = Hold::of_file(&sweep::hold_path(&self.path, number));
        let held = held
            .map_err(|error| connection::not_a_store(&self.path, error.to_string()))
            .map_err(StoreError::while_writing)?;
        let is_held = held.is_some();
        if let Some(hold) = held {
            lock(&self.imports).insert(number, hold);
        }
        Ok(is_held)
    }

    fn release_imports(&self, number: u64) {
        lock(&self.imports).remove(&number);
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        self.ask(|connection| {
            let keys = sweep::left_keys(connection, &self.path)?;
            sweep::measure(connection, &keys)
        })
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
        let name = id.clone();
        // From here on nobody sees it; its name is free at once.
        let keys =
            self.change_with_reserve(Some(id), |connection| sweep::hide(connection, &name))?;
        if keys.is_empty() {
            return Err(StoreError::SessionNotFound(id.clone()));
        }
        keys.into_iter().try_for_each(|key| self.delete_entries(id, key))
    }

    fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        self.ask(|connection| sweep::is_hidden(connection, id))
    }

    fn forget_deleted(&self, id: &SessionId) -> Result<()> {
        self.change_with_reserve(Some(id), |connection| sweep::forget_hidden(connection, id))?;
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
        let session = self.read(|connection| self.session(connection, id))?;
        let counts = counts.to_vec();
        self.change(Some(id), move |connection| write::set_counts(connection, &session, &counts))
    }

    fn index_some(&self, limit: usize) -> Result<Indexed> {
        if !self.ask(words::is_behind)? {
            return Ok(Indexed::default());
        }
        self.change(None, move |connection| words::index_some(connection, limit))
    }

    fn candidates(&self, question: &Question, query: &SearchQuery) -> Result<Candidates> {
        let found = self.read(|connection| {
            let key = match &query.session {
                Some(id) => Some(self.session(connection, id)?.key),
                None => None,
            };
            let found = words::candidates(connection, question, query, key);
            found.map_err(|error| self.failed(&error))
        })?;
        Ok(Candidates::of(found))
    }

    fn wait(&self, _id: &SessionId, _after: Seq, timeout: Duration) -> Result<()> {
        self.signal.wait(timeout);
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        // A connection of its own: SQLite's check of the search index goes by what its connection
        // remembers of it, and takes what others changed since for damage.
        check::check(&self.reader()?, &self.path)
    }

    fn reopen(&self) -> Result<()> {
        self.idle_readers().clear();
        self.writer()?.run(Desk::reopen)
    }

    fn hold(&self, id: &SessionId) -> Result<Option<Hold>> {
        let key = self.read(|connection| Ok(self.session(connection, id)?.key))?;
        // Keys are never used again.
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("-table-{key}"));
        let held = Hold::of_file(Path::new(&name));
        held.map_err(|error| connection::not_a_store(&self.path, error.to_string()))
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
