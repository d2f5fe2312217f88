//! The log of the session in memory: stored entries, and staged entries that are stored together. Of a long session,
//! only the newest messages are read, and the older entries that the machine needs. Other entries are read on demand.

use std::time::{SystemTime, UNIX_EPOCH};

use tertulia_context::branch::{Branch, BranchIndex};
use tertulia_context::view::Recall;
use tertulia_session::{Entry, EntryId, EntryKind, Message, NewEntry, Setting, Timestamp};
use tertulia_store::{
    Append, Fence, Outline, OutlineEntry, Range, SessionId, SessionStore, StoreError, StoredEntry,
    fresh_salt,
};

use super::summary;
use crate::replay::Replay;
use crate::roster::Roster;
use crate::{Machine, Team, TeamMember};

/// Number of entries after which the folder is recorded again. The search for sessions of a folder reads about twice
/// as many entries from the end of a log.
const FOLDER_FAR: usize = 128;

/// Types of which only the newest entries are read. They make up nearly all of a session.
const UNREAD: [&str; 3] = [MESSAGE, "turn_event", SUMMARY];
const MESSAGE: &str = "message";
/// Maximum number of messages before its window that a prompt uses.
const VIEWED_MAX: usize = 512;
const SUMMARY: &str = "compaction_summary";

/// Number of newest messages whose decisions are compared when a long session is opened.
const COMPARED_MAX: usize = 2_048;

/// The part of a long session that is read when it is opened: all of it, or the part that prompts with this window
/// need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    All,
    Newest { window: usize },
}

impl Reading {
    pub(super) fn for_team(team: &Team) -> Self {
        // The context of an endpoint is chosen from the whole log.
        match team.members.iter().any(TeamMember::is_endpoint) {
            true => Self::All,
            false => Self::Newest { window: team.window_max() },
        }
    }
}

pub(super) struct SessionLog {
    pub(super) store: SessionStore,
    pub(super) session: SessionId,
    entries: Vec<Entry>,
    /// All entries from this index on are read. Some of the entries before it have only an id.
    pub(super) first_read: usize,
    /// Number of entries that are in the store.
    stored: usize,
    /// The last stored entry of the branch.
    tail: Option<EntryId>,
    index: BranchIndex,
    /// The indexes of started turns whose prompt is recorded.
    prompted: Vec<usize>,
    pub(super) folder: Option<Box<str>>,
    folder_index: usize,
    /// The number of the session lock, so that nothing is stored after another process has taken over.
    pub(super) fence: Option<Fence>,
    /// Distinguishes decisions of this process from equal decisions of another process.
    run: Box<str>,
}

impl SessionLog {
    pub(super) fn open(
        store: &SessionStore,
        session: &SessionId,
        reading: Reading,
    ) -> Result<Self, StoreError> {
        let info = store.info(session)?;
        let mut log = Self::empty(store, session, info.tail);
        let entries = usize::try_from(info.entries).unwrap_or(usize::MAX);
        match reading {
            Reading::Newest { window } if first_needed(entries, window) > 0 => {
                log.read_newest(window)?;
            }
            _ => log.read_branch()?,
        }
        Ok(log)
    }

    fn empty(store: &SessionStore, session: &SessionId, tail: Option<EntryId>) -> Self {
        Self {
            store: store.clone(),
            session: session.clone(),
            entries: Vec::new(),
            first_read: 0,
            stored: 0,
            tail,
            index: BranchIndex::default(),
            prompted: Vec::new(),
            folder: None,
            folder_index: 0,
            fence: None,
            run: run_id(),
        }
    }

    fn read_branch(&mut self) -> Result<(), StoreError> {
        let range = Range::Branch { tail: self.tail.clone(), limit: None };
        for stored in self.store.clone().entries(&self.session, &range)? {
            self.take(stored?.entry);
        }
        self.stored = self.entries.len();
        Ok(())
    }

    pub(super) fn read_all(&mut self) -> Result<(), StoreError> {
        if self.first_read == 0 {
            return Ok(());
        }
        let mut whole = Self::empty(&self.store, &self.session, self.tail.clone());
        whole.read_branch()?;
        whole.run.clone_from(&self.run);
        whole.fence = self.fence;
        self.entries.drain(self.stored..).for_each(|staged| whole.take(staged));
        *self = whole;
        Ok(())
    }

