//! The locations of the root of the repository, the user's cache and the folder for builds.
//! Every command starts its `cargo` from here.

use cargo_metadata::MetadataCommand;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders a command works with.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    cargo: OsString,
    cache: Option<PathBuf>,
    target: Option<PathBuf>,
}

/// An environment that does not determine the folders.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkspaceError {
    #[error("xtask was not started by cargo; run `cargo xtask <command>`")]
    NotUnderCargo,
    #[error("the user's cache folder is unknown; set HOME or XDG_CACHE_HOME")]
    NoCache,
}

impl Workspace {
    /// Finds the folders in the environment that `cargo run` leaves to its child.
    pub(crate) fn find() -> Result<Self, WorkspaceError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, WorkspaceError> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        // Read at run time, because a compiled-in path would name another clone if several clones
        // share one folder for builds.
        let own = variable("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let root = own.as_deref().and_then(Path::parent).ok_or(WorkspaceError::NotUnderCargo)?;
        let cache = variable("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|home| Path::new(&home).join(".cache")))
            .map(|cache| cache.join("tertulia"));
        let target = match (variable("CARGO_TARGET_DIR"), variable("CI")) {
            (Some(chosen), _) => Some(PathBuf::from(chosen)),
            // CI starts with a new clone each time, so the builds are kept in the cache.
            (None, Some(_)) => cache.as_ref().map(|cache| cache.join("target")),
            (None, None) => None,
        };
        let cargo = variable("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Self { root: root.to_owned(), cargo, cache, target })
    }

    /// Returns the folder with the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder for builds, or `None` for cargo's default.
    pub(crate) fn target(&self) -> Option<&Path> {
        self.target.as_deref()
    }

    /// Returns the folder for tools that not every machine has.
    pub(crate) fn tools(&self) -> Result<PathBuf, WorkspaceError> {
        let cache = self.cache.as_ref().ok_or(WorkspaceError::NoCache)?;
        Ok(cache.join("tools"))
    }

    /// Returns a `cargo` of the same toolchain, at the root, with the same folder for builds.
    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = self.program(&self.cargo);
        command.args(arguments);
        command
    }

    /// Returns a command for the metadata of the workspace, with the same folder for builds.
    pub(crate) fn metadata(&self) -> MetadataCommand {
        let mut command = MetadataCommand::new();
        command.cargo_path(&self.cargo).current_dir(&self.root);
        if let Some(target) = &self.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }

    /// Any other program, started in the same way.
    pub(crate) fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        if let Some(target) = &self.target {
            command.env("CARGO_TARGET_DIR", target);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(variables: &[(&str, &str)]) -> Result<Workspace, WorkspaceError> {
        Workspace::from_variables(|wanted| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.into())
        })
    }

    const CARGO: (&str, &str) = ("CARGO_MANIFEST_DIR", "/clone/xtask");
    const HOME: (&str, &str) = ("HOME", "/me");

    fn target(variables: &[(&str, &str)]) -> Option<PathBuf> {
        workspace(variables).unwrap().target
    }

    #[test]
    fn the_root_is_the_folder_above_xtask() {
        assert_eq!(workspace(&[CARGO]).unwrap().root(), Path::new("/clone"));
    }

    #[test]
    fn without_cargo_the_error_says_how_to_start_it() {
        let message = workspace(&[HOME]).unwrap_err().to_string();
        assert!(message.contains("cargo xtask"), "{message}");
    }

    #[test]
    fn ci_builds_in_the_cache() {
        let cached = Some(PathBuf::from("/me/.cache/tertulia/target"));
        assert_eq!(target(&[CARGO, HOME, ("CI", "true")]), cached);
    }

    #[test]
    fn the_cache_folder_of_the_desktop_wins_over_home() {
        let cached = Some(PathBuf::from("/caches/tertulia/target"));
        assert_eq!(target(&[CARGO, HOME, ("CI", "true"), ("XDG_CACHE_HOME", "/caches")]), cached);
    }

    #[test]
    fn a_chosen_target_folder_is_kept_in_ci_too() {
        let chosen = Some(PathBuf::from("/builds"));
        assert_eq!(target(&[CARGO, HOME, ("CI", "true"), ("CARGO_TARGET_DIR", "/builds")]), chosen);
    }

    #[test]
    fn outside_ci_cargo_decides_where_builds_go() {
        assert_eq!(target(&[CARGO, HOME]), None);
        assert_eq!(target(&[CARGO, HOME, ("CI", "")]), None);
    }
}
