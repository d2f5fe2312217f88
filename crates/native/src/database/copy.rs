//! A copy of a database for reading. Nothing of it remains, even if the process is killed, because its files are
//! removed as soon as SQLite has opened them. A process that is killed earlier leaves a folder that no process locks.
//! The next process that looks for databases removes this folder.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Prefix of the names of folders with copies.
const PREFIX: &str = "tertulia-native-";
/// The lock file in such a folder.
const LOCK: &str = "lock";

/// A folder with the copy of a database.
#[derive(Debug)]
pub(super) struct Copy {
    folder: PathBuf,
    /// Keeps other processes from removing the folder.
    _lock: File,
}

impl Drop for Copy {
    fn drop(&mut self) {
        // If the removal fails, the next process removes the folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Copy {
    /// Copies a database and its journal into the temporary folder.
    pub(super) fn of(path: &Path, temporary: &Path) -> io::Result<Self> {
        let copy = Self::begin(temporary)?;
        let file = copy.file();
        fs::copy(path, &file)?;
        match fs::copy(side_path(path, "-wal"), side_path(&file, "-wal")) {
            // The journal was emptied and removed meanwhile. The caller detects that the database changed.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => drop(copied?),
        }
        Ok(copy)
    }

    /// Returns the file of the database.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.join("copy.db")
    }

    /// Creates a folder that only this user can read, and locks it.
    fn begin(temporary: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = temporary.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                // An earlier process with the same process id left this folder.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                created => created?,
            }
            let lock = File::create_new(folder.join(LOCK));
            // Another process may remove the folder before the lock is held.
            let lock = match lock {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                lock => lock?,
            };
            let is_held = !matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            if is_held && folder.join(LOCK).exists() {
                return Ok(Self { folder, _lock: lock });
            }
        }
    }
}

/// Removes the copies of processes that were killed.
pub(crate) fn remove_abandoned(temporary: &Path) {
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        // A link could lead to a folder that is not ours, so links are skipped.
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let folder = entry.path();
        let lock = File::open(folder.join(LOCK));
        let is_abandoned = match &lock {
            Ok(lock) => lock.try_lock().is_ok(),
            // The process was killed before it created the lock, so the folder is empty.
            Err(error) => error.kind() == ErrorKind::NotFound && fs::remove_dir(&folder).is_ok(),
        };
        if is_abandoned {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// Returns the path of a file that SQLite keeps next to a database.
pub(super) fn side_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
