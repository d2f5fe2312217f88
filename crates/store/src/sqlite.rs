//! Stores sessions in a SQLite file: the default, which needs no installation. The file is in WAL mode, and every
//! commit is synced. One connection writes and groups appends; readers have their own connections and never wait.
//! Several processes can use one file.

pub(crate) mod backup_file;
mod check;
mod connection;
mod hidden_sessions;
mod idle;
mod ids;
mod journal;
mod migration_copy;
mod read;
mod reserve;
mod schema;
mod search_index;
mod snapshot;
mod store_file;
mod write;
mod write_connection;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, params};
use tertulia_session::{ChainLink, EntryId};

use crate::backend::{
    Backend, BranchPoint, Candidates, Direction, Indexed, OutlineRow, SessionStart, SessionStatus,
    State, UsageRow, newest_first,
};
use crate::import::LeftBehind;
use crate::lock::SessionLock;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::new_file::with_suffix;
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::{AnyOf, Frequencies, IndexQuery};
use crate::signal::{self, Signal};
use crate::{Outcome, Problem, Result, SessionId, StoreError};

use connection::Purpose;
use hidden_sessions::StepSize;
use read::SessionRow;
use store_file::{Registration, Role};
use write_connection::{Request, WriteConnection};
use writer::{Writer, lock};

const READERS_KEPT: usize = 8;
/// How often a follower checks for entries of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) struct SqliteStore {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    /// The writer, created for the first write: a program that only reads needs none.
    writer: Mutex<Option<Arc<Writer>>>,
    signal: Arc<Signal>,
    role: Role,
    /// Must be dropped after every connection.
    _registration: Registration,
}

