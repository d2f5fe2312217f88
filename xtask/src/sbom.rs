//! `cargo xtask sbom`: the bill of materials of the program as CycloneDX JSON. It lists every crate that is compiled
//! into the program, and those that only run while it is compiled. `dist` puts it beside the packages. The same
//! sources give the same bytes: there is no serial number and no time in it.

mod component;

use crate::command::UsageError;
use crate::process::{self, ProcessError};
use crate::workspace::Workspace;
use cargo_metadata::{Metadata, Package};
use component::Component;
pub(crate) use component::Scope;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The target whose crates are listed, unless another is named.
const TARGET: &str = "x86_64-unknown-linux-musl";

const PROGRAM: &str = "tertulia";

/// An error of making the bill of materials.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SbomError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("cargo cannot describe the dependencies; run `cargo metadata --locked` to see why")]
    Metadata(#[from] cargo_metadata::Error),
    #[error("Cargo.lock cannot be read; run `cargo check` to write it anew")]
    Lock(#[source] std::io::Error),
    #[error("Cargo.lock is not TOML; run `cargo check` to write it anew")]
    BadLock(#[from] toml::de::Error),
    #[error("cargo lists `{line}`, which is not a crate of Cargo.lock; run `cargo check`")]
    Unknown { line: String },
}

/// Reads `[--target T]`.
pub(crate) fn parse(arguments: &[String]) -> Result<String, UsageError> {
    match arguments {
        [] => Ok(TARGET.to_owned()),
        [option, target] if option == "--target" => Ok(target.clone()),
        [option] if option == "--target" => Err(UsageError::MissingValue { option: "--target" }),
        [argument, ..] => {
            Err(UsageError::UnexpectedArgument { command: "sbom", argument: argument.clone() })
        }
    }
}

/// Prints the bill.
pub(crate) fn run(workspace: &Workspace, target: &str) -> Result<(), SbomError> {
    print!("{}", Crates::find(workspace, target)?.bill());
    Ok(())
}

/// The crates of which the program consists.
pub(crate) struct Crates {
    packages: Vec<(Package, Scope)>,
    checksums: Checksums,
}

/// The checksums of Cargo.lock, by name and version.
type Checksums = BTreeMap<(String, String), String>;

impl Crates {
    /// Asks cargo for them.
    pub(crate) fn find(workspace: &Workspace, target: &str) -> Result<Self, SbomError> {
        let metadata = workspace.metadata().other_options(["--locked".to_owned()]).exec()?;
        let compiled_in = list(workspace, target, "normal,no-proc-macro")?;
        let all = list(workspace, target, "normal,build")?;
        let mut packages = Vec::new();
        for (name, version) in all.union(&compiled_in) {
            let is_in = compiled_in.contains(&(name.clone(), version.clone()));
            let scope = if is_in { Scope::Required } else { Scope::Excluded };
            packages.push((package(&metadata, name, version)?, scope));
        }
        let lock = workspace.root().join("Cargo.lock");
        let lock = std::fs::read_to_string(lock).map_err(SbomError::Lock)?;
        Ok(Self { packages, checksums: checksums(&lock)? })
    }

    /// The folders and names of the crates of others that are compiled into the program.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = (&Package, PathBuf)> {
        let foreign = self
            .packages
            .iter()
            .filter(|(package, scope)| *scope == Scope::Required && package.source.is_some());
        foreign.filter_map(|(package, _)| {
            Some((package, package.manifest_path.parent()?.to_owned().into_std_path_buf()))
        })
    }

    /// The bill as text.
    pub(crate) fn bill(&self) -> String {
        let (program, others): (Vec<_>, Vec<_>) = self
            .packages
            .iter()
            .map(|(package, scope)| self.component(package, *scope))
            .partition(|component| component.name == PROGRAM);
        let program = program.first().map(Component::to_json);
        let others: Vec<_> = others.iter().map(Component::to_json).collect();
        let bill = serde_json::json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": { "component": program },
            "components": others,
        });
        format!("{bill:#}\n")
    }

    fn component(&self, package: &Package, scope: Scope) -> Component {
        let key = (package.name.to_string(), package.version.to_string());
        Component {
            is_program: package.name.as_str() == PROGRAM,
            checksum: self.checksums.get(&key).cloned(),
            name: key.0,
            version: key.1,
            licence: package.license.clone(),
            description: package.description.clone(),
            repository: package.repository.clone(),
            scope,
        }
    }
}

/// Names and versions of the crates that the program depends on over these edges. `cargo tree` chooses features as a
/// build of the program alone does; the metadata of the workspace would add those that tests want.
fn list(
    workspace: &Workspace,
    target: &str,
    edges: &str,
) -> Result<BTreeSet<(String, String)>, SbomError> {
    let mut tree = workspace.cargo(["tree", "--locked", "--package", PROGRAM, "--target", target]);
    tree.args(["--edges", edges, "--prefix", "none", "--format", "{p}"]);
    let text = process::capture(&mut tree)?;
    String::from_utf8_lossy(&text).lines().map(read_line).collect()
}

/// Reads a line such as `serde v1.0.1 (*)`.
fn read_line(line: &str) -> Result<(String, String), SbomError> {
    let mut words = line.split(' ');
    let name = words.next();
    let version = words.next().and_then(|version| version.strip_prefix('v'));
    match (name, version) {
        (Some(name), Some(version)) => Ok((name.to_owned(), version.to_owned())),
        _ => Err(SbomError::Unknown { line: line.to_owned() }),
    }
}

fn package(metadata: &Metadata, name: &str, version: &str) -> Result<Package, SbomError> {
    let is_it = |one: &&Package| one.name.as_str() == name && one.version.to_string() == version;
    let found = metadata.packages.iter().find(is_it).cloned();
    found.ok_or_else(|| SbomError::Unknown { line: format!("{name} v{version}") })
}

fn checksums(lock: &str) -> Result<Checksums, SbomError> {
    let lock: toml::Table = lock.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let entry = |package| {
        let key = (text(package, "name")?, text(package, "version")?);
        Some((key, text(package, "checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_a_name_and_a_version() {
        let serde = ("serde".to_owned(), "1.0.1".to_owned());
        assert_eq!(read_line("serde v1.0.1").unwrap(), serde);
        assert_eq!(read_line("serde v1.0.1 (*)").unwrap(), serde);
        assert_eq!(read_line("serde v1.0.1 (/clone/serde)").unwrap(), serde);
        assert!(read_line("").is_err());
    }

    #[test]
    fn checksums_are_those_of_the_lock_file() {
        let lock = "\
[[package]]
name = \"serde\"
version = \"1.0.1\"
checksum = \"ab12\"

[[package]]
name = \"tertulia\"
version = \"0.1.0\"
";
        let expected = (("serde".to_owned(), "1.0.1".to_owned()), "ab12".to_owned());
        assert_eq!(checksums(lock).unwrap(), [expected].into());
    }

    #[test]
    fn the_target_may_be_named() {
        let parse =
            |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parse("").unwrap(), TARGET);
        assert_eq!(parse("--target aarch64-apple-darwin").unwrap(), "aarch64-apple-darwin");
        assert!(parse("--target").is_err());
        assert!(parse("--json").is_err());
    }
}
