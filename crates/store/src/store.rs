//! The public API of a store. This file and the modules next to it contain everything that is the same for every
//! database: ranges, branches, redactions, checks, following, search, imports and backups.

use std::sync::Arc;

use tertulia_session::{
    BranchSummary, ChainLink, EntryId, EntryKind, Fields, NewEntry, SessionHeader, Timestamp,
};

use crate::backend::{Backend, SessionStart, SessionStatus, State};
use crate::clock::{now_millis, random_u64};
use crate::import::Redactions;
use crate::model::{
    Append, Appended, ListFilter, NewSession, Range, SearchQuery, SearchResult, Seq, SessionInfo,
    StoredEntry, TokenCount,
};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::salting::{fresh_salt, is_repeated, salt_all};
use crate::search::{self, text_of};
use crate::{
    Follow, Holder, Import, LeftBehind, Problem, Result, SessionId, SessionLock, StoreError,
    StoreUrl, entries, title,
};

/// The number of entries that are indexed per step while a caller waits for a search.
const INDEX_CHUNK: usize = 512;
const PAGE: usize = 512;
/// The maximum number of entries that are searched for the first message of a session.
const TITLE_ENTRIES: usize = 16;

/// A collection of sessions in one database. It is cheap to clone and can be used from many threads.
#[derive(Clone)]
pub struct SessionStore {
    pub(crate) backend: Arc<dyn Backend>,
}

impl SessionStore {
    /// Opens a store. A SQLite file is created if it does not exist.
    pub fn open(url: &StoreUrl) -> Result<Self> {
        Ok(match url {
            #[cfg(feature = "sqlite")]
            StoreUrl::Sqlite(path) => Self::from_backend(crate::sqlite::SqliteStore::open(path)?),
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => {
                Self::from_backend(crate::postgres::PostgresStore::open(url)?)
            }
            StoreUrl::Memory => Self::memory(),
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            other => {
                let reason = "this program was built without stores of this kind".to_owned();
                let problem = Problem::NotAStore { location: other.to_string(), reason };
                return Err(StoreError::read_failed(problem));
            }
        })
    }

    /// Creates an empty store in memory. Its sessions end with the process.
    pub fn memory() -> Self {
        Self::from_backend(crate::memory::MemoryStore::default())
    }

    pub(crate) fn from_backend(backend: impl Backend + 'static) -> Self {
        Self { backend: Arc::new(backend) }
    }

    /// Returns where the sessions are stored, as text for people. Never contains a password.
    pub fn location(&self) -> String {
        self.backend.location()
    }

    /// Creates a session without a project. Its first entry is its header.
    pub fn create(&self, new: &NewSession) -> Result<SessionInfo> {
        self.create_in(new, None)
    }

    /// Creates a session that belongs to a project, named by the project's folder.
    pub fn create_in(&self, new: &NewSession, project: Option<&str>) -> Result<SessionInfo> {
        let now = now_millis();
        let id = new.id.clone().unwrap_or_else(|| SessionId::generate(now, random_u64()));
        let header = NewEntry::new(EntryKind::SessionHeader(SessionHeader::default()));
        let header = header.at(Timestamp::from_millis(now)).salted(fresh_salt()).with_content_id();
        let first = Batch::prepare(&id, &Append::new([header]))?;
        let project = project.map(str::to_owned);
        let start = SessionStart { created_at: now, state: State::Open, project };
        self.backend.create(&id, start, first)?;
        self.info(&id)
    }

    /// Returns the project that a session belongs to.
    pub fn project(&self, id: &SessionId) -> Result<Option<String>> {
        Ok(self.backend.status(id)?.project)
    }

