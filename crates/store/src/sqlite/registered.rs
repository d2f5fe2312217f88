//! What a file is opened as, and how many stores this process has open. Called by whoever opens one.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::schema;

/// What a file is opened as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A store like any other.
    Store,
    /// A backup that is being made.
    Part,
    /// A backup that is read. Nothing is created beside it.
    Frozen,
}

/// Counts the stores that this process has open.
static OPEN: Mutex<usize> = Mutex::new(0);

/// A store that is open, or about to be.
pub(super) struct Registered;

impl Registered {
    /// Reads the beginning of a file, unless the process has any store open: closing a file takes away
    /// the locks that the process has on it, also those of SQLite.
    pub(super) fn look_at(path: &Path) -> (Self, bool) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stamped = *open == 0 && schema::is_stamped(path).unwrap_or(false);
        *open += 1;
        (Self, is_stamped)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}
