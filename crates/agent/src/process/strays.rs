//! What is left of a turn whose table was killed: its processes are found by their mark and ended. Called
//! when a session is opened again, before anything else runs.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::holder::MARK;
use super::proc_table::{self, Identity};

/// How often is looked for some that were born meanwhile.
const ROUNDS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// Ends the processes that carry the mark of this turn; says how many there were.
pub(crate) fn end_strays(turn: &str) -> usize {
    let mut ended = std::collections::BTreeSet::new();
    for _ in 0..ROUNDS {
        let living = marked(turn);
        if living.is_empty() {
            break;
        }
        for identity in living {
            proc_table::signal(identity, Signal::KILL);
            ended.insert(identity);
        }
        thread::sleep(PAUSE);
    }
    ended.len()
}

fn marked(turn: &str) -> Vec<Identity> {
    let (start, end) = (format!("{MARK}="), format!("/{turn}"));
    let own = std::process::id();
    let is_marked = |pid: u32| {
        let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
        environment
            .split(|byte| *byte == 0)
            .any(|one| one.starts_with(start.as_bytes()) && one.ends_with(end.as_bytes()))
    };
    let rows = proc_table::rows().into_iter().filter(|row| !row.is_zombie);
    rows.map(|row| row.identity).filter(|one| one.pid != own && is_marked(one.pid)).collect()
}
