//! A lock that lets only one program open a session. For a file, the operating system holds it, so it always ends with
//! the program. A killed program leaves an empty, unlocked file; the next program that takes a lock removes it. On a
//! server, it is a lease (`lease.rs`).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::NewFile;
use crate::lease::{Fence, Lease};
use crate::new_file::{folder_of, lock_abandoned};

/// How often locking a file is tried. A locked file may be about to be removed.
const ATTEMPTS: u32 = 3;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(10);

/// While this value exists, no other program can lock the session. A lock on a server can be lost nevertheless: see
/// [`Self::when_lost`].
#[derive(Debug)]
pub struct SessionLock(Kind);

#[derive(Debug)]
enum Kind {
    Unsupported,
    /// A locked file, which is removed when the lock is released.
    File {
        _locked: File,
        path: PathBuf,
    },
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "only PostgreSQL stores have leases")
    )]
    Lease(Lease),
}

impl SessionLock {
    pub(crate) fn unsupported() -> Self {
        Self(Kind::Unsupported)
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn leased(lease: Lease) -> Self {
        Self(Kind::Lease(lease))
    }

    fn lease(&self) -> Option<&Lease> {
        match &self.0 {
            Kind::Lease(lease) => Some(lease),
            Kind::Unsupported | Kind::File { .. } => None,
        }
    }

    /// Returns the fencing number of this lock, if it can be lost. An append with it is refused after another program
    /// has taken over the session.
    pub fn fence(&self) -> Option<Fence> {
        self.lease().map(Lease::fence)
    }

    /// Returns whether the program that had the lock before did not release it, although it may still be alive.
    pub fn is_taken_over(&self) -> bool {
        self.lease().is_some_and(Lease::is_taken_over)
    }

    /// Returns whether the lock was lost.
    pub fn is_lost(&self) -> bool {
        self.lease().is_some_and(Lease::is_lost)
    }

    /// Sets a function that is called once, in another thread, when the lock is lost. If it is lost already, the function
    /// is called at once. Locks on files cannot be lost.
    pub fn when_lost(&self, tell: impl FnOnce() + Send + 'static) {
        if let Some(lease) = self.lease() {
            lease.when_lost(Box::new(tell));
        }
    }

    /// Locks the file with this path; `None` if another program has locked it.
    pub(crate) fn acquire(path: &Path) -> io::Result<Option<Self>> {
        let closed = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
        let mut attempts = 0;
        loop {
            let mut options = OpenOptions::new();
            let options = options.create(true).truncate(false).write(true).mode(0o600);
            let file = match options.open(path) {
                // If the lock file cannot be created there, the store cannot be written to either.
                Err(error) if closed.contains(&error.kind()) => {
                    return Ok(Some(Self::unsupported()));
                }
                file => file?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if attempts < ATTEMPTS => {
                    attempts += 1;
                    thread::sleep(ATTEMPT_PAUSE);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => return Ok(Some(Self::unsupported())),
            }
            // The previous owner may have removed the file before this process locked it.
            if NewFile::is_at(&file, path) {
                remove_unlocked(path);
                let path = path.to_owned();
                return Ok(Some(Self(Kind::File { _locked: file, path })));
            }
        }
    }
}

/// Returns whether nobody has locked the file with this path, as far as the system can detect it.
pub(crate) fn is_free(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(file) => file.try_lock().is_ok(),
    }
}

/// Removes unlocked files next to this one that have the same name with another number.
fn remove_unlocked(path: &Path) {
    let Some(own) = path.file_name().and_then(|own| own.to_str()) else { return };
    let kind = own.trim_end_matches(|c: char| c.is_ascii_digit());
    if !kind.ends_with('-') {
        return;
    }
    for file in folder_of(path).read_dir().into_iter().flatten().flatten() {
        let name = file.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(kind));
        let is_other = number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_other
            && name != own
            && let Some(locked) = lock_abandoned(&file.path())
            && locked.metadata().is_ok_and(|about| about.is_file() && about.len() == 0)
        {
            // Removed while locked, so that nobody else can have locked this file.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        if let Kind::File { path, .. } = &self.0 {
            // Removed while locked, so that nobody else can have locked this file.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_lock_at_a_time_and_no_file_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let one = SessionLock::acquire(&path).unwrap().unwrap();
        assert!(SessionLock::acquire(&path).unwrap().is_none());
        drop(one);
        assert!(!path.exists());
        let again = SessionLock::acquire(&path).unwrap();
        assert!(again.is_some());
        // A file that a killed program left is unlocked.
        drop(again);
        std::fs::write(&path, "").unwrap();
        assert!(SessionLock::acquire(&path).unwrap().is_some());
    }

    #[test]
    fn taking_a_lock_removes_only_files_that_killed_programs_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let others = ["db", "db-table-", "db-table-x", "other-table-5", "db-table-6"];
        for name in others.iter().chain(&["db-table-3", "db-table-44"]) {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::write(path("db-table-6"), "text of somebody else").unwrap();
        let locked = SessionLock::acquire(&path("db-table-7")).unwrap().unwrap();
        let one = SessionLock::acquire(&path("db-table-1")).unwrap().unwrap();
        assert!(!path("db-table-3").exists() && !path("db-table-44").exists());
        assert!(others.iter().all(|name| path(name).exists()), "other files stay");
        assert!(
            SessionLock::acquire(&path("db-table-7")).unwrap().is_none(),
            "a locked file stays locked"
        );
        drop((locked, one));
        assert!(!path("db-table-1").exists() && !path("db-table-7").exists());
    }

    #[test]
    fn a_file_that_is_being_removed_blocks_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let removing = folder.path().join("db-table-1");
        thread::scope(|scope| {
            let remover = scope.spawn(|| {
                for _ in 0..200 {
                    let _ = std::fs::write(folder.path().join("db-table-2"), "");
                    drop(SessionLock::acquire(&removing).unwrap());
                }
            });
            while !remover.is_finished() {
                assert!(SessionLock::acquire(&folder.path().join("db-table-2")).unwrap().is_some());
            }
        });
    }
}
