//! Archives as bytes: tar, gzip and ar; `zip` contains the fourth kind. Times and owners are fixed, so the same
//! files always give the same archive. Every kind of package in this folder uses it.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use tar::{Builder, EntryType, Header};

/// The time of every file: 2026-01-01, 00:00 UTC.
const MODIFIED: u64 = 1_767_225_600;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// With forward slashes, relative to the root of the archive.
    pub(super) path: String,
    pub(super) is_program: bool,
    pub(super) bytes: Vec<u8>,
}

impl File {
    pub(super) fn text(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), is_program: false, bytes: bytes.into() }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), is_program: true, bytes: bytes.into() }
    }

    /// The same file in a folder.
    pub(super) fn below(self, folder: &str) -> Self {
        Self { path: format!("{folder}/{}", self.path), ..self }
    }

    pub(super) fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// A compressed tar archive, with an entry for every folder.
pub(super) fn tar_gz(files: &[File]) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for folder in folders(files) {
        let mut header = header(EntryType::Directory, 0o755, 0);
        builder.append_data(&mut header, format!("{folder}/"), io::empty())?;
    }
    for file in files {
        let mut header = header(EntryType::Regular, file.mode(), file.bytes.len());
        builder.append_data(&mut header, &file.path, file.bytes.as_slice())?;
    }
    gzip(&builder.into_inner()?)
}

/// All folders above the files, each before those in it.
fn folders(files: &[File]) -> BTreeSet<&str> {
    let above = |file: &File| {
        let ends: Vec<usize> = file.path.match_indices('/').map(|(end, _)| end).collect();
        ends
    };
    files.iter().flat_map(|file| above(file).into_iter().map(|end| &file.path[..end])).collect()
}

fn header(kind: EntryType, mode: u32, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size as u64);
    header.set_mtime(MODIFIED);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Compressed bytes, without a name or a time.
pub(super) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// An ar archive, the outer form of Debian's packages.
pub(super) fn ar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let size = bytes.len();
        let header =
            format!("{name:<16}{MODIFIED:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, "100644");
        archive.extend(header.as_bytes());
        archive.extend(bytes);
        if size % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;

    fn files() -> Vec<File> {
        vec![File::program("usr/bin/tertulia", "binary"), File::text("usr/share/doc/a", "text")]
    }

    #[test]
    fn a_tar_archive_has_folders_first_and_modes() {
        let archive = tar_gz(&files()).unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(archive.as_slice()));
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap())
        });
        let expected = [
            ("usr/", 0o755),
            ("usr/bin/", 0o755),
            ("usr/share/", 0o755),
            ("usr/share/doc/", 0o755),
            ("usr/bin/tertulia", 0o755),
            ("usr/share/doc/a", 0o644),
        ];
        let expected = expected.map(|(path, mode)| (path.to_owned(), mode));
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn members_of_an_ar_archive_begin_at_even_places() {
        let archive = ar(&[("debian-binary", b"2.0".to_vec()), ("control.tar.gz", Vec::new())]);
        let text = String::from_utf8(archive).unwrap();
        assert!(text.starts_with(
            "!<arch>\ndebian-binary   1767225600  0     0     100644  3         `\n2.0\n"
        ));
        assert_eq!(text.find("control.tar.gz").unwrap() % 2, 0);
    }

    #[test]
    fn the_same_files_give_the_same_archive() {
        assert_eq!(tar_gz(&files()).unwrap(), tar_gz(&files()).unwrap());
    }
}
