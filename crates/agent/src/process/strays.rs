//! What is left of a turn whose table was killed: its processes are found by their mark and ended. Called
//! when a session is opened again, before anything else runs. A table that lives keeps its own.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::holder::MARK;
use super::proc_table::{self, Identity};

/// How often is looked for some that were born meanwhile.
const ROUNDS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// Whether a table that lives has processes of this turn.
pub(crate) fn is_held(turn: &str) -> bool {
    !marked(turn, false).is_empty()
}

/// Ends the processes of this turn whose table is gone; says how many there were.
pub(crate) fn end_strays(turn: &str) -> usize {
    let mut ended = BTreeSet::new();
    for _ in 0..ROUNDS {
        let living = marked(turn, true);
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

/// The processes of a turn, of tables that are gone or of those that live.
fn marked(turn: &str, is_orphaned: bool) -> Vec<Identity> {
    let own = std::process::id();
    let end = format!("/{turn}");
    let is_wanted = |pid: u32| {
        proc_table::variable(pid, MARK).is_some_and(|mark| {
            mark.ends_with(&end) && proc_table::is_orphaned(&mark) == is_orphaned
        })
    };
    let rows = proc_table::rows().into_iter().filter(|row| !row.is_zombie);
    rows.map(|row| row.identity).filter(|one| one.pid != own && is_wanted(one.pid)).collect()
}
