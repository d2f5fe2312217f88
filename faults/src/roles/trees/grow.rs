//! Hostile trees: shell scripts that leave processes behind by every means that a shell has, and how those
//! are found again. Each carries a mark of its tree in its arguments or in its environment.

use rustix::process::{Pid, Signal};

use crate::chance::Chance;

/// The variable that marks what does not clear its environment.
pub(super) const VARIABLE: &str = "FAULTS_TREE";

/// What may be left behind. `U` stands for the mark, which a process has among its arguments.
const BRANCHES: [&str; 11] = [
    // A session of its own.
    "( setsid sleep U & )",
    // No environment, forked twice.
    "( env -i setsid sh -c '( setsid sleep U & )' & )",
    // Deaf to signals.
    "sh -c 'trap \"\" TERM HUP INT; while :; do sleep U; done' &",
    // Starts another one while it is ended.
    "setsid sh -c 'trap \"setsid sleep U & sleep 0.1\" TERM; while :; do sleep 0.05; done' U &",
    // Closes its files.
    "( setsid sleep U <&- >&- 2>&- & )",
    // Has another name.
    "sh -c 'echo kworker/0:1 >/proc/self/comm; while :; do sleep U; done' &",
    // Becomes one program after the other.
    "sh -c 'exec setsid env -i sh -c \"exec nohup sleep U\"' >/dev/null 2>&1 &",
    // Many.
    "i=0; while [ $i -lt 25 ]; do ( setsid sleep U & ); i=$((i+1)); done",
    // Writes to the pipe late, and again and again.
    "( setsid sh -c 'while :; do sleep 0.05; echo late; done' U & )",
    // Is another process every moment.
    "R='( setsid sh -c \"sleep 0.02; eval \\\"\\$R\\\"\" U & )'; export R; eval \"$R\"",
    // A deep tree of which the middle is gone.
    "( setsid sh -c '( env -i sh -c \"( setsid sleep U & ) ; ( nohup sleep U >/dev/null 2>&1 & )\" ) & \
     sleep U' & )",
];

/// Kills what watches over it.
const MURDER: &str = "kill -9 $PPID; sleep U";

/// One tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// In the arguments: a time that `sleep` takes, and that nobody else chose.
    argument: String,
    /// In the environment.
    pub(super) mark: String,
}

impl Tree {
    /// The tree of this number that this process owns.
    pub(super) fn new(owner: u32, number: u64) -> Self {
        Self {
            argument: format!("{}.{number:07}7", 12_345_u64 + u64::from(owner)),
            mark: format!("{owner}-{number}"),
        }
    }

    /// The script of the agent. One that stays waits to be ended; one that may murder kills its supervisor now
    /// and then.
    pub(super) fn script(&self, chance: &mut Chance, stays: bool, may_murder: bool) -> String {
        let mut lines = Vec::new();
        for _ in 0..chance.between(1, 4) {
            let branch = chance.below(BRANCHES.len() as u64) as usize;
            lines.extend(BRANCHES.get(branch).copied());
        }
        if chance.percent(50) {
            // The newest have time to lose their parents.
            lines.push("sleep 0.03");
        }
        lines.push("echo ready");
        if may_murder && chance.percent(8) {
            lines.push(MURDER);
        } else if stays {
            lines.push("sleep U");
        }
        lines.join("\n").replace('U', &self.argument)
    }

    /// The processes of it that live, by either mark.
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

    /// Ends all of it.
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
