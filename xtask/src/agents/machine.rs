//! The requirements of the tests with real agent programs, and whether the machine meets them: the programs of
//! the system, and network namespaces.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders that are not on every user's `PATH`.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A machine that meets all requirements.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) npm: PathBuf,
    pub(super) node: PathBuf,
    pub(super) ip: PathBuf,
    /// The program and the arguments that run a command in its own network namespace.
    pub(super) unshare: Vec<PathBuf>,
}

impl Machine {
    /// Checks this machine. Missing requirements are listed by name.
    pub(super) fn look() -> Result<Self, Vec<String>> {
        if !cfg!(target_os = "linux") {
            return Err(vec!["Linux, whose network namespaces the tests need".to_owned()]);
        }
        let mut missing = Vec::new();
        let mut program = |name: &str| {
            let found = find(name, &folders());
            if found.is_none() {
                missing.push(format!("the program `{name}`"));
            }
            found
        };
        let found = (program("npm"), program("node"), program("ip"), program("unshare"));
        let (Some(npm), Some(node), Some(ip), Some(unshare)) = found else {
            return Err(missing);
        };
        let Some(unshare) = own_network(&unshare, &ip) else {
            let what = "permission to create network namespaces (neither `unshare --net` nor \
                `unshare --map-root-user --net` works)";
            return Err(vec![what.to_owned()]);
        };
        Ok(Self { npm, node, ip, unshare })
    }

    /// Returns a `PATH` with these folders first, then that of Node, then the system's own. It contains no
    /// folders of the user.
    pub(super) fn path(&self, first: &[PathBuf]) -> std::ffi::OsString {
        let node = self.node.parent().map(Path::to_owned);
        let system = SYSTEM_FOLDERS.map(PathBuf::from);
        let folders = first.iter().cloned().chain(node).chain(system);
        // A folder with a colon in its name cannot be on any PATH.
        env::join_paths(folders).unwrap_or_default()
    }
}

/// Returns a command that creates a network namespace here: with the current rights, or otherwise in a user
/// namespace.
fn own_network(unshare: &Path, ip: &Path) -> Option<Vec<PathBuf>> {
    let ways: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];
    let works = |way: &&[&str]| {
        let mut command = Command::new(unshare);
        command.args(*way).arg(ip).args(["link", "set", "lo", "up"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let way = ways.into_iter().find(works)?;
    Some([unshare.to_owned()].into_iter().chain(way.iter().map(PathBuf::from)).collect())
}

fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from)).collect()
}

fn find(name: impl AsRef<OsStr>, folders: &[PathBuf]) -> Option<PathBuf> {
    let candidates = folders.iter().map(|folder| folder.join(name.as_ref()));
    candidates.filter(|path| path.is_absolute()).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_first_folder_that_has_it() {
        let folders = [PathBuf::from("/no/such/folder"), PathBuf::from("/bin")];
        assert_eq!(find("sh", &folders), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("no-such-program-anywhere", &folders), None);
    }

    #[test]
    fn nothing_of_the_user_is_on_the_path_of_the_tests() {
        let machine = Machine {
            npm: "/n/npm".into(),
            node: "/n/bin/node".into(),
            ip: "/sbin/ip".into(),
            unshare: Vec::new(),
        };
        let path = machine.path(&["/agents/bin".into()]).into_string().unwrap();
        assert!(path.starts_with("/agents/bin:/n/bin:/usr/local/bin:"), "{path}");
        assert_eq!(path.split(':').count(), 8, "{path}");
    }
}
