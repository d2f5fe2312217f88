//! Operations on the journal (`-wal`) that SQLite does not offer: making sure that it is on disk, and allocating its
//! full length. The caller must hold the write lock. The code does not depend on the content.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PIECE: usize = 64 << 10;

/// Overwrites every byte with itself and syncs the file. The content does not change, so readers are not affected.
pub(super) fn renew(path: &Path) -> io::Result<()> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        // There is no journal if another process was the last to close the file, and removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    loop {
        let read = file.read_at(&mut piece, at)?;
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        file.write_all_at(bytes, at)?;
        at += read as u64;
    }
    file.sync_data()
}

/// Appends zeros up to this length and syncs the file. For SQLite, a page of zeros is the end of the journal,
/// because its checksum does not match.
pub(super) fn lengthen(path: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let mut at = file.metadata()?.len();
    let zeros = vec![0; PIECE];
    while at < bytes {
        let left = usize::try_from(bytes - at).unwrap_or(PIECE).min(PIECE);
        let Some(piece) = zeros.get(..left) else { break };
        file.write_all_at(piece, at)?;
        at += left as u64;
    }
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let bytes: Vec<u8> = (0..PIECE * 2 + 77).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        renew(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        renew(&folder.path().join("none")).unwrap();
    }

    #[test]
    fn zeros_come_behind_the_end_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, [7; 100]).unwrap();
        lengthen(&path, PIECE as u64 + 200).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), PIECE + 200);
        assert!(bytes[..100].iter().all(|byte| *byte == 7));
        assert!(bytes[100..].iter().all(|byte| *byte == 0));
        lengthen(&path, 10).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
