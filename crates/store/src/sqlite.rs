//! Sessions in a SQLite file: the default, with nothing to install. WAL mode with a sync for every
//! commit; one connection writes and takes appends in groups, readers have connections of their own
//! and never wait. Several processes may use one file.

mod connection;
mod desk;
mod idle;
mod journal;
mod place;
mod read;
mod schema;
mod signal;
mod words;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, params};
use tertulia_session::{ChainLink, EntryId};

use crate::backend::{Backend, Candidates, Head, Indexed, Landmark, State, newest_first};
use crate::hold::Hold;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::row::Row;
use crate::search::Question;
use crate::{Problem, SessionId, StoreError};

use connection::Purpose;
use desk::{Desk, Request};
use read::{SEQ_BITS, SessionRow, state_code};
use signal::Signal;
use writer::Writer;

/// How many entries of a session are taken away in one transaction.
const DELETE_CHUNK: usize = 1000;
/// How many connections for reading are kept.
const READERS_KEPT: usize = 8;

/// A SQLite file with sessions.
pub(crate) struct SqliteStore {
    path: PathBuf,
    readers: Mutex<Vec<Connection>>,
    /// Opened when something is written for the first time: who only reads needs none.
    writer: Mutex<Option<Arc<Writer>>>,
    signal: Arc<Signal>,
    /// Dropped last, after every connection.
    _registered: Registered,
}

/// Counts the stores that this process has open.
static OPEN: Mutex<usize> = Mutex::new(0);

/// A store that is open, or about to be.
struct Registered;

impl Registered {
    /// Reads the beginning of a file, unless the process has any store open: closing a file takes away
    /// the locks that the process has on it, also those of SQLite.
    fn look_at(path: &Path) -> (Self, bool) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stamped = *open == 0 && schema::is_stamped(path).unwrap_or(false);
        *open += 1;
        (Self, is_stamped)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

impl SqliteStore {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
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
        let readers = Mutex::new(vec![connection]);
        let writer = Mutex::new(None);
        Ok(Self { path, readers, writer, signal: Arc::default(), _registered: registered })
    }

