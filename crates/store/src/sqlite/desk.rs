//! The writer's desk: the one connection of this process that changes the file, and what is known of
//! the sessions it writes to. One thread at a time sits at it; appends come in groups, and a group is
//! one transaction and one sync.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::{Connection, params};

use super::connection::{self, Purpose, is_disk_error, problem};
use super::ids::{Recent, id_hash};
use super::read::{self, SessionRow};
use super::write::{purge, write, write_alone};
use super::{Failure, journal, reserve, schema, view};
use crate::backend::Begun;
use crate::model::Appended;
use crate::plan::{Batch, Tail, plan};
use crate::{Outcome, Problem, Result, SessionId, StoreError};

/// The journal is copied into the file when so many pages are in it, and again after as many more where a reader
/// stood in the way. What it may hold has to fit into the reserve for a full disk.
const JOURNAL_PAGES: u32 = 1024;
/// A journal with so many pages in it will go on growing: it gets its whole length at once.
const JOURNAL_GROWS: u32 = 64;
/// That length.
const JOURNAL_BYTES: u64 = 4400 << 10;

/// Of so many sessions it is remembered where they end.
const KNOWN_MAX: usize = 4096;

/// The connection that writes, and what it knows.
pub(super) struct Desk {
    connection: Connection,
    path: PathBuf,
    /// Most often one; then nothing has to be hashed.
    known: BTreeMap<SessionId, Open>,
    /// Changes whenever another process has written.
    version: i64,
    /// Whether the view of the last append is still open; see [`Self::hold_view`].
    holds_view: bool,
    /// How many pages are in the journal, as of the last commit.
    journal_pages: Arc<AtomicU32>,
    /// The journal is copied into the file at so many.
    checkpoint_at: u32,
    /// Whether the journal has its whole length.
    has_room: bool,
    /// Why nothing is written any more.
    stopped: Option<String>,
    /// Whether bytes that were purged may still be in the journal.
    holds_purged: bool,
}

/// A session that is being written to.
pub(super) struct Open {
    pub(super) session: SessionRow,
    pub(super) tail: Tail,
    /// The entries that the index of ids does not have.
    pub(super) recent: Recent,
    /// Whether the search index is known to be behind.
    pub(super) is_marked: bool,
}

/// An append that waits for its turn.
pub(super) struct Request {
    pub(super) session: SessionId,
    pub(super) batch: Batch,
}

type Answer = Result<Appended>;

