//! Reserves disk space in a file without content next to the store. If the disk is full, redactions and deletions
//! release it, so that people can still remove text and free space. When there is space again, the file is created
//! again.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::new_file::with_suffix;

const ENDING: &str = "-reserve";
/// The size of the reserve: the content of the journal that is not in the file yet, and some working space.
const BYTES: usize = 6 << 20;
/// The minimum free space. On a disk with less, no space is reserved.
const FREE_MIN: u64 = 16 << 20;

/// Creates the file if it does not exist and the disk has space. The store works without it too.
pub(super) fn create(store: &Path) {
    let path = with_suffix(store, ENDING);
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

/// Allocates the blocks of the file.
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

/// Releases the space. Returns whether there was any.
pub(super) fn release(store: &Path) -> bool {
    std::fs::remove_file(with_suffix(store, ENDING)).is_ok()
}