    fn writer(&self) -> Result<Arc<Writer>, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = &*writer {
            return Ok(Arc::clone(writer));
        }
        let started = Writer::start(&self.path, Arc::clone(&self.signal));
        let started = Arc::new(started.map_err(StoreError::while_writing)?);
        *writer = Some(Arc::clone(&started));
        Ok(started)
    }

    fn idle_readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks with a connection that nobody else uses meanwhile.
    fn read<T>(
        &self,
        ask: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle_readers().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connection::open(&self.path, Purpose::Reading)?,
        };
        let answer = ask(&connection);
        let mut idle = self.idle_readers();
        if idle.len() < READERS_KEPT {
            idle.push(connection);
        }
        answer
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        connection::cannot_open(&self.path, error)
    }

    fn session(&self, connection: &Connection, id: &SessionId) -> Result<SessionRow, StoreError> {
        let found = read::session(connection, id);
        let found = found.map_err(|error| connection::unreadable(&self.path, id, &error))?;
        found.ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }

    /// A page of rows: an error counts only if nothing came before it.
    fn page(&self, id: &SessionId, after: Seq, page: read::Page) -> Result<Vec<Row>, StoreError> {
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
        change: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let session = session.cloned();
        self.writer()?.run(|desk: &mut Desk| {
            let changed = desk.transaction(|desk| change(desk.connection()));
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

    fn create(
        &self,
        id: &SessionId,
        created_at: i64,
        state: State,
        first: Batch,
    ) -> Result<(), StoreError> {
        let request = Request { session: id.clone(), batch: first };
        self.writer()?.run(|desk: &mut Desk| desk.create(&request, created_at, state))
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended, StoreError> {
        let request = Request { session: id.clone(), batch };
        self.writer()?.append(request)
    }

    fn head(&self, id: &SessionId) -> Result<Head, StoreError> {
        self.read(|connection| {
            let session = self.session(connection, id)?;
            let newest = read::newest(connection, session.key);
            let newest = newest.map_err(|error| connection::unreadable(&self.path, id, &error))?;
            Ok(Head {
                id: id.clone(),
                created_at: session.created_at,
                updated_at: newest.as_ref().map_or(session.created_at, |one| one.stored_at),
                seq: newest.as_ref().map_or(0, |one| one.seq),
                link: newest.as_ref().map_or(ChainLink::START, |one| one.link),
                tail: newest.map(|one| one.id),
            })
        })
    }

    fn rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.read(|connection| {
            let key = self.session(connection, id)?.key;
            self.page(id, after, read::rows(connection, key, after, limit))
        })
    }

    fn rows_back(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Row>, StoreError> {
        self.read(|connection| {
            let key = self.session(connection, id)?.key;
            let before = from.saturating_sub(1);
            self.page(id, before, read::rows_back(connection, key, from, limit))
        })
    }

    fn landmarks(
        &self,
        id: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Landmark>, StoreError> {
        self.read(|connection| {
            let key = self.session(connection, id)?.key;
            let found = read::landmarks(connection, key, from, limit);
            found.map_err(|error| connection::unreadable(&self.path, id, &error))
        })
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>, StoreError> {
        self.read(|connection| {
            let key = self.session(connection, id)?.key;
            let known = read::known(connection, key, entry);
            let known = known.map_err(|error| connection::unreadable(&self.path, id, &error))?;
            Ok(known.map(|known| known.seq))
        })
    }

    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>, StoreError> {
        let heads = self.read(|connection| {
            all_heads(connection, State::Open).map_err(|error| self.failed(&error))
        })?;
        Ok(newest_first(heads.into_iter(), filter))
    }

    fn publish(&self, imported: &SessionId, id: &SessionId) -> Result<(), StoreError> {
        let (from, to) = (imported.clone(), id.clone());
        let published = self.change(Some(id), move |connection| {
            let sql =
                "UPDATE OR IGNORE session SET id = ?2, state = ?3 WHERE id = ?1 AND state = ?4";
            let states = (state_code(State::Open), state_code(State::Importing));
            connection.execute(sql, params![from.as_str(), to.as_str(), states.0, states.1])
        })?;
        if published == 1 { Ok(()) } else { Err(StoreError::SessionExists(id.clone())) }
    }

    fn forgotten_imports(&self, since: i64, until: i64) -> Result<Vec<SessionId>, StoreError> {
        let (imports, deleted) = self.read(|connection| {
            let imports = all_heads(connection, State::Importing);
            let imports = imports.map_err(|error| self.failed(&error))?;
            let deleted = all_heads(connection, State::Deleting);
            Ok((imports, deleted.map_err(|error| self.failed(&error))?))
        })?;
        let forgotten = imports
            .into_iter()
            .filter(|(head, _)| head.updated_at < since || head.updated_at > until);
        Ok(forgotten.chain(deleted).map(|(head, _)| head.id).collect())
    }

    fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let name = id.clone();
        // From here on nobody sees it; its name is free at once.
        let key = self.change(Some(id), move |connection| hide(connection, &name))?;
        let key = key.ok_or_else(|| StoreError::SessionNotFound(id.clone()))?;
        while self.change(Some(id), move |connection| delete_some(connection, key))? {}
        Ok(())
    }

    fn know_counts(
        &self,
        id: &SessionId,
        counts: &[(EntryId, TokenCount)],
    ) -> Result<(), StoreError> {
        let key = self.read(|connection| self.session(connection, id))?.key;
        let counts = counts.to_vec();
        self.change(Some(id), move |connection| {
            let sql = "UPDATE entry SET tokenizer = ?2, tokens = ?3 \
                       WHERE place = ?1 AND encoding <> 2";
            let mut statement = connection.prepare_cached(sql)?;
            for (entry, count) in counts {
                if let Some(known) = read::known(connection, key, &entry)? {
                    let place = read::place(key, known.seq);
                    let tokens = count.tokens.min(u64::from(u32::MAX)).cast_signed();
                    statement.execute(params![place, &*count.tokenizer, tokens])?;
                }
            }
            Ok(())
        })
    }

    fn index_some(&self, limit: usize) -> Result<Indexed, StoreError> {
        let is_behind =
            self.read(|connection| words::is_behind(connection).map_err(|e| self.failed(&e)))?;
        if !is_behind {
            return Ok(Indexed::default());
        }
        self.change(None, move |connection| words::index_some(connection, limit))
    }

    fn candidates(
        &self,
        question: &Question,
        query: &SearchQuery,
    ) -> Result<Candidates, StoreError> {
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

    fn wait(&self, _id: &SessionId, _after: Seq, timeout: Duration) -> Result<(), StoreError> {
        self.signal.wait(timeout);
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>, StoreError> {
        // A connection of its own: SQLite's check of the search index goes by what its connection
        // remembers of it, and takes what others changed since for damage.
        check(&connection::open(&self.path, Purpose::Reading)?, &self.path)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        self.idle_readers().clear();
        self.writer()?.run(Desk::reopen)
    }

    fn hold(&self, id: &SessionId) -> Result<Option<Hold>, StoreError> {
        let key = self.read(|connection| Ok(self.session(connection, id)?.key))?;
        // Keys are never used again.
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("-table-{key}"));
        let held = Hold::of_file(Path::new(&name));
        held.map_err(|error| connection::not_a_store(&self.path, error.to_string()))
    }

    fn copy_to(&self, file: &Path) -> Result<bool, StoreError> {
        // Reading connections may write nothing, not even another file.
        // Where the store itself cannot be written to, its sessions are copied one by one.
        match connection::open(&self.path, Purpose::Writing) {
            Ok(connection) => schema::copy_into(&connection, file).map(|()| true),
            Err(_) => Ok(false),
        }
    }
}

/// SQLite's own check of the whole file.
fn check(connection: &Connection, path: &Path) -> Result<Vec<String>, StoreError> {
    let ask = || {
        let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        lines.collect::<rusqlite::Result<Vec<_>>>()
    };
    let lines = match ask() {
        Ok(lines) => lines,
        Err(error) => match connection::problem(path, &error) {
            Problem::NotAStore { reason, .. } => vec![reason],
            _ => return Err(connection::cannot_open(path, &error)),
        },
    };
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn all_heads(connection: &Connection, state: State) -> rusqlite::Result<Vec<(Head, i64)>> {
    let sql = "SELECT s.id, s.created_at, s.key, e.place, e.id, e.link, e.stored_at \
               FROM session s LEFT JOIN entry e ON e.place = (SELECT n.place FROM entry n \
                 WHERE n.place > s.key << ?1 AND n.place < (s.key + 1) << ?1 \
                 ORDER BY n.place DESC LIMIT 1) \
               WHERE CASE ?2 WHEN 0 THEN coalesce(s.state, 0) NOT IN (?3, ?4) ELSE s.state = ?2 END";
    let mut statement = connection.prepare_cached(sql)?;
    let hidden = (state_code(State::Importing), state_code(State::Deleting));
    let values = params![SEQ_BITS, state_code(state), hidden.0, hidden.1];
    let heads = statement.query_map(values, |row| {
        let created_at: i64 = row.get(1)?;
        let place: Option<i64> = row.get(3)?;
        let link: Option<Vec<u8>> = row.get(5)?;
        let link = link.and_then(|link| link.try_into().ok()).map(ChainLink::from_bytes);
        let head = SessionId::parse(&row.get::<_, String>(0)?).ok().map(|id| Head {
            id,
            created_at,
            updated_at: row.get::<_, Option<i64>>(6).ok().flatten().unwrap_or(created_at),
            seq: place.map_or(0, read::seq_of),
            tail: row.get::<_, Option<String>>(4).ok().flatten().map(EntryId::from),
            link: link.unwrap_or(ChainLink::START),
        });
        Ok(head.map(|head| (head, row.get::<_, i64>(2).unwrap_or(0))))
    })?;
    heads.filter_map(Result::transpose).collect()
}

/// Hides a session that is to be deleted and frees its name. Also finds those that were hidden before.
fn hide(connection: &Connection, id: &SessionId) -> rusqlite::Result<Option<i64>> {
    let sql = "UPDATE session SET state = ?2, id = key || ':deleted:' || hex(randomblob(8)) \
               WHERE id = ?1 RETURNING key";
    let mut statement = connection.prepare_cached(sql)?;
    let values = params![id.as_str(), state_code(State::Deleting)];
    let mut keys = statement.query_map(values, |row| row.get(0))?;
    keys.next().transpose()
}

/// Takes some entries of a hidden session away, and at last the session. Says whether some are left.
fn delete_some(connection: &Connection, key: i64) -> rusqlite::Result<bool> {
    let page = read::rows(connection, key, 0, DELETE_CHUNK);
    let sql = "SELECT indexed FROM session WHERE key = ?1";
    let indexed: i64 = connection.query_row(sql, [key], |row| row.get(0))?;
    let last = page.rows.last().map(|row| read::place(key, row.seq));
    for row in page.rows {
        if row.seq <= indexed.unsigned_abs() {
            let place = read::place(key, row.seq);
            if let Ok(stored) = row.decode() {
                words::remove(connection, place, &stored.entry)?;
            }
        }
    }
    if let Some(last) = last {
        let sql = "DELETE FROM entry WHERE place > ?1 AND place <= ?2";
        connection.execute(sql, [read::place(key, 0), last])?;
        return Ok(true);
    }
    connection.execute("DELETE FROM unindexed WHERE session = ?1", [key])?;
    connection.execute("DELETE FROM session WHERE key = ?1", [key])?;
    Ok(false)
}
