//! The session's log as the driver holds it: what is stored, and what is about to be, in memory. Entries
//! of one step are staged, then stored together; whoever else wrote to the session meanwhile is noticed.

use std::time::{SystemTime, UNIX_EPOCH};

use tertulia_context::view::{Branch, BranchIndex};
use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Setting, Timestamp};
use tertulia_store::{Append, Range, SessionId, SessionStore, StoreError, fresh_salt};

/// Who looks for a table reads about twice as many entries of its end.
const FOLDER_FAR: usize = 128;

/// The current branch of a session.
pub(super) struct TableLog {
    store: SessionStore,
    session: SessionId,
    entries: Vec<Entry>,
    /// How many of them are in the store.
    stored: usize,
    /// The last entry of the store that counts.
    tail: Option<EntryId>,
    index: BranchIndex,
    /// The places of started turns whose prompt is recorded.
    prompted: Vec<usize>,
    /// The folder that the table stands in.
    folder: Option<Box<str>>,
    /// Where it says so.
    folder_place: usize,
    /// Tells the decisions of this program from the same ones of another.
    run: Box<str>,
}

impl TableLog {
    pub(super) fn open(store: &SessionStore, session: &SessionId) -> Result<Self, StoreError> {
        let range = Range::Branch { tail: None, limit: None };
        let tail = store.info(session)?.tail;
        let mut log = Self {
            store: store.clone(),
            session: session.clone(),
            entries: Vec::new(),
            stored: 0,
            tail,
            index: BranchIndex::default(),
            prompted: Vec::new(),
            folder: None,
            folder_place: 0,
            run: run_id(),
        };
        for stored in store.load(session, &range)? {
            log.take(stored.entry);
        }
        log.stored = log.entries.len();
        Ok(log)
    }

    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    pub(super) fn store(&self) -> &SessionStore {
        &self.store
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries, with what is known of them.
    pub(super) fn branch(&self) -> Branch<'_> {
        Branch::new(&self.entries, &self.index)
    }

    /// The places of started turns whose prompt is recorded, oldest first.
    pub(super) fn prompted(&self) -> &[usize] {
        &self.prompted
    }

    pub(super) fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Whether the note of the folder is so far back that who looks for a table does not see it.
    pub(super) fn is_folder_far(&self) -> bool {
        self.entries.len().saturating_sub(self.folder_place) > FOLDER_FAR
    }

    /// Reads the session again, because somebody else has written to it. Gives back what was staged, and
    /// the number of the first entry that is new here.
    pub(super) fn reload(&mut self) -> Result<(Vec<Entry>, usize), StoreError> {
        let read = Self::open(&self.store, &self.session)?;
        let mut before = std::mem::replace(self, read);
        let staged = before.entries.split_off(before.stored);
        let same = before.entries.iter().zip(&self.entries).take_while(|(a, b)| a.id == b.id);
        let first_new = same.count();
        Ok((staged, first_new))
    }

    /// What is in the store.
    pub(super) fn stored(&self) -> &[Entry] {
        self.entries.get(..self.stored).unwrap_or_default()
    }

    /// Whether somebody else has written to the session.
    pub(super) fn is_behind(&self) -> Result<bool, StoreError> {
        Ok(self.store.info(&self.session)?.tail != self.tail)
    }

    /// How many entries are staged.
    pub(super) fn staged_count(&self) -> usize {
        self.entries.len() - self.stored
    }

    /// Adds an entry behind the newest one, under the id that follows from it. Nothing is stored yet.
    pub(super) fn stage(&mut self, kind: EntryKind, partial: bool) -> EntryId {
        let mut new = self.follow(kind);
        if partial {
            new.meta = super::record::partial_mark();
        }
        let entry = new.with_content_id();
        let id = entry.id.clone();
        self.take(entry);
        id
    }

    pub(super) fn stage_setting(&mut self, setting: Setting) {
        self.stage(EntryKind::SessionSetting(setting.into()), false);
    }

    /// An entry behind the newest one that is not staged yet, to be completed.
    pub(super) fn draft(&self, kind: EntryKind) -> Entry {
        self.follow(kind).with_content_id()
    }

    /// The same under an id that the machine gave.
    pub(super) fn stage_as(&mut self, id: EntryId, kind: EntryKind) {
        let entry = self.follow(kind).in_run(self.run.clone()).with_id(id);
        self.take(entry);
    }

    fn follow(&self, kind: EntryKind) -> NewEntry {
        let new = NewEntry::new(kind).at(now());
        let new = match new.kind.holds_text() {
            true => new.salted(fresh_salt()),
            false => new,
        };
        match self.entries.last().map(|entry| &entry.id).or(self.tail.as_ref()) {
            Some(parent) => new.with_parent(parent.clone()),
            None => new,
        }
    }

    /// Stores what was staged, all or nothing, and gives it back. Fails if somebody else has written to
    /// the session.
    pub(super) fn commit(&mut self) -> Result<&[Entry], StoreError> {
        let first = self.stored;
        let staged = self.entries.get(first..).unwrap_or_default();
        if let Some(last) = staged.last() {
            let mut append = Append::of(staged.iter().cloned());
            append.expected_tail.clone_from(&self.tail);
            let tail = Some(last.id.clone());
            // What could not be stored stays staged: trying again with the same entries is safe.
            self.store.append(&self.session, append)?;
            self.tail = tail;
            self.stored = self.entries.len();
        }
        Ok(self.entries.get(first..).unwrap_or_default())
    }

    /// Stages a draft.
    pub(super) fn take(&mut self, entry: Entry) {
        let place = self.entries.len();
        match &entry.kind {
            EntryKind::Turn(turn) if turn.prompt_recipe.is_some() => {
                self.prompted.push(place);
            }
            kind => {
                if let Some(Setting::Folder { path }) = kind.setting() {
                    (self.folder, self.folder_place) = (Some(path.clone()), place);
                }
            }
        }
        self.index.push(place, &entry);
        self.entries.push(entry);
    }
}

/// A name for this program's time at the table.
fn run_id() -> Box<str> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("run-{:x}-{:x}", std::process::id(), since.as_nanos()).into()
}

/// The time, as data.
pub(super) fn now() -> Timestamp {
    Timestamp::from_millis(tertulia_store::now_millis())
}
