//! What is left of turns whose tables were killed: groups and marks whose owner is gone. Ended when a session
//! is opened again, and before a program is started. What a table that lives has is left alone.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::control_group;
use super::holder::MARK;
use super::proc_table::{self, Identity};

/// How often is looked for some that were born meanwhile.
const ROUNDS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// Ends what is left of turns whose tables were killed, and waits until it is gone.
pub fn end_strays() {
    control_group::sweep_own();
    for _ in 0..ROUNDS {
        if sweep() == 0 {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Ends what carries the mark of an owner that is gone; says how many there were.
pub(super) fn sweep() -> usize {
    kill_marked(proc_table::is_orphaned)
}

/// Kills what carries a mark of this kind; says how many there were.
pub(super) fn kill_marked(is_wanted: impl Fn(&str) -> bool) -> usize {
    let strays = marked(is_wanted);
    for identity in &strays {
        proc_table::signal(*identity, Signal::KILL);
    }
    strays.len()
}

/// Whether a table that lives, of this process or another, has processes of this turn.
pub fn is_held(turn: &str) -> bool {
    let end = format!("/{turn}");
    !marked(|mark| mark.ends_with(&end) && !proc_table::is_orphaned(mark)).is_empty()
}

/// The living processes with a mark of this kind, but for our own.
fn marked(is_wanted: impl Fn(&str) -> bool) -> Vec<Identity> {
    let own = std::process::id();
    let rows = proc_table::rows().into_iter().filter(|row| !row.is_zombie);
    rows.map(|row| row.identity)
        .filter(|one| one.pid != own)
        .filter(|one| proc_table::variable(one.pid, MARK).is_some_and(|mark| is_wanted(&mark)))
        .collect()
}
