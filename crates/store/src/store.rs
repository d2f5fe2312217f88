//! The store as everybody else knows it. What is the same for every database is here and in the files
//! beside it: ranges, branches, redactions, checking, following, searching, imports and copies.

use std::sync::Arc;

use tertulia_session::{
    BranchSummary, EntryId, EntryKind, Fields, NewEntry, SessionHeader, Timestamp,
};

use crate::backend::{Backend, Begun, Head, State};
use crate::clock::{chance, now_millis};
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
    Follow, Hold, Import, LeftBehind, Problem, Result, SessionId, StoreError, StoreUrl, entries,
    title,
};

/// How many entries are indexed at once while somebody waits for a search.
const INDEX_CHUNK: usize = 512;
const PAGE: usize = 512;
/// How many entries are looked through for the first message of a session.
const TITLE_ENTRIES: usize = 16;

/// Sessions kept in one place. Cheap to clone; may be used from many threads.
#[derive(Clone)]
pub struct SessionStore {
    pub(crate) backend: Arc<dyn Backend>,
}

impl SessionStore {
    /// Opens a store; a SQLite file is made if it is not there.
    pub fn open(url: &StoreUrl) -> Result<Self> {
        Ok(match url {
            #[cfg(feature = "sqlite")]
            StoreUrl::Sqlite(path) => Self::of(crate::sqlite::SqliteStore::open(path)?),
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => Self::of(crate::postgres::PostgresStore::open(url)?),
            StoreUrl::Memory => Self::memory(),
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            other => {
                let reason = "this program was built without stores of this kind".to_owned();
                let problem = Problem::NotAStore { place: other.to_string(), reason };
                return Err(StoreError::read_failed(problem));
            }
        })
    }

    /// A store that is gone with the process.
    pub fn memory() -> Self {
        Self::of(crate::memory::MemoryStore::default())
    }

    pub(crate) fn of(backend: impl Backend + 'static) -> Self {
        Self { backend: Arc::new(backend) }
    }

    /// Where the sessions are, for people.
    pub fn place(&self) -> String {
        self.backend.place()
    }

    /// Begins a session of no project; its first entry is its header.
    pub fn create(&self, new: &NewSession) -> Result<SessionInfo> {
        self.create_in(new, None)
    }

    /// Begins a session that belongs to a project: the folder of the project.
    pub fn create_in(&self, new: &NewSession, project: Option<&str>) -> Result<SessionInfo> {
        let now = now_millis();
        let id = new.id.clone().unwrap_or_else(|| SessionId::made(now, chance()));
        let header = NewEntry::new(EntryKind::SessionHeader(SessionHeader::default()));
        let header = header.at(Timestamp::from_millis(now)).salted(fresh_salt()).with_content_id();
        let first = Batch::prepare(&id, &Append::new([header]))?;
        let project = project.map(str::to_owned);
        let begun = Begun { created_at: now, state: State::Open, project };
        self.backend.create(&id, begun, first)?;
        self.info(&id)
    }

    /// The project that a session belongs to.
    pub fn project(&self, id: &SessionId) -> Result<Option<String>> {
        Ok(self.backend.head(id)?.project)
    }

