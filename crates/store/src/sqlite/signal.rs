//! Tells those who follow a session that something was stored by this process. What other processes
//! store is found by looking again after a moment.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// So long is waited before looking for what other processes stored.
const LOOK: Duration = Duration::from_millis(20);

/// A bell that rings for everybody who waits.
#[derive(Default)]
pub(super) struct Signal {
    bell: Mutex<Bell>,
    rung: Condvar,
}

#[derive(Default)]
struct Bell {
    rings: u64,
    /// How many wait; where nobody does, the system need not be asked.
    waiting: u32,
}

impl Signal {
    pub(super) fn raise(&self) {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        bell.rings += 1;
        let is_heard = bell.waiting > 0;
        drop(bell);
        if is_heard {
            self.rung.notify_all();
        }
    }

    /// Waits for the bell, or for the moment to look anyway.
    pub(super) fn wait(&self, timeout: Duration) {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        let before = bell.rings;
        bell.waiting += 1;
        let quiet = |bell: &mut Bell| bell.rings == before;
        let waited = self.rung.wait_timeout_while(bell, timeout.min(LOOK), quiet);
        let mut bell = waited.unwrap_or_else(PoisonError::into_inner).0;
        bell.waiting -= 1;
    }
}
