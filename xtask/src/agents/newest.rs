//! `cargo xtask agents --newest`: the same tests with the newest release of every agent program, to learn early which
//! formats changed. The programs are installed in separate folders, so that one that cannot be
//! installed does not prevent the tests of the others.

use super::install::{self, PACKAGES, Package};
use super::machine::Machine;
use super::{AgentsError, SUITES, namespace};
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;

/// The newest release of an agent program.
#[derive(Debug, PartialEq, Eq)]
enum Newest {
    Version(String),
    /// npm cannot install it, so the tested version is used instead. Contains the version that the registry names.
    NotInstalled(Option<String>),
}

/// Installs the newest releases, runs the tests with them, and prints what changed.
pub(super) fn run(
    workspace: &Workspace,
    machine: &Machine,
    tested: &Path,
) -> Result<(), AgentsError> {
    let folder = workspace.tools()?.with_file_name("agent-clis").join("newest");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(install::files(&folder)(error));
        }
        _ => {}
    }
    let programs = folder.join("bin");
    install::create(&programs)?;
    for package in &PACKAGES {
        if package.program == install::NODE {
            // It runs other programs and writes no sessions.
            install::start_in_place(
                &tested.join(package.program),
                &programs.join(package.program),
            )?;
            continue;
        }
        let newest = install_one(machine, &folder, package, tested)?;
        println!("{}", line(package, &newest));
    }
    let mut failed = Vec::new();
    for suite in SUITES {
        let built = suite.build(workspace)?;
        let output = namespace::capture(machine, &programs, &built)?;
        let names = failed_tests(&output);
        println!("{} {}: {} tests failed", suite.package, suite.test, names.len());
        failed.extend(names);
    }
    failed.iter().for_each(|name| println!("  {name}"));
    match failed.len() {
        0 => Ok(()),
        count => Err(AgentsError::Changed { count }),
    }
}

fn install_one(
    machine: &Machine,
    folder: &Path,
    package: &Package,
    tested: &Path,
) -> Result<Newest, AgentsError> {
    let own = folder.join(package.program);
    install::create(&own)?;
    let link = folder.join("bin").join(package.program);
    let packages = own.join("node_modules");
    let installed = install::npm(machine, &own, &[format!("{}@latest", package.name)]).is_ok();
    let version = installed.then(|| version_of(&packages.join(package.name))).flatten();
    match (version, install::find_file(&packages, package.file)) {
        (Some(version), Some(file)) => {
            let target = Path::new("..").join(package.program).join("node_modules").join(file);
            install::link(package, &target, &link)?;
            Ok(Newest::Version(version))
        }
        _ => {
            install::start_in_place(&tested.join(package.program), &link)?;
            Ok(Newest::NotInstalled(install::newest_version(machine, package)))
        }
    }
}

/// Returns the version in the manifest of a package.
fn version_of(package: &Path) -> Option<String> {
    let manifest = fs::read_to_string(package.join("package.json")).ok()?;
    let after = manifest.split_once("\"version\": \"")?.1;
    Some(after.split_once('"')?.0.to_owned())
}

fn line(package: &Package, newest: &Newest) -> String {
    let (name, tested) = (package.program, package.version);
    match newest {
        Newest::Version(version) if *version == tested => format!("{name} {tested} is the newest"),
        Newest::Version(version) => format!("{name} {tested} is tested, {version} is the newest"),
        Newest::NotInstalled(Some(version)) => format!(
            "{name} {tested} is tested, {version} is the newest, and npm cannot install it here"
        ),
        Newest::NotInstalled(None) => {
            format!("{name} {tested} is tested; the registry names no newest version")
        }
    }
}

/// Returns the names of the failed tests, from the output of the test program.
fn failed_tests(output: &str) -> Vec<String> {
    let name =
        |line: &str| Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.to_owned());
    output.lines().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failed_tests_are_named() {
        let output =
            "running 2 tests\ntest a::b ... ok\ntest c::d ... FAILED\n\nfailures:\n    c::d\n";
        assert_eq!(failed_tests(output), ["c::d"]);
    }

    #[test]
    fn the_versions_are_compared() {
        let package = &PACKAGES[0];
        let newest = |version: &str| line(package, &Newest::Version(version.to_owned()));
        assert_eq!(newest(package.version), "claude 2.1.325 is the newest");
        assert_eq!(newest("3.0.0"), "claude 2.1.325 is tested, 3.0.0 is the newest");
        let missing = |version: Option<&str>| {
            line(package, &Newest::NotInstalled(version.map(str::to_owned)))
        };
        assert_eq!(
            missing(Some("3.0.0")),
            "claude 2.1.325 is tested, 3.0.0 is the newest, and npm cannot install it here"
        );
        assert!(missing(None).contains("no newest version"));
    }
}
