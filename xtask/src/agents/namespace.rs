//! Runs a test program in isolation: in its own network namespace that has only loopback, with an environment of a
//! few test variables, and with a temporary home. So no agent program can see the user's keys or reach a service.

use super::AgentsError;
use super::machine::Machine;
use super::suite::Built;
use crate::process;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Starts the loopback interface, then executes the program.
const LOOPBACK_UP: &str = "\"$0\" link set lo up && exec \"$@\"";

/// Runs a test program; its output goes to our own streams.
pub(super) fn run(machine: &Machine, programs: &Path, built: &Built) -> Result<(), AgentsError> {
    let home = Home::new()?;
    process::run(&mut command(machine, programs, built, &home.0))?;
    Ok(())
}

/// Runs a test program, and returns its output, even if tests failed.
pub(super) fn capture(
    machine: &Machine,
    programs: &Path,
    built: &Built,
) -> Result<String, AgentsError> {
    let home = Home::new()?;
    let mut command = command(machine, programs, built, &home.0);
    let source = |source| AgentsError::Files { path: built.program.clone(), source };
    let output = command.output().map_err(source)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn command(machine: &Machine, programs: &Path, built: &Built, home: &Path) -> Command {
    let mut words = machine.unshare.iter().map(|word| word.as_os_str());
    let mut command = Command::new(words.next().unwrap_or(OsStr::new("unshare")));
    command.args(words).args(["sh", "-c", LOOPBACK_UP]);
    command.arg(&machine.ip).arg(&built.program).current_dir(&built.folder);
    command.env_clear().envs(environment(machine.path(&[programs.to_owned()]), home));
    command
}

/// The whole environment of the tests. The tests set invented keys themselves.
fn environment(path: OsString, home: &Path) -> [(&'static str, OsString); 6] {
    [
        ("PATH", path),
        ("HOME", home.into()),
        // Codex does not accept its own files in the folder for temporary files.
        ("TMPDIR", home.join("tmp").into()),
        ("LANG", "C.UTF-8".into()),
        ("TERM", "dumb".into()),
        ("RUST_BACKTRACE", "1".into()),
    ]
}

/// A home for one run.
struct Home(PathBuf);

impl Home {
    fn new() -> Result<Self, AgentsError> {
        let name = format!("tertulia-agents-{}", std::process::id());
        let home = std::env::temp_dir().join(name);
        let temporary = home.join("tmp");
        match fs::create_dir_all(&temporary) {
            Ok(()) => Ok(Self(home)),
            Err(source) => Err(AgentsError::Files { path: temporary, source }),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The system removes the rest, because it is among the temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Command {
        let machine = Machine {
            npm: "/n/npm".into(),
            node: "/n/node".into(),
            ip: "/sbin/ip".into(),
            unshare: ["/bin/unshare", "--net"].map(PathBuf::from).to_vec(),
        };
        let built = Built { program: "/t/real".into(), folder: "/clone/crates/agent".into() };
        command(&machine, Path::new("/agents/bin"), &built, Path::new("/scratch"))
    }

    #[test]
    fn the_program_gets_a_network_with_loopback_alone() {
        let command = example();
        let words: Vec<&OsStr> = command.get_args().collect();
        assert_eq!(command.get_program(), "/bin/unshare");
        assert_eq!(words, ["--net", "sh", "-c", LOOPBACK_UP, "/sbin/ip", "/t/real"]);
    }

    #[test]
    fn the_home_of_the_user_is_not_seen() {
        let command = example();
        let seen: Vec<_> = command.get_envs().filter(|(name, _)| *name == "HOME").collect();
        assert_eq!(seen, [(OsStr::new("HOME"), Some(OsStr::new("/scratch")))]);
    }
}
