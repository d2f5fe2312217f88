//! Backups: a store copied whole into a SQLite file and checked, and such a file copied back. The
//! chain is the same everywhere, so a copy is good if its links are. A backup has its name only once it
//! is whole and checked; a backup that is not whole is not restored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::import::ImportHold;
use crate::model::{NewRecord, Range, StoredEntry};
use crate::new_file::folder_of;
use crate::sqlite::SqliteStore;
use crate::sqlite::backup::{self, Backup};
use crate::verify::{Sealed, check_all};
use crate::{
    Import, NewFile, NewFileError, Problem, Readers, Result, SessionId, SessionStore, StoreError,
};

impl SessionStore {
    /// Copies everything into a new SQLite file while others go on writing, and checks the copy. Says how many sessions.
    pub fn backup(&self, file: &Path) -> Result<u64> {
        let real = in_real_folder(file)?;
        let new = NewFile::begin(&real, Readers::Owner).map_err(not_written)?;
        let manifest = fill(self, new.part()).map_err(|error| about_new_file(error, file))?;
        new.publish().map_err(not_written)?;
        Ok(manifest.len() as u64)
    }

    /// Copies all sessions of a backup into this store, after checking it. A session that is there already is an error,
    /// and nothing is copied. Says how many.
    pub fn restore(&self, file: &Path) -> Result<u64> {
        if !file.is_file() {
            let reason = "is no file; name a backup that `tertulia sessions backup` made";
            return Err(StoreError::bad_place(file, reason));
        }
        let opened = backup::open(file).map_err(|error| about_backup(error, file))?;
        let Backup { store: from, manifest, copy: _copy } = opened;
        let from = Self::of(from);
        check(&from, &manifest, file).map_err(|error| about_backup(error, file))?;
        for session in &manifest {
            if self.has(&session.id)? {
                return Err(StoreError::SessionExists(session.id.clone()));
            }
        }
        let imports = copy_sessions(&from, self)?;
        // What came in is compared with what was written once more: the file may have changed meanwhile.
        let expected: BTreeMap<&SessionId, &Sealed> =
            manifest.iter().map(|one| (&one.id, one)).collect();
        for (import, id) in &imports {
            let head = self.backend.head(&import.session)?;
            let is_same = expected
                .get(id)
                .is_some_and(|one| one.entries == head.seq && one.head == head.link);
            if !is_same {
                return Err(not_the_same(file));
            }
        }
        Import::finish_all(imports)?;
        Ok(manifest.len() as u64)
    }
}

fn fill(store: &SessionStore, part: &Path) -> Result<Vec<Sealed>> {
    if !store.backend.copy_to(part)? {
        let copy = SessionStore::of(SqliteStore::open_part(part)?);
        Import::finish_all(copy_sessions(store, &copy)?)?;
    }
    backup::seal(part)?;
    let Backup { store: copy, manifest, .. } = backup::open(part)?;
    let copy = SessionStore::of(copy);
    // What is damaged in the copy was so before, most likely: then the store is the one to name.
    let checked = check(&copy, &manifest, part);
    checked.map_err(|error| check_all(store).err().unwrap_or(error))?;
    Ok(manifest)
}

/// A backup writes to its new file alone, so only there can the room have run out.
fn about_new_file(error: StoreError, file: &Path) -> StoreError {
    match error {
        StoreError::SessionReadFailed { problem: problem @ Problem::DiskFull, .. }
        | StoreError::SessionWriteFailed { problem: problem @ Problem::DiskFull, .. } => {
            StoreError::FileWriteFailed { path: file.to_owned(), problem }
        }
        other => other,
    }
}

/// SQLite wants the path of a file without links in it.
fn in_real_folder(file: &Path) -> Result<PathBuf> {
    let folder = folder_of(file).canonicalize();
    let folder =
        folder.map_err(|source| not_written(NewFileError::Io { path: file.to_owned(), source }))?;
    Ok(file.file_name().map_or_else(|| file.to_owned(), |name| folder.join(name)))
}

pub(crate) fn not_written(error: NewFileError) -> StoreError {
    let problem = match error {
        NewFileError::Exists(path) => {
            let reason = "already exists and was not changed; name a new file".to_owned();
            Problem::BadPlace { path, reason }
        }
        NewFileError::Io { path, source } => {
            let problem = match source.kind() {
                std::io::ErrorKind::StorageFull => Problem::DiskFull,
                _ => Problem::Database(source.to_string()),
            };
            return StoreError::FileWriteFailed { path, problem };
        }
        other @ NewFileError::Unsupported(_) => Problem::Database(other.to_string()),
    };
    StoreError::write_failed(problem)
}

/// What is damaged in a backup is the file that was named, not the store that it is copied into.
fn about_backup(error: StoreError, file: &Path) -> StoreError {
    let what = match error {
        StoreError::SessionReadFailed {
            session: Some(session),
            problem: Problem::Damaged { place, reason, .. },
        } => format!("entry {place} of session {session}: {reason}"),
        StoreError::SessionReadFailed {
            problem: Problem::NotAStore { reason, .. } | Problem::Database(reason),
            ..
        } => reason,
        StoreError::SessionNotFound(session) => format!("it has no session {session}"),
        other => return other,
    };
    StoreError::bad_place(file, format!("is damaged or incomplete ({what}); use another backup"))
}

fn check(store: &SessionStore, manifest: &[Sealed], file: &Path) -> Result<()> {
    let mut found = check_all(store)?;
    found.sort_by(|one, other| one.id.cmp(&other.id));
    if found == manifest { Ok(()) } else { Err(not_the_same(file)) }
}

fn not_the_same(file: &Path) -> StoreError {
    let reason = "is damaged or was changed: its sessions are not those of its manifest; some are \
                  missing, or it was written to after the backup. Use another backup, or make one of \
                  it with `tertulia sessions backup`";
    StoreError::bad_place(file, reason)
}

/// Copies session by session, the one that was changed last at the end, so that lists show the same order. Nobody
/// sees them before they are finished. What lands meanwhile may or may not be in the copy; each session is a
/// beginning of itself.
fn copy_sessions(from: &SessionStore, to: &SessionStore) -> Result<Vec<(Import, SessionId)>> {
    let hold = ImportHold::take(to)?;
    let mut imports = Vec::new();
    for id in from.ids()?.into_iter().rev() {
        let mut import = Import::under(&hold)?;
        import.set_project(from.project(&id)?);
        for stored in from.entries(&id, &Range::All)? {
            let StoredEntry { entry, count, .. } = stored?;
            import.push_new(&NewRecord { entry, count })?;
        }
        import.flush()?;
        imports.push((import, id));
    }
    Ok(imports)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    #[test]
    fn a_full_disk_is_told_of_the_new_file() {
        let told = |error| about_new_file(error, Path::new("copy.db")).to_string();
        let expected = "cannot write copy.db: the disk is full; make room and try again";
        let (outcome, problem) = (Outcome::NotStored, Problem::DiskFull);
        let session = "importing:1:2".parse::<SessionId>().ok();
        let read = StoreError::SessionReadFailed { session: None, problem: problem.clone() };
        assert_eq!(told(read), expected);
        assert_eq!(told(StoreError::SessionWriteFailed { session, outcome, problem }), expected);
        let source = std::io::ErrorKind::StorageFull.into();
        let new = not_written(NewFileError::Io { path: "copy.db".into(), source });
        assert_eq!(new.to_string(), expected);
        assert!(new.is_retryable());
    }
}
