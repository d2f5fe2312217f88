//! The orders of a supervisor, as its command line. Its environment and folder are those of the agent, but
//! for the mark: only the agent carries it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use super::WORD;
use crate::ResourceLimits;
use crate::process::control_group::ENTER;
use crate::process::holder::MARK;
use crate::process::start::new_command;

/// One order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The value of the variable that marks the turn's processes.
    pub(crate) mark: OsString,
    /// The control group that holds them, if there is one.
    pub(crate) group: Option<PathBuf>,
    pub(crate) limits: ResourceLimits,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl Order {
    /// The arguments of the supervisor.
    pub(crate) fn to_arguments(&self) -> Vec<OsString> {
        let group = self.group.as_deref().map_or(OsStr::new(""), |group| group.as_os_str());
        let mut arguments = vec![WORD.into(), self.mark.clone(), group.to_owned()];
        arguments.push(self.limits.processes.to_string().into());
        arguments.push(self.limits.memory_bytes.to_string().into());
        arguments.push(self.program.clone().into());
        arguments.extend(self.args.iter().cloned());
        arguments
    }

    /// Reads what follows the hidden word.
    pub(super) fn parse(arguments: &[OsString]) -> Option<Self> {
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

    /// The command that starts the agent. In a process group of its own, so that a signal to its group does
    /// not reach the supervisor.
    pub(super) fn command(&self) -> Command {
        let mut command = match &self.group {
            // The shell enters the group before it becomes the program: nothing is started outside.
            Some(group) => {
                let mut command = new_command("/bin/sh".as_ref());
                command.args(["-c", ENTER, "sh"]).arg(group).arg(&self.program);
                command
            }
            None => new_command(&self.program),
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
    fn an_order_survives_the_command_line() {
        let order = Order {
            mark: "1-2-3-0/turn".into(),
            group: Some("/sys/fs/cgroup/tertulia-1".into()),
            limits: ResourceLimits { processes: 7, memory_bytes: 1 << 40 },
            program: "/bin/echo".into(),
            args: vec!["".into(), "--tertulia-supervisor".into(), "a b".into()],
        };
        for order in [order.clone(), Order { group: None, args: Vec::new(), ..order }] {
            let arguments = order.to_arguments();
            assert_eq!(arguments.first().unwrap(), WORD);
            assert_eq!(Order::parse(arguments.get(1..).unwrap()), Some(order));
        }
    }

    #[test]
    fn an_order_that_is_cut_is_none() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(Order::parse(&words("mark group 1 2")), None);
        assert_eq!(Order::parse(&words("mark group many 2 /bin/echo")), None);
    }
}
