//! The folders of one run of a job: the data folder, the project in which the command runs, the
//! user's home, and the expected results. All are in one folder, so that a run can be copied and
//! restored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::FaultsError;
use crate::scratch::database;

/// The variable that sets the data folder of a run.
const HOME_VARIABLE: &str = "TERTULIA_HOME";

/// A folder with everything that a job needs.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder {
    root: PathBuf,
}

impl RunFolder {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Creates the folders.
    pub(super) fn make(&self) -> Result<(), FaultsError> {
        for name in ["home", "project", "user", "programs", "temporary", "expected"] {
            let folder = self.root.join(name);
            fs::create_dir_all(&folder).map_err(FaultsError::at(&folder))?;
        }
        Ok(())
    }

    /// Returns the data folder.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn store(&self) -> PathBuf {
        database(&self.home())
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// A job must leave nothing here.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("temporary")
    }

    /// Result of a run without faults.
    pub(super) fn expected(&self, name: &str) -> PathBuf {
        self.root.join("expected").join(name)
    }

    /// Returns the backup that a job creates.
    pub(super) fn backup(&self) -> PathBuf {
        self.project().join("backup.db")
    }

    /// Returns the backup that a job restores.
    pub(super) fn made(&self) -> PathBuf {
        self.project().join("made.db")
    }

    pub(super) fn import(&self) -> PathBuf {
        self.project().join("import.jsonl")
    }

    pub(super) fn export(&self) -> PathBuf {
        self.project().join("export.jsonl")
    }

    pub(super) fn team_file(&self) -> PathBuf {
        self.project().join("tertulia.toml")
    }

    pub(super) fn trusted(&self) -> PathBuf {
        self.home().join("trusted")
    }

    /// Returns the output of the job: outside of the folder that power cuts affect.
    pub(crate) fn said(&self) -> PathBuf {
        self.sibling("said")
    }

    pub(crate) fn sibling(&self, ending: &str) -> PathBuf {
        let mut name = self.root.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        PathBuf::from(name)
    }

    /// Isolates the job from the user's sessions and agents.
    pub(super) fn set_environment(&self, command: &mut Command) {
        let user = self.root.join("user");
        command.env_clear().current_dir(self.project());
        command.env(HOME_VARIABLE, self.home()).env("HOME", &user).env("USER", "ann");
        command.env("PATH", self.root.join("programs")).env("TMPDIR", self.temporary());
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env(name, user.join(name));
        }
    }

    /// Returns whether this process was started with that environment.
    pub(super) fn is_in_environment(&self) -> bool {
        std::env::var_os(HOME_VARIABLE).is_some_and(|home| home == self.home().into_os_string())
    }
}

/// Copies a folder recursively.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), FaultsError> {
    fs::create_dir_all(to).map_err(FaultsError::at(to))?;
    for found in fs::read_dir(from).map_err(FaultsError::at(from))? {
        let found = found.map_err(FaultsError::at(from))?;
        let target = to.join(found.file_name());
        if found.path().is_dir() {
            copy_folder(&found.path(), &target)?;
        } else {
            fs::copy(found.path(), &target).map_err(FaultsError::at(&target))?;
        }
    }
    Ok(())
}
