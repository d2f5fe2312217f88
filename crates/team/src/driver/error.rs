//! Why a table cannot go on. What goes wrong in a turn is no error of the table: it is an entry.

use tertulia_store::{Problem, StoreError};

use crate::SpeakerError;

/// Why a table cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The session could not be read or written. What was not stored did not happen.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody else writes to this session.
    #[error(
        "another process uses or has changed this session, so nothing was stored; try again, or \
         close it there"
    )]
    SomebodyElse,
    /// The turn that runs does so in another program.
    #[error("This turn runs in another process; stop it there.")]
    Elsewhere,
    #[error("internal error, please report it; everything stored is kept. Open the session again.")]
    Broken,
    #[error(transparent)]
    Speaker(#[from] SpeakerError),
}

impl DriveError {
    /// Whether the table cannot go on; else only what was wanted was not done.
    pub(super) fn ends_table(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Broken)
    }

    pub(super) fn of(error: StoreError) -> Self {
        match error {
            StoreError::SessionConcurrentWrite { .. } => Self::SomebodyElse,
            // The ids of decisions follow from the decisions: somebody else has made the same one.
            StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. } => {
                Self::SomebodyElse
            }
            other => Self::Store(other),
        }
    }
}
