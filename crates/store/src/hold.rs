//! That a session is open in one program, so that a second one finds out before it does anything. Kept by
//! the system and not by the session: it ends with the program, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// As long as it lives, nobody else holds the session.
#[derive(Debug)]
pub struct Hold {
    /// Locked; the file beside it is taken away at the end.
    held: Option<(File, PathBuf)>,
}

impl Hold {
    /// Where nobody can tell whether somebody else is there.
    pub(crate) fn unknown() -> Self {
        Self { held: None }
    }

    /// Holds the file of this path; `None` if somebody else does.
    pub(crate) fn of_file(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let mut options = OpenOptions::new();
            let options = options.create(true).truncate(false).write(true).mode(0o600);
            let file = match options.open(path) {
                // Nothing can be written there either.
                Err(error) if is_closed(&error) => return Ok(Some(Self::unknown())),
                file => file?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => return Ok(Some(Self::unknown())),
            }
            // Whoever held it may have taken the file away between the two.
            let is_same = path.metadata().is_ok_and(|there| {
                file.metadata()
                    .is_ok_and(|here| here.ino() == there.ino() && here.dev() == there.dev())
            });
            if is_same {
                return Ok(Some(Self { held: Some((file, path.to_owned())) }));
            }
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
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
}
