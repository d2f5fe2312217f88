//! Runs the `git` program: without hooks, questions and the variables by which a calling git passes its repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::WorktreeError;

/// Variables that would make git use another repository than that of the folder.
const LOCAL_VARIABLES: [&str; 12] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
];

/// A git command in a folder.
pub(super) struct Git<'a> {
    folder: &'a Path,
    index: Option<&'a Path>,
}

impl<'a> Git<'a> {
    pub(super) fn at(folder: &'a Path) -> Self {
        Self { folder, index: None }
    }

    /// Uses this index instead of that of the folder.
    pub(super) fn with_index(self, index: &'a Path) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Runs a command, and returns its output without the line break at the end.
    pub(super) fn text<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<String, WorktreeError> {
        let bytes = self.bytes(args)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    /// Runs a command, and returns its output.
    pub(super) fn bytes<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, WorktreeError> {
        let mut command = Command::new("git");
        command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C"]);
        command.arg(self.folder).args(args);
        command.stdin(Stdio::null()).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        for name in LOCAL_VARIABLES {
            command.env_remove(name);
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        let output = command.output().map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => WorktreeError::NoGit,
            _ => WorktreeError::Files { path: PathBuf::from("git"), source },
        })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with("hint:")).take(3).collect();
        Err(WorktreeError::Git { message: lines.join(" ").into() })
    }

    /// Returns whether a command succeeds.
    pub(super) fn succeeds<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> bool {
        self.bytes(args).is_ok()
    }
}

/// Returns the repositories of submodules below a folder, also those inside of others.
pub(super) fn repositories(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
            folders.push(folder.join("modules"));
            found.push(folder);
            continue;
        }
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let is_folder = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| about.is_dir());
        folders.extend(entries.map(|entry| entry.path()).filter(is_folder));
    }
    found
}
