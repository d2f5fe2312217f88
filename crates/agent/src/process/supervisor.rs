//! The supervisor of a turn: a small process between us and the agent. It adopts all orphans of the turn, so every
//! process below it belongs to the turn. It kills everything below it when we ask for that. It does the same when we
//! are killed, because then the socket between us closes. The supervisor is our own executable with a hidden first
//! argument. A program therefore has to call [`supervisor_main`], or name another executable with [`set_supervisor`].
//! Works only on Linux, because other systems have no way to adopt orphans.

mod link;
mod run;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

pub(super) use link::{Link, Pipes};

use super::control_group::ENTER;
use super::scope::MARK;
use crate::ResourceLimits;

const WORD: &str = "--tertulia-supervisor";

static PROGRAM: OnceLock<Program> = OnceLock::new();

#[derive(Debug)]
struct Program {
    path: PathBuf,
    owns_children: bool,
}

/// Runs this process as a supervisor if it was started as one, and returns the exit code. Otherwise returns `None`;
/// from then on turns of this process are supervised by its own executable. Call it first in `main`, before anything
/// else runs or is opened. Descriptors that this process inherited are closed when it starts another program.
///
/// A program that calls this must not start processes in other sessions by other means: if the
/// supervisor of a turn is killed, all children in other sessions count as orphans of that turn and
/// are killed.
pub fn supervisor_main() -> Option<ExitCode> {
    close_inherited_on_exec();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == WORD) {
        let arguments: Vec<OsString> = arguments.collect();
        return Some(run::run(&arguments));
    }
    if let Some(path) = own_program() {
        // A program that was set earlier stays set.
        let _ = PROGRAM.set(Program { path, owns_children: true });
    }
    None
}

/// Sets the program that supervises turns, for a process that cannot call [`supervisor_main`] in its own `main`, such
/// as a host that loads this crate as a library. The program has to call that function; `tertulia-supervisor` in this
/// crate does nothing else. Only the first call has an effect.
pub fn set_supervisor(path: &Path) {
    // The supervisor starts in the folders of the agents, so its path must be absolute.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let _ = PROGRAM.set(Program { path, owns_children: false });
}

pub(super) fn program() -> Option<&'static Path> {
    PROGRAM.get().map(|program| &*program.path).filter(|_| cfg!(target_os = "linux"))
}

/// Returns whether all our children in other sessions belong to turns.
pub(super) fn owns_children() -> bool {
    PROGRAM.get().is_some_and(|program| program.owns_children)
}

/// Returns the path of our own executable. The link in `/proc` works even after an update has replaced the file.
fn own_program() -> Option<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() {
        return Some(link.to_owned());
    }
    std::env::current_exe().ok()
}

/// Marks every descriptor except the three standard streams to be closed on exec. Must be called before anything is
/// opened.
fn close_inherited_on_exec() {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // The list is complete before it is used, because reading it needs a descriptor too.
    let numbers: Vec<i32> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        // This fails only for the descriptor of the list itself, which is already closed.
        let _ = fcntl(number, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    }
}

/// The command line of a supervisor. Its environment and folder are those of the agent. Only the agent has the mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SupervisorArgs {
    pub(super) mark: OsString,
    pub(super) group: Option<PathBuf>,
    pub(super) limits: ResourceLimits,
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
}

impl SupervisorArgs {
    pub(super) fn to_arguments(&self) -> Vec<OsString> {
        let group = self.group.as_deref().map_or(OsStr::new(""), |group| group.as_os_str());
        let mut arguments = vec![WORD.into(), self.mark.clone(), group.to_owned()];
        arguments.push(self.limits.processes.to_string().into());
        arguments.push(self.limits.memory_bytes.to_string().into());
        arguments.push(self.program.clone().into());
        arguments.extend(self.args.iter().cloned());
        arguments
    }

    fn parse(arguments: &[OsString]) -> Option<Self> {
        let [mark, group, processes, memory, program, args @ ..] = arguments else { return None };
        Some(Self {
            mark: mark.clone(),
            group: (!group.is_empty()).then(|| group.into()),
            limits: ResourceLimits {
                processes: processes.to_str()?.parse().ok()?,
                memory_bytes: memory.to_str()?.parse().ok()?,
            },
            program: program.into(),
            args: args.to_vec(),
        })
    }

    /// Starts the agent in its own process group, so that a signal to its group does not reach the
    /// supervisor.
    fn command(&self) -> Command {
        let mut command = match &self.group {
            // The shell enters the group before it becomes the program, so nothing starts outside.
            Some(group) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", ENTER, "sh"]).arg(group).arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        command.args(&self.args).env(MARK, &self.mark);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supervisor_arguments_survive_the_command_line() {
        let args = SupervisorArgs {
            mark: "1-2-3-0/turn".into(),
            group: Some("/sys/fs/cgroup/tertulia-1".into()),
            limits: ResourceLimits { processes: 7, memory_bytes: 1 << 40 },
            program: "/bin/echo".into(),
            args: vec!["".into(), "--tertulia-supervisor".into(), "a b".into()],
        };
        for args in [args.clone(), SupervisorArgs { group: None, args: Vec::new(), ..args }] {
            let arguments = args.to_arguments();
            assert_eq!(arguments.first().unwrap(), WORD);
            assert_eq!(SupervisorArgs::parse(arguments.get(1..).unwrap()), Some(args));
        }
    }

    #[test]
    fn incomplete_supervisor_arguments_are_refused() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(SupervisorArgs::parse(&words("mark group 1 2")), None);
        assert_eq!(SupervisorArgs::parse(&words("mark group many 2 /bin/echo")), None);
    }
}
