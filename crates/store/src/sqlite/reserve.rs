//! Room that is kept for a full disk: a file beside the store that holds nothing. Redactions and
//! deletions give it up when there is no other room left, so that a person can still take back what was
//! said, and free space. It is created again when there is room.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::new_file::beside;

const ENDING: &str = "-reserve";
/// How much is kept: what the journal may hold that is not in the file yet, and a little to work with.
const BYTES: usize = 6 << 20;
/// Only where so much is free: on a small disk the room is worth more to everybody else.
const FREE_MIN: u64 = 16 << 20;

/// Creates the file if it is not there and the disk has room. The store works without it.
pub(super) fn create(store: &Path) {
    let path = beside(store, ENDING);
    if path.symlink_metadata().is_ok_and(|about| about.len() >= BYTES as u64) {
        return;
    }
    let folder = store.parent().unwrap_or(Path::new("."));
    let free = rustix::fs::statvfs(folder).map_or(0, |about| about.f_bavail * about.f_frsize);
    if free >= FREE_MIN
        && let Err(error) = allocate(&path)
    {
        tracing::debug!(%error, "there is no reserve for a full disk");
        let _ = std::fs::remove_file(&path);
    }
}

/// Has the file system set the blocks aside.
fn allocate(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    #[cfg(target_os = "linux")]
    {
        let flags = rustix::fs::FallocateFlags::empty();
        match rustix::fs::fallocate(&file, flags, 0, BYTES as u64) {
            Err(rustix::io::Errno::OPNOTSUPP) => {}
            allocated => return Ok(allocated?),
        }
    }
    file.write_all(&vec![0; BYTES])
}

/// Gives the room up. Says whether there was any.
pub(super) fn release(store: &Path) -> bool {
    std::fs::remove_file(beside(store, ENDING)).is_ok()
}
