//! Backups: copies a whole store into a SQLite file, checks it, and restores such a file. A session has the same
//! chain of hashes in every store, so a copy can be checked by its chain. A backup gets its name only when it is
//! complete and checked, and an incomplete backup is never restored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::import::ImportLock;
use crate::model::{NewRecord, Range, StoredEntry};
use crate::new_file::folder_of;
use crate::sqlite::SqliteStore;
use crate::sqlite::backup_file::{self, Backup};
use crate::verify::{ManifestEntry, check_all};
use crate::{
    Import, NewFile, NewFileError, Problem, Readers, Result, SessionId, SessionStore, StoreError,
};

impl SessionStore {
    /// Copies everything into a new SQLite file while others keep writing, and checks the copy.
    /// Returns the number of sessions.
    pub fn backup(&self, file: &Path) -> Result<u64> {
        let real = with_resolved_folder(file)?;
        let new = NewFile::begin(&real, Readers::Owner).map_err(not_written)?;
        let manifest = fill(self, new.part()).map_err(|error| about_new_file(error, file))?;
        new.publish().map_err(not_written)?;
        Ok(manifest.len() as u64)
    }

    /// Checks a backup and copies all its sessions into this store. If one of them already exists,
    /// fails and copies nothing. Returns the number of sessions.
    pub fn restore(&self, file: &Path) -> Result<u64> {
        if !file.is_file() {
            let reason = "is not a file; name a backup that `tertulia sessions backup` made";
            return Err(StoreError::unusable_path(file, reason));
        }
        let opened = backup_file::open(file).map_err(|error| about_backup(error, file))?;
        let Backup { store: from, manifest, copy: _copy } = opened;
        let from = Self::from_backend(from);
        check(&from, &manifest, file).map_err(|error| about_backup(error, file))?;
        for session in &manifest {
            if self.has(&session.id)? {
                return Err(StoreError::SessionExists(session.id.clone()));
            }
        }
        let imports = copy_sessions(&from, self)?;
        // The imported sessions are compared with the manifest again, because the file may have changed meanwhile.
        let expected: BTreeMap<&SessionId, &ManifestEntry> =
            manifest.iter().map(|one| (&one.id, one)).collect();
        for (import, id) in &imports {
            let status = self.backend.status(&import.session)?;
            let is_same = expected
                .get(id)
                .is_some_and(|one| one.entries == status.seq && one.chain_hash == status.link);
            if !is_same {
                return Err(not_the_same(file));
            }
        }
        Import::finish_all(imports)?;
        Ok(manifest.len() as u64)
    }
}

fn fill(store: &SessionStore, part: &Path) -> Result<Vec<ManifestEntry>> {
    if !store.backend.copy_to(part)? {
        let copy = SessionStore::from_backend(SqliteStore::open_part(part)?);
        Import::finish_all(copy_sessions(store, &copy)?)?;
    }
    backup_file::finish(part)?;
    let Backup { store: copy, manifest, .. } = backup_file::open(part)?;
    let copy = SessionStore::from_backend(copy);
    // Damage in the copy was most likely already in the store, so the error should name the store.
    let checked = check(&copy, &manifest, part);
    checked.map_err(|error| check_all(store).err().unwrap_or(error))?;
    Ok(manifest)
}

/// Turns a full disk into an error about the new file, which is the only file that a backup writes.
fn about_new_file(error: StoreError, file: &Path) -> StoreError {
    match error {
        StoreError::SessionReadFailed { problem: problem @ Problem::DiskFull, .. }
        | StoreError::SessionWriteFailed { problem: problem @ Problem::DiskFull, .. } => {
            StoreError::FileWriteFailed { path: file.to_owned(), problem }
        }
        other => other,
    }
}

/// Resolves the folder of a file, because SQLite requires a path without symbolic links.
fn with_resolved_folder(file: &Path) -> Result<PathBuf> {
    let folder = folder_of(file).canonicalize();
    let folder =
        folder.map_err(|source| not_written(NewFileError::Io { path: file.to_owned(), source }))?;
    Ok(file.file_name().map_or_else(|| file.to_owned(), |name| folder.join(name)))
}

pub(crate) fn not_written(error: NewFileError) -> StoreError {
    let problem = match error {
        NewFileError::Exists(path) => {
            let reason = "already exists and was not changed; name a new file".to_owned();
            Problem::UnusablePath { path, reason }
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

/// Turns an error into one about the named file. Otherwise damage in a backup would be reported as damage in the
/// store that is restored.
fn about_backup(error: StoreError, file: &Path) -> StoreError {
    let what = match error {
        StoreError::SessionReadFailed {
            session: Some(session),
            problem: Problem::Damaged { seq, reason, .. },
        } => format!("entry {seq} of session {session}: {reason}"),
        StoreError::SessionReadFailed {
            problem: Problem::NotAStore { reason, .. } | Problem::Database(reason),
            ..
        } => reason,
        StoreError::SessionNotFound(session) => format!("it has no session {session}"),
        other => return other,
    };
    StoreError::unusable_path(
        file,
        format!("is damaged or incomplete ({what}); use another backup"),
    )
}

fn check(store: &SessionStore, manifest: &[ManifestEntry], file: &Path) -> Result<()> {
    let mut found = check_all(store)?;
    found.sort_by(|one, other| one.id.cmp(&other.id));
    if found == manifest { Ok(()) } else { Err(not_the_same(file)) }
}

fn not_the_same(file: &Path) -> StoreError {
    let reason = "is damaged or was changed: its sessions differ from its manifest, because some \
        are missing or it was changed after the backup. Use another backup, or make a backup of it \
        with `tertulia sessions backup`";
    StoreError::unusable_path(file, reason)
}

/// Copies all sessions, the most recently changed one last, so that lists keep their order. The copies stay hidden
/// until they are finished. Entries that are appended meanwhile may be missing in the copy. Each copied session is a
/// prefix of its original.
fn copy_sessions(from: &SessionStore, to: &SessionStore) -> Result<Vec<(Import, SessionId)>> {
    let lock = ImportLock::acquire(to)?;
    let mut imports = Vec::new();
    for id in from.ids()?.into_iter().rev() {
        let mut import = Import::under(&lock)?;
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
    fn a_full_disk_is_reported_for_the_new_file() {
        let reported = |error| about_new_file(error, Path::new("copy.db")).to_string();
        let expected = "cannot write copy.db: the disk is full; free some space and try again";
        let (outcome, problem) = (Outcome::NotStored, Problem::DiskFull);
        let session = "importing:1:2".parse::<SessionId>().ok();
        let read = StoreError::SessionReadFailed { session: None, problem: problem.clone() };
        assert_eq!(reported(read), expected);
        assert_eq!(
            reported(StoreError::SessionWriteFailed { session, outcome, problem }),
            expected
        );
        let source = std::io::ErrorKind::StorageFull.into();
        let new = not_written(NewFileError::Io { path: "copy.db".into(), source });
        assert_eq!(new.to_string(), expected);
        assert!(new.is_retryable());
    }
}
