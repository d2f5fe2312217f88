//! Where the team file is looked for, by what the environment says ([`Places`]), and reading it from the disk with the
//! hash by which it is trusted. Called by the doors.

#![expect(clippy::disallowed_methods, reason = "the team file is a file")]

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::changes::{HideKey, shown_lines};
use super::problem::FileErrors;
use super::{FILE_NAME, TeamFile};

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
        let good = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = 1 + good.filter(|byte| **byte == b'\n').count();
        refuse(format!("line {line} is not UTF-8; save the file as UTF-8"))
    })?;
    let team = TeamFile::parse(&text, &place)?;
    let path = whole_path(path);
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    Ok(Opened { team, hash, path, folder, text })
}

/// The whole path of a file, links followed, as far as it can be found out.
pub(super) fn whole_path(path: &Path) -> PathBuf {
    let whole = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    whole.unwrap_or_else(|_| path.to_owned())
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
    if bytes.len() <= bytes_max { Ok(bytes) } else { Err(too_large(bytes_max)) }
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

/// What decides where the team file is.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    pub flag: Option<&'a Path>,
    /// The variable `TERTULIA_TEAM`; empty counts as not set.
    pub variable: Option<&'a Path>,
    /// The working folder, as a whole path.
    pub start: &'a Path,
    pub home: Option<&'a Path>,
    /// The variable `XDG_CONFIG_HOME`; a relative path counts as not set.
    pub config_home: Option<&'a Path>,
}

/// A team file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is. One that a flag or the variable names may not be there, and none need be a file.
    pub path: PathBuf,
    pub origin: Origin,
}

/// Why a team file was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag,
    Variable,
    Project,
    User,
}

impl Origin {
    /// Whether a file from there has to be trusted before it may start programs. The user's own file alone need not be.
    pub fn needs_trust(self) -> bool {
        self != Self::User
    }
}

/// Finds the team file: the flag's, else the variable's, else the project's, else the user's.
pub fn find(places: &Places<'_>) -> Option<Found> {
    let given = |path: Option<&Path>, origin| {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        Some(Found { path: places.start.join(path), origin })
    };
    given(places.flag, Origin::Flag)
        .or_else(|| given(places.variable, Origin::Variable))
        .or_else(|| {
            let path = find_project(places.start, places.home)?;
            Some(Found { path, origin: Origin::Project })
        })
        .or_else(|| {
            let path = user_file(places).filter(|path| is_there(path))?;
            Some(Found { path, origin: Origin::User })
        })
}

/// The team file of a project: in `start` or a folder above it, up to the repository (the folder with
/// `.git`) or to the home. Elsewhere only `start` counts, since a folder like `/tmp` belongs to others too.
pub fn find_project(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_repository = |folder: &&Path| folder.join(".git").exists();
    let below_home = || home.filter(|home| start.starts_with(home));
    let top = start.ancestors().find(is_repository).or_else(below_home).unwrap_or(start);
    let folders = start.ancestors().take_while(|folder| folder.starts_with(top));
    folders.map(|folder| folder.join(FILE_NAME)).find(|path| is_there(path))
}

/// Also for a folder, or a link that leads nowhere: whoever opens it is told, instead of getting another team.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn user_file(places: &Places<'_>) -> Option<PathBuf> {
    let config = places.config_home.filter(|path| path.is_absolute()).map(Path::to_owned);
    let config = config.or_else(|| Some(places.home?.join(".config")))?;
    Some(config.join("tertulia").join(FILE_NAME))
}
