//! The stored sessions behind the rpc door: the store, opened when a method needs it, and the logs of the
//! sessions that contexts were built from, so that the next build reads only what is new.

use tertulia_store::{Problem, SessionId, SessionStore, StoreError, StoreUrl};

use crate::stored_log::StoredLog;

/// How many logs are kept in memory; the one that was used longest ago goes first.
const LOGS_KEPT: usize = 8;

pub(super) struct Sessions {
    /// Or why no place is known, which is told to whoever asks for a session.
    url: Result<StoreUrl, String>,
    store: Option<SessionStore>,
    /// The one that was used last is the last.
    kept: Vec<(SessionId, StoredLog)>,
}

impl Sessions {
    pub(super) fn new(url: Result<StoreUrl, String>) -> Self {
        Self { url, store: None, kept: Vec::new() }
    }

    pub(super) fn store(&mut self) -> Result<SessionStore, StoreError> {
        if let Some(store) = &self.store {
            return Ok(store.clone());
        }
        let url = self.url.as_ref().map_err(|why| {
            let problem = Problem::Database(why.clone());
            StoreError::SessionReadFailed { session: None, problem }
        })?;
        let store = SessionStore::open(url)?;
        self.store = Some(store.clone());
        Ok(store)
    }

    /// Does something with the log of a session as it is now.
    pub(super) fn with_log<T>(
        &mut self,
        session: &SessionId,
        work: impl FnOnce(&mut StoredLog) -> T,
    ) -> Result<T, StoreError> {
        let store = self.store()?;
        // Taken out meanwhile: a log that cannot be read any more is not kept.
        let kept = self.kept.iter().position(|(id, _)| id == session);
        let (mut log, is_new) = match kept.map(|place| self.kept.remove(place)) {
            Some((_, mut log)) => {
                log.catch_up(&store)?;
                (log, false)
            }
            None => (StoredLog::load(&store, session)?, true),
        };
        let done = work(&mut log);
        // Once, since it looks at every entry; what is new later stays in memory, with the log.
        if is_new && let Err(error) = log.store_counts(&store) {
            tracing::debug!("the counts of tokens were not stored: {error}");
        }
        if self.kept.len() >= LOGS_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((session.clone(), log));
        Ok(done)
    }
}
