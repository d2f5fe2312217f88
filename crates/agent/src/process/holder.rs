//! What holds the processes of one turn together: a control group of its own where one can be made, a
//! supervisor where our program can be one, and a watch over descendants. Called by [`super::start()`].

use std::ffi::{OsStr, OsString};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::control_group::{self, Ability, ControlGroup};
use super::descendants::Descendants;
use super::live::{self, Held, lock};
use super::proc_table::{self, Identity};
use super::supervisor::{self, Order};
use crate::{Containment, LimitKeeper, ResourceLimits};

pub(crate) const MARK: &str = "TERTULIA_TURN";

/// Files that we were started with and do not know of are not handed on. We open none that would be; a
/// shell can name no more of them than these.
const CLOSE: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
/// Where util-linux and busybox have it.
const SETSID: [&str; 2] = ["/usr/bin/setsid", "/bin/setsid"];

#[derive(Debug)]
pub(super) struct Holder {
    number: u64,
    mark: OsString,
    group: Option<PathBuf>,
    supervisor: Option<&'static Path>,
    means: Held,
}

#[derive(Debug)]
pub(super) enum Means {
    Group { group: ControlGroup, main: u32 },
    Descendants(Descendants),
}

impl Means {
    pub(super) fn hold(&mut self, pid: u32) {
        match self {
            Self::Group { main, .. } => *main = pid,
            Self::Descendants(descendants) => descendants.hold(pid),
        }
    }

    pub(super) fn hold_program(&mut self, pid: u32) {
        match self {
            Self::Group { main, .. } => *main = pid,
            Self::Descendants(descendants) => descendants.hold_program(pid),
        }
    }

    pub(super) fn others(&mut self) -> Vec<Identity> {
        match self {
            Self::Group { group, main } => group.members(*main),
            Self::Descendants(descendants) => descendants.others(),
        }
    }

    pub(super) fn look(&mut self) {
        if let Self::Descendants(descendants) = self {
            descendants.look();
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

/// What holds the processes of a turn together on this machine. The first call tries it.
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

/// Who sees to it that the processes of a turn use no more than they may on this machine.
pub fn limit_keeper() -> LimitKeeper {
    match (groups(), supervisor::program()) {
        (Some(Ability { has_limits: true }), _) => LimitKeeper::Kernel,
        (_, Some(_)) => LimitKeeper::Supervisor,
        (_, None) => LimitKeeper::Nobody,
    }
}

/// What control groups can do here. The first call tries it.
fn groups() -> Option<Ability> {
    static FOUND: OnceLock<Option<Ability>> = OnceLock::new();
    *FOUND.get_or_init(control_group::probe)
}

impl Holder {
    pub(super) fn new(turn: &str, limits: &ResourceLimits, forced: Option<Containment>) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let owner = proc_table::own_name();
        let mark = format!("{owner}-{number}/{turn}").replace('\0', "");
        let wanted = forced.unwrap_or_else(containment);
        let is_group = wanted == Containment::ControlGroup;
        let supervisor = supervisor::program().filter(|_| wanted != Containment::Descendants);
        let group =
            if is_group { ControlGroup::create(&format!("{owner}-{number}")) } else { None };
        let path = group.as_ref().map(|group| {
            group.limit(limits);
            group.path().to_owned()
        });
        let means = match group {
            Some(group) => Means::Group { group, main: 0 },
            None => Means::Descendants(Descendants::new(&mark, supervisor.is_some())),
        };
        let means = Arc::new(Mutex::new(means));
        Self { number, mark: mark.into(), group: path, supervisor, means }
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
        let order = Order {
            mark: self.mark.clone(),
            group: self.group.clone(),
            limits,
            program: program.to_owned(),
            args: args.to_vec(),
        };
        let mut command = Command::new(self.supervisor?);
        command.args(order.to_arguments());
        std::os::unix::process::CommandExt::arg0(&mut command, "tertulia-supervisor");
        Some(command)
    }

    /// The command that starts the program inside. In a session of its own, so that it has no terminal:
    /// it neither reads what a person types nor stops because it may not.
    pub(super) fn wrap(&self, program: &Path, args: &[OsString]) -> Command {
        let setsid = SETSID.iter().map(Path::new).find(|path| path.is_file());
        let mut command = Command::new("/bin/sh");
        command.arg("-c");
        match &self.group {
            // The shell enters the group before it becomes the program: nothing is started outside.
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
        live::spawn(self.number, &self.means, line, link)
    }

    pub(super) fn means(&self) -> MutexGuard<'_, Means> {
        lock(&self.means)
    }

    pub(super) fn terminate(&self, program: Option<u32>) {
        let main = program.and_then(proc_table::identify);
        let others = self.means().others();
        for identity in others.into_iter().chain(main) {
            proc_table::signal(identity, rustix::process::Signal::TERM);
        }
    }

    pub(super) fn release(&self) {
        live::forget(self.number);
        self.means().release();
    }
}
