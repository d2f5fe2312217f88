//! Finds the program of an agent, by a path or by a name in `PATH`, and checks that the interpreter of its `#!` line
//! exists. Used wherever an agent is started or located. Folders of `PATH` that are relative, or inside the project
//! where the agent works, are not searched, because a project must not provide its own `claude`.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::read_prefix;
use super::start::StartError;
use crate::agents::{AGENTS, AgentDefinition};

const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Maximum number of bytes of the `#!` line; the kernel reads no more.
const LINE_BYTES_MAX: usize = 256;

/// Finds a program. A name with a `/` is a path, relative to the agent's folder.
pub(crate) fn resolve(
    name: &str,
    environment: &Environment,
    cwd: &Path,
) -> Result<PathBuf, StartError> {
    let path = find(name, environment, cwd)?;
    check_interpreter(&path, environment)?;
    Ok(path)
}

fn find(name: &str, environment: &Environment, cwd: &Path) -> Result<PathBuf, StartError> {
    if name.contains('/') {
        let path = cwd.join(name);
        let path = std::path::absolute(&path).unwrap_or(path);
        return match std::fs::metadata(&path) {
            Err(_) => Err(StartError::NoFile { path }),
            Ok(_) if !is_executable(&path) => Err(StartError::NotExecutable { path }),
            Ok(_) => Ok(path),
        };
    }
    let searched = searched_by(environment);
    let (found, refused) = search(name, searched, Some(cwd));
    match (found, refused) {
        (Some(path), _) => Ok(path),
        (None, Some(path)) => Err(StartError::NotExecutable { path }),
        (None, None) => Err(StartError::Missing {
            name: name.into(),
            searched: format!("PATH ({})", searched.to_string_lossy()).into(),
            advice: install(name).into(),
        }),
    }
}

fn searched_by(environment: &Environment) -> &OsStr {
    environment.get("PATH").unwrap_or(OsStr::new(PATH_DEFAULT))
}

/// Searches the folders of a `PATH`. Returns the first executable file and the first that is not
/// executable.
fn search(name: &str, path: &OsStr, not_in: Option<&Path>) -> (Option<PathBuf>, Option<PathBuf>) {
    let mut refused = None;
    if name.is_empty() || name.contains(['/', '\0']) {
        return (None, None);
    }
    let own = not_in.map(project_of);
    for folder in std::env::split_paths(path) {
        let is_own = own.as_ref().is_some_and(|own| {
            folder.starts_with(own) || folder.canonicalize().is_ok_and(|real| real.starts_with(own))
        });
        // Every folder is below the root folder, so nothing is excluded for an agent that works there.
        let is_root = own.as_ref().is_some_and(|own| own.parent().is_none());
        if !folder.is_absolute() || (is_own && !is_root) {
            continue;
        }
        let file = folder.join(name);
        if is_executable(&file) {
            return (Some(file), None);
        }
        if refused.is_none() && file.is_file() {
            refused = Some(file);
        }
    }
    (None, refused)
}

/// Returns the project to which a folder belongs, with links resolved: its repository, or the folder itself. A
/// repository that contains the home folder does not count, because some people keep their settings in one.
fn project_of(cwd: &Path) -> PathBuf {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    let holds_home = |folder: &Path| home.as_ref().is_some_and(|home| home.starts_with(folder));
    let mut above = cwd.ancestors();
    let repository = above.find(|folder| folder.join(".git").exists() && !holds_home(folder));
    repository.map_or_else(|| cwd.clone(), Path::to_owned)
}

fn install(name: &str) -> String {
    let own = |agent: &&&AgentDefinition| agent.cli.as_ref().is_some_and(|cli| cli.program == name);
    match AGENTS.iter().find(own) {
        Some(AgentDefinition { title, cli: Some(cli), .. }) => {
            format!("install {title} (npm install -g {})", cli.package)
        }
        _ => "install it".to_owned(),
    }
}

fn is_executable(path: &Path) -> bool {
    let is_marked = |metadata: std::fs::Metadata| {
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    };
    std::fs::metadata(path).is_ok_and(is_marked)
        && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Rejects a script whose `#!` line names a program that does not exist. For such a script the system would only
/// report "No such file or directory". Accepts files that cannot be read or are not scripts; the system reports their
/// errors.
fn check_interpreter(path: &Path, environment: &Environment) -> Result<(), StartError> {
    let Some(line) = first_line(path) else { return Ok(()) };
    let missing = |interpreter: &str, hint: &'static str| StartError::NoInterpreter {
        path: path.to_owned(),
        interpreter: interpreter.into(),
        hint,
    };
    if let Some(bare) = line.strip_suffix('\r') {
        let hint = "the line ends with a Windows line break; save the file with Unix line breaks";
        return Err(missing(bare.trim(), hint));
    }
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next() else { return Ok(()) };
    if !Path::new(interpreter).exists() {
        return Err(missing(interpreter, "install it, or correct the #! line"));
    }
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    match named.filter(|name| is_env && !name.contains('/')) {
        Some(name) if search(name, searched_by(environment), None).0.is_none() => {
            Err(missing(name, "install it, or add its folder to PATH"))
        }
        _ => Ok(()),
    }
}

