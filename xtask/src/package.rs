//! `cargo xtask package`: every crate that is published can be packaged, and its package is complete. The quick form
//! needs no network and compiles nothing; `cargo xtask test` runs it. `--verify` compiles each package from its own
//! files, as a registry would.

mod contents;
mod manifest;

use crate::command::UsageError;
use crate::process::{self, ProcessError};
use crate::workspace::Workspace;
use cargo_metadata::{Metadata, Package};
use std::path::PathBuf;

/// Whether the packages are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// They are created and read.
    Made,
    /// They are compiled from their own files, too.
    Compiled,
}

impl Depth {
    /// Reads `[--verify]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        match arguments {
            [] => Ok(Self::Made),
            [only] if only == "--verify" => Ok(Self::Compiled),
            [argument, ..] => Err(UsageError::UnexpectedArgument {
                command: "package",
                argument: argument.clone(),
            }),
        }
    }
}

/// A package that cannot be made, or must not be published as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    #[error("cargo cannot describe the workspace; run `cargo metadata` to see why")]
    Metadata(#[from] cargo_metadata::Error),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("the package {path} cannot be read; run `cargo package` manually to see why")]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{count} problems in packages; each line above says how to fix it")]
    Problems { count: usize },
}

/// Makes the packages and checks them.
pub(crate) fn run(workspace: &Workspace, depth: Depth) -> Result<(), PackageError> {
    let metadata = workspace.metadata().no_deps().exec()?;
    let published = published(&metadata);
    let mut problems: Vec<String> =
        published.iter().flat_map(|package| manifest::problems(package, &published)).collect();
    // Cargo's own messages about a faulty manifest are less clear.
    if problems.is_empty() {
        make(workspace, depth, &published)?;
        for package in &published {
            problems.extend(contents::problems(&metadata, package)?);
        }
    }
    for problem in &problems {
        println!("{problem}");
    }
    if !problems.is_empty() {
        return Err(PackageError::Problems { count: problems.len() });
    }
    println!("{} packages are complete", published.len());
    Ok(())
}

/// The members that a registry gets.
fn published(metadata: &Metadata) -> Vec<&Package> {
    let mut members = metadata.workspace_packages();
    members.retain(|package| package.publish.as_ref().is_none_or(|to| !to.is_empty()));
    members
}

/// Creates the packages with cargo, in the order of their dependencies.
fn make(workspace: &Workspace, depth: Depth, packages: &[&Package]) -> Result<(), PackageError> {
    // Uncommitted changes are allowed, because the check runs before the commit.
    let mut cargo = workspace.cargo(["package", "--quiet", "--locked", "--allow-dirty"]);
    if depth == Depth::Made {
        cargo.args(["--no-verify", "--offline"]);
    }
    for package in packages {
        cargo.args(["--package", package.name.as_str()]);
    }
    Ok(process::run_silent(&mut cargo, "cargo package")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_compiled_only_where_it_is_asked_for() {
        let parse = |line: &str| {
            Depth::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(parse(""), Ok(Depth::Made));
        assert_eq!(parse("--verify"), Ok(Depth::Compiled));
        assert!(parse("--fast").is_err());
    }
}
