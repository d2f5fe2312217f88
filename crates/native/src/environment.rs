//! The inputs that determine where agents keep their sessions: the home folder, and the variables that override it.
//! The caller passes both, so that this crate does not read the environment of the process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The variables that determine where agents keep their sessions.
pub const VARIABLES: [&str; 10] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "COPILOT_HOME",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "GOOSE_PATH_ROOT",
    "CLINE_DATA_DIR",
];

/// The inputs that determine where agents keep their sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    home: PathBuf,
    variables: BTreeMap<&'static str, PathBuf>,
    projects: Vec<PathBuf>,
    temporary: PathBuf,
}

impl Environment {
    /// Creates an environment with this home folder. Databases that are in use are copied into the temporary folder.
    /// The copies are removed as soon as they are open.
    pub fn new(home: impl Into<PathBuf>, temporary: impl Into<PathBuf>) -> Self {
        let (variables, projects) = (BTreeMap::new(), Vec::new());
        Self { home: home.into(), variables, projects, temporary: temporary.into() }
    }

    /// Sets the variables of [`VARIABLES`] that have a value.
    #[must_use]
    pub fn with_variables(mut self, value: impl Fn(&str) -> Option<OsString>) -> Self {
        for name in VARIABLES {
            if let Some(value) = value(name).filter(|value| !value.is_empty()) {
                self.variables.insert(name, value.into());
            }
        }
        self
    }

    /// Adds a project folder. Some agents keep their sessions in the project.
    #[must_use]
    pub fn with_project(mut self, folder: impl Into<PathBuf>) -> Self {
        self.projects.push(folder.into());
        self
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    pub(crate) fn projects(&self) -> &[PathBuf] {
        &self.projects
    }

    /// Returns the folder that a variable names, otherwise one in the home folder.
    pub(crate) fn folder(&self, variable: &str, default: &str) -> PathBuf {
        match self.variables.get(variable) {
            Some(folder) => folder.clone(),
            None => self.home.join(default),
        }
    }

    /// Returns the folder that a variable names.
    pub(crate) fn named(&self, variable: &str) -> Option<&Path> {
        self.variables.get(variable).map(PathBuf::as_path)
    }
}
