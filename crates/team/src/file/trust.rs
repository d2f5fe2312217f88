//! The team files that the person trusts, by path and content: the file `trusted` in the data folder, one
//! line each. Called by the doors before a project's team file may start anything.
//!
//! A line is the hash of the file's bytes, a blank, and its path, in which every byte that is no
//! printable ASCII, and `%`, is written as `%` and two hex digits. A line that is none trusts nothing.

#![expect(clippy::disallowed_methods, reason = "what is trusted is kept in a file")]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::read::{ContentHash, bytes_of};

const FILE_NAME: &str = "trusted";
/// Older lines go when there are more.
const LINES_MAX: usize = 1000;
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// What the person trusts.
#[derive(Clone, Debug)]
pub struct Trust {
    folder: PathBuf,
    lines: Vec<String>,
}

/// The list of trusted files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Others could have written it.
    #[error("{} {why}; see who wrote it, then delete it: you will be asked again", path.display())]
    Unsafe {
        /// The list.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It cannot be read.
    #[error("{} {why}; delete it: you will be asked again", path.display())]
    Read {
        /// The list.
        path: PathBuf,
        /// Why.
        why: Box<str>,
    },
    /// It cannot be written.
    #[error("{} cannot be written; see to the folder's permissions and space", path.display())]
    Write {
        /// The list.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Trust {
    /// Reads the list in the data folder; one that is not there trusts nothing.
    pub fn open(folder: &Path) -> Result<Self, TrustError> {
        let folder = folder.to_owned();
        let lines = lines_of(&folder.join(FILE_NAME))?;
        Ok(Self { folder, lines })
    }

    /// Whether the file at this path is trusted with this content.
    pub fn is_trusted(&self, path: &Path, hash: ContentHash) -> bool {
        let line = line(path, hash);
        self.lines.contains(&line)
    }

    /// Trusts the file at this path with this content, from now on and on the disk.
    pub fn trust(&mut self, path: &Path, hash: ContentHash) -> Result<(), TrustError> {
        let list = self.folder.join(FILE_NAME);
        // Another process may have added to it.
        self.lines = lines_of(&list)?;
        let line = line(path, hash);
        self.lines.retain(|known| *known != line);
        self.lines.push(line);
        let extra = self.lines.len().saturating_sub(LINES_MAX);
        self.lines.drain(..extra);
        self.write().map_err(|source| TrustError::Write { path: list, source })
    }

    /// Replaces the list at once: a reader sees the old one or the new one.
    fn write(&self) -> std::io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut file = tempfile::Builder::new()
            .prefix(".trusted-")
            .permissions(std::fs::Permissions::from_mode(0o600))
            .tempfile_in(&self.folder)?;
        for line in &self.lines {
            writeln!(file, "{line}")?;
        }
        file.as_file().sync_all()?;
        file.persist(self.folder.join(FILE_NAME))?;
        std::fs::File::open(&self.folder)?.sync_all()
    }
}

fn lines_of(path: &Path) -> Result<Vec<String>, TrustError> {
    let unsafe_for = |why| Err(TrustError::Unsafe { path: path.to_owned(), why });
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        // Whatever else is wrong is told by the reading.
        Err(_) => {}
        Ok(known) if known.is_symlink() => return unsafe_for("is a symbolic link"),
        Ok(known) if known.uid() != rustix::process::geteuid().as_raw() => {
            return unsafe_for("belongs to somebody else");
        }
        Ok(known) if known.mode() & 0o022 != 0 => return unsafe_for("can be written by others"),
        Ok(_) => {}
    }
    let refuse = |why: String| TrustError::Read { path: path.to_owned(), why: why.into() };
    let bytes = bytes_of(path, BYTES_MAX).map_err(refuse)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    Ok(lines.filter(|line| is_line(line)).map(str::to_owned).collect())
}

fn is_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(hash, path)| {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash && path.starts_with('/') && path.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
    })
}

fn line(path: &Path, hash: ContentHash) -> String {
    let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    let whole = whole.unwrap_or_else(|_| path.to_owned());
    let mut line = format!("{hash} ");
    for byte in OsStr::as_bytes(whole.as_os_str()) {
        // Writing to a string cannot fail.
        let _ = match byte {
            b'%' | 0..=0x20 | 0x7f.. => write!(line, "%{byte:02x}"),
            printable => write!(line, "{}", char::from(*printable)),
        };
    }
    line
}
