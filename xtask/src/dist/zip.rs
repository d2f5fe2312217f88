//! Zip archives, the form of wheels. Supports only what a wheel needs: files below 4 GiB, compressed, with a mode,
//! and all with the same time.

use super::archive::File;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::{self, Write as _};

/// The oldest version of the format that has folders and compression.
const VERSION: u16 = 20;
/// The version, and that modes are those of Unix.
const MADE_BY: u16 = (3 << 8) | VERSION;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// 1980-01-01, 00:00, the first time of the format: the time, then the date.
const MODIFIED: [u16; 2] = [0, (1 << 5) | 1];
/// A regular file, in the type bits of a Unix mode.
const REGULAR: u32 = 0o100_000;

/// The archive, with the files in their order.
pub(super) fn zip(files: &[File]) -> io::Result<Vec<u8>> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for file in files {
        let offset = number(archive.len())?;
        let compressed = deflate(&file.bytes)?;
        let fields = fields(file, compressed.len())?;
        archive.extend(b"PK\x03\x04");
        archive.extend(VERSION.to_le_bytes());
        archive.extend(&fields);
        archive.extend(file.path.as_bytes());
        archive.extend(compressed);
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend(fields);
        // No comment, the first disk, no internal attributes.
        directory.extend([0; 6]);
        directory.extend(((REGULAR | file.mode()) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(file.path.as_bytes());
    }
    let count = u16::try_from(files.len()).map_err(io::Error::other)?.to_le_bytes();
    let (size, offset) = (number(directory.len())?, number(archive.len())?);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count, count].concat());
    archive.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    // No comment.
    archive.extend([0; 2]);
    Ok(archive)
}

/// Returns the fields that the local header and the directory share, up to the lengths of the name and the extra field.
fn fields(file: &File, compressed: usize) -> io::Result<Vec<u8>> {
    let mut sum = Crc::new();
    sum.update(&file.bytes);
    let name = u16::try_from(file.path.len()).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    for field in [FLAGS, DEFLATED, MODIFIED[0], MODIFIED[1]] {
        bytes.extend(field.to_le_bytes());
    }
    for field in [sum.sum(), number(compressed)?, number(file.bytes.len())?] {
        bytes.extend(field.to_le_bytes());
    }
    for field in [name, 0] {
        bytes.extend(field.to_le_bytes());
    }
    Ok(bytes)
}

fn deflate(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn number(size: usize) -> io::Result<u32> {
    u32::try_from(size).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_local_headers_a_directory_and_an_end() {
        let archive = zip(&[File::program("a", "abc"), File::text("b/c", "")]).unwrap();
        let find = |mark: &[u8]| archive.windows(4).filter(|window| *window == mark).count();
        assert_eq!((find(b"PK\x03\x04"), find(b"PK\x01\x02"), find(b"PK\x05\x06")), (2, 2, 1));
        // The sum of `abc`, its compressed and its own size, and the length of the name.
        let header = [0xc2, 0x41, 0x24, 0x35, 5, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, b'a'];
        assert_eq!(archive[14..31], header);
    }

    #[test]
    fn programs_can_be_told_from_other_files() {
        let mode = |file: File| {
            let archive = zip(&[file]).unwrap();
            let directory = archive.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
            u16::from_le_bytes([archive[directory + 40], archive[directory + 41]])
        };
        assert_eq!(mode(File::program("a", "abc")), 0o100_755);
        assert_eq!(mode(File::text("a", "abc")), 0o100_644);
    }

    #[test]
    fn the_same_files_give_the_same_archive() {
        let archive = || zip(&[File::text("a", "abc")]).unwrap();
        assert_eq!(archive(), archive());
    }
}
