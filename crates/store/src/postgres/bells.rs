//! Tells those who follow a session that something may have been stored. The bells are rung by the
//! connection that listens; whoever waits looks by itself after a moment, so that nothing hangs on a
//! notice that was lost.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::SessionId;

/// So long is waited before looking anyway.
const LOOK: Duration = Duration::from_millis(500);

/// A bell for each session that somebody follows.
#[derive(Default)]
pub(super) struct Bells {
    watched: Mutex<BTreeMap<String, Bell>>,
    rung: Condvar,
}

#[derive(Default)]
struct Bell {
    /// How many wait for it.
    waiting: usize,
    rings: u64,
}

/// Somebody who waits, from before the first look on, so that nothing falls between two looks.
pub(super) struct Watch<'b> {
    bells: &'b Bells,
    session: String,
    before: u64,
}

impl Bells {
    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, Bell>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was stored in this session.
    pub(super) fn ring(&self, session: &str) {
        let mut watched = self.watched();
        if let Some(bell) = watched.get_mut(session) {
            bell.rings += 1;
            self.rung.notify_all();
        }
    }

    /// Something may have been stored anywhere.
    pub(super) fn ring_all(&self) {
        self.watched().values_mut().for_each(|bell| bell.rings += 1);
        self.rung.notify_all();
    }

    pub(super) fn watch(&self, session: &SessionId) -> Watch<'_> {
        let session = session.as_str().to_owned();
        let mut watched = self.watched();
        let bell = watched.entry(session.clone()).or_default();
        bell.waiting += 1;
        Watch { bells: self, before: bell.rings, session }
    }
}

impl Watch<'_> {
    /// Waits for the bell, or for the moment to look anyway.
    pub(super) fn wait(&self, timeout: Duration) {
        let watched = self.bells.watched();
        let quiet = |watched: &mut BTreeMap<String, Bell>| {
            watched.get(&self.session).is_some_and(|bell| bell.rings == self.before)
        };
        let waited = self.bells.rung.wait_timeout_while(watched, timeout.min(LOOK), quiet);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watched = self.bells.watched();
        if let Some(bell) = watched.get_mut(&self.session) {
            bell.waiting -= 1;
            if bell.waiting == 0 {
                watched.remove(&self.session);
            }
        }
    }
}
