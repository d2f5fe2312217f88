//! That a session is open in one program, so that a second one finds out before it does anything. Kept by
//! the system and not by the session: it ends with the program, however that ends. A file that a killed
//! program left is empty and nobody's; whoever holds one takes such away.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::NewFile;
use crate::new_file::{folder_of, lock_abandoned};

/// How often a file that is held is looked at again: it may only be being taken away.
const LOOKS: u32 = 3;
const LOOK_WAIT: Duration = Duration::from_millis(10);

/// As long as it lives, nobody else holds the session.
#[derive(Debug)]
pub struct Hold {
    /// Locked; the file beside it is taken away at the end.
    held: Option<(File, PathBuf)>,
}

impl Hold {
    pub(crate) fn unknown() -> Self {
        Self { held: None }
    }

    /// Holds the file of this path; `None` if somebody else does.
    pub(crate) fn of_file(path: &Path) -> io::Result<Option<Self>> {
        let closed = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
        let mut looks = 0;
        loop {
            let mut options = OpenOptions::new();
            let options = options.create(true).truncate(false).write(true).mode(0o600);
            let file = match options.open(path) {
                // Nothing can be written there either.
                Err(error) if closed.contains(&error.kind()) => return Ok(Some(Self::unknown())),
                file => file?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if looks < LOOKS => {
                    looks += 1;
                    thread::sleep(LOOK_WAIT);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => return Ok(Some(Self::unknown())),
            }
            // Whoever held it may have taken the file away between the two.
            if NewFile::is_at(&file, path) {
                sweep(path);
                return Ok(Some(Self { held: Some((file, path.to_owned())) }));
            }
        }
    }
}

/// Whether nobody holds the file of this path, as far as the system can tell for certain.
pub(crate) fn is_free(path: &Path) -> bool {
    match OpenOptions::new().write(true).open(path) {
        Err(error) => error.kind() == ErrorKind::NotFound,
        Ok(file) => file.try_lock().is_ok(),
    }
}

/// Takes away the files beside this one, of the same name with another number, that nobody holds.
fn sweep(path: &Path) {
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
            // While it is locked, so that nobody has locked the one that goes.
            let _ = std::fs::remove_file(file.path());
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.held {
            // While it is locked, so that nobody has locked the one that goes.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_at_a_time_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let one = Hold::of_file(&path).unwrap().unwrap();
        assert!(Hold::of_file(&path).unwrap().is_none());
        drop(one);
        assert!(!path.exists());
        let again = Hold::of_file(&path).unwrap();
        assert!(again.is_some());
        // A file that a killed program left is nobody's.
        drop(again);
        std::fs::write(&path, "").unwrap();
        assert!(Hold::of_file(&path).unwrap().is_some());
    }

    #[test]
    fn whoever_holds_one_takes_away_what_killed_programs_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let others = ["db", "db-table-", "db-table-x", "other-table-5", "db-table-6"];
        for name in others.iter().chain(&["db-table-3", "db-table-44"]) {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::write(path("db-table-6"), "words of somebody").unwrap();
        let held = Hold::of_file(&path("db-table-7")).unwrap().unwrap();
        let one = Hold::of_file(&path("db-table-1")).unwrap().unwrap();
        assert!(!path("db-table-3").exists() && !path("db-table-44").exists());
        assert!(others.iter().all(|name| path(name).exists()), "what is something else stays");
        assert!(Hold::of_file(&path("db-table-7")).unwrap().is_none(), "a held one is still held");
        drop((held, one));
        assert!(!path("db-table-1").exists() && !path("db-table-7").exists());
    }

    #[test]
    fn a_file_that_is_being_taken_away_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let sweeping = folder.path().join("db-table-1");
        thread::scope(|scope| {
            let sweeper = scope.spawn(|| {
                for _ in 0..200 {
                    let _ = std::fs::write(folder.path().join("db-table-2"), "");
                    drop(Hold::of_file(&sweeping).unwrap());
                }
            });
            while !sweeper.is_finished() {
                assert!(Hold::of_file(&folder.path().join("db-table-2")).unwrap().is_some());
            }
        });
    }
}