fn first_line(path: &Path) -> Option<String> {
    let start = read_prefix(path, LINE_BYTES_MAX as u64)?;
    let line = start.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    String::from_utf8(line.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, mode: u32) -> PathBuf {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn folders_of_the_project_and_relative_ones_are_not_searched() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        put(&project.join("bin"), "claude", 0o755);
        let outside = put(&home.path().join("bin"), "claude", 0o755);
        let path =
            std::env::join_paths([Path::new("."), &project.join("bin"), &home.path().join("bin")]);
        let path = path.unwrap();
        assert_eq!(search("claude", &path, Some(&project)), (Some(outside), None));
        assert_eq!(search("claude", OsStr::new(".:bin:"), Some(&project)), (None, None));
    }

    #[test]
    fn a_folder_that_leads_into_the_project_by_a_link_is_not_searched() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        put(&project.join("bin"), "claude", 0o755);
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::create_dir_all(project.join("sub")).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(project.join("bin"), &link).unwrap();
        let other = home.path().join("other");
        std::os::unix::fs::symlink(&project, &other).unwrap();
        for cwd in [project.clone(), project.join("sub"), other.clone()] {
            for path in [&link, &other.join("bin"), &project.join("bin")] {
                assert_eq!(search("claude", path.as_os_str(), Some(&cwd)), (None, None));
            }
        }
        assert!(
            search("claude", link.as_os_str(), Some(home.path().join("x").as_path())).0.is_some()
        );
    }

    #[test]
    fn a_file_that_may_not_be_executed_is_named_if_there_is_no_better_one() {
        let home = tempfile::tempdir().unwrap();
        let plain = put(&home.path().join("a"), "bot", 0o644);
        let path = home.path().join("a");
        assert_eq!(search("bot", path.as_os_str(), None), (None, Some(plain)));
        let good = put(&home.path().join("b"), "bot", 0o755);
        let path = std::env::join_paths([path, home.path().join("b")]).unwrap();
        assert_eq!(search("bot", &path, None).0, Some(good));
    }

    #[test]
    fn a_name_that_is_a_path_is_looked_for_below_the_agent_s_folder() {
        let home = tempfile::tempdir().unwrap();
        let path = put(home.path(), "bot", 0o755);
        let none = Environment::default();
        assert_eq!(resolve("./bot", &none, home.path()).unwrap(), path);
        assert_eq!(resolve(path.to_str().unwrap(), &none, Path::new("/")).unwrap(), path);
        let StartError::NotExecutable { path } =
            resolve("./Cargo.toml", &none, Path::new(".")).unwrap_err()
        else {
            panic!("it is there, and no program")
        };
        assert!(path.is_absolute());
        let error = resolve("./nobody", &none, home.path()).unwrap_err();
        assert!(matches!(error, StartError::NoFile { .. }));
    }

    /// Returns the error for a script that begins with this line.
    fn said(line: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let said = check_interpreter(&path, &Environment::default()).err()?.to_string();
        Some(said.replace(&*path.to_string_lossy(), "script"))
    }

    #[test]
    fn an_interpreter_that_is_missing_is_named() {
        let said = |line| said(line).unwrap();
        assert_eq!(
            said("#!/no/such/python3 -u"),
            "script needs /no/such/python3 (its #! line), which does not exist; install it, or correct the \
             #! line"
        );
        assert!(said("#!/usr/bin/env no-such-node").contains("needs no-such-node (its #! line)"));
        assert!(said("#! /usr/bin/env -S A=b no-such-node -x").contains("needs no-such-node"));
        assert!(said("#!/bin/sh\r").contains("Windows line break"));
        assert!(said("#!/usr/bin/env sh\r").contains("Windows line break"));
    }

    #[test]
    fn a_program_that_can_be_started_is_left_alone() {
        for line in ["#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh", "\x7fELF", "", "#!", "echo"]
        {
            assert_eq!(said(line), None, "{line:?}");
        }
    }
}