    /// Says which project a session belongs to. Nothing of the log changes.
    pub fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        self.backend.set_project(id, project)
    }

    /// Appends entries, all or none. Returns once they are on disk.
    ///
    /// An entry that is there already, same id and same content, is passed over; the same id with
    /// other content is an error. An error's [`outcome`](StoreError::outcome) says whether something
    /// may have been stored nevertheless; trying again with the same entries stores them once. An entry
    /// with text and without a salt gets one.
    pub fn append(&self, id: &SessionId, mut append: Append) -> Result<Appended> {
        salt_all(&mut append.entries);
        let batch = Batch::prepare(id, &append)?;
        match self.backend.append(id, batch) {
            // It may be there with another salt.
            Err(StoreError::SessionWriteFailed {
                problem: Problem::OtherContent(other), ..
            }) => {
                let refused = Problem::OtherContent(other);
                if !self.take_stored_salts(id, &mut append)? {
                    return Err(StoreError::not_stored(id, refused));
                }
                self.backend.append(id, Batch::prepare(id, &append)?)
            }
            appended => appended,
        }
    }

    /// Replaces what is stored already, with another salt or purged, by what is stored. Says whether there
    /// was any.
    fn take_stored_salts(&self, id: &SessionId, append: &mut Append) -> Result<bool> {
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

    /// The entries of a range, oldest first.
    pub fn load(&self, id: &SessionId, range: &Range) -> Result<Vec<StoredEntry>> {
        self.entries(id, range)?.collect()
    }

    /// The entry of this id.
    pub fn entry(&self, id: &SessionId, entry: &EntryId) -> Result<StoredEntry> {
        let seq = self.place_of(id, entry)?;
        self.at(id, seq)?.ok_or_else(|| entry_not_found(id, entry))
    }

    /// The entry of this number, if it is there.
    fn at(&self, id: &SessionId, seq: Seq) -> Result<Option<StoredEntry>> {
        let row = self.backend.rows(id, seq - 1, 1)?.into_iter().next();
        row.map(|row| row.decode().map_err(|damage| damage.into_error(id))).transpose()
    }

    /// The entry that says what the team's task is on the branch that ends in the newest entry.
    pub fn team_task(&self, id: &SessionId) -> Result<Option<StoredEntry>> {
        let mut from = Some(self.backend.head(id)?.seq);
        while let Some(end) = from {
            let Some(seq) = entries::task_before(self, id, end)? else { break };
            let Some(stored) = self.at(id, seq)? else { break };
            from = stored.parent.filter(|parent| *parent < seq);
            // One that was purged says nothing any more.
            if matches!(stored.entry.kind, EntryKind::TeamTask(_)) {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    /// Holds a session for as long as a program works with it; `None` if another one does. A file knows;
    /// a server and the memory do not, and let everybody hold it.
    pub fn hold(&self, id: &SessionId) -> Result<Option<Hold>> {
        self.backend.hold(id)
    }

    pub(crate) fn place_of(&self, id: &SessionId, entry: &EntryId) -> Result<Seq> {
        self.backend.find(id, entry)?.ok_or_else(|| entry_not_found(id, entry))
    }

    /// Goes on from an earlier entry: what is appended next follows it. The entry that says so also
    /// names the end of the branch that was left.
    pub fn branch(&self, id: &SessionId, from: &EntryId) -> Result<Appended> {
        self.place_of(id, from)?;
        let left = self.backend.head(id)?.tail.unwrap_or_else(|| from.clone());
        let entry = branch_entry(id, left).with_parent(from.clone());
        self.append(id, Append::new([entry.with_content_id()]))
    }

    /// Begins a session with a copy of the branch that ends in an entry; the last entry of the copy
    /// says where it came from.
    pub fn fork(&self, id: &SessionId, from: &EntryId, new: &NewSession) -> Result<SessionInfo> {
        self.place_of(id, from)?;
        let range = Range::Branch { tail: Some(from.clone()), limit: None };
        let branch = self.entries(id, &range)?;
        let redactions = Redactions::of(self, id, &branch, from)?;
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

    /// Appends what follows the newest entry. Somebody else may append between looking and storing:
    /// then it is made anew, so that nothing ends up on a branch by accident.
    pub fn append_to_tail(
        &self,
        id: &SessionId,
        make: impl Fn(Option<&EntryId>) -> Append,
    ) -> Result<Appended> {
        loop {
            let tail = self.backend.head(id)?.tail;
            let append = Append { expected_tail: tail.clone(), ..make(tail.as_ref()) };
            match self.append(id, append) {
                // An empty session has no tail to expect, and its first entry no parent.
                Err(StoreError::SessionConcurrentWrite { .. }) => {}
                appended => return appended,
            }
        }
    }

    /// What is known of a session.
    pub fn info(&self, id: &SessionId) -> Result<SessionInfo> {
        let head = self.backend.head(id)?;
        self.describe(head)
    }

    /// The sessions that a filter asks for, most recently changed first.
    pub fn list(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>> {
        let heads = self.backend.heads(filter)?;
        heads.into_iter().map(|head| self.describe(head)).collect()
    }

    /// How many sessions a filter asks for. No title is read.
    pub fn count(&self, filter: &ListFilter) -> Result<u64> {
        Ok(self.backend.heads(filter)?.len() as u64)
    }

    fn describe(&self, head: Head) -> Result<SessionInfo> {
        let own = self.own_title(&head.id)?;
        let has_own_title = own.is_some();
        let title = match own {
            Some(title) => Some(title),
            None => self.first_words(&head.id)?,
        };
        Ok(SessionInfo {
            has_own_title,
            created_at: Timestamp::from_millis(head.created_at),
            updated_at: Timestamp::from_millis(head.updated_at),
            entries: head.seq,
            tail: head.tail,
            head: head.link,
            title,
            project: head.project,
            id: head.id,
        })
    }

    /// The beginning of the first message that can be seen. A damaged entry takes nothing but the title
    /// away: the list must still be shown.
    fn first_words(&self, id: &SessionId) -> Result<Option<String>> {
        let first = self.backend.rows(id, 0, TITLE_ENTRIES)?;
        let messages = first.into_iter().filter(|row| &*row.record.type_name == "message");
        let texts = messages.filter_map(|row| Some(text_of(&row.decode().ok()?.entry)));
        Ok(texts.map(|text| title::first_line(&text)).find(|title| !title.is_empty()))
    }

    /// The ids of all sessions, the most recently changed first.
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        let heads = self.backend.heads(&ListFilter::default())?;
        Ok(heads.into_iter().map(|head| head.id).collect())
    }

    /// The ids of all entries of a session, oldest first, also of those that cannot be read any more.
    pub fn entry_ids(&self, id: &SessionId) -> Result<Vec<EntryId>> {
        let mut ids = Vec::new();
        self.each_row(id, |row| ids.push(row.record.id))?;
        Ok(ids)
    }

    /// Hands over all rows of a session, oldest first, read a page at a time.
    pub(crate) fn each_row(&self, id: &SessionId, mut take: impl FnMut(Row)) -> Result<()> {
        let mut after = 0;
        loop {
            let page = self.backend.rows(id, after, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            page.into_iter().for_each(&mut take);
        }
    }

    /// Takes a session away for good, also from the files of the database. Says what may still hold it. After an
    /// interruption the same call finishes what is left, though nobody sees the session any more.
    pub fn delete(&self, id: &SessionId) -> Result<Vec<Remains>> {
        let is_half_deleted = self.is_half_deleted(id)?;
        match self.backend.delete(id) {
            // Another process, or our own thread that works when it is quiet, was faster.
            Err(StoreError::SessionNotFound(_)) if is_half_deleted => {}
            deleted => deleted?,
        }
        let remains = self.backend.scrub()?;
        self.backend.forget_deleted(id)?;
        Ok(remains)
    }

    /// Deletes what killed imports and interrupted deletions left, which no reader sees.
    pub fn delete_left_behind(&self) -> Result<()> {
        self.backend.delete_left_behind()
    }

    /// Whether a deletion of this session was interrupted and may be finished.
    pub fn is_half_deleted(&self, id: &SessionId) -> Result<bool> {
        self.backend.is_half_deleted(id)
    }

    /// Checks the database as a whole; what is wrong, one line each.
    pub fn check(&self) -> Result<Vec<String>> {
        self.backend.check()
    }

    /// New entries of a session as they land, those after this number first.
    pub fn follow(&self, id: &SessionId, after: Seq) -> Result<Follow> {
        self.backend.head(id)?;
        Ok(Follow { store: self.clone(), session: id.clone(), after })
    }

    /// Finds entries in all sessions, or in one. The index is caught up first.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResult> {
        if let Some(session) = &query.session {
            self.backend.head(session)?;
        }
        match self.catch_up(|_| {}) {
            // What is indexed can be found.
            Err(StoreError::SessionWriteFailed {
                problem: Problem::ReadOnly(_) | Problem::DiskFull,
                ..
            }) => {}
            caught_up => caught_up?,
        }
        search::find(&*self.backend, query)
    }

    /// Takes everything that was appended into the search index; `progress` hears how many entries
    /// each step took in.
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

    /// Notes how many tokens entries have, for whoever asks next.
    pub fn know_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        self.backend.know_counts(id, counts)
    }

    /// After an error of the disk: opens the database anew, checks it, and takes entries again.
    pub fn reopen(&self) -> Result<()> {
        self.backend.reopen()
    }

    /// What killed imports and deletions left in the store. The next writer deletes it.
    pub fn left_behind(&self) -> Result<LeftBehind> {
        self.backend.left_behind()
    }

    /// Whether a session is there.
    pub fn has(&self, id: &SessionId) -> Result<bool> {
        match self.backend.head(id) {
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
