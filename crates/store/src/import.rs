//! A whole log from elsewhere, entry by entry and in constant memory. It fills a session that nobody
//! sees until it is finished; if it fails or is dropped, nothing is left behind.

use tertulia_session::Entry;

use crate::backend::{Backend, State};
use crate::model::{NewRecord, NewSession, SessionInfo};
use crate::plan::Batch;
use crate::row::Prepared;
use crate::store::{chance, now_millis};
use crate::{SessionId, SessionStore, StoreError};

/// How many entries are stored at once.
const BATCH_ENTRIES: usize = 1000;
/// How many bytes of entries wait in memory, about.
const BATCH_BYTES: usize = 4 << 20;
/// An import that stored nothing for so long is dead.
const FORGOTTEN_MILLIS: i64 = 10 * 60 * 1000;

/// An import that goes on.
pub struct Import {
    store: SessionStore,
    session: SessionId,
    waiting: Vec<Prepared>,
    waiting_bytes: usize,
    is_done: bool,
}

impl Import {
    /// Begins an import. Those that a killed process left behind are taken away first.
    pub fn begin(store: &SessionStore) -> Result<Self, StoreError> {
        let now = now_millis();
        sweep(&*store.backend, now)?;
        let session = SessionId::made(now, chance());
        let nothing = Batch { records: Vec::new(), expected_tail: None };
        store.backend.create(&session, now, State::Importing, nothing)?;
        let (waiting, waiting_bytes) = (Vec::new(), 0);
        Ok(Self { store: store.clone(), session, waiting, waiting_bytes, is_done: false })
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.push_new(entry.into())
    }

    /// Takes the next entry, with what is known of it.
    pub fn push_new(&mut self, new: NewRecord) -> Result<(), StoreError> {
        // Made ready at once: what waits is then as small as it will be on disk, and its size known.
        let prepared = Prepared::new(&self.session, new).map_err(StoreError::unnamed)?;
        self.waiting_bytes += prepared.record.body.len();
        self.waiting.push(prepared);
        if self.waiting.len() >= BATCH_ENTRIES || self.waiting_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.waiting_bytes = 0;
        let records = std::mem::take(&mut self.waiting);
        if records.is_empty() {
            return Ok(());
        }
        let batch = Batch { records, expected_tail: None };
        self.store.backend.append(&self.session, batch).map_err(StoreError::unnamed)?;
        Ok(())
    }

    /// Shows the session under its id, or under one that is made.
    pub fn finish(mut self, new: &NewSession) -> Result<SessionInfo, StoreError> {
        self.flush()?;
        let made = || SessionId::made(now_millis(), chance());
        let id = new.id.clone().unwrap_or_else(made);
        self.store.backend.publish(&self.session, &id)?;
        self.is_done = true;
        self.store.info(&id)
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        if !self.is_done {
            // If this fails too, the next import takes it away.
            let _ = self.store.backend.delete(&self.session);
        }
    }
}

fn sweep(backend: &dyn Backend, now: i64) -> Result<(), StoreError> {
    let forgotten = backend.forgotten_imports(now - FORGOTTEN_MILLIS, now + FORGOTTEN_MILLIS)?;
    forgotten.iter().try_for_each(|session| backend.delete(session))
}
