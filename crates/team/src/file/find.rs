//! Where the team file is looked for. The environment comes in as [`Places`], so that the rules can be
//! tested; only whether something of that name is there is asked of the disk. Called by the doors.

use std::path::{Path, PathBuf};

use super::FILE_NAME;

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
    /// Whether a file from there has to be trusted before it may start programs. The user's own file
    /// alone need not be.
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

/// Also for a folder, or a link that leads nowhere: whoever opens it is told, instead of sitting down at
/// another table than they think.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn user_file(places: &Places<'_>) -> Option<PathBuf> {
    let config = places.config_home.filter(|path| path.is_absolute()).map(Path::to_owned);
    let config = config.or_else(|| Some(places.home?.join(".config")))?;
    Some(config.join("tertulia").join(FILE_NAME))
}