impl Desk {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut connection = connection::open(path, Purpose::Writing)?;
        if !schema::is_wal(&connection, path)? {
            return Err(connection::not_a_store(path, "it is not in WAL mode".to_owned()));
        }
        let journal_pages = Arc::new(AtomicU32::new(0));
        count_pages(&mut connection, &journal_pages)
            .map_err(|error| connection::cannot_open(path, &error))?;
        let mut desk = Self {
            connection,
            path: path.to_owned(),
            known: BTreeMap::new(),
            version: -1,
            holds_view: false,
            journal_pages,
            checkpoint_at: JOURNAL_PAGES,
            has_room: false,
            stopped: None,
            holds_purged: false,
        };
        // What a process that was killed left in the journal goes into the file and to the disk, so
        // that nothing rests on a sync that may have failed.
        if desk.journal_bytes() > 0 {
            desk.renew_journal()?;
            desk.checkpoint("PASSIVE");
            // It may hold what another process purged or deleted while somebody was reading.
            desk.checkpoint_at_once("TRUNCATE");
        }
        Ok(desk)
    }

    /// Writes the journal over with its own bytes and syncs it. After a sync that failed Linux takes
    /// pages for written that are not, and later syncs say all is well; a checkpoint from such a
    /// journal would be lost halfway with the power. Nobody appends to it meanwhile.
    fn renew_journal(&mut self) -> Result<()> {
        let renewed = self.transaction(|desk| Ok(journal::renew(&desk.journal())));
        let failed = |reason: String| {
            let problem = Problem::Disk { place: self.journal().display().to_string(), reason };
            StoreError::SessionReadFailed { session: None, problem }
        };
        match renewed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(failure) => Err(failure.error(None)),
        }
    }

    /// Closes the file and opens it anew, after checking it.
    pub(super) fn reopen(&mut self) -> Result<()> {
        self.close_view();
        let mut fresh = Self::open(&self.path)?;
        let found = super::check::check(&fresh.connection, &self.path)?;
        if let Some(reason) = found.into_iter().next() {
            return Err(connection::not_a_store(&self.path, reason));
        }
        fresh.checkpoint("TRUNCATE");
        *self = fresh;
        self.may_write().map_err(|failure| failure.error(None))
    }

    /// A failure if nothing may be written any more.
    fn may_write(&self) -> Result<(), Failure> {
        let Some(reason) = &self.stopped else { return Ok(()) };
        let problem = Problem::Stopped(reason.clone());
        Err(Failure { outcome: Outcome::NotStored, problem })
    }

    /// Begins a session with its first entries.
    pub(super) fn create(&mut self, first: &Request, begun: &Begun) -> Result<()> {
        let (id, Begun { created_at, state, project }) = (&first.session, begun);
        let created = self.transaction(|desk| {
            let sql = "INSERT OR IGNORE INTO session (id, state, created_at, project) \
                       VALUES (?1, ?2, ?3, ?4)";
            let row = params![id.as_str(), read::state_code(*state), created_at, project];
            if desk.connection.execute(sql, row)? == 0 {
                return Ok(Err(StoreError::SessionExists(id.clone())));
            }
            Ok(desk.append_one(first, &mut false)?.map(|_| ()))
        });
        created.map_err(|failure| failure.of(id))?
    }

    /// Carries out a group of appends in one transaction.
    pub(super) fn append(&mut self, group: &[&Request]) -> Vec<Answer> {
        let mut purged = false;
        let mut store = |desk: &mut Self| {
            desk.transaction(|desk| {
                group.iter().map(|request| desk.append_one(request, &mut purged)).collect()
            })
        };
        let outcome = match group.iter().any(|request| request.batch.redacts()) {
            true => self.with_reserve(store),
            false => store(self),
        };
        let answers = match outcome {
            Ok(answers) => answers,
            Err(failure) => {
                return group.iter().map(|request| Err(failure.of(&request.session))).collect();
            }
        };
        self.holds_purged |= purged;
        if self.holds_purged {
            // The journal still holds the bytes; a reader may stand in the way, then it is tried again.
            self.holds_purged = !self.checkpoint("TRUNCATE");
        } else {
            self.tidy_journal();
        }
        answers
    }

    /// Stores one entry at the end of a session by one statement, which is much of what a lone writer
    /// spends beside the sync. Gives `None` where another process wrote since, and for all that one statement
    /// cannot do; then nothing was changed.
    pub(super) fn append_alone(&mut self, id: &SessionId, batch: &Batch) -> Option<Answer> {
        let [prepared] = batch.records.as_slice() else { return None };
        let is_usual = self.stopped.is_none() && !self.holds_purged && !self.known.is_empty();
        if !is_usual || !self.hold_view() {
            return None;
        }
        let open = self.known.get_mut(id)?;
        let follows = prepared.parent_id.is_none() || prepared.parent_id == open.tail.id;
        let is_plain = follows && prepared.redacts.is_none() && open.is_marked;
        let hash = id_hash(open.session.key, &prepared.record.id);
        if !is_plain || !open.recent.has_room_for(hash) {
            return None;
        }
        let plan = plan(id, &open.tail, batch, |_| Ok(None)).ok()?;
        let placed = plan.new.first().filter(|_| plan.tail.seq < u64::from(u32::MAX))?;
        if plan.tail.names_parents != open.tail.names_parents {
            return None;
        }
        match write_alone(&self.connection, open, hash, placed, prepared) {
            Ok(false) => {
                self.close_view();
                None
            }
            Ok(true) => {
                open.tail = plan.tail;
                self.tidy_journal();
                Some(Ok(plan.appended))
            }
            Err(error) => {
                let failed: Result<Appended, Failure> = self.give_up(&error, true);
                Some(failed.map_err(|failure| failure.of(id)))
            }
        }
    }

    /// Keeps a view of the file open from one append to the next. Saves two thirds of the locks that an append
    /// takes, and SQLite refuses a write if another process wrote since the view was opened. Says whether what is
    /// known of the sessions holds in this view.
    fn hold_view(&mut self) -> bool {
        if !self.holds_view {
            self.holds_view = true;
            if !view::open(&self.connection).is_ok_and(|version| version == self.version) {
                self.close_view();
            }
        }
        self.holds_view
    }

    /// Lets others empty the journal. Called before everything that is not a lone append, and when it is quiet.
    pub(super) fn close_view(&mut self) {
        if std::mem::take(&mut self.holds_view)
            && let Err(error) = view::close(&self.connection)
        {
            tracing::debug!(%error, "the view of the last append was not closed");
        }
    }

    /// A refusal is an answer; an error of the database ends the whole group.
    fn append_one(&mut self, request: &Request, purged: &mut bool) -> rusqlite::Result<Answer> {
        let Request { session: id, batch } = request;
        if !self.known.contains_key(id) {
            if self.known.len() >= KNOWN_MAX {
                self.known.clear();
            }
            let Some(session) = read::session(&self.connection, id)? else {
                return Ok(Err(StoreError::SessionNotFound(id.clone())));
            };
            let tail = read::tail(&self.connection, &session)?;
            let recent = Recent::load(&self.connection, &session)?;
            self.known.insert(id.clone(), Open { session, tail, recent, is_marked: false });
        }
        let Some(open) = self.known.get_mut(id) else {
            return Ok(Err(StoreError::SessionNotFound(id.clone())));
        };
        let (connection, key, recent) = (&self.connection, open.session.key, &open.recent);
        let find = |entry: &_| {
            let known = recent.find(connection, key, entry);
            known.map_err(|error| connection::unreadable(&self.path, id, &error))
        };
        let plan = match plan(id, &open.tail, batch, find) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if plan.tail.seq > u64::from(u32::MAX) - 1 {
            let reason = "is one too many: a session holds 4,294,967,294 entries".to_owned();
            let entry = id.to_string();
            return Ok(Err(StoreError::not_stored(id, Problem::BadEntry { entry, reason })));
        }
        write(connection, open, batch, &plan)?;
        if plan.redacts {
            *purged |= purge(connection, &open.session)?;
        }
        open.tail = plan.tail;
        Ok(Ok(plan.appended))
    }

    /// Does something that must work on a full disk, too: then the reserve is given up for it.
    pub(super) fn with_reserve<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match work(self) {
            Err(failure)
                if failure.problem == Problem::DiskFull && reserve::release(&self.path) =>
            {
                // What is in the journal goes first: its room can be used again.
                self.checkpoint("TRUNCATE");
                let done = work(self);
                self.checkpoint("TRUNCATE");
                reserve::create(&self.path);
                done
            }
            done => done,
        }
    }

    /// Runs changes in a transaction of their own; all or nothing.
    pub(super) fn transaction<T>(
        &mut self,
        changes: impl FnOnce(&mut Self) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        self.may_write()?;
        self.close_view();
        let begun = self.run("BEGIN IMMEDIATE");
        let done = begun.and_then(|()| self.forget_if_changed()).and_then(|()| changes(self));
        let error = match done {
            Ok(value) => match self.run("COMMIT") {
                Ok(()) => return Ok(value),
                Err(error) => (error, true),
            },
            Err(error) => (error, false),
        };
        let (error, in_commit) = error;
        self.give_up(&error, in_commit)
    }

    /// A statement without values, parsed once.
    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    /// Takes the changes back. After an error of the disk nobody knows what it holds: the store stops.
    fn give_up<T>(&mut self, error: &rusqlite::Error, in_commit: bool) -> Result<T, Failure> {
        self.close_view();
        self.known.clear();
        self.version = -1;
        if !self.connection.is_autocommit() {
            // Where this fails, the transaction was taken back already.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let mut outcome = Outcome::NotStored;
        let mut problem = problem(&self.path, error);
        if is_disk_error(error) {
            let reason = error.to_string();
            problem = Problem::Stopped(reason.clone());
            self.stop(reason);
            if in_commit {
                outcome = Outcome::Unknown;
            }
        }
        Err(Failure { outcome, problem })
    }

    fn stop(&mut self, reason: String) {
        tracing::error!(%reason, "the store takes no more entries");
        // Closing must not copy the journal into the file: it would hide what happened.
        let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let _ = self.connection.set_db_config(keep, true);
        self.stopped = Some(reason);
    }

    /// What is known of sessions holds only as long as no other process writes.
    fn forget_if_changed(&mut self) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached("PRAGMA data_version")?;
        let version = statement.query_row([], |row| row.get(0))?;
        if version != self.version {
            self.known.clear();
            self.version = version;
        }
        Ok(())
    }

    /// Forgets what is known of sessions, after changes that were not appends.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Notes that bytes which nobody may read any more are in the journal.
    pub(super) fn holds_purged(&mut self) {
        self.holds_purged = true;
    }

    /// Empties the journal if it may hold bytes that were purged. Called when it is quiet.
    pub(super) fn clean_journal(&mut self) {
        if self.holds_purged {
            self.holds_purged = !self.checkpoint("TRUNCATE");
        }
    }

    /// Copies the journal into the file and empties it, so that no byte that was purged or deleted is left
    /// in either. Where a reader stands in the way, the next write tries again; says whether it is done.
    pub(super) fn empty_journal(&mut self) -> bool {
        self.holds_purged = !self.checkpoint("TRUNCATE");
        !self.holds_purged
    }

    /// Copies the journal into the file when much is in it. After that SQLite writes it from its
    /// beginning; its length stays, and so says nothing.
    pub(super) fn tidy_journal(&mut self) {
        let pages = self.journal_pages.load(Ordering::Relaxed);
        if pages < JOURNAL_PAGES {
            self.checkpoint_at = JOURNAL_PAGES;
        }
        if pages >= self.checkpoint_at {
            self.checkpoint("PASSIVE");
            self.checkpoint_at = pages.saturating_add(JOURNAL_PAGES);
        } else if pages >= JOURNAL_GROWS && !self.has_room {
            self.make_room();
        }
    }

    /// A sync of a file that has grown takes half as long again, so it grows once. Nobody appends to the journal
    /// meanwhile.
    fn make_room(&mut self) {
        self.has_room = true;
        let made = self.transaction(|desk| Ok(journal::lengthen(&desk.journal(), JOURNAL_BYTES)));
        if let Ok(Err(error)) = made {
            // It grows page by page then.
            tracing::debug!(%error, "the journal was not lengthened");
        }
    }

    fn journal(&self) -> PathBuf {
        connection::journal_of(&self.path)
    }

    fn journal_bytes(&self) -> u64 {
        std::fs::metadata(self.journal()).map_or(0, |about| about.len())
    }

    /// The same without waiting for others.
    fn checkpoint_at_once(&mut self, mode: &str) {
        let waits = self.connection.busy_timeout(Duration::ZERO);
        if waits.is_ok() {
            self.checkpoint(mode);
        }
        if let Err(error) = connection::wait_when_busy(&mut self.connection) {
            tracing::debug!(%error, "the writer does not wait for others");
        }
    }

    /// Copies the journal into the file and syncs it. An error of the disk stops the store: SQLite
    /// would say nothing, and a later sync would lie.
    /// Says whether all of it was copied.
    fn checkpoint(&mut self, mode: &str) -> bool {
        self.close_view();
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        match connection::run_pragma(&self.connection, &sql) {
            // The first number says whether somebody stood in the way.
            Ok(busy) => busy == "0",
            Err(error) => {
                if is_disk_error(&error) {
                    self.stop(error.to_string());
                }
                false
            }
        }
    }
}

/// Has the number of pages in the journal written down after every commit.
fn count_pages(connection: &mut Connection, pages: &Arc<AtomicU32>) -> rusqlite::Result<()> {
    let pages = Arc::clone(pages);
    connection.wal_hook(Some(move |_: &mut Wal, now: c_int| {
        pages.store(now.unsigned_abs(), Ordering::Relaxed);
        Ok(())
    }))
}
