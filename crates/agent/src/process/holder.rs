//! What holds the processes of one turn together: a control group of its own where one can be made, else
//! a watch over descendants. Called by [`super::start()`]. The two are a closed set.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::control_group::{self, ControlGroup};
use super::descendants::Descendants;
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
    mark: OsString,
    means: Means,
}

#[derive(Debug)]
enum Means {
    Group { group: ControlGroup, main: u32 },
    Descendants(Descendants),
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
        let means = match group {
            Some(group) => Means::Group { group, main: 0 },
            None => Means::Descendants(Descendants::new(&mark)),
        };
        Self { mark: mark.into(), means }
    }

    pub(super) fn containment(&self) -> Containment {
        match &self.means {
            Means::Group { .. } => Containment::ControlGroup,
            Means::Descendants(_) => Containment::Descendants,
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
        match &self.means {
            // The shell enters the group before it becomes the program: nothing is started outside.
            Means::Group { group, .. } => {
                command.arg(format!("{CLOSE}; {}", control_group::ENTER)).arg("sh");
                command.arg(group.path());
            }
            Means::Descendants(_) => {
                command.arg(format!(r#"{CLOSE}; exec "$@""#)).arg("sh");
            }
        }
        command.args(setsid).arg(program).args(args);
        if setsid.is_none() {
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
        }
        command
    }

    /// The program runs.
    pub(super) fn hold(&mut self, pid: u32) {
        match &mut self.means {
            Means::Group { main, .. } => *main = pid,
            Means::Descendants(descendants) => descendants.hold(pid),
        }
    }

    /// Looks for descendants, where this is how they are known.
    pub(super) fn look(&mut self) {
        if let Means::Descendants(descendants) = &mut self.means {
            descendants.look();
        }
    }

    /// All that live, but for the program itself.
    pub(super) fn others(&mut self) -> Vec<Identity> {
        match &mut self.means {
            Means::Group { group, main } => group.members(*main),
            Means::Descendants(descendants) => descendants.others(),
        }
    }

    /// Asks all to end.
    pub(super) fn terminate(&mut self, main: u32) {
        let main = proc_table::identify(main);
        for identity in self.others().into_iter().chain(main) {
            proc_table::signal(identity, rustix::process::Signal::TERM);
        }
    }

    /// Ends all.
    pub(super) fn kill(&mut self) {
        match &mut self.means {
            Means::Group { group, .. } => group.kill(),
            Means::Descendants(descendants) => descendants.kill(),
        }
    }

    /// Nothing is left to hold.
    pub(super) fn release(&mut self) {
        match &mut self.means {
            Means::Group { group, .. } => group.remove(),
            Means::Descendants(descendants) => descendants.reap(),
        }
    }
}
