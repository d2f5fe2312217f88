//! New entries as they land, whoever appends them: a thread of this process, another process, or
//! another machine.

use std::time::{Duration, Instant};

use crate::model::{Seq, StoredEntry};
use crate::{SessionId, SessionStore, StoreError};

/// How many entries are handed over at once, at most.
const PAGE: usize = 256;

/// New entries of a session. None is left out and none comes twice.
pub struct Follow {
    store: SessionStore,
    session: SessionId,
    after: Seq,
}

impl Follow {
    pub(crate) fn new(store: SessionStore, session: SessionId, after: Seq) -> Self {
        Self { store, session, after }
    }

    /// The number of the last entry that was handed over.
    pub fn seen(&self) -> Seq {
        self.after
    }

    /// The entries that landed since; waits for some if there are none, at most so long. Empty if
    /// nothing came.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<StoredEntry>, StoreError> {
        let deadline = Instant::now() + timeout;
        loop {
            let rows = self.store.backend.rows(&self.session, self.after, PAGE)?;
            if !rows.is_empty() {
                return self.take(rows);
            }
            // A session that was deleted has no more entries either; say so instead of waiting.
            self.store.backend.head(&self.session)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Vec::new());
            }
            self.store.backend.wait(&self.session, self.after, left)?;
        }
    }

    fn take(&mut self, rows: Vec<crate::row::Row>) -> Result<Vec<StoredEntry>, StoreError> {
        let mut entries = Vec::with_capacity(rows.len());
        for row in rows {
            let seq = row.seq;
            match row.decode() {
                Ok(entry) => entries.push(entry),
                // What is before the damage is handed over first; the next call says what is wrong.
                Err(_) if !entries.is_empty() => break,
                Err(damage) => return Err(damage.into_error(&self.session)),
            }
            self.after = seq;
        }
        Ok(entries)
    }
}
