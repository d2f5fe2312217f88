//! Reads a team file from the disk, with the hash by which it is trusted. Called by the doors.

#![expect(clippy::disallowed_methods, reason = "the team file is a file")]

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::TeamFile;
use super::changes::{HideKey, shown_lines};
use super::problem::FileErrors;

/// A longer text was not written by a person.
pub(super) const FILE_BYTES_MAX: usize = 1024 * 1024;

/// What the bytes of a team file are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 32]);

/// A team file, and what has to be known of where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    pub team: TeamFile,
    /// The hash of exactly the bytes that were read.
    pub hash: ContentHash,
    /// The whole path of the file, links followed.
    pub path: PathBuf,
    /// The folder where its relative paths start.
    pub folder: PathBuf,
    text: String,
}

impl Opened {
    /// Its lines as they may be shown: without what may be a key or a password.
    pub fn lines(&self, key: &HideKey) -> Vec<String> {
        shown_lines(&self.text, key)
    }
}

/// Reads a team file that may have been put there by others: a link that leads out of its folder is refused.
pub fn open_inside(path: &Path) -> Result<Opened, FileErrors> {
    let is_link = path.symlink_metadata().is_ok_and(|about| about.is_symlink());
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_inside = match (path.canonicalize(), folder) {
        (Ok(real), Some(folder)) => real.starts_with(folder),
        // Whoever reads it says what is wrong.
        _ => true,
    };
    if is_link && !is_inside {
        let what = "is a link that leads out of its folder; replace it by the file, or pass the file itself";
        return Err(FileErrors::of_file(&path.display().to_string(), what));
    }
    open(path)
}

/// Reads a team file, with its hash.
pub fn open(path: &Path) -> Result<Opened, FileErrors> {
    let place = path.display().to_string();
    let refuse = |what: String| FileErrors::of_file(&place, what);
    if path.is_dir() {
        return Err(refuse("is a directory; pass a team file".to_owned()));
    }
    let bytes = bytes_of(path, FILE_BYTES_MAX).map_err(|what| refuse(what + cure_of(path)))?;
    let hash = ContentHash::new(&bytes);
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error
            .as_bytes()
            .iter()
            .take(error.utf8_error().valid_up_to())
            .filter(|b| **b == b'\n')
            .count();
        refuse(format!("line {line} is not UTF-8; save the file as UTF-8"))
    })?;
    let team = TeamFile::parse(&text, &place)?;
    let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let path = whole.unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    Ok(Opened { team, hash, path, folder, text })
}

fn cure_of(path: &Path) -> &'static str {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => "; pass a team file",
        Ok(about) if about.len() <= FILE_BYTES_MAX as u64 => {
            "; change its permissions, or pass another team file"
        }
        Ok(_) => "",
        Err(_) => "; pass an existing team file",
    }
}

pub(super) fn check_size(bytes: usize, place: &str) -> Result<(), FileErrors> {
    match bytes <= FILE_BYTES_MAX {
        true => Ok(()),
        false => Err(FileErrors::of_file(place, too_large(FILE_BYTES_MAX))),
    }
}

/// The bytes of a plain file of limited size, or why not. A pipe or a device is not waited for.
pub(super) fn bytes_of(path: &Path, bytes_max: usize) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(cannot)?;
    match bytes.len() <= bytes_max {
        true => Ok(bytes),
        false => Err(too_large(bytes_max)),
    }
}

fn too_large(bytes_max: usize) -> String {
    format!("is larger than {} KiB; make it shorter", bytes_max / 1024)
}

impl ContentHash {
    /// The hash of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
