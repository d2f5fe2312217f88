//! The view of a log along one branch: from an entry back to its root, with redactions applied. All code that shows,
//! counts, searches or sends entries uses this view, because it gives no access to hidden text.

mod ancestry;
mod hidden;
mod index;

use std::fmt;

use crate::{Entry, EntryId, EntryKind};

pub use index::{EntryIndex, Walk};

/// An entry with its visibility. A hidden entry shows its position in the log, never its content.
///
/// ```
/// use tertulia_session::{EntryIndex, EntryKind, NewEntry, Redaction, TeamTask};
///
/// let secret = NewEntry::new(EntryKind::TeamTask(TeamTask::set("the secret"))).with_content_id();
/// let redaction = NewEntry::new(EntryKind::Redaction(Redaction::new(&secret.id))).after(&secret);
/// let log = [secret, redaction.with_content_id()];
///
/// let oldest = EntryIndex::over(&log)?.walk(&log)?.last().unwrap()?;
/// assert!(oldest.hidden_by() == Some(&log[1].id) && oldest.entry().is_none());
/// # Ok::<(), tertulia_session::EntryError>(())
/// ```
#[derive(Clone, Copy)]
pub struct ViewEntry<'a> {
    entry: &'a Entry,
    position: usize,
    hidden_by: Option<&'a EntryId>,
}

impl<'a> ViewEntry<'a> {
    /// Returns the id.
    pub fn id(&self) -> &'a EntryId {
        &self.entry.id
    }

    /// Returns the 0-based position of the entry in its log.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the entry, unless its content is hidden.
    pub fn entry(&self) -> Option<&'a Entry> {
        self.hidden_by.is_none().then_some(self.entry)
    }

    /// Returns the kind with its payload, unless that is hidden.
    pub fn kind(&self) -> Option<&'a EntryKind> {
        self.entry().map(|entry| &entry.kind)
    }

    /// Returns the redaction that hides this entry or something that this entry summarizes.
    pub fn hidden_by(&self) -> Option<&'a EntryId> {
        self.hidden_by
    }
}

/// Implemented by hand, so that a log line never contains hidden content.
impl fmt::Debug for ViewEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ViewEntry");
        match self.entry() {
            Some(entry) => shown.field("entry", entry),
            None => shown.field("id", self.id()).field("hidden_by", &self.hidden_by),
        };
        shown.finish()
    }
}

/// The error of a log that cannot be followed: one sentence with the entry, the field and a fix. It quotes only ids,
/// never text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// `first` and `second` are the 0-based positions of the two entries.
    #[error(
        "Entry {entry}: two entries with different content have this id, at positions {first} and \
         {second} of the log; give each its own id"
    )]
    DuplicateId { entry: EntryId, first: usize, second: usize },
    #[error(
        "Entry {entry}: parentId names {parent}, which is not in the log; add the missing entries, \
         or leave parentId out to start a branch"
    )]
    MissingParent { entry: EntryId, parent: EntryId },
    #[error(
        "Entry {entry}: parentId names {parent}, which comes later in the log; name an earlier entry"
    )]
    ParentCycle { entry: EntryId, parent: EntryId },
    #[error(
        "Entry {entry}: payload.targetId names {target}, which is not in the log; name an entry of the log"
    )]
    MissingTarget { entry: EntryId, target: EntryId },
    #[error(
        "the index contains {indexed} entries, but the log has {given}; update the index first"
    )]
    OutOfStep { indexed: usize, given: usize },
}

impl EntryError {
    /// Returns the invalid entry.
    pub fn entry(&self) -> Option<&EntryId> {
        match self {
            Self::DuplicateId { entry, .. }
            | Self::MissingParent { entry, .. }
            | Self::ParentCycle { entry, .. }
            | Self::MissingTarget { entry, .. } => Some(entry),
            Self::OutOfStep { .. } => None,
        }
    }

    /// Returns the invalid field.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Self::DuplicateId { .. } => Some("id"),
            Self::MissingParent { .. } | Self::ParentCycle { .. } => Some("parentId"),
            Self::MissingTarget { .. } => Some("payload.targetId"),
            Self::OutOfStep { .. } => None,
        }
    }
}
