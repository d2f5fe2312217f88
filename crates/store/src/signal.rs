//! Wakes the followers of a session when something may have been stored. Notifications can get lost, and other
//! processes write to a file without sending one, so a follower must also check periodically.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::SessionId;

#[derive(Default)]
pub(crate) struct Signal {
    watched: Mutex<BTreeMap<String, Notices>>,
    changed: Condvar,
}

#[derive(Default)]
struct Notices {
    waiting: usize,
    count: u64,
}

/// A waiting follower. It is registered before the first check, so that no change between two checks is missed.
pub(crate) struct Watch<'s> {
    signal: &'s Signal,
    session: String,
    before: u64,
}

impl Signal {
    fn watched(&self) -> MutexGuard<'_, BTreeMap<String, Notices>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn raise_for(&self, session: &str) {
        if let Some(notices) = self.watched().get_mut(session) {
            notices.count += 1;
            self.changed.notify_all();
        }
    }

    /// Wakes all followers, because any session may have changed. If there are no followers, it makes no system
    /// call.
    pub(crate) fn raise(&self) {
        let mut watched = self.watched();
        watched.values_mut().for_each(|notices| notices.count += 1);
        let is_watched = !watched.is_empty();
        drop(watched);
        if is_watched {
            self.changed.notify_all();
        }
    }

    pub(crate) fn watch(&self, session: &SessionId) -> Watch<'_> {
        let session = session.as_str().to_owned();
        let mut watched = self.watched();
        let notices = watched.entry(session.clone()).or_default();
        notices.waiting += 1;
        Watch { signal: self, before: notices.count, session }
    }
}

impl Watch<'_> {
    pub(crate) fn wait(&self, timeout: Duration) {
        let watched = self.signal.watched();
        let quiet = |watched: &mut BTreeMap<String, Notices>| {
            watched.get(&self.session).is_some_and(|notices| notices.count == self.before)
        };
        drop(self.signal.changed.wait_timeout_while(watched, timeout, quiet));
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watched = self.signal.watched();
        if let Some(notices) = watched.get_mut(&self.session) {
            notices.waiting -= 1;
            if notices.waiting == 0 {
                watched.remove(&self.session);
            }
        }
    }
}