    /// Reads the newest messages, and the older entries that the machine needs.
    fn read_newest(&mut self, window: usize) -> Result<(), StoreError> {
        let outline = Outline::read(&self.store, &self.session)?.entries;
        let is_of = |entry: &OutlineEntry, type_name: &str| &*entry.type_name == type_name;
        let messages = outline.iter().filter(|entry| is_of(entry, MESSAGE)).count();
        let mut indexes = (0..outline.len())
            .filter(|index| outline.get(*index).is_some_and(|entry| is_of(entry, MESSAGE)));
        self.first_read = indexes.nth(first_needed(messages, window)).unwrap_or_default();
        let was_summarised = outline.iter().any(|entry| is_of(entry, SUMMARY));
        let range = Range::Numbers(self.numbers_to_read(&outline));
        self.entries.reserve(outline.len());
        let mut read = self.store.load(&self.session, &range)?.into_iter().peekable();
        for (index, outlined) in outline.into_iter().enumerate() {
            let is_message = is_of(&outlined, MESSAGE);
            match read.next_if(|stored: &StoredEntry| stored.seq == outlined.number) {
                Some(stored) if index >= self.first_read || !is_message => self.take(stored.entry),
                found => {
                    if is_message {
                        self.index.push_unread(index);
                    }
                    let unread = || NewEntry::new(EntryKind::Custom(None)).with_id(outlined.id);
                    self.entries.push(found.map_or_else(unread, |stored| stored.entry));
                }
            }
        }
        self.stored = self.entries.len();
        let has_summary = self.branch().summary().is_some() || !was_summarised;
        if has_summary && self.is_enough(window) { Ok(()) } else { self.read_all() }
    }

    /// Returns the numbers of the entries to read. For a branch, this includes the message at which it begins, which shows
    /// whether its turn had ended.
    fn numbers_to_read(&self, outline: &[OutlineEntry]) -> Vec<u64> {
        let (mut numbers, mut newest_message) = (Vec::new(), None);
        for (index, entry) in outline.iter().enumerate() {
            if index >= self.first_read || !UNREAD.contains(&&*entry.type_name) {
                let is_branch = &*entry.type_name == "branch_summary";
                numbers.extend(newest_message.take().filter(|_| is_branch));
                numbers.push(entry.number);
            } else if &*entry.type_name == MESSAGE {
                newest_message = Some(entry.number);
            }
        }
        numbers
    }

    /// Returns whether a prompt with this window and the next summary need no unread entries.
    fn is_enough(&self, window: usize) -> bool {
        let branch = self.branch();
        let first = branch.messages_before(self.first_read);
        let is_in_view = branch.text_message_count() > VIEWED_MAX.saturating_add(window);
        is_in_view && summary::first_needed(branch, window) >= first
    }

    pub(super) fn is_read(&self, entry: &EntryId) -> bool {
        self.index.index_of(entry).is_some_and(|index| index >= self.first_read)
    }

    /// Returns whether all that a prompt which ends at this message needs is read.
    pub(super) fn is_read_before(&self, message: &EntryId, window: usize) -> bool {
        let branch = self.branch();
        let number = branch.number_of(message);
        let ordinal = branch.index_of(message).map(|index| branch.messages_before(index));
        let first = branch.messages_before(self.first_read);
        let is_in_view = number.is_some_and(|at| at > VIEWED_MAX.saturating_add(window));
        let is_searched = ordinal.is_some_and(|at| Recall::first_searched(at + 1) >= first);
        self.first_read == 0 || (is_in_view && is_searched)
    }

    fn first_compared(&self) -> usize {
        let branch = self.branch();
        let first = branch.message_count().saturating_sub(COMPARED_MAX);
        match self.first_read {
            0 => 0,
            read => branch.index_of_message(first).map_or(read, |index| index.max(read)),
        }
    }

    /// Replays the log. Reads all of it if the newest messages are not sufficient.
    pub(super) fn replay(&mut self, roster: &Roster) -> Result<Replay, StoreError> {
        let first = self.first_compared();
        let newest = Machine::replay_newest(roster.clone(), &self.entries, first);
        if let Some(replay) = newest {
            return Ok(replay);
        }
        self.read_all()?;
        Ok(Machine::replay(roster.clone(), &self.entries))
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn branch(&self) -> Branch<'_> {
        Branch::new(&self.entries, &self.index)
    }

    pub(super) fn prompted(&self) -> &[usize] {
        &self.prompted
    }

    /// Returns whether the folder was recorded so long ago that the search for sessions may not find it.
    pub(super) fn is_folder_far(&self) -> bool {
        self.entries.len().saturating_sub(self.folder_index) > FOLDER_FAR
    }

