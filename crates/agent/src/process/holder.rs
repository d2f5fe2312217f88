//! What holds the processes of one turn together: a control group of its own where one can be made, else
//! a watch over descendants. Called by [`super::start()`]. The two are a closed set.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::control_group::{self, ControlGroup};
use super::descendants::Descendants;
use super::live::{self, Held, lock};
use super::proc_table::{self, Identity};
use super::start::new_command;
use crate::Containment;

/// The variable that marks every process of a turn.
pub(crate) const MARK: &str = "TERTULIA_TURN";

/// Files that we were started with and do not know of are not handed on. We open none that would be; a
/// shell can name no more of them than these.
const CLOSE: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
/// Where util-linux and busybox have it.
const SETSID: [&str; 2] = ["/usr/bin/setsid", "/bin/setsid"];

/// The holder of one turn.
#[derive(Debug)]
pub(super) struct Holder {
    number: u64,
    mark: OsString,
    /// Where a control group holds.
    group: Option<PathBuf>,
    means: Held,
}

/// How a turn's processes are known.
#[derive(Debug)]
pub(super) enum Means {
    Group { group: ControlGroup, main: u32 },
    Descendants(Descendants),
}

impl Means {
    /// The program runs.
    pub(super) fn hold(&mut self, pid: u32) {
        match self {
            Self::Group { main, .. } => *main = pid,
            Self::Descendants(descendants) => descendants.hold(pid),
        }
    }

    /// All that live, but for the program itself.
    fn others(&mut self) -> Vec<Identity> {
        match self {
            Self::Group { group, main } => group.members(*main),
            Self::Descendants(descendants) => descendants.others(),
        }
    }

    /// Kills all, and says how many were seen alive.
    pub(super) fn kill(&mut self) -> usize {
        match self {
            Self::Group { group, .. } => group.kill(),
            Self::Descendants(descendants) => descendants.kill(),
        }
    }

    /// Nothing is left to hold.
    pub(super) fn release(&mut self) {
        match self {
            Self::Group { group, .. } => group.remove(),
            Self::Descendants(descendants) => descendants.reap(),
        }
    }
}

/// What holds turns together here.
pub(crate) fn containment() -> Containment {
    static FOUND: OnceLock<Containment> = OnceLock::new();
    *FOUND.get_or_init(|| {
        if control_group::is_usable() {
            Containment::ControlGroup
        } else {
            Containment::Descendants
        }
    })
}

impl Holder {
    pub(super) fn new(turn: &str, forced: Option<Containment>) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let owner = proc_table::own_name();
        let mark = format!("{owner}-{number}/{turn}").replace('\0', "");
        let is_group = forced.unwrap_or_else(containment) == Containment::ControlGroup;
        let group =
            if is_group { ControlGroup::create(&format!("{owner}-{number}")) } else { None };
        let path = group.as_ref().map(|group| group.path().to_owned());
        let means = match group {
            Some(group) => Means::Group { group, main: 0 },
            None => Means::Descendants(Descendants::new(&mark)),
        };
        Self { number, mark: mark.into(), group: path, means: Arc::new(Mutex::new(means)) }
    }

    pub(super) fn containment(&self) -> Containment {
        match self.group {
            Some(_) => Containment::ControlGroup,
            None => Containment::Descendants,
        }
    }

    pub(super) fn mark(&self) -> (&'static str, &OsStr) {
        (MARK, &self.mark)
    }

    /// The command that starts the program inside. In a session of its own, so that it has no terminal:
    /// it neither reads what a person types nor stops because it may not.
    pub(super) fn wrap(&self, program: &Path, args: &[OsString]) -> Command {
        let setsid = SETSID.iter().map(Path::new).find(|path| path.is_file());
        let mut command = new_command(Path::new("/bin/sh"));
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

    /// Starts the command that was wrapped. From then on it is held; `None` where everything is being ended.
    pub(super) fn spawn(&self, line: &mut Command) -> Option<std::io::Result<Child>> {
        live::spawn(self.number, &self.means, line)
    }

    /// Looks for descendants, where this is how they are known.
    pub(super) fn look(&self) {
        if let Means::Descendants(descendants) = &mut *lock(&self.means) {
            descendants.look();
        }
    }

    /// All that live, but for the program itself.
    pub(super) fn others(&self) -> Vec<Identity> {
        lock(&self.means).others()
    }

    /// Asks all to end.
    pub(super) fn terminate(&self, main: u32) {
        let main = proc_table::identify(main);
        for identity in self.others().into_iter().chain(main) {
            proc_table::signal(identity, rustix::process::Signal::TERM);
        }
    }

    /// Ends all.
    pub(super) fn kill(&self) {
        lock(&self.means).kill();
    }

    /// Nothing is left to hold.
    pub(super) fn release(&self) {
        live::forget(self.number);
        lock(&self.means).release();
    }
}
