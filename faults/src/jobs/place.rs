//! The folders of one run of a job: the data folder, the project in which the command runs, the home of the
//! person, and what is expected. All of them are in one folder, so a run can be copied, and laid out anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::FaultsError;
use crate::scratch::database;

/// Where the data folder of a run is.
const HOME_VARIABLE: &str = "TERTULIA_HOME";

/// A folder with all that a job needs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    root: PathBuf,
}

impl Place {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Makes the folders.
    pub(super) fn make(&self) -> Result<(), FaultsError> {
        for name in ["home", "project", "user", "programs", "temporary", "expected"] {
            let folder = self.root.join(name);
            fs::create_dir_all(&folder).map_err(FaultsError::at(&folder))?;
        }
        Ok(())
    }

    /// The data folder.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(super) fn store(&self) -> PathBuf {
        database(&self.home())
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Where a job may leave nothing.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("temporary")
    }

    /// What a run without faults gave.
    pub(super) fn expected(&self, name: &str) -> PathBuf {
        self.root.join("expected").join(name)
    }

    /// The backup that a job makes.
    pub(super) fn backup(&self) -> PathBuf {
        self.project().join("backup.db")
    }

    /// The backup that a job restores.
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

    /// What the job says goes here: beside the folder that power cuts are made of.
    pub(crate) fn said(&self) -> PathBuf {
        self.beside("said")
    }

    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.root.as_os_str().to_owned();
        name.push(format!(".{ending}"));
        PathBuf::from(name)
    }

    /// Nothing of the person who runs the harness reaches the job: neither sessions nor agents.
    pub(super) fn set_environment(&self, command: &mut Command) {
        let user = self.root.join("user");
        command.env_clear().current_dir(self.project());
        command.env(HOME_VARIABLE, self.home()).env("HOME", &user).env("USER", "ann");
        command.env("PATH", self.root.join("programs")).env("TMPDIR", self.temporary());
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env(name, user.join(name));
        }
    }

    /// Whether this process was started with that environment.
    pub(super) fn is_in_environment(&self) -> bool {
        std::env::var_os(HOME_VARIABLE).is_some_and(|home| home == self.home().into_os_string())
    }
}

/// Copies the files of a folder and of those in it.
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