    /// Reads the session again. Returns the staged entries, and the index of the first new entry.
    pub(super) fn reload(&mut self, reading: Reading) -> Result<(Vec<Entry>, usize), StoreError> {
        let read = Self::open(&self.store, &self.session, reading)?;
        let mut before = std::mem::replace(self, read);
        self.fence = before.fence;
        let staged = before.entries.split_off(before.stored);
        let same = before.entries.iter().zip(&self.entries).take_while(|(a, b)| a.id == b.id);
        let first_new = same.count();
        if first_new < self.first_read {
            self.read_all()?;
        }
        Ok((staged, first_new))
    }

    pub(super) fn stored(&self) -> &[Entry] {
        self.entries.get(..self.stored).unwrap_or_default()
    }

    pub(super) fn into_stored(mut self) -> Vec<Entry> {
        self.entries.truncate(self.stored);
        self.entries
    }

    pub(super) fn is_behind(&self) -> Result<bool, StoreError> {
        Ok(self.store.info(&self.session)?.tail != self.tail)
    }

    pub(super) fn staged(&self) -> &[Entry] {
        self.entries.get(self.stored..).unwrap_or_default()
    }

    pub(super) fn staged_count(&self) -> usize {
        self.entries.len() - self.stored
    }

    /// Stages an entry after the newest one, with an id derived from its content. Nothing is stored yet.
    pub(super) fn stage(&mut self, kind: EntryKind) {
        let entry = self.follow(kind).with_content_id();
        self.take(entry);
    }

    /// Stages the beginning of an interrupted answer.
    pub(super) fn stage_partial(&mut self, message: Message) -> EntryId {
        let mut new = self.follow(EntryKind::Message(message));
        new.meta = super::record::partial_mark();
        let entry = new.with_content_id();
        let id = entry.id.clone();
        self.take(entry);
        id
    }

    pub(super) fn stage_setting(&mut self, setting: Setting) {
        self.stage(EntryKind::SessionSetting(setting.into()));
    }

    /// Returns a message that follows the newest entry. The message is not staged, so that the caller can complete
    /// it.
    pub(super) fn draft(&self, message: Message) -> Entry {
        self.follow(EntryKind::Message(message)).with_content_id()
    }

    /// Stages an entry with an id of the machine.
    pub(super) fn stage_as(&mut self, id: EntryId, kind: EntryKind) {
        let entry = self.follow(kind).in_run(self.run.clone()).with_id(id);
        self.take(entry);
    }

    fn follow(&self, kind: EntryKind) -> NewEntry {
        let new = NewEntry::new(kind).at(now());
        let new = if new.kind.holds_text() { new.salted(fresh_salt()) } else { new };
        match self.entries.last().map(|entry| &entry.id).or(self.tail.as_ref()) {
            Some(parent) => new.with_parent(parent.clone()),
            None => new,
        }
    }

    /// Stores the staged entries, all or none, and returns them. Fails if another process has written to the session.
    pub(super) fn commit(&mut self) -> Result<&[Entry], StoreError> {
        let first = self.stored;
        let staged = self.entries.get(first..).unwrap_or_default();
        if let Some(last) = staged.last() {
            let mut append = Append::new(staged.iter().cloned());
            append.expected_tail.clone_from(&self.tail);
            append.fence = self.fence;
            let tail = Some(last.id.clone());
            // On failure they stay staged: retrying with the same entries is safe.
            self.store.append(&self.session, append)?;
            self.tail = tail;
            self.stored = self.entries.len();
        }
        Ok(self.entries.get(first..).unwrap_or_default())
    }

    pub(super) fn take(&mut self, entry: Entry) {
        let index = self.entries.len();
        if entry.turn().is_some_and(|turn| turn.prompt_recipe.is_some()) {
            self.prompted.push(index);
        }
        if let Some(Setting::Folder { path }) = entry.kind.setting() {
            (self.folder, self.folder_index) = (Some(path.clone()), index);
        }
        self.index.push(index, &entry);
        self.entries.push(entry);
    }
}

/// Returns the ordinal of the first message to read, for a session of this size and prompts with this window.
fn first_needed(messages: usize, window: usize) -> usize {
    let summarised = summary::SUMMARISED_MAX.saturating_add(VIEWED_MAX).saturating_add(window);
    Recall::first_searched(messages).min(messages.saturating_sub(summarised))
}

/// Returns an id for this process and session.
fn run_id() -> Box<str> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("run-{:x}-{:x}", std::process::id(), since.as_nanos()).into()
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_millis(tertulia_store::now_millis())
}
