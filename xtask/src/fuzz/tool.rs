//! Finds `cargo-fuzz` in the version that was tried with the pinned compiler, or installs it in
//! the user's cache. Only `cargo xtask fuzz` needs it.

use super::FuzzError;
use crate::process;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = "0.13.2";

/// The program to call, which is installed first if need be.
pub(super) fn find_or_install(workspace: &Workspace) -> Result<PathBuf, FuzzError> {
    let on_path = PathBuf::from("cargo-fuzz");
    if has_version(&on_path) {
        return Ok(on_path);
    }
    let tools = workspace.tools()?;
    let installed = tools.join("bin/cargo-fuzz");
    if !has_version(&installed) {
        println!("cargo-fuzz {VERSION} is not here yet; installing it in {}", tools.display());
        let mut install = workspace.cargo(["install", "--locked", "cargo-fuzz"]);
        install.args(["--version", VERSION, "--root"]).arg(&tools);
        process::run(&mut install)?;
    }
    Ok(installed)
}

fn has_version(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| is_wanted(&String::from_utf8_lossy(&output.stdout)))
}

fn is_wanted(version_line: &str) -> bool {
    version_line.trim().strip_prefix("cargo-fuzz ") == Some(VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tried_version_will_do() {
        assert!(is_wanted("cargo-fuzz 0.13.2\n"));
        assert!(!is_wanted("cargo-fuzz 0.13.20\n"));
        assert!(!is_wanted("cargo-fuzz 0.12.0\n"));
        assert!(!is_wanted(""));
    }

    #[test]
    fn a_program_that_is_not_there_has_no_version() {
        assert!(!has_version(Path::new("no-such-program-anywhere")));
    }
}
