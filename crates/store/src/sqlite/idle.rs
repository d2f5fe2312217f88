//! The background thread of a writer. When the store is first written to, it deletes what interrupted imports left.
//! After a pause in the appends it closes the read snapshot, and later fills the search index.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::hidden_sessions::{self, StepSize};
use super::search_index;
use super::write_connection::WriteConnection;
use super::writer::lock;
use crate::{Problem, StoreError};

/// The read snapshot of the last append is closed after this long without an append.
const PAUSE: Duration = Duration::from_millis(50);
/// The index is filled after this many pauses in a row.
const QUIET: u32 = 10;
/// The number of entries that are indexed before the next check for new appends.
const CHUNK: usize = 128;

/// A handle of the thread. Dropping it ends the thread.
pub(super) struct Idle {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    writer: Arc<Mutex<WriteConnection>>,
}

#[derive(Default)]
struct State {
    appends: u64,
    is_over: bool,
}

impl Idle {
    pub(super) fn start(writer: Arc<Mutex<WriteConnection>>) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), writer });
        let thread = thread::Builder::new().name("tertulia-index".to_owned());
        let thread = thread.spawn({
            let shared = Arc::clone(&shared);
            move || shared.run()
        });
        let thread = thread.map_err(|error| {
            let reason = format!("no thread can be started: {error}");
            StoreError::write_failed(Problem::Database(reason))
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Reports an append. The thread is woken only if it sleeps; otherwise it checks by itself.
    pub(super) fn wake(&self) {
        let mut state = lock(&self.shared.state);
        state.appends += 1;
        let first = state.appends == 1;
        drop(state);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        lock(&self.shared.state).is_over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Deletes what interrupted imports and deletions left, in steps between which others can write. Closing the
    /// store waits until everything is deleted. Otherwise short-lived processes might never finish it.
    fn delete_leftovers(&self) {
        let keys = {
            let writer = lock(&self.writer);
            hidden_sessions::leftover_keys(writer.connection(), writer.path()).unwrap_or_default()
        };
        for key in keys {
            let hide = |writer: &mut WriteConnection| {
                hidden_sessions::hide_leftover(writer.connection(), key)
            };
            let mut is_left = self.step(hide);
            while is_left {
                let size = StepSize::USUAL;
                is_left = self
                    .step(|writer| hidden_sessions::delete_some(writer.connection(), key, size));
                thread::yield_now();
            }
            {
                let mut writer = lock(&self.writer);
                writer.holds_purged();
                writer.clean_journal();
            }
            self.step(|writer| hidden_sessions::forget(writer.connection(), key).map(|()| false));
        }
    }

    /// Runs one transaction. Returns `false` if it failed, so that the next writer tries again.
    fn step(&self, change: impl FnOnce(&mut WriteConnection) -> rusqlite::Result<bool>) -> bool {
        let mut writer = lock(&self.writer);
        let changed = writer.transaction(change);
        writer.forget();
        writer.checkpoint_long_journal();
        changed.unwrap_or(false)
    }

    fn run(&self) {
        self.delete_leftovers();
        let mut fills_index = true;
        while let Some(appends) = self.wait_for_quiet() {
            let mut writer = lock(&self.writer);
            writer.close_snapshot();
            writer.clean_journal();
            if fills_index && search_index::is_behind(writer.connection()).unwrap_or(false) {
                let taken = writer
                    .transaction(|writer| search_index::index_some(writer.connection(), CHUNK));
                writer.forget();
                writer.checkpoint_long_journal();
                // A search reports this error; nobody would see it here.
                fills_index = taken.is_ok();
                continue;
            }
            drop(writer);
            // Sleeps until the next append, unless there was one meanwhile.
            let mut state = lock(&self.state);
            if state.appends == appends {
                state.appends = 0;
            }
        }
    }

    /// Waits until something was appended, and then until nothing is appended for a while. Returns the number of
    /// appends; `None` if the thread must end.
    fn wait_for_quiet(&self) -> Option<u64> {
        let mut state = lock(&self.state);
        let mut pauses = 0;
        loop {
            if state.is_over {
                return None;
            }
            let seen = state.appends;
            if seen == 0 {
                let quiet = |state: &mut State| state.appends == 0 && !state.is_over;
                let waited = self.changed.wait_while(state, quiet);
                state = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
                continue;
            }
            let goes_on = |state: &mut State| !state.is_over;
            let waited = self.changed.wait_timeout_while(state, PAUSE, goes_on);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
            pauses = if state.appends == seen { pauses + 1 } else { 0 };
            if state.is_over || pauses == 0 {
                continue;
            }
            if pauses == QUIET {
                return Some(seen);
            }
            if pauses == 1 {
                // The lock is released first, because an appender takes the two locks one after the other.
                drop(state);
                lock(&self.writer).close_snapshot();
                state = lock(&self.state);
                if state.appends != seen {
                    pauses = 0;
                }
            }
        }
    }
}
