//! The session's log as the driver holds it: what is stored, and what is about to be, in memory. Entries
//! of one step are staged, then stored together; whoever else wrote to the session meanwhile is noticed.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use tertulia_session::{
    CompactionSummary, Entry, EntryId, EntryKind, Message, NewEntry, Timestamp,
};
use tertulia_store::{Append, Range, SessionId, SessionStore, StoreError, fresh_salt};

use super::minutes::is_requested;
use crate::table_folder;

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
    /// The places of messages with words, in order.
    said: Vec<usize>,
    places: HashMap<EntryId, usize>,
    team_task: Option<Box<str>>,
    /// Where it is set.
    team_task_place: usize,
    /// The places of started turns whose prompt is recorded.
    prompted: Vec<usize>,
    /// The folder that the table stands in.
    folder: Option<Box<str>>,
    /// Where it says so.
    folder_place: usize,
    /// The newest minutes.
    minutes: Option<usize>,
    /// The newest summary that a person asked for.
    requested: Option<usize>,
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
            said: Vec::new(),
            places: HashMap::new(),
            team_task: None,
            team_task_place: 0,
            prompted: Vec::new(),
            folder: None,
            folder_place: 0,
            minutes: None,
            requested: None,
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

    pub(super) fn team_task(&self) -> Option<&str> {
        self.team_task.as_deref()
    }

    /// The place of the entry that sets the team's task.
    pub(super) fn team_task_place(&self) -> Option<usize> {
        self.team_task.as_ref().map(|_| self.team_task_place)
    }

    /// The places of started turns whose prompt is recorded, oldest first.
    pub(super) fn prompted(&self) -> &[usize] {
        &self.prompted
    }

    /// The place of an entry.
    pub(super) fn place_of(&self, id: &EntryId) -> Option<usize> {
        self.places.get(id).copied()
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

    /// How many messages with words there are.
    pub(super) fn said_count(&self) -> usize {
        self.said.len()
    }

    /// The message with words of this number, from 0.
    pub(super) fn said(&self, number: usize) -> Option<(&Entry, &Message)> {
        let entry = self.entries.get(*self.said.get(number)?)?;
        match &entry.kind {
            EntryKind::Message(message) => Some((entry, message)),
            _ => None,
        }
    }

    /// The number of a message with words.
    pub(super) fn number_of(&self, id: &EntryId) -> Option<usize> {
        self.said.binary_search(self.places.get(id)?).ok()
    }

    /// The place of the newest minutes.
    pub(super) fn minutes_place(&self) -> Option<usize> {
        self.minutes
    }

    /// The newest minutes, and how many messages they cover.
    pub(super) fn minutes(&self) -> Option<(&CompactionSummary, usize)> {
        self.summary_at(self.minutes?)
    }

    /// How many messages go into no prompt word for word, because a person had them summarised.
    pub(super) fn compacted(&self) -> usize {
        let summary = self.requested.and_then(|place| self.summary_at(place));
        summary.map_or(0, |(_, covered)| covered)
    }

    fn summary_at(&self, place: usize) -> Option<(&CompactionSummary, usize)> {
        let entry = self.entries.get(place)?;
        let EntryKind::CompactionSummary(minutes) = &entry.kind else { return None };
        let kept = self.places.get(&minutes.first_kept_entry_id)?;
        Some((minutes, self.said.partition_point(|place| place < kept)))
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
            EntryKind::Message(message) if !message.text().trim().is_empty() => {
                self.said.push(place);
            }
            EntryKind::TeamTask(task) => {
                self.team_task.clone_from(&task.task);
                self.team_task_place = place;
            }
            EntryKind::Turn(turn) if turn.prompt_recipe.is_some() => {
                self.prompted.push(place);
            }
            EntryKind::CompactionSummary(summary) => {
                self.minutes = Some(place);
                if is_requested(summary) {
                    self.requested = Some(place);
                }
            }
            EntryKind::Custom(_) => {
                if let Some(folder) = table_folder(&entry) {
                    (self.folder, self.folder_place) = (Some(folder), place);
                }
            }
            _ => {}
        }
        self.places.insert(entry.id.clone(), place);
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
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
