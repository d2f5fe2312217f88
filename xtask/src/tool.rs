//! Cargo tools that not every machine has: finds the version that was tested with the pinned compiler, or
//! installs it in the user's cache. Used by `fuzz`, `deny` and `book`.

use crate::process::{self, ProcessError};
use crate::workspace::{Workspace, WorkspaceError};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program from crates.io.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// An error of installing a tool.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl Tool {
    /// Returns the program, and installs it first if necessary.
    pub(crate) fn find_or_install(&self, workspace: &Workspace) -> Result<PathBuf, ToolError> {
        let on_path = PathBuf::from(self.name);
        if self.is_at(&on_path) {
            return Ok(on_path);
        }
        let tools = workspace.tools()?;
        let installed = tools.join("bin").join(self.name);
        if !self.is_at(&installed) {
            let Self { name, version } = self;
            println!("{name} {version} is missing; installing it in {}", tools.display());
            let mut install = workspace.cargo(["install", "--locked", name]);
            install.args(["--version", version, "--root"]).arg(&tools);
            process::run(&mut install)?;
        }
        Ok(installed)
    }

    fn is_at(&self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| self.is_named_by(&String::from_utf8_lossy(&output.stdout)))
    }

    fn is_named_by(&self, version_line: &str) -> bool {
        let named = version_line.trim().split_once(' ');
        // mdbook writes a `v` before its version.
        named.is_some_and(|(name, version)| {
            name == self.name && version.strip_prefix('v').unwrap_or(version) == self.version
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

    #[test]
    fn only_the_tried_version_will_do() {
        assert!(TOOL.is_named_by("cargo-fuzz 0.13.2\n"));
        assert!(!TOOL.is_named_by("cargo-fuzz 0.13.20\n"));
        assert!(!TOOL.is_named_by("cargo-fuzz 0.12.0\n"));
        assert!(!TOOL.is_named_by("cargo-deny 0.13.2\n"));
        assert!(!TOOL.is_named_by(""));
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert!(!TOOL.is_at(Path::new("no-such-program-anywhere")));
    }
}
