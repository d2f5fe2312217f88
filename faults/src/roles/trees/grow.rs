//! Hostile trees: shell scripts that leave processes by every means of a shell, and a way to find
//! them. Each process carries a mark of its tree in its arguments or in its environment.

use rustix::process::{Pid, Signal};

use crate::rng::Rng;

/// The variable that marks processes that keep their environment.
pub(super) const VARIABLE: &str = "FAULTS_TREE";

/// Processes that may be left. `U` stands for the mark in the arguments.
const BRANCHES: [&str; 11] = [
    // In its own session.
    "( setsid sleep U & )",
    // No environment, forked twice.
    "( env -i setsid sh -c '( setsid sleep U & )' & )",
    // Ignores signals.
    "sh -c 'trap \"\" TERM HUP INT; while :; do sleep U; done' &",
    // Starts another one while it is killed.
    "setsid sh -c 'trap \"setsid sleep U & sleep 0.1\" TERM; while :; do sleep 0.05; done' U &",
    // Closes its files.
    "( setsid sleep U <&- >&- 2>&- & )",
    // Has another name.
    "sh -c 'echo kworker/0:1 >/proc/self/comm; while :; do sleep U; done' &",
    // Replaces itself by one program after the other.
    "sh -c 'exec setsid env -i sh -c \"exec nohup sleep U\"' >/dev/null 2>&1 &",
    // Many processes.
    "i=0; while [ $i -lt 25 ]; do ( setsid sleep U & ); i=$((i+1)); done",
    // Writes to the pipe late, and repeatedly.
    "( setsid sh -c 'while :; do sleep 0.05; echo late; done' U & )",
    // Changes its process id continuously.
    "R='( setsid sh -c \"sleep 0.02; eval \\\"\\$R\\\"\" U & )'; export R; eval \"$R\"",
    // A deep tree whose middle has ended.
    "( setsid sh -c '( env -i sh -c \"( setsid sleep U & ) ; ( nohup sleep U >/dev/null 2>&1 & )\" ) & \
     sleep U' & )",
];

/// Kills its supervisor.
const MURDER: &str = "kill -9 $PPID; sleep U";

/// One tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Mark in the arguments: a unique time for `sleep`.
    argument: String,
    /// Mark in the environment.
    pub(super) mark: String,
}

impl Tree {
    /// Creates the tree with this number, owned by this process.
    pub(super) fn new(owner: u32, number: u64) -> Self {
        Self {
            argument: format!("{}.{number:07}7", 12_345_u64 + u64::from(owner)),
            mark: format!("{owner}-{number}"),
        }
    }

    /// Returns the script of the agent. With `stays` it waits to be killed; with `may_murder` it
    /// sometimes kills its supervisor.
    pub(super) fn script(&self, rng: &mut Rng, stays: bool, may_murder: bool) -> String {
        let mut lines = Vec::new();
        for _ in 0..rng.between(1, 4) {
            let branch = rng.below(BRANCHES.len() as u64) as usize;
            lines.extend(BRANCHES.get(branch).copied());
        }
        if rng.percent(50) {
            // The newest processes get time to lose their parents.
            lines.push("sleep 0.03");
        }
        lines.push("echo ready");
        if may_murder && rng.percent(8) {
            lines.push(MURDER);
        } else if stays {
            lines.push("sleep U");
        }
        lines.join("\n").replace('U', &self.argument)
    }

    /// Returns its running processes, found by either mark.
    pub(super) fn living(&self) -> Vec<i32> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name());
        let pids = names.filter_map(|name| name.to_str()?.parse::<i32>().ok());
        let own = std::process::id().cast_signed();
        pids.filter(|pid| *pid != own && self.is_in(*pid)).collect()
    }

    fn is_in(&self, pid: i32) -> bool {
        let has = |file: &str, words: &[u8]| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            bytes.split(|byte| *byte == 0).any(|one| one == words)
        };
        has("cmdline", self.argument.as_bytes())
            || has("environ", format!("{VARIABLE}={}", self.mark).as_bytes())
    }

    /// Kills all of it.
    pub(super) fn fell(&self) {
        for _ in 0..200 {
            let living = self.living();
            if living.is_empty() {
                return;
            }
            for pid in living.into_iter().filter_map(Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
    }
}