impl SqliteStore {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = store_file::prepare(path)?;
        let (registration, is_stamped) = Registration::new(&path);
        // The file is read before the first write, so that a file of another program is never changed.
        let mut connection = connection::open(&path, Purpose::Reading)?;
        if !is_stamped && !schema::is_current(&connection, &path)? {
            drop(connection);
            connection = prepared(&path)?;
        }
        schema::check(&connection, &path, schema::VERSION)?;
        Ok(Self::new(path, connection, registration, Role::Store))
    }

    /// Opens the new file of a backup. Its folder does not have to be suitable for a store.
    pub(crate) fn open_part(path: &Path) -> Result<Self> {
        let (registration, _) = Registration::new(path);
        Ok(Self::new(path.to_owned(), prepared(path)?, registration, Role::Part))
    }

    /// Opens a file that no process writes to. It is only read, and nothing is created next to it.
    pub(crate) fn open_immutable(path: &Path) -> Result<Self> {
        let (registration, _) = Registration::new(path);
        let connection = connection::open_immutable(path)?;
        schema::check(&connection, path, schema::VERSION)?;
        Ok(Self::new(path.to_owned(), connection, registration, Role::Immutable))
    }

    fn new(path: PathBuf, reader: Connection, registration: Registration, role: Role) -> Self {
        Self {
            path,
            readers: Mutex::new(vec![reader]),
            writer: Mutex::new(None),
            signal: Arc::default(),
            role,
            _registration: registration,
        }
    }

    fn reader(&self) -> Result<Connection> {
        match self.role {
            Role::Immutable => connection::open_immutable(&self.path),
            Role::Store | Role::Part => connection::open(&self.path, Purpose::Reading),
        }
    }

    fn writer(&self) -> Result<Arc<Writer>> {
        let mut writer = lock(&self.writer);
        if let Some(writer) = &*writer {
            return Ok(Arc::clone(writer));
        }
        if self.role == Role::Immutable {
            let location = self.path.display().to_string();
            return Err(StoreError::write_failed(Problem::ReadOnly(location)));
        }
        let started = Writer::start(&self.path, Arc::clone(&self.signal));
        let started = Arc::new(started.map_err(StoreError::while_writing)?);
        *writer = Some(Arc::clone(&started));
        if self.role == Role::Store {
            reserve::create(&self.path);
        }
        Ok(started)
    }

    /// Runs a query on a connection that nobody else uses meanwhile.
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

    /// Runs a query about the file as a whole.
    fn query<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.read(|connection| {
            ask(connection).map_err(|error| connection::cannot_open(&self.path, &error))
        })
    }

    /// Runs a query about one session.
    fn query_session<T>(
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
        self.query_session(id, |_, session| Ok(session.key))
    }

    fn lock_file(&self, path: &Path) -> Result<Option<SessionLock>> {
        let held = SessionLock::acquire(path);
        held.map_err(|error| connection::not_a_store(&self.path, error.to_string()))
    }

    /// Runs a change in a transaction of the write connection.
    fn change<T>(
        &self,
        session: Option<&SessionId>,
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.change_by(session, |writer| writer.transaction(|writer| change(writer.connection())))
    }

    /// Deletes the entries of a hidden session. On a full disk the steps are small enough for the reserve, and the
    /// journal is emptied after each step.
    fn delete_entries(&self, id: &SessionId, key: i64) -> Result<()> {
        let mut size = StepSize::USUAL;
        loop {
            let step =
                |connection: &Connection| hidden_sessions::delete_some(connection, key, size);
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

    /// Like [`change`](Self::change), but also works on a full disk.
    fn change_with_reserve<T>(
        &self,
        session: Option<&SessionId>,
        change: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let once =
            |writer: &mut WriteConnection| writer.transaction(|writer| change(writer.connection()));
        self.change_by(session, |writer| writer.with_reserve(once))
    }

    fn change_by<T>(
        &self,
        session: Option<&SessionId>,
        change: impl FnOnce(&mut WriteConnection) -> Result<T, Failure>,
    ) -> Result<T> {
        self.writer()?.run(|writer: &mut WriteConnection| {
            let changed = change(writer);
            writer.forget();
            if changed.is_ok() {
                writer.checkpoint_long_journal();
            }
            changed.map_err(|failure| failure.error(session.cloned()))
        })
    }
}

/// A failed transaction, in the form in which every waiting caller gets it.
#[derive(Clone, Debug)]
struct Failure {
    outcome: Outcome,
    problem: Problem,
}

impl Failure {
    fn for_session(&self, session: &SessionId) -> StoreError {
        self.error(Some(session.clone()))
    }

    fn error(&self, session: Option<SessionId>) -> StoreError {
        let Self { outcome, problem } = self.clone();
        StoreError::SessionWriteFailed { session, outcome, problem }
    }
}

/// Creates the tables, or migrates them to this version, and opens the file for reading.
fn prepared(path: &Path) -> Result<Connection> {
    schema::prepare(&mut connection::open(path, Purpose::Writing)?, path)?;
    connection::open(path, Purpose::Reading)
}

impl Backend for SqliteStore {
    fn location(&self) -> String {
        format!("sqlite:{}", self.path.display())
    }

    fn create(&self, id: &SessionId, start: SessionStart, first: Batch) -> Result<()> {
        let request = Request { session: id.clone(), batch: first };
        self.writer()?.run(|writer: &mut WriteConnection| writer.create(&request, &start))
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

    fn status(&self, id: &SessionId) -> Result<SessionStatus> {
        self.query_session(id, |connection, session| {
            let newest = read::newest(connection, session.key)?;
            Ok(SessionStatus {
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

    fn page(
        &self,
        id: &SessionId,
        direction: Direction,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Row>> {
        let page = self.query_session(id, |connection, session| {
            Ok(read::page(connection, session.key, direction, from, limit))
        })?;
        // If there are rows before the error, they are returned first.
        let Some(error) = page.error.filter(|_| page.rows.is_empty()) else { return Ok(page.rows) };
        let seq = if direction == Direction::Forward { from + 1 } else { from.max(1) };
        let problem = match connection::problem(&self.path, &error) {
            Problem::NotAStore { reason, .. } => Problem::Damaged { seq, entry: None, reason },
            problem => problem,
        };
        Err(StoreError::unreadable(id, problem))
    }

    fn outline_rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<OutlineRow>> {
        self.query_session(id, |connection, session| {
            read::outline_rows(connection, session.key, after, limit)
        })
    }

    fn branch_points(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<BranchPoint>> {
        self.query_session(id, |connection, session| {
            read::branch_points(connection, session.key, from, limit)
        })
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        let known =
            self.query_session(id, |connection, session| ids::find(connection, &session, entry))?;
        Ok(known.map(|known| known.seq))
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<SessionStatus>> {
        let statuses = self.query(|connection| read::statuses(connection, &filter.project))?;
        Ok(newest_first(statuses.into_iter(), filter))
    }

    fn usage(&self, since: i64, visit: &mut dyn FnMut(UsageRow)) -> Result<()> {
        self.query(|connection| read::usage(connection, since, visit))
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        self.change(None, |connection| hidden_sessions::publish(connection, sessions))?
    }

    fn lock_imports(&self, number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
        let held = self.lock_file(&hidden_sessions::lock_path(&self.path, number));
        let held = held.map_err(StoreError::while_writing)?;
        Ok(held.map(|hold| Box::new(hold) as _))
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        self.query(|connection| hidden_sessions::measure(connection, &self.path))
    }

    fn delete_left_behind(&self) -> Result<()> {
        let keys =
            self.query(|connection| hidden_sessions::leftover_keys(connection, &self.path))?;
        for key in keys {
            if self.change(None, |connection| hidden_sessions::hide_leftover(connection, key))? {
                while self.change(None, |connection| {
                    hidden_sessions::delete_some(connection, key, StepSize::USUAL)
                })? {}
                self.change(None, |connection| hidden_sessions::forget(connection, key))?;
            }
        }
        Ok(())
    }

    fn anchor(&self, id: &SessionId) -> Result<Option<(Seq, ChainLink)>> {
        self.query_session(id, |connection, session| read::anchor(connection, session.key))
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        // From here on the session is hidden, and its name is free.
        let keys =
            self.change_with_reserve(Some(id), |connection| hidden_sessions::hide(connection, id))?;
        if keys.is_empty() {
            return Err(StoreError::SessionNotFound(id.clone()));
        }
        keys.into_iter().try_for_each(|key| self.delete_entries(id, key))
    }

    fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        Ok(!self.query(|connection| hidden_sessions::hidden(connection, id))?.is_empty())
    }

    fn forget_deleted(&self, id: &SessionId) -> Result<()> {
        self.change_with_reserve(Some(id), |connection| {
            let mut keys = hidden_sessions::hidden(connection, id)?.into_iter();
            keys.try_for_each(|key| hidden_sessions::forget(connection, key))
        })?;
        // The journal still contains the session's name, so it is emptied.
        self.scrub().map(drop)
    }

    fn scrub(&self) -> Result<Vec<Remains>> {
        let is_clean =
            self.writer()?.run(|writer: &mut WriteConnection| Ok(writer.empty_journal()))?;
        Ok(if is_clean { Vec::new() } else { vec![Remains::Journal] })
    }

    fn old_copies(&self) -> Vec<PathBuf> {
        migration_copy::old_copies(&self.path)
    }

    fn store_token_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let session = self.query_session(id, |_, session| Ok(session))?;
        self.change(Some(id), |connection| write::set_counts(connection, &session, counts))
    }

    fn index_some(&self, limit: usize) -> Result<Indexed> {
        if !self.query(search_index::is_behind)? {
            return Ok(Indexed::default());
        }
        self.change(None, |connection| search_index::index_some(connection, limit))
    }

    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies> {
        self.query(|connection| search_index::frequencies(connection, terms))
    }

    fn candidates(
        &self,
        index_query: &IndexQuery,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<Candidates> {
        let key = query.session.as_ref().map(|id| self.key(id)).transpose()?;
        let found = self.query(|connection| {
            search_index::candidates(connection, index_query, query, key, limit)
        })?;
        Ok(Candidates::from_rows(found, limit))
    }

    fn wait(&self, id: &SessionId, _after: Seq, timeout: Duration) -> Result<()> {
        self.signal.watch(id).wait(timeout.min(POLL_INTERVAL));
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        // Uses a new connection. SQLite checks the search index against the cache of the connection, and would
        // report changes of other processes as damage.
        check::check(&self.reader()?, &self.path)
    }

    fn reopen(&self) -> Result<()> {
        lock(&self.readers).clear();
        self.writer()?.run(WriteConnection::reopen)
    }

    fn lock_session(&self, id: &SessionId) -> Result<Option<SessionLock>> {
        // The key of the session is part of the name of the lock file. Keys are never reused.
        self.lock_file(&with_suffix(&self.path, &format!("-table-{}", self.key(id)?)))
    }

    fn copy_to(&self, file: &Path) -> Result<bool> {
        if self.role == Role::Immutable {
            return Ok(false);
        }
        // Copying the file requires a connection that can write, because other connections cannot write any file. If
        // the store itself is not writable, its sessions are copied one by one.
        match connection::open(&self.path, Purpose::Writing) {
            Ok(connection) => schema::copy_into(&connection, file).map(|()| true),
            Err(_) => Ok(false),
        }
    }
}
