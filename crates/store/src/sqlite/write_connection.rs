//! The only connection of this process that changes the file, with cached state of the sessions that it writes to.
//! Only one thread uses it at a time. Appends come in groups. A group is written in one transaction with one sync.

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
use super::{Failure, journal, reserve, schema, snapshot};
use crate::backend::SessionStart;
use crate::model::Appended;
use crate::plan::{Batch, Tail, plan};
use crate::{Outcome, Problem, Result, SessionId, StoreError};

/// The number of pages of the journal at which it is copied into the file. If a reader prevents this, it is tried
/// again after as many more pages. The content of the journal must fit into the reserve for a full disk.
const JOURNAL_PAGES: u32 = 1024;
/// The number of pages of the journal at which it gets its full length at once, because it will probably grow
/// further.
const JOURNAL_GROWS: u32 = 64;
/// The full length of the journal.
const JOURNAL_BYTES: u64 = 4400 << 10;

/// The maximum number of sessions whose state is cached.
const KNOWN_MAX: usize = 4096;

/// The connection that writes, with its cached state.
pub(super) struct WriteConnection {
    connection: Connection,
    path: PathBuf,
    /// A tree map does not hash the id, which saves time because there is usually only one session.
    known: BTreeMap<SessionId, Open>,
    /// SQLite's data version, which changes when another process writes.
    version: i64,
    /// Whether the read snapshot of the last append is still open; see [`Self::keep_snapshot`].
    has_snapshot: bool,
    /// The number of pages in the journal after the last commit.
    journal_pages: Arc<AtomicU32>,
    /// The number of journal pages at which the next checkpoint runs.
    checkpoint_at: u32,
    /// Whether the journal has its full length.
    journal_is_allocated: bool,
    /// The reason why nothing can be written any more.
    stopped: Option<String>,
    /// Whether the journal may still contain purged bytes.
    holds_purged: bool,
}

/// A session that is being written to.
pub(super) struct Open {
    pub(super) session: SessionRow,
    pub(super) tail: Tail,
    /// The entries that are not in the id index yet.
    pub(super) recent: Recent,
    /// Whether the session is already marked as not fully indexed.
    pub(super) is_marked: bool,
}

/// An append in the queue.
pub(super) struct Request {
    pub(super) session: SessionId,
    pub(super) batch: Batch,
}

type Answer = Result<Appended>;

