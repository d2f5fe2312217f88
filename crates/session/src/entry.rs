//! An entry: one record of a session's log. The log is never rewritten. Changes of its view (a summary, a cut, a
//! redaction, a branch) are entries too. See [`crate::EntryIndex`].

mod kind;
mod memory;
mod payload;
mod turn;

use crate::json::Json;
use crate::record::EntryRecord;
use crate::{EntryId, Fields, Message, Salt, Timestamp};

pub use kind::{EntryKind, OtherEntry};
pub use memory::{CacheMiss, FreshStart, MemoryMode, TurnMemory};
pub use payload::{
    BranchSummary, CompactionSummary, ContextCut, CutStrategy, ModelChange, NativeDirection,
    NativeRecord, NativeSession, Purged, Recall, Redaction, RuntimeInit, SessionHeader,
    SessionSetting, Setting, SystemPromptOverride, TeamTask, ThinkingLevelChange, Usage, Usd,
};
pub use turn::{
    AskRound, Cause, Intent, QueueRule, RouteSource, SpendingLimit, Turn, TurnActivity, TurnEvent,
    TurnState,
};

/// One record of a session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The id, which is unique in the log.
    pub id: EntryId,
    /// The entry that this one follows; [`crate::EntryIndex`] defines what a missing parent means.
    pub parent_id: Option<EntryId>,
    pub kind: EntryKind,
    pub timestamp: Option<Timestamp>,
    pub run_id: Option<Box<str>>,
    /// Notes of other programs, as a JSON object.
    pub meta: Option<Json>,
    /// Random bytes, so that no hash of the record can confirm a guess of its text.
    pub salt: Option<Salt>,
    pub unknown: Fields,
}

/// An entry without an id.
///
/// ```
/// use tertulia_session::{EntryKind, NewEntry, SessionHeader, TeamTask};
///
/// let header = NewEntry::new(EntryKind::SessionHeader(SessionHeader::default())).with_content_id();
/// let task = NewEntry::new(EntryKind::TeamTask(TeamTask::set("Ship it"))).after(&header);
/// let task = task.with_content_id();
/// assert_eq!(task.parent_id, Some(header.id));
/// assert_eq!(task.id, task.content_id());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    pub parent_id: Option<EntryId>,
    pub kind: EntryKind,
    pub timestamp: Option<Timestamp>,
    pub run_id: Option<Box<str>>,
    pub meta: Option<Json>,
    pub salt: Option<Salt>,
}

impl Entry {
    /// Returns the id that is computed from the content. The same content after the same parent has the same id on
    /// every machine, so appending it twice is harmless. The salt is part of the content.
    ///
    /// The id is `e-` and 32 hex digits: the first 128 bits of the BLAKE3 hash of the entry's JSON record, as
    /// [`EntryRecord`] writes it, without its `id`. The record contains `parentId`, so ids form a chain: each
    /// depends on all entries before it on its branch.
    pub fn content_id(&self) -> EntryId {
        EntryId::from_content(EntryRecord::without_id(self).to_json().as_bytes())
    }

    /// Returns the message, if it is one.
    pub fn message(&self) -> Option<&Message> {
        match &self.kind {
            EntryKind::Message(message) => Some(message),
            _ => None,
        }
    }

    /// Returns the state of a turn, if it is one.
    pub fn turn(&self) -> Option<&Turn> {
        match &self.kind {
            EntryKind::Turn(turn) => Some(turn),
            _ => None,
        }
    }

    /// Returns the id of the turn, if it is an entry of a turn or an event during one.
    pub fn turn_id(&self) -> Option<&EntryId> {
        match &self.kind {
            EntryKind::Turn(turn) => Some(turn.turn_id.as_ref().unwrap_or(&self.id)),
            EntryKind::TurnEvent(event) => Some(&event.turn_id),
            _ => None,
        }
    }

    /// Returns whether its bytes were purged.
    pub fn is_purged(&self) -> bool {
        matches!(self.kind, EntryKind::Purged(_))
    }

    /// Returns whether it has the same id and content as another entry, whatever their salts. If it does, it is the
    /// same entry, sent again.
    pub fn repeats(&self, other: &Self) -> bool {
        let Self { id, parent_id, kind, timestamp, run_id, meta, salt: _, unknown } = self;
        (id, parent_id, kind, timestamp)
            == (&other.id, &other.parent_id, &other.kind, &other.timestamp)
            && (run_id, meta, unknown) == (&other.run_id, &other.meta, &other.unknown)
    }
}

impl NewEntry {
    /// Creates an entry without parent, time or run.
    pub fn new(kind: EntryKind) -> Self {
        Self { parent_id: None, kind, timestamp: None, run_id: None, meta: None, salt: None }
    }

    /// Sets the parent.
    #[must_use]
    pub fn after(self, parent: &Entry) -> Self {
        self.with_parent(parent.id.clone())
    }

    /// Sets the parent by its id.
    #[must_use]
    pub fn with_parent(mut self, parent: EntryId) -> Self {
        self.parent_id = Some(parent);
        self
    }

    /// Sets the time.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Sets the run.
    #[must_use]
    pub fn in_run(mut self, run_id: impl Into<Box<str>>) -> Self {
        self.run_id = Some(run_id.into());
        self
    }

    /// Sets the salt.
    #[must_use]
    pub fn salted(mut self, salt: Salt) -> Self {
        self.salt = Some(salt);
        self
    }

    /// Returns the entry with the id that is computed from its content, see [`Entry::content_id`].
    pub fn with_content_id(self) -> Entry {
        let mut entry = self.with_id(EntryId::from(""));
        entry.id = entry.content_id();
        entry
    }

    /// Returns the entry with a given id.
    pub fn with_id(self, id: EntryId) -> Entry {
        let Self { parent_id, kind, timestamp, run_id, meta, salt } = self;
        Entry { id, parent_id, kind, timestamp, run_id, meta, salt, unknown: Fields::NONE }
    }
}

/// A hash of entries in their order: the same entries have the same hash.
///
/// The hash is `b3-` and 32 hex digits of the BLAKE3 hash of the entries' JSON records, each after a line break.
#[derive(Clone, Debug, Default)]
pub struct EntriesHash {
    hasher: blake3::Hasher,
}

impl EntriesHash {
    /// Adds one entry.
    pub fn add(&mut self, entry: &Entry) {
        // Writing into a hasher cannot fail.
        let _ = serde_json::to_writer(&mut self.hasher, &EntryRecord::new(entry));
        self.hasher.update(b"\n");
    }

    /// Returns the hash of all added entries.
    pub fn finish(&self) -> Box<str> {
        format!("b3-{}", &self.hasher.finalize().to_hex()[..32]).into()
    }
}
