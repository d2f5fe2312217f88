//! What can be wrong with a log as a whole: one sentence with the entry, the field and the cure. Ids
//! are all that is quoted, never text.

use crate::EntryId;

/// A log that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Two entries of one id, and not the same.
    #[error(
        "Entry {entry}: id stands for two entries with different content, at places {first} and \
         {second} of the log; give each its own"
    )]
    DuplicateId {
        entry: EntryId,
        /// The place of the first, from 0.
        first: usize,
        /// The place of the second.
        second: usize,
    },
    /// A parent that is not there.
    #[error(
        "Entry {entry}: parentId names {parent}, which is not in the log; give the whole branch, or \
         leave parentId out to start one"
    )]
    MissingParent { entry: EntryId, parent: EntryId },
    /// A parent that comes after its child.
    #[error(
        "Entry {entry}: parentId names {parent}, which follows it; name one that was there before it"
    )]
    ParentCycle { entry: EntryId, parent: EntryId },
    /// A redaction of nothing.
    #[error(
        "Entry {entry}: payload.targetId names {target}, which is not in the log; name one that is"
    )]
    MissingTarget {
        /// The redaction.
        entry: EntryId,
        target: EntryId,
    },
    /// A view was asked for that ends in an entry that is not there.
    #[error("Entry {tail} is not in the log; name one that is")]
    MissingTail { tail: EntryId },
    /// An index is used with another log, or with more entries than it was shown.
    #[error(
        "the index knows {indexed} entries and the log has {given}; let the index catch up first"
    )]
    OutOfStep {
        /// How many entries the index knows.
        indexed: usize,
        /// How many entries the log has.
        given: usize,
    },
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