    /// Sets the project that a session belongs to. The log does not change.
    pub fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        self.backend.set_project(id, project)
    }

    /// Appends entries, all or none. Returns once they are on disk.
    ///
    /// An entry that is already stored with the same id and content is skipped. The same id with other content is an
    /// error. The error's [`outcome`](StoreError::outcome) shows whether the entries may have been stored anyway; a
    /// retry with the same entries stores them once. An entry with text but without a salt gets a salt.
    pub fn append(&self, id: &SessionId, mut append: Append) -> Result<Appended> {
        salt_all(&mut append.entries);
        let batch = Batch::prepare(id, &append)?;
        match self.backend.append(id, batch) {
            // The entry may be stored with another salt.
            Err(StoreError::SessionWriteFailed {
                problem: Problem::OtherContent(other), ..
            }) => {
                let refused = Problem::OtherContent(other);
                if !self.use_stored_salts(id, &mut append)? {
                    return Err(StoreError::not_stored(id, refused));
                }
                self.backend.append(id, Batch::prepare(id, &append)?)
            }
            appended => appended,
        }
    }

    /// Replaces entries by their stored form, if they are already stored with another salt or purged. Returns
    /// whether there were any.
    fn use_stored_salts(&self, id: &SessionId, append: &mut Append) -> Result<bool> {
        let mut has_any = false;
        for at in 0..append.entries.len() {
            let (earlier, rest) = append.entries.split_at_mut(at);
            let Some(new) = rest.first_mut() else { break };
            let here = earlier.iter().find(|one| one.entry.repeats(&new.entry));
            let stored = match here {
                Some(here) => here.entry.clone(),
                None => match self.entry(id, &new.entry.id) {
                    Ok(stored) => stored.entry,
                    Err(StoreError::EntryNotFound { .. }) => continue,
                    Err(error) => return Err(error),
                },
            };
            if stored != new.entry && is_repeated(&new.entry, &stored) {
                new.entry = stored;
                has_any = true;
            }
        }
        Ok(has_any)
    }

    /// Returns the entries of a range, oldest first.
    pub fn load(&self, id: &SessionId, range: &Range) -> Result<Vec<StoredEntry>> {
        self.entries(id, range)?.collect()
    }

    /// Returns the entry with this id.
    pub fn entry(&self, id: &SessionId, entry: &EntryId) -> Result<StoredEntry> {
        let seq = self.number_of(id, entry)?;
        self.entry_at(id, seq)?.ok_or_else(|| entry_not_found(id, entry))
    }

    /// Returns the entry with this number, if it exists.
    fn entry_at(&self, id: &SessionId, seq: Seq) -> Result<Option<StoredEntry>> {
        let row = self.backend.rows(id, seq - 1, 1)?.into_iter().next();
        row.map(|row| row.decode().map_err(|damage| damage.into_error(id))).transpose()
    }

    /// Returns the entry that sets the team's task on the branch that ends in the newest entry.
    pub fn team_task(&self, id: &SessionId) -> Result<Option<StoredEntry>> {
        let mut from = Some(self.backend.status(id)?.seq);
        while let Some(end) = from {
            let Some(seq) = entries::task_before(self, id, end)? else { break };
            let Some(stored) = self.entry_at(id, seq)? else { break };
            from = stored.parent.filter(|parent| *parent < seq);
            // A purged entry no longer has a task.
            if matches!(stored.entry.kind, EntryKind::TeamTask(_)) {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    /// Locks a session while a program works with it. Returns `None` if another program has locked it. On PostgreSQL,
    /// the lock is a lease: it ends with the connection of its holder, or some seconds after the holder was last heard
    /// of. Memory stores always grant the lock.
    pub fn lock_session(&self, id: &SessionId) -> Result<Option<SessionLock>> {
        self.backend.lock_session(id)
    }

    /// Returns the process that has locked a session. Only PostgreSQL stores know it.
    pub fn holder(&self, id: &SessionId) -> Result<Option<Holder>> {
        self.backend.holder(id)
    }

    pub(crate) fn number_of(&self, id: &SessionId, entry: &EntryId) -> Result<Seq> {
        self.backend.find(id, entry)?.ok_or_else(|| entry_not_found(id, entry))
    }

    /// Continues from an earlier entry: the next append follows it. Appends an entry that also names the last entry
    /// of the old branch.
    pub fn branch(&self, id: &SessionId, from: &EntryId) -> Result<Appended> {
        self.number_of(id, from)?;
        let left = self.backend.status(id)?.tail.unwrap_or_else(|| from.clone());
        let entry = branch_entry(id, left).with_parent(from.clone());
        self.append(id, Append::new([entry.with_content_id()]))
    }

    /// Creates a session with a copy of the branch that ends in an entry. The last entry of the
    /// copy names its origin.
    pub fn fork(&self, id: &SessionId, from: &EntryId, new: &NewSession) -> Result<SessionInfo> {
        self.number_of(id, from)?;
        let range = Range::Branch { tail: Some(from.clone()), limit: None };
        let branch = self.entries(id, &range)?;
        let redactions = Redactions::for_branch(self, id, &branch, from)?;
        let mut import = Import::begin(self)?;
        import.set_project(self.project(id)?);
        for stored in branch {
            let stored = stored?;
            let entry = redactions.rename(stored.entry);
            import.push_new(&crate::NewRecord { entry, count: stored.count })?;
        }
        let last = redactions.entries.last().map_or(from, |redaction| &redaction.id).clone();
        redactions.entries.into_iter().try_for_each(|redaction| import.push(redaction))?;
        let note = branch_entry(id, from.clone()).with_parent(last);
        import.push(note.with_content_id())?;
        import.finish(new)
    }

    /// Appends entries after the newest entry. If another process appends first, `make` is called again with the new
    /// tail, so that no branch is created by accident.
    pub fn append_to_tail(
        &self,
        id: &SessionId,
        make: impl Fn(Option<&EntryId>) -> Append,
    ) -> Result<Appended> {
        loop {
            let tail = self.backend.status(id)?.tail;
            let append = Append { expected_tail: tail.clone(), ..make(tail.as_ref()) };
            match self.append(id, append) {
                // An empty session has no tail, and its first entry has no parent.
                Err(StoreError::SessionConcurrentWrite { .. }) => {}
                appended => return appended,
            }
        }
    }

    /// Returns the description of a session.
    pub fn info(&self, id: &SessionId) -> Result<SessionInfo> {
        let status = self.backend.status(id)?;
        self.describe(status)
    }

    /// Returns the sessions that match a filter, most recently changed first.
    pub fn list(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>> {
        let statuses = self.backend.list(filter)?;
        statuses.into_iter().map(|status| self.describe(status)).collect()
    }

    /// Returns the number of sessions that match a filter, without reading their titles.
    pub fn count(&self, filter: &ListFilter) -> Result<u64> {
        Ok(self.backend.list(filter)?.len() as u64)
    }

    fn describe(&self, status: SessionStatus) -> Result<SessionInfo> {
        let own = self.own_title(&status.id)?;
        let has_own_title = own.is_some();
        let title = match own {
            Some(title) => Some(title),
            None => self.first_text(&status.id)?,
        };
        Ok(SessionInfo {
            has_own_title,
            created_at: Timestamp::from_millis(status.created_at),
            updated_at: Timestamp::from_millis(status.updated_at),
            entries: status.seq,
            tail: status.tail,
            chain_hash: status.link,
            title,
            project: status.project,
            id: status.id,
        })
    }

    /// Returns the start of the first readable message. A damaged entry is not an error here, because the session
    /// must still be listed.
    fn first_text(&self, id: &SessionId) -> Result<Option<String>> {
        let first = self.backend.rows(id, 0, TITLE_ENTRIES)?;
        let messages = first.into_iter().filter(|row| &*row.record.type_name == "message");
        let texts = messages.filter_map(|row| Some(text_of(&row.decode().ok()?.entry)));
        Ok(texts.map(|text| title::first_line(&text)).find(|title| !title.is_empty()))
    }

    /// Returns the ids of all sessions, most recently changed first.
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        let statuses = self.backend.list(&ListFilter::default())?;
        Ok(statuses.into_iter().map(|status| status.id).collect())
    }

    /// Returns the ids of all sessions with the number and the chain hash of their newest entry,
    /// most recently changed first. Cheaper than a list with titles.
    pub fn newest_entries(&self) -> Result<Vec<(SessionId, Seq, ChainLink)>> {
        let statuses = self.backend.list(&ListFilter::default())?;
        Ok(statuses.into_iter().map(|status| (status.id, status.seq, status.link)).collect())
    }

    /// Returns the ids of all entries of a session, oldest first, including unreadable ones.
    pub fn entry_ids(&self, id: &SessionId) -> Result<Vec<EntryId>> {
        let mut ids = Vec::new();
        self.each_row(id, |row| ids.push(row.record.id))?;
        Ok(ids)
    }

    /// Calls `take` with every row of a session, oldest first, reading a page at a time.
    pub(crate) fn each_row(&self, id: &SessionId, mut take: impl FnMut(Row)) -> Result<()> {
        let mut after = 0;
        loop {
            let page = self.backend.rows(id, after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            page.into_iter().for_each(&mut take);
        }
    }

    /// Deletes a session permanently, also from the files of the database. Returns the reasons why bytes of it may
    /// remain. If a deletion was interrupted, another call finishes it, although the session is no longer visible.
    pub fn delete(&self, id: &SessionId) -> Result<Vec<Remains>> {
        let is_half_deleted = self.is_half_deleted(id)?;
        match self.backend.delete(id) {
            // Another process, or the idle thread of this one, has already deleted it.
            Err(StoreError::SessionNotFound(_)) if is_half_deleted => {}
            deleted => deleted?,
        }
        let remains = self.backend.scrub()?;
        self.backend.forget_deleted(id)?;
        Ok(remains)
    }

    /// Deletes what interrupted imports and deletions left. Readers never see this data.
    pub fn delete_left_behind(&self) -> Result<()> {
        self.backend.delete_left_behind()
    }

    /// Returns whether a deletion of this session was interrupted and can be finished.
    pub fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        self.backend.is_half_deleted(id)
    }

    /// Checks the database as a whole. Returns one line per problem.
    pub fn check(&self) -> Result<Vec<String>> {
        self.backend.check()
    }

    /// Returns a reader of new entries of a session, starting after this number.
    pub fn follow(&self, id: &SessionId, after: Seq) -> Result<Follow> {
        self.backend.status(id)?;
        Ok(Follow { store: self.clone(), session: id.clone(), after })
    }

    /// Searches all sessions, or one, after bringing the search index up to date.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResult> {
        if let Some(session) = &query.session {
            self.backend.status(session)?;
        }
        match self.catch_up(|_| {}) {
            // Entries that are already indexed can still be found.
            Err(StoreError::SessionWriteFailed {
                problem: Problem::ReadOnly(_) | Problem::DiskFull,
                ..
            }) => {}
            caught_up => caught_up?,
        }
        search::find(&*self.backend, query)
    }

    /// Adds all new entries to the search index. `progress` receives the number of entries of each
    /// step.
    pub fn catch_up(&self, mut progress: impl FnMut(u64)) -> Result<()> {
        loop {
            let indexed = self.backend.index_some(INDEX_CHUNK)?;
            if indexed.entries > 0 {
                progress(indexed.entries);
            }
            if !indexed.is_behind {
                return Ok(());
            }
        }
    }

    /// Stores token counts of entries, so that they need not be counted again.
    pub fn store_token_counts(
        &self,
        id: &SessionId,
        counts: &[(EntryId, TokenCount)],
    ) -> Result<()> {
        self.backend.store_token_counts(id, counts)
    }

    /// Reopens and checks the database after a disk error, so that it accepts entries again.
    pub fn reopen(&self) -> Result<()> {
        self.backend.reopen()
    }

    /// Returns what interrupted imports and deletions left in the store, which the next writer deletes.
    pub fn left_behind(&self) -> Result<LeftBehind> {
        self.backend.left_behind()
    }

    /// Returns whether a session exists.
    pub fn has(&self, id: &SessionId) -> Result<bool> {
        match self.backend.status(id) {
            Ok(_) => Ok(true),
            Err(StoreError::SessionNotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn entry_not_found(session: &SessionId, entry: &EntryId) -> StoreError {
    StoreError::EntryNotFound { session: session.clone(), entry: entry.clone() }
}

fn branch_entry(session: &SessionId, source: EntryId) -> NewEntry {
    let summary = BranchSummary {
        source_session_id: session.as_str().into(),
        source_entry_id: source,
        summary: None,
        unknown: Fields::NONE,
    };
    let now = Timestamp::from_millis(now_millis());
    NewEntry::new(EntryKind::BranchSummary(summary)).at(now).salted(fresh_salt())
}
