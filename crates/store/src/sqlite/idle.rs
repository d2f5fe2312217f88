//! The thread that deletes what killed imports left when the store is first written to, and fills the
//! search index behind the appends when nobody has appended for a moment. It also closes the view of the last append.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::desk::Desk;
use super::sweep::{self, StepSize};
use super::words;
use super::writer::lock;
use crate::{Problem, StoreError};

/// After so long without an append the view of the last one is closed.
const PAUSE: Duration = Duration::from_millis(50);
/// After so many pauses in a row the index is filled.
const QUIET: u32 = 10;
/// How many entries it takes in before it looks whether somebody appends.
const CHUNK: usize = 128;

/// The thread, from outside. It ends when this is dropped.
pub(super) struct Idle {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    desk: Arc<Mutex<Desk>>,
}

#[derive(Default)]
struct State {
    appends: u64,
    is_over: bool,
}

impl Idle {
    pub(super) fn start(desk: Arc<Mutex<Desk>>) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), desk });
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

    /// Something was appended. Nobody is woken: the thread looks by itself when it is time.
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
    /// Deletes what killed imports and deletions left, a step at a time; others write in between. Whoever closes
    /// the store waits for it: the next process might do no more than this one.
    fn sweep(&self) {
        let keys = {
            let desk = lock(&self.desk);
            sweep::left_keys(desk.connection(), desk.path()).unwrap_or_default()
        };
        for key in keys {
            let hide = |desk: &mut Desk| sweep::hide_left(desk.connection(), key);
            let mut is_left = self.step(hide);
            while is_left {
                let size = StepSize::USUAL;
                is_left = self.step(|desk| sweep::delete_some(desk.connection(), key, size));
                thread::yield_now();
            }
            {
                let mut desk = lock(&self.desk);
                desk.holds_purged();
                desk.clean_journal();
            }
            self.step(|desk| sweep::forget(desk.connection(), key).map(|()| false));
        }
    }

    /// One transaction; `false` if it failed: whoever writes next tries again.
    fn step(&self, change: impl FnOnce(&mut Desk) -> rusqlite::Result<bool>) -> bool {
        let mut desk = lock(&self.desk);
        let changed = desk.transaction(change);
        desk.forget();
        desk.tidy_journal();
        changed.unwrap_or(false)
    }

    fn run(&self) {
        self.sweep();
        let mut fills_index = true;
        while let Some(appends) = self.wait_for_quiet() {
            let mut desk = lock(&self.desk);
            desk.close_view();
            desk.clean_journal();
            if fills_index && words::is_behind(desk.connection()).unwrap_or(false) {
                let taken = desk.transaction(|desk| words::index_some(desk.connection(), CHUNK));
                desk.forget();
                desk.tidy_journal();
                // Whoever searches is told of an error; here nobody listens.
                fills_index = taken.is_ok();
                continue;
            }
            drop(desk);
            // Sleeps until something is appended, unless something was.
            let mut state = lock(&self.state);
            if state.appends == appends {
                state.appends = 0;
            }
        }
    }

    /// Waits until something was appended and nothing more came for a moment. Gives the count of appends;
    /// `None` at the end.
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
                // Whoever appends takes the two locks one after the other.
                drop(state);
                lock(&self.desk).close_view();
                state = lock(&self.state);
                if state.appends != seen {
                    pauses = 0;
                }
            }
        }
    }
}
