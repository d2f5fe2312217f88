//! Creates and checks the file of a store and its folder before SQLite opens them. Both are private to their owner.
//! A store is refused if others could read or replace it, or if the file system is unsuitable. This code also counts
//! the stores that this process has open.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::schema;
use crate::new_file::{folder_of, sync_folder, with_suffix};
use crate::{Result, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Store,
    /// A backup being written.
    Part,
    /// A backup being read. Nothing is created next to it.
    Immutable,
}

static OPEN: Mutex<usize> = Mutex::new(0);

/// The registration of a store that is open or is about to be opened.
pub(super) struct Registration;

impl Registration {
    /// Registers a store. If the process has no other store open, reads the header of its file. Otherwise it must
    /// not, because closing a file drops all locks of the process on it, including SQLite's.
    pub(super) fn new(path: &Path) -> (Self, bool) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stamped = *open == 0 && schema::is_stamped(path).unwrap_or(false);
        *open += 1;
        (Self, is_stamped)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

/// Creates the file and its folder if they do not exist, and checks them. Returns the checked path. It is absolute,
/// and its folder contains no symbolic links.
pub(super) fn prepare(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| StoreError::unusable_path(path, "names no file"))?;
    let folder = folder_of(path);
    make_folder(folder)?;
    let folder = folder.canonicalize().map_err(|error| failed(folder, &error))?;
    check_folder(&folder)?;
    check_file_system(&folder)?;
    let path = folder.join(name);
    make_file(&path)?;
    check_file(&path)?;
    check_side_files(&path)?;
    Ok(path)
}

fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above: Vec<&Path> = folder.ancestors().skip(1).collect();
    let there = above.iter().position(|one| one.is_dir()).unwrap_or(above.len());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| failed(folder, &error))?;
    // A new folder is durable once its parent is synced.
    folder
        .ancestors()
        .take(there + 1)
        .try_for_each(|one| sync_folder(one).map_err(|error| failed(folder_of(one), &error)))
}

fn make_file(path: &Path) -> Result<()> {
    // A broken symbolic link must not be followed either. `exists` would not detect it.
    match path.symlink_metadata() {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(path, &error)),
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made.and_then(|_| sync_folder(path)) {
        // Another process created it first.
        Err(_) if path.symlink_metadata().is_ok() => Ok(()),
        made => made.map_err(|error| failed(path, &error)),
    }
}

/// Checks who can write to a folder. Anybody who can write to it can replace the file, or put a journal next to it.
/// Anybody who can write to a parent folder can replace the folder, unless the parent is sticky.
fn check_folder(folder: &Path) -> Result<()> {
    for (level, one) in folder.ancestors().enumerate() {
        let about = fs::metadata(one).map_err(|error| failed(one, &error))?;
        let is_sticky = about.mode() & 0o1000 != 0;
        if about.mode() & 0o022 != 0 && !(is_sticky && level > 0) {
            // A sticky folder such as /tmp is meant to be shared.
            let fix = match is_sticky {
                true => "choose another folder",
                false => "run `chmod go-w` on it, or name another folder",
            };
            let reason = format!("can be written to by others; {fix}");
            return Err(StoreError::unusable_path(one, reason));
        }
        // The owner of a folder can replace everything in it.
        if about.uid() != rustix::process::geteuid().as_raw() && about.uid() != 0 {
            let owner = about.uid();
            let reason = format!(
                "belongs to another user (uid {owner}), who could replace the store; name a store in \
                 folders of your own"
            );
            return Err(StoreError::unusable_path(one, reason));
        }
    }
    Ok(())
}

/// Checks the journal and the shared memory file, if they exist. If a reader created them while the file was
/// read-only, they may be read-only too, and would make the store read-only.
fn check_side_files(path: &Path) -> Result<()> {
    let is_writable = |mode: u32| mode & 0o600 == 0o600;
    let about = path.symlink_metadata().map_err(|error| failed(path, &error))?;
    for ending in ["-wal", "-shm"] {
        let companion = with_suffix(path, ending);
        let Ok(found) = companion.symlink_metadata() else { continue };
        check_file(&companion)?;
        if is_writable(about.mode()) && !is_writable(found.mode()) {
            let changed = fs::set_permissions(&companion, fs::Permissions::from_mode(0o600));
            changed.map_err(|error| failed(&companion, &error))?;
        }
    }
    Ok(())
}

fn check_file(path: &Path) -> Result<()> {
    let about = path.symlink_metadata().map_err(|error| failed(path, &error))?;
    let reason = if about.file_type().is_symlink() {
        "is a symbolic link; name the file that it leads to"
    } else if !about.is_file() {
        "is not a file; name another one"
    } else if about.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user; name a file of your own"
    } else if about.mode() & 0o077 != 0 {
        "can be read by others; run `chmod 600` on it first"
    } else {
        return Ok(());
    };
    Err(StoreError::unusable_path(path, reason))
}

fn check_file_system(folder: &Path) -> Result<()> {
    let about = rustix::fs::statfs(folder).map_err(|error| failed(folder, &error.into()))?;
    let Some(name) = network_file_system(about.f_type) else { return Ok(()) };
    let reason = format!(
        "is on {name}, where several machines cannot share a file safely; name a folder on a local \
         disk, or use PostgreSQL"
    );
    Err(StoreError::unusable_path(folder, reason))
}

/// Returns the name of a network file system by its Linux magic number.
fn network_file_system(number: i64) -> Option<&'static str> {
    let systems = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB2"),
        (0x0102_1997, "9P"),
        (0x00C3_6400, "Ceph"),
        (0x5346_414F, "AFS"),
        (0x7375_7245, "Coda"),
        (0x0BD0_0BD0, "Lustre"),
        (0x0116_1970, "GFS2"),
        (0x7461_636F, "OCFS2"),
    ];
    // Some systems return the number as a signed value.
    let number = number & 0xFFFF_FFFF;
    systems.into_iter().find(|(known, _)| *known == number).map(|(_, name)| name)
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::unusable_path(path, format!("cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_numbers() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        assert_eq!(network_file_system(0xFF53_4D42_u32 as i32 as i64), Some("CIFS"));
        // The numbers of ext4, XFS, Btrfs, tmpfs and overlay.
        for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630] {
            assert_eq!(network_file_system(local), None, "{local:x}");
        }
    }
}
