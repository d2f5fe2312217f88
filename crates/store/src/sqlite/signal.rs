//! Tells those who follow a session that something was stored by this process. What other processes
//! store is found by looking again after a moment.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// So long is waited before looking for what other processes stored.
const LOOK: Duration = Duration::from_millis(20);

/// A bell that rings for everybody who waits.
#[derive(Default)]
pub(super) struct Signal {
    rings: Mutex<u64>,
    rung: Condvar,
}

impl Signal {
    pub(super) fn raise(&self) {
        *self.rings.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.rung.notify_all();
    }

    /// Waits for the bell, or for the moment to look anyway.
    pub(super) fn wait(&self, timeout: Duration) {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *rings;
        let quiet = |rings: &mut u64| *rings == before;
        let waited = self.rung.wait_timeout_while(rings, timeout.min(LOOK), quiet);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
