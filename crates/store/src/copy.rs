//! Backups: a store copied whole into a SQLite file and checked, and such a file copied back. The
//! chain is the same everywhere, so a copy is good if its links are. A backup has its name only once it
//! is whole and checked; a backup that is not whole is not restored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::import::ImportHold;
use crate::model::{ListFilter, NewRecord, Range};
use crate::sqlite::SqliteStore;
use crate::sqlite::backup::{self, Sealed};
use crate::{
    Import, NewFile, NewFileError, Outcome, Problem, Readers, SessionId, SessionStore, StoreError,
};

/// Copies all sessions into a new file. Says how many.
pub(crate) fn backup(store: &SessionStore, file: &Path) -> Result<u64, StoreError> {
    let file = in_real_folder(file)?;
    let new = NewFile::begin(&file, Readers::Owner).map_err(not_written)?;
    if !store.backend.copy_to(new.part())? {
        let copy = SessionStore::of(SqliteStore::open_part(new.part())?);
        let imports = copy_sessions(store, &sessions_of(store)?, &copy)?;
        Import::finish_all(imports)?;
    }
    backup::seal(new.part())?;
    let (copy, manifest, _) = backup::open(new.part())?.into_parts();
    let copy = SessionStore::of(copy);
    // What is damaged in the copy was so before, most likely: then the store is the one to name.
    let checked = check(&copy, &manifest);
    checked.map_err(|error| check_all(store).err().unwrap_or(error))?;
    drop(copy);
    new.publish().map_err(not_written)?;
    Ok(manifest.len() as u64)
}

/// SQLite wants the path of a file without links in it.
fn in_real_folder(file: &Path) -> Result<PathBuf, StoreError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder
        .unwrap_or(Path::new("."))
        .canonicalize()
        .map_err(|source| not_written(NewFileError::Io { path: file.to_owned(), source }))?;
    Ok(file.file_name().map_or_else(|| file.to_owned(), |name| folder.join(name)))
}

pub(crate) fn not_written(error: NewFileError) -> StoreError {
    let problem = match error {
        NewFileError::Exists(path) => {
            let reason = "already exists and was not changed; name a new file".to_owned();
            Problem::BadPlace { path, reason }
        }
        NewFileError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
            Problem::DiskFull
        }
        other => Problem::Database(other.to_string()),
    };
    StoreError::SessionWriteFailed { session: None, outcome: Outcome::NotStored, problem }
}

/// Copies the sessions of a backup into a store: all of them, or none. Says how many.
pub(crate) fn restore(store: &SessionStore, file: &Path) -> Result<u64, StoreError> {
    if !file.is_file() {
        let reason = "is no file; name a backup that `tertulia sessions backup` made".to_owned();
        let problem = Problem::BadPlace { path: file.to_owned(), reason };
        return Err(StoreError::SessionReadFailed { session: None, problem });
    }
    let (from, manifest, _copy) = backup::open(file)?.into_parts();
    let from = SessionStore::of(from);
    check(&from, &manifest)?;
    for session in &manifest {
        if store.has(&session.id)? {
            return Err(StoreError::SessionExists(session.id.clone()));
        }
    }
    let imports = copy_sessions(&from, &sessions_of(&from)?, store)?;
    // What came in is compared with what was written once more: the file may have changed meanwhile.
    let expected: BTreeMap<&SessionId, &Sealed> =
        manifest.iter().map(|one| (&one.id, one)).collect();
    for (import, id) in &imports {
        let head = store.backend.head(import.hidden())?;
        let is_same =
            expected.get(id).is_some_and(|one| one.entries == head.seq && one.head == head.link);
        if !is_same {
            return Err(not_the_same(&from));
        }
    }
    Import::finish_all(imports)?;
    Ok(manifest.len() as u64)
}

/// Checks the database, every session in it, and that these are the ones of the manifest.
fn check(store: &SessionStore, manifest: &[Sealed]) -> Result<(), StoreError> {
    let mut found = check_all(store)?;
    found.sort_by(|one, other| one.id.cmp(&other.id));
    if found == manifest { Ok(()) } else { Err(not_the_same(store)) }
}

fn not_the_same(store: &SessionStore) -> StoreError {
    let reason = "its sessions are not those of its manifest: some are missing, or it was written to \
                  after the backup; use another backup, or make one of it with `tertulia sessions \
                  backup`";
    let problem = Problem::NotAStore { place: store.place(), reason: reason.to_owned() };
    StoreError::SessionReadFailed { session: None, problem }
}

/// Checks the database and every session in it. Gives the sessions.
pub(crate) fn check_all(store: &SessionStore) -> Result<Vec<Sealed>, StoreError> {
    if let Some(reason) = store.check()?.into_iter().next() {
        let problem = Problem::NotAStore { place: store.place(), reason };
        return Err(StoreError::SessionReadFailed { session: None, problem });
    }
    let mut sessions = Vec::new();
    for id in store.ids()? {
        let verified = store.verify(&id)?;
        if let Some(damage) = verified.damage {
            return Err(damage.into_error(&id));
        }
        sessions.push(Sealed { id, entries: verified.entries, head: verified.head });
    }
    Ok(sessions)
}

/// The one that was changed last at the end, so that lists show the same order.
fn sessions_of(store: &SessionStore) -> Result<Vec<SessionId>, StoreError> {
    let heads = store.backend.heads(&ListFilter::default())?;
    Ok(heads.into_iter().rev().map(|head| head.id).collect())
}

/// Copies session by session; nobody sees them before they are finished. What lands meanwhile may or
/// may not be in the copy; each session is a beginning of itself.
fn copy_sessions(
    from: &SessionStore,
    sessions: &[SessionId],
    to: &SessionStore,
) -> Result<Vec<(Import, SessionId)>, StoreError> {
    let hold: Arc<ImportHold> = ImportHold::take(to)?;
    let mut imports = Vec::with_capacity(sessions.len());
    for id in sessions {
        let mut import = Import::under(&hold)?;
        import.set_project(from.project(id)?);
        for stored in from.entries(id, &Range::All)? {
            let stored = stored?;
            import.push_new(NewRecord { entry: stored.entry, count: stored.count })?;
        }
        import.flush()?;
        imports.push((import, id.clone()));
    }
    Ok(imports)
}
