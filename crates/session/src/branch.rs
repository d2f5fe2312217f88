//! The log seen along one branch: from an entry back to its root, redactions applied. Whoever shows,
//! counts, searches or sends entries looks through here; hidden text cannot be reached.

mod ancestry;
mod hidden;
mod index;

use std::fmt;

use crate::{Entry, EntryId, EntryKind, Timestamp};

pub use index::{EntryIndex, Walk};

/// The entries of one branch, oldest first.
///
/// ```
/// use tertulia_session::{BranchView, EntryKind, NewEntry, Redaction, TeamTask};
///
/// let secret = NewEntry::new(EntryKind::TeamTask(TeamTask::set("the secret"))).with_content_id();
/// let redaction = NewEntry::new(EntryKind::Redaction(Redaction::new(&secret.id))).after(&secret);
/// let log = [secret, redaction.with_content_id()];
///
/// let view = BranchView::new(&log)?;
/// let first = view.iter().next().unwrap();
/// assert!(first.is_redacted() && first.entry().is_none());
/// # Ok::<(), tertulia_session::EntryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BranchView<'a> {
    entries: Vec<ViewEntry<'a>>,
}

/// An entry as it may be seen. What is hidden shows its place in the log, never its content.
#[derive(Clone, Copy)]
pub struct ViewEntry<'a> {
    entry: &'a Entry,
    place: usize,
    sight: Sight<'a>,
}

/// Whether the content of an entry may be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight<'a> {
    Open,
    /// Hidden by this redaction.
    Redacted(&'a EntryId),
    /// A summary of something that this redaction hides.
    Void(&'a EntryId),
}

impl<'a> BranchView<'a> {
    /// The branch that ends in the newest entry of a log in append order. Reads the whole log; keep
    /// an [`EntryIndex`] where it grows and is looked at again.
    pub fn new(log: &'a [Entry]) -> Result<Self, EntryError> {
        Self::collect(EntryIndex::over(log)?.walk(log)?)
    }

    /// The branch that ends in this entry.
    pub fn ending_in(log: &'a [Entry], tail: &EntryId) -> Result<Self, EntryError> {
        Self::collect(EntryIndex::over(log)?.walk_from(log, tail)?)
    }

    /// All that is left of a walk, down to the root.
    pub fn collect(walk: Walk<'a, '_>) -> Result<Self, EntryError> {
        Self::newest(walk, usize::MAX)
    }

    /// The newest entries of a walk, at most so many; the cost follows their number.
    pub fn newest(walk: Walk<'a, '_>, count: usize) -> Result<Self, EntryError> {
        let mut entries = Vec::new();
        for entry in walk.take(count) {
            entries.push(entry?);
        }
        entries.reverse();
        Ok(Self { entries })
    }

    /// The entries, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ViewEntry<'a>> + ExactSizeIterator {
        self.entries.iter().copied()
    }

    /// The entry at this place, counted from the oldest.
    pub fn get(&self, place: usize) -> Option<ViewEntry<'a>> {
        self.entries.get(place).copied()
    }

    /// The place of this entry; searched from the newest on.
    pub fn position(&self, id: &EntryId) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.id() == id)
    }

    /// The newest entry.
    pub fn tail(&self) -> Option<ViewEntry<'a>> {
        self.entries.last().copied()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<'a> ViewEntry<'a> {
    /// The id.
    pub fn id(&self) -> &'a EntryId {
        &self.entry.id
    }

    /// The place of the entry in its log, from 0.
    pub fn place(&self) -> usize {
        self.place
    }

    /// The parent that the entry names.
    pub fn parent_id(&self) -> Option<&'a EntryId> {
        self.entry.parent_id.as_ref()
    }

    /// The word in `type`; of what was purged, the word that was there.
    pub fn type_name(&self) -> &'a str {
        self.entry.kind.shown_type_name()
    }

    /// When it happened.
    pub fn timestamp(&self) -> Option<&'a Timestamp> {
        self.entry.timestamp.as_ref()
    }

    /// The entry, unless its content is hidden: redacted, or a void summary.
    pub fn entry(&self) -> Option<&'a Entry> {
        match self.sight {
            Sight::Open => Some(self.entry),
            Sight::Redacted(_) | Sight::Void(_) => None,
        }
    }

    /// What it is, with its payload, unless that is hidden.
    pub fn kind(&self) -> Option<&'a EntryKind> {
        self.entry().map(|entry| &entry.kind)
    }

    /// Whether a redaction hides it.
    pub fn is_redacted(&self) -> bool {
        matches!(self.sight, Sight::Redacted(_))
    }

    /// Whether it is a summary that counts no more, since a redaction hides something that it covers.
    pub fn is_void(&self) -> bool {
        matches!(self.sight, Sight::Void(_))
    }

    /// The redaction that hides it or makes it void.
    pub fn hidden_by(&self) -> Option<&'a EntryId> {
        match self.sight {
            Sight::Open => None,
            Sight::Redacted(by) | Sight::Void(by) => Some(by),
        }
    }
}

/// By hand, so that no log line shows what is hidden.
impl fmt::Debug for ViewEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ViewEntry");
        match self.entry() {
            Some(entry) => shown.field("entry", entry),
            None => shown.field("id", self.id()).field("type_name", &self.type_name()),
        };
        shown.field("sight", &self.sight).finish()
    }
}

/// A log that cannot be followed: one sentence with the entry, the field and the cure. Ids are all that is quoted, never
/// text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The places are those of the two entries, from 0.
    #[error(
        "Entry {entry}: id stands for two entries with different content, at places {first} and \
         {second} of the log; give each its own"
    )]
    DuplicateId { entry: EntryId, first: usize, second: usize },
    #[error(
        "Entry {entry}: parentId names {parent}, which is not in the log; give the whole branch, or \
         leave parentId out to start one"
    )]
    MissingParent { entry: EntryId, parent: EntryId },
    #[error(
        "Entry {entry}: parentId names {parent}, which follows it; name one that was there before it"
    )]
    ParentCycle { entry: EntryId, parent: EntryId },
    #[error(
        "Entry {entry}: payload.targetId names {target}, which is not in the log; name one that is"
    )]
    MissingTarget { entry: EntryId, target: EntryId },
    #[error("Entry {tail} is not in the log; name one that is")]
    MissingTail { tail: EntryId },
    #[error(
        "the index knows {indexed} entries and the log has {given}; let the index catch up first"
    )]
    OutOfStep { indexed: usize, given: usize },
}

impl EntryError {
    /// The entry that is wrong.
    pub fn entry(&self) -> Option<&EntryId> {
        match self {
            Self::DuplicateId { entry, .. }
            | Self::MissingParent { entry, .. }
            | Self::ParentCycle { entry, .. }
            | Self::MissingTarget { entry, .. }
            | Self::MissingTail { tail: entry } => Some(entry),
            Self::OutOfStep { .. } => None,
        }
    }

    /// The field that is wrong.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::DuplicateId { .. } => Some("id"),
            Self::MissingParent { .. } | Self::ParentCycle { .. } => Some("parentId"),
            Self::MissingTarget { .. } => Some("payload.targetId"),
            Self::MissingTail { .. } | Self::OutOfStep { .. } => None,
        }
    }
}
