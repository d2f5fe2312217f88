//! Keeps the processes of one turn together. Uses a control group if one can be created, otherwise a supervisor if
//! our program can be one, otherwise scans for descendants. Called by [`super::start()`].

use std::ffi::{OsStr, OsString};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::control_group::{self, Ability, ControlGroup};
use super::descendants::Descendants;
use super::proc_table::{self, Identity};
use super::registry::{self, SharedMechanism, lock};
use super::supervisor::{self, SupervisorArgs};
use crate::{Containment, LimitEnforcer, ResourceLimits};

pub(crate) const MARK: &str = "TERTULIA_TURN";

/// Closes files that we inherited unknowingly. Files that we open ourselves close on exec. Some shells accept no
/// larger numbers than these.
const CLOSE: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
/// Paths of the program from util-linux and from busybox.
const SETSID: [&str; 2] = ["/usr/bin/setsid", "/bin/setsid"];

#[derive(Debug)]
pub(super) struct ProcessScope {
    number: u64,
    mark: OsString,
    group: Option<PathBuf>,
    supervisor: Option<&'static Path>,
    mechanism: SharedMechanism,
}

#[derive(Debug)]
pub(super) enum Mechanism {
    Group { group: ControlGroup, main: u32 },
    Descendants(Descendants),
}

impl Mechanism {
    pub(super) fn track(&mut self, pid: u32) {
        match self {
            Self::Group { main, .. } => *main = pid,
            Self::Descendants(descendants) => descendants.track(pid),
        }
    }

    pub(super) fn track_program(&mut self, pid: u32) {
        match self {
            Self::Group { main, .. } => *main = pid,
            Self::Descendants(descendants) => descendants.track_program(pid),
        }
    }

    pub(super) fn other_processes(&mut self) -> Vec<Identity> {
        match self {
            Self::Group { group, main } => group.members(*main),
            Self::Descendants(descendants) => descendants.other_processes(),
        }
    }

    pub(super) fn refresh(&mut self) {
        if let Self::Descendants(descendants) = self {
            descendants.refresh();
        }
    }

    pub(super) fn kill(&mut self) -> usize {
        match self {
            Self::Group { group, .. } => group.kill(),
            Self::Descendants(descendants) => descendants.kill(),
        }
    }

    pub(super) fn release(&mut self) {
        match self {
            Self::Group { group, .. } => group.remove(),
            Self::Descendants(descendants) => descendants.reap(),
        }
    }
}

/// Returns the containment of turns on this machine. The first call tests it.
pub fn containment() -> Containment {
    strongest(groups().is_some(), supervisor::program().is_some())
}

fn strongest(has_group: bool, has_supervisor: bool) -> Containment {
    match (has_group, has_supervisor) {
        (true, _) => Containment::ControlGroup,
        (false, true) => Containment::Supervisor,
        (false, false) => Containment::Descendants,
    }
}

/// Returns what enforces the resource limits of turns on this machine.
pub fn limit_enforcer() -> LimitEnforcer {
    match (groups(), supervisor::program()) {
        (Some(Ability { has_limits: true }), _) => LimitEnforcer::Kernel,
        (_, Some(_)) => LimitEnforcer::Supervisor,
        (_, None) => LimitEnforcer::Nobody,
    }
}

/// Returns what control groups can do here. The first call tests it.
fn groups() -> Option<Ability> {
    static FOUND: OnceLock<Option<Ability>> = OnceLock::new();
    *FOUND.get_or_init(control_group::probe)
}

impl ProcessScope {
    pub(super) fn new(turn: &str, limits: &ResourceLimits, forced: Option<Containment>) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let owner = proc_table::own_name();
        let mark = format!("{owner}-{number}/{turn}").replace('\0', "");
        let requested = forced.unwrap_or_else(containment);
        let is_group = requested == Containment::ControlGroup;
        let supervisor = supervisor::program().filter(|_| requested != Containment::Descendants);
        let group =
            if is_group { ControlGroup::create(&format!("{owner}-{number}")) } else { None };
        let path = group.as_ref().map(|group| {
            group.limit(limits);
            group.path().to_owned()
        });
        let mechanism = match group {
            Some(group) => Mechanism::Group { group, main: 0 },
            None => Mechanism::Descendants(Descendants::new(&mark, supervisor.is_some())),
        };
        let mechanism = Arc::new(Mutex::new(mechanism));
        Self { number, mark: mark.into(), group: path, supervisor, mechanism }
    }

    pub(super) fn containment(&self) -> Containment {
        strongest(self.group.is_some(), self.supervisor.is_some())
    }

    pub(super) fn mark(&self) -> (&'static str, &OsStr) {
        (MARK, &self.mark)
    }

    pub(super) fn supervise(
        &self,
        program: &Path,
        args: &[OsString],
        limits: ResourceLimits,
    ) -> Option<Command> {
        let args = SupervisorArgs {
            mark: self.mark.clone(),
            group: self.group.clone(),
            limits,
            program: program.to_owned(),
            args: args.to_vec(),
        };
        let mut command = Command::new(self.supervisor?);
        command.args(args.to_arguments());
        std::os::unix::process::CommandExt::arg0(&mut command, "tertulia-supervisor");
        Some(command)
    }

    /// Returns the command that starts the program inside the scope. It runs in its own session without a terminal.
    /// So it cannot read what a person types, and is not stopped for trying to.
    pub(super) fn wrap(&self, program: &Path, args: &[OsString]) -> Command {
        let setsid = SETSID.iter().map(Path::new).find(|path| path.is_file());
        let mut command = Command::new("/bin/sh");
        command.arg("-c");
        match &self.group {
            // The shell enters the group before it becomes the program, so nothing starts outside.
            Some(group) => {
                command.arg(format!("{CLOSE}; {}", control_group::ENTER)).arg("sh");
                command.arg(group);
            }
            None => {
                command.arg(format!(r#"{CLOSE}; exec "$@""#)).arg("sh");
            }
        }
        command.args(setsid).arg(program).args(args);
        if setsid.is_none() {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command
    }

    pub(super) fn spawn(
        &self,
        line: &mut Command,
        link: Option<UnixStream>,
    ) -> Option<std::io::Result<Child>> {
        registry::spawn(self.number, &self.mechanism, line, link)
    }

    pub(super) fn mechanism(&self) -> MutexGuard<'_, Mechanism> {
        lock(&self.mechanism)
    }

    pub(super) fn terminate(&self, program: Option<u32>) {
        let main = program.and_then(proc_table::identify);
        let others = self.mechanism().other_processes();
        for identity in others.into_iter().chain(main) {
            proc_table::signal(identity, rustix::process::Signal::TERM);
        }
    }

    pub(super) fn release(&self) {
        registry::forget(self.number);
        self.mechanism().release();
    }
}
