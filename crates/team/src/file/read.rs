//! Finds the team file according to the environment ([`SearchPaths`]), and reads it from disk with the hash that
//! trust is based on.

#![expect(clippy::disallowed_methods, reason = "the team file is a file")]

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::changes::{HideKey, shown_lines};
use super::problem::FileErrors;
use super::{FILE_NAME, TeamFile};

/// Size limit of a team file.
pub(super) const FILE_BYTES_MAX: usize = 1024 * 1024;

/// The hash of the bytes of a team file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash([u8; 32]);

/// A team file, and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    pub team: TeamFile,
    /// The hash of exactly the bytes that were read.
    pub hash: ContentHash,
    /// The absolute path of the file, with links resolved.
    pub path: PathBuf,
    /// The folder where its relative paths start.
    pub folder: PathBuf,
    text: String,
}

impl Opened {
    /// Returns its lines for display, without possible keys and passwords.
    pub fn lines(&self, key: &HideKey) -> Vec<String> {
        shown_lines(&self.text, key)
    }
}

/// Reads a team file that others may have put there: refuses a link that leads out of its folder.
pub fn open_inside(path: &Path) -> Result<Opened, FileErrors> {
    let is_link = path.symlink_metadata().is_ok_and(|about| about.is_symlink());
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_inside = match (path.canonicalize(), folder) {
        (Ok(real), Some(folder)) => real.starts_with(folder),
        // Reading the file reports the error.
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
    let file_name = path.display().to_string();
    let refuse = |what: String| FileErrors::of_file(&file_name, what);
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
    let team = TeamFile::parse(&text, &file_name)?;
    let path = whole_path(path);
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    Ok(Opened { team, hash, path, folder, text })
}

/// Returns the absolute path of a file with links resolved, as far as possible.
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

pub(super) fn check_size(bytes: usize, file_name: &str) -> Result<(), FileErrors> {
    match bytes <= FILE_BYTES_MAX {
        true => Ok(()),
        false => Err(FileErrors::of_file(file_name, too_large(FILE_BYTES_MAX))),
    }
}

/// Returns the bytes of a regular file of limited size, or an error. Does not wait for a pipe or a device.
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
    /// Hashes these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The inputs that determine the location of the team file.
#[derive(Clone, Copy, Debug)]
pub struct SearchPaths<'a> {
    pub flag: Option<&'a Path>,
    /// The variable `TERTULIA_TEAM`; treated as unset if empty.
    pub variable: Option<&'a Path>,
    /// The working folder, as an absolute path.
    pub start: &'a Path,
    pub home: Option<&'a Path>,
    /// The variable `XDG_CONFIG_HOME`; treated as unset if relative.
    pub config_home: Option<&'a Path>,
}

/// The location of a team file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path. A path from a flag or the variable may not exist, and a path may be something else than a file.
    pub path: PathBuf,
    pub origin: Origin,
}

/// The way in which a team file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag,
    Variable,
    Project,
    User,
}

impl Origin {
    /// Returns whether a file of this origin must be trusted before it may start programs. The user's own file needs
    /// no trust.
    pub fn needs_trust(self) -> bool {
        self != Self::User
    }
}

/// Finds the team file: the flag's, else the variable's, else the project's, else the user's.
pub fn find(paths: &SearchPaths<'_>) -> Option<Found> {
    let given = |path: Option<&Path>, origin| {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        Some(Found { path: paths.start.join(path), origin })
    };
    given(paths.flag, Origin::Flag)
        .or_else(|| given(paths.variable, Origin::Variable))
        .or_else(|| {
            let path = find_project(paths.start, paths.home)?;
            Some(Found { path, origin: Origin::Project })
        })
        .or_else(|| {
            let path = user_file(paths).filter(|path| is_there(path))?;
            Some(Found { path, origin: Origin::User })
        })
}

/// Finds the team file of a project: in `start` or a folder above it, up to the repository (the folder with `.git`)
/// or the home folder. Outside both, searches only `start`, because other users may write to a folder such as `/tmp`.
pub fn find_project(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_repository = |folder: &&Path| folder.join(".git").exists();
    let below_home = || home.filter(|home| start.starts_with(home));
    let top = start.ancestors().find(is_repository).or_else(below_home).unwrap_or(start);
    let folders = start.ancestors().take_while(|folder| folder.starts_with(top));
    folders.map(|folder| folder.join(FILE_NAME)).find(|path| is_there(path))
}

/// Returns true also for a folder or a broken link. Opening it then reports the error, instead of using another team.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn user_file(paths: &SearchPaths<'_>) -> Option<PathBuf> {
    Some(config_folder(paths.home, paths.config_home)?.join(FILE_NAME))
}

/// Returns the folder of the user's own configuration. `config_home` is the variable `XDG_CONFIG_HOME`; treated as unset
/// if relative.
pub fn config_folder(home: Option<&Path>, config_home: Option<&Path>) -> Option<PathBuf> {
    let config = config_home.filter(|path| path.is_absolute()).map(Path::to_owned);
    let config = config.or_else(|| Some(home?.join(".config")))?;
    Some(config.join("tertulia"))
}
