//! Backups: a store copied whole into a SQLite file and checked, and such a file copied back. The
//! chain is the same everywhere, so a copy is good if its links are.

use std::path::Path;

use crate::model::{ListFilter, NewRecord, NewSession, Range};
use crate::{Import, Problem, SessionStore, StoreError, StoreUrl};

/// Copies all sessions into a new file. Says how many.
pub(crate) fn backup(store: &SessionStore, file: &Path) -> Result<u64, StoreError> {
    let refuse = |reason: &str| {
        let problem = Problem::BadPlace { path: file.to_owned(), reason: reason.to_owned() };
        StoreError::SessionReadFailed { session: None, problem }
    };
    if file.symlink_metadata().is_ok() {
        return Err(refuse("is there already; name a new file"));
    }
    let copied = copy_and_check(store, file);
    if copied.is_err() {
        // Half a backup must not be taken for one.
        let _ = std::fs::remove_file(file);
    }
    copied
}

fn copy_and_check(store: &SessionStore, file: &Path) -> Result<u64, StoreError> {
    if !store.backend.copy_to(file)? {
        let copy = SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))?;
        copy_sessions(store, &copy)?;
    }
    let copy = SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))?;
    // What is damaged in the copy was so before, most likely: then the store is the one to name.
    check_all(&copy).map_err(|error| check_all(store).err().unwrap_or(error))
}

/// Copies the sessions of a backup into a store. Says how many.
pub(crate) fn restore(store: &SessionStore, file: &Path) -> Result<u64, StoreError> {
    if !file.is_file() {
        let reason = "is no file; name a backup that `tertulia sessions backup` made".to_owned();
        let problem = Problem::BadPlace { path: file.to_owned(), reason };
        return Err(StoreError::SessionReadFailed { session: None, problem });
    }
    let from = SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))?;
    check_all(&from)?;
    for session in from.list(&ListFilter::default())? {
        if store.has(&session.id)? {
            return Err(StoreError::SessionExists(session.id));
        }
    }
    copy_sessions(&from, store)
}

/// Checks the database and every session in it.
fn check_all(store: &SessionStore) -> Result<u64, StoreError> {
    if let Some(reason) = store.check()?.into_iter().next() {
        let problem = Problem::NotAStore { place: store.place(), reason };
        return Err(StoreError::SessionReadFailed { session: None, problem });
    }
    let sessions = store.list(&ListFilter::default())?;
    for session in &sessions {
        if let Some(damage) = store.verify(&session.id)?.damage {
            return Err(damage.into_error(&session.id));
        }
    }
    Ok(sessions.len() as u64)
}

/// Copies session by session, the one that was changed last at the end, so that lists show the same
/// order. What lands meanwhile may or may not be in the copy; each session is a beginning of itself.
fn copy_sessions(from: &SessionStore, to: &SessionStore) -> Result<u64, StoreError> {
    let mut sessions = from.list(&ListFilter::default())?;
    sessions.reverse();
    for session in &sessions {
        let mut import = Import::begin(to)?;
        for stored in from.entries(&session.id, &Range::All)? {
            let stored = stored?;
            import.push_new(NewRecord { entry: stored.entry, count: stored.count })?;
        }
        let copied = import.finish(&NewSession { id: Some(session.id.clone()) })?;
        let whole = from.verify(&session.id)?;
        if copied.entries == whole.entries && copied.head != whole.head {
            let reason = "the copy is not what was copied".to_owned();
            let problem = Problem::NotAStore { place: to.place(), reason };
            return Err(StoreError::SessionReadFailed { session: None, problem });
        }
    }
    Ok(sessions.len() as u64)
}
