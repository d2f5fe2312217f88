//! Builds the program for a platform, installs the required compilers if possible, and checks the size of the result.

use super::platform::Platform;
use super::system::MUSL_GCC;
use super::{DistError, Options, RELEASE};
use crate::binary;
use crate::process;
use crate::provide;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "tertulia";

/// The maximum size of a release. Vocabularies and SQLite take most of it.
const BYTES_MAX: u64 = 35_000_000;

/// Returns the requested platform, or that of this machine.
pub(super) fn platform(
    workspace: &Workspace,
    options: &Options,
) -> Result<&'static Platform, DistError> {
    let target = match &options.target {
        Some(target) => target.clone(),
        None => {
            let version = process::capture(workspace.program("rustc").arg("-vV"))?;
            host(&String::from_utf8_lossy(&version)).ok_or(DistError::NoHost)?.to_owned()
        }
    };
    Platform::find(&target).ok_or(DistError::UnknownTarget(target))
}

fn host(version: &str) -> Option<&str> {
    version.lines().find_map(|line| line.strip_prefix("host: "))
}

/// Builds the program, and checks the size of a release; `scratch` is an empty folder.
pub(super) fn program(
    workspace: &Workspace,
    options: &Options,
    platform: &Platform,
    scratch: &Path,
) -> Result<PathBuf, DistError> {
    let mut cargo = if options.profile == RELEASE {
        workspace.cargo(["build", "--package", PROGRAM, "--bin", PROGRAM])
    } else {
        // Builds the program with the features of the tests, so that nothing is compiled twice.
        workspace.cargo(["test", "--no-run", "--workspace"])
    };
    cargo.args(["--locked", "--profile", &options.profile]);
    // A named target has its own folder, even if it is the target of this machine.
    if let Some(target) = &options.target {
        add_target(workspace, target)?;
        cargo.args(["--target", target]);
    }
    if platform.is_static() {
        // Build scripts find it by themselves.
        MUSL_GCC.provide()?;
    }
    println!("building {PROGRAM} for {} with the profile {}", platform.target, options.profile);
    let program = binary::build(&mut cargo, PROGRAM)?;
    if options.profile != RELEASE {
        return without_debug_information(&program, scratch);
    }
    let bytes = size(&program)?;
    println!("the program has {bytes} bytes");
    if bytes > BYTES_MAX {
        return Err(DistError::TooLarge { bytes, limit: BYTES_MAX });
    }
    Ok(program)
}

/// Makes a copy without debug information. Otherwise, four packages would contain it. A release has none.
fn without_debug_information(program: &Path, scratch: &Path) -> Result<PathBuf, DistError> {
    let copy = scratch.join(PROGRAM);
    process::run(Command::new("strip").arg("-S").arg("-o").arg(&copy).arg(program))?;
    Ok(copy)
}

/// Installs the standard library of the target, if rustup manages the toolchain.
fn add_target(workspace: &Workspace, target: &str) -> Result<(), DistError> {
    if provide::find("rustup").is_none() {
        return Ok(());
    }
    let mut list = workspace.program("rustup");
    let installed = process::capture(list.args(["target", "list", "--installed"]))?;
    if String::from_utf8_lossy(&installed).lines().any(|one| one == target) {
        return Ok(());
    }
    Ok(process::run(workspace.program("rustup").args(["target", "add", target]))?)
}

fn size(program: &Path) -> Result<u64, DistError> {
    let metadata = std::fs::metadata(program);
    let metadata =
        metadata.map_err(|source| DistError::File { path: program.to_owned(), source })?;
    Ok(metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_read_from_the_version_of_the_compiler() {
        let version = "rustc 1.95.0 (abc 2026-04-01)\nbinary: rustc\nhost: aarch64-apple-darwin\n";
        assert_eq!(host(version), Some("aarch64-apple-darwin"));
        assert_eq!(host("rustc 1.95.0"), None);
    }
}