impl WriteConnection {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut connection = connection::open(path, Purpose::Writing)?;
        if !schema::is_wal(&connection, path)? {
            return Err(connection::not_a_store(path, "it is not in WAL mode".to_owned()));
        }
        let journal_pages = Arc::new(AtomicU32::new(0));
        count_pages(&mut connection, &journal_pages)
            .map_err(|error| connection::cannot_open(path, &error))?;
        let mut writer = Self {
            connection,
            path: path.to_owned(),
            known: BTreeMap::new(),
            version: -1,
            has_snapshot: false,
            journal_pages,
            checkpoint_at: JOURNAL_PAGES,
            journal_is_allocated: false,
            stopped: None,
            holds_purged: false,
        };
        // The journal of a killed process is copied into the file and synced, so that nothing depends on a sync that
        // may have failed.
        if writer.journal_bytes() > 0 {
            writer.renew_journal()?;
            writer.checkpoint("PASSIVE");
            // Another process may have purged or deleted something while a reader was active. Then the journal still
            // contains it.
            writer.checkpoint_at_once("TRUNCATE");
        }
        Ok(writer)
    }

    /// Rewrites the journal with its own bytes and syncs it. After a failed sync, Linux treats unwritten pages as
    /// written, and later syncs succeed. A checkpoint from such a journal could be lost in part if the power fails.
    /// No process appends to the journal meanwhile.
    fn renew_journal(&mut self) -> Result<()> {
        let renewed = self.transaction(|writer| Ok(journal::renew(&writer.journal())));
        let failed = |reason: String| {
            let problem = Problem::Disk { location: self.journal().display().to_string(), reason };
            StoreError::SessionReadFailed { session: None, problem }
        };
        match renewed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(failure) => Err(failure.error(None)),
        }
    }

    /// Reopens the file and checks it.
    pub(super) fn reopen(&mut self) -> Result<()> {
        self.close_snapshot();
        let mut fresh = Self::open(&self.path)?;
        let found = super::check::check(&fresh.connection, &self.path)?;
        if let Some(reason) = found.into_iter().next() {
            return Err(connection::not_a_store(&self.path, reason));
        }
        fresh.checkpoint("TRUNCATE");
        *self = fresh;
        self.may_write().map_err(|failure| failure.error(None))
    }

    /// Fails if nothing can be written any more.
    fn may_write(&self) -> Result<(), Failure> {
        let Some(reason) = &self.stopped else { return Ok(()) };
        let problem = Problem::Stopped(reason.clone());
        Err(Failure { outcome: Outcome::NotStored, problem })
    }

    /// Creates a session with its first entries.
    pub(super) fn create(&mut self, first: &Request, start: &SessionStart) -> Result<()> {
        let (id, SessionStart { created_at, state, project }) = (&first.session, start);
        let created = self.transaction(|writer| {
            let sql = "INSERT OR IGNORE INTO session (id, state, created_at, project) \
                       VALUES (?1, ?2, ?3, ?4)";
            let row = params![id.as_str(), read::state_code(*state), created_at, project];
            if writer.connection.execute(sql, row)? == 0 {
                return Ok(Err(StoreError::SessionExists(id.clone())));
            }
            Ok(writer.append_one(first, &mut false)?.map(|_| ()))
        });
        created.map_err(|failure| failure.for_session(id))?
    }

    /// Runs a group of appends in one transaction.
    pub(super) fn append(&mut self, group: &[&Request]) -> Vec<Answer> {
        let mut purged = false;
        let mut store = |writer: &mut Self| {
            writer.transaction(|writer| {
                group.iter().map(|request| writer.append_one(request, &mut purged)).collect()
            })
        };
        let outcome = match group.iter().any(|request| request.batch.redacts()) {
            true => self.with_reserve(store),
            false => store(self),
        };
        let answers = match outcome {
            Ok(answers) => answers,
            Err(failure) => {
                return group
                    .iter()
                    .map(|request| Err(failure.for_session(&request.session)))
                    .collect();
            }
        };
        self.holds_purged |= purged;
        if self.holds_purged {
            // The journal still contains the bytes. If a reader prevents the checkpoint, it is retried later.
            self.holds_purged = !self.checkpoint("TRUNCATE");
        } else {
            self.checkpoint_long_journal();
        }
        answers
    }

    /// Appends one entry with a single statement. For a lone writer, this saves much of the work besides the sync.
    /// Returns `None` without any change if another process has written since, or if one statement is not enough.
    pub(super) fn append_alone(&mut self, id: &SessionId, batch: &Batch) -> Option<Answer> {
        let [prepared] = batch.records.as_slice() else { return None };
        let is_usual = self.stopped.is_none() && !self.holds_purged && !self.known.is_empty();
        if !is_usual || !self.keep_snapshot() {
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
        let planned = plan.new.first().filter(|_| plan.tail.seq < u64::from(u32::MAX))?;
        if plan.tail.names_parents != open.tail.names_parents {
            return None;
        }
        match write_alone(&self.connection, open, hash, planned, prepared) {
            Ok(false) => {
                self.close_snapshot();
                None
            }
            Ok(true) => {
                open.tail = plan.tail;
                self.checkpoint_long_journal();
                Some(Ok(plan.appended))
            }
            Err(error) => {
                let failed: Result<Appended, Failure> = self.roll_back(&error, true);
                Some(failed.map_err(|failure| failure.for_session(id)))
            }
        }
    }

    /// Keeps a read snapshot open between appends. This saves two thirds of the locks of an append. If another
    /// process has written since the snapshot was opened, SQLite refuses the write. Returns whether the cached
    /// sessions are valid in this snapshot.
    fn keep_snapshot(&mut self) -> bool {
        if !self.has_snapshot {
            self.has_snapshot = true;
            if !snapshot::open(&self.connection).is_ok_and(|version| version == self.version) {
                self.close_snapshot();
            }
        }
        self.has_snapshot
    }

    /// Closes the snapshot, so that others can empty the journal. Called before every operation except a lone
    /// append, and when the store is idle.
    pub(super) fn close_snapshot(&mut self) {
        if std::mem::take(&mut self.has_snapshot)
            && let Err(error) = snapshot::close(&self.connection)
        {
            tracing::debug!(%error, "the read snapshot of the last append was not closed");
        }
    }

    /// Runs one append of a group. A refusal is a normal result; a database error ends the whole group.
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
            let reason = "does not fit: a session holds at most 4,294,967,294 entries".to_owned();
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

    /// Runs work that must also succeed on a full disk. If necessary, the reserve is released for it.
    pub(super) fn with_reserve<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match work(self) {
            Err(failure)
                if failure.problem == Problem::DiskFull && reserve::release(&self.path) =>
            {
                // The journal is emptied first, so that its space can be reused.
                self.checkpoint("TRUNCATE");
                let done = work(self);
                self.checkpoint("TRUNCATE");
                reserve::create(&self.path);
                done
            }
            done => done,
        }
    }

    /// Runs changes in one transaction: all or nothing.
    pub(super) fn transaction<T>(
        &mut self,
        changes: impl FnOnce(&mut Self) -> rusqlite::Result<T>,
    ) -> Result<T, Failure> {
        self.may_write()?;
        self.close_snapshot();
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
        self.roll_back(&error, in_commit)
    }

    /// Runs a cached statement without values.
    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    /// Rolls back. After a disk error the content of the disk is unknown, so the store stops.
    fn roll_back<T>(&mut self, error: &rusqlite::Error, in_commit: bool) -> Result<T, Failure> {
        self.close_snapshot();
        self.known.clear();
        self.version = -1;
        if !self.connection.is_autocommit() {
            // If this fails, the transaction was already rolled back.
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
        tracing::error!(%reason, "the store accepts no more entries");
        // Closing must not copy the journal into the file: that would hide the error.
        let keep = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let _ = self.connection.set_db_config(keep, true);
        self.stopped = Some(reason);
    }

    /// Drops the cached sessions if another process has written.
    fn forget_if_changed(&mut self) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached("PRAGMA data_version")?;
        let version = statement.query_row([], |row| row.get(0))?;
        if version != self.version {
            self.known.clear();
            self.version = version;
        }
        Ok(())
    }

    /// Drops the cached sessions. Called after changes that were not appends.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Records that the journal contains purged bytes.
    pub(super) fn holds_purged(&mut self) {
        self.holds_purged = true;
    }

    /// Empties the journal if it may contain purged bytes. Called when the store is idle.
    pub(super) fn clean_journal(&mut self) {
        if self.holds_purged {
            self.holds_purged = !self.checkpoint("TRUNCATE");
        }
    }

    /// Copies the journal into the file and empties it, so that neither contains purged or deleted
    /// bytes. If a reader prevents it, the next write tries again. Returns whether it succeeded.
    pub(super) fn empty_journal(&mut self) -> bool {
        self.holds_purged = !self.checkpoint("TRUNCATE");
        !self.holds_purged
    }

    /// Copies a long journal into the file. SQLite then overwrites the journal from the start, so its length does
    /// not show how much of it is in use and is not considered.
    pub(super) fn checkpoint_long_journal(&mut self) {
        let pages = self.journal_pages.load(Ordering::Relaxed);
        if pages < JOURNAL_PAGES {
            self.checkpoint_at = JOURNAL_PAGES;
        }
        if pages >= self.checkpoint_at {
            self.checkpoint("PASSIVE");
            self.checkpoint_at = pages.saturating_add(JOURNAL_PAGES);
        } else if pages >= JOURNAL_GROWS && !self.journal_is_allocated {
            self.allocate_journal();
        }
    }

    /// Gives the journal its full length at once, because syncing a file that has grown takes half as long again. No
    /// process appends to the journal meanwhile.
    fn allocate_journal(&mut self) {
        self.journal_is_allocated = true;
        let made =
            self.transaction(|writer| Ok(journal::lengthen(&writer.journal(), JOURNAL_BYTES)));
        if let Ok(Err(error)) = made {
            // If this fails, the journal grows page by page.
            tracing::debug!(%error, "the journal was not lengthened");
        }
    }

    fn journal(&self) -> PathBuf {
        connection::journal_of(&self.path)
    }

    fn journal_bytes(&self) -> u64 {
        std::fs::metadata(self.journal()).map_or(0, |about| about.len())
    }

    /// Runs a checkpoint without waiting for others.
    fn checkpoint_at_once(&mut self, mode: &str) {
        let waits = self.connection.busy_timeout(Duration::ZERO);
        if waits.is_ok() {
            self.checkpoint(mode);
        }
        if let Err(error) = connection::wait_when_busy(&mut self.connection) {
            tracing::debug!(%error, "the busy handler of the writer was not set");
        }
    }

    /// Copies the journal into the file and syncs it. A disk error stops the store. Otherwise SQLite would not
    /// report it, and a later sync would succeed although data is lost. Returns whether everything was copied.
    fn checkpoint(&mut self, mode: &str) -> bool {
        self.close_snapshot();
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        match connection::run_pragma(&self.connection, &sql) {
            // The first number is 1 if another process prevented the checkpoint.
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

/// Records the number of journal pages after every commit.
fn count_pages(connection: &mut Connection, pages: &Arc<AtomicU32>) -> rusqlite::Result<()> {
    let pages = Arc::clone(pages);
    connection.wal_hook(Some(move |_: &mut Wal, now: c_int| {
        pages.store(now.unsigned_abs(), Ordering::Relaxed);
        Ok(())
    }))
}
