//! All that is held now, in this whole process, so that it can be ended at once when somebody wants us gone and nobody
//! will come to the turns that run, and what is left of turns whose tables were killed. A static, since the process is
//! what is left: the thread that hears a signal has no way to the turns.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::control_group;
use super::holder::{MARK, Means};
use super::proc_table::{self, Identity};

/// How long is waited for the killed to be gone. They are within a few milliseconds; only what hangs in the
/// kernel takes longer, and nothing can be done about that.
const TIME_MAX: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(2);

static LIVE: Mutex<Live> = Mutex::new(Live { is_over: false, held: BTreeMap::new() });

struct Live {
    /// Everything was ended: nothing is started any more.
    is_over: bool,
    held: BTreeMap<u64, Entry>,
}

struct Entry {
    main: u32,
    link: Option<UnixStream>,
    means: Held,
}

pub(super) type Held = Arc<Mutex<Means>>;

/// Locks; a thread that panicked left nothing half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program that this holder holds; `None` where everything is being ended. Both are one step: a
/// program either is known to [`end_all_now`] or is not started.
pub(super) fn spawn(
    number: u64,
    held: &Held,
    line: &mut Command,
    link: Option<UnixStream>,
) -> Option<std::io::Result<Child>> {
    let mut live = lock(&LIVE);
    if live.is_over {
        return None;
    }
    let child = line.spawn();
    if let Ok(child) = &child {
        lock(held).hold(child.id());
        let entry = Entry { main: child.id(), link, means: Arc::clone(held) };
        live.held.insert(number, entry);
    }
    Some(child)
}

pub(super) fn is_main(pid: u32) -> bool {
    lock(&LIVE).held.values().any(|entry| entry.main == pid)
}

pub(super) fn forget(number: u64) {
    lock(&LIVE).held.remove(&number);
}

/// Kills at once every process of every turn that runs here, for whoever is about to leave this process: nothing is
/// started any more afterwards. From any thread. Takes milliseconds in control groups, a tenth of a second where
/// descendants have to be looked for, and half a second at most, where the system does not let a process die.
pub fn end_all_now() {
    let (done, is_done) = mpsc::channel();
    let end = move || {
        end_all();
        // Whoever waited has gone on.
        let _ = done.send(());
    };
    // From a thread of its own: whoever ends us must not wait for a lock, or for a file of a process that
    // hangs, longer than this.
    match thread::Builder::new().name("tertulia-end".to_owned()).spawn(end) {
        Ok(_) => drop(is_done.recv_timeout(TIME_MAX)),
        Err(_) => end_all(),
    }
}

fn end_all() {
    let held: Vec<Held> = {
        let mut live = lock(&LIVE);
        live.is_over = true;
        for link in live.held.values().filter_map(|entry| entry.link.as_ref()) {
            // A supervisor that has not started its program yet ends it itself.
            let _ = link.shutdown(Shutdown::Write);
        }
        live.held.values().map(|entry| Arc::clone(&entry.means)).collect()
    };
    if held.is_empty() {
        return;
    }
    let until = Instant::now() + TIME_MAX;
    // Again and again: what is being killed may start another one.
    while kill(&held) > 0 && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    // Where this takes too long, the next turn of anybody sweeps.
    for means in &held {
        if let Ok(mut means) = means.try_lock() {
            means.release();
        }
    }
}

/// One round; says how many still lived.
fn kill(held: &[Held]) -> usize {
    // One whose turn is at it is not waited for: it comes again in the next round.
    let found: usize = held
        .iter()
        .map(|means| match means.try_lock() {
            Ok(mut means) => means.kill(),
            Err(TryLockError::Poisoned(means)) => means.into_inner().kill(),
            Err(TryLockError::WouldBlock) => 1,
        })
        .sum();
    // A shell that has not entered its control group yet is in none, and has the mark.
    let owner = format!("{}-", proc_table::own_name());
    found + kill_marked(|mark| mark.starts_with(&owner))
}

const ROUNDS: u32 = 40;
const STRAYS_PAUSE: Duration = Duration::from_millis(25);

/// Ends what is left of turns whose tables were killed, and waits until it is gone.
pub fn end_strays() {
    control_group::sweep_own();
    for _ in 0..ROUNDS {
        if sweep() == 0 {
            return;
        }
        thread::sleep(STRAYS_PAUSE);
    }
}

pub(super) fn sweep() -> usize {
    kill_marked(proc_table::is_orphaned)
}

fn kill_marked(is_wanted: impl Fn(&str) -> bool) -> usize {
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

fn marked(is_wanted: impl Fn(&str) -> bool) -> Vec<Identity> {
    let own = std::process::id();
    let rows = proc_table::rows().into_iter().filter(|row| !row.is_zombie);
    rows.map(|row| row.identity)
        .filter(|one| one.pid != own)
        .filter(|one| proc_table::variable(one.pid, MARK).is_some_and(|mark| is_wanted(&mark)))
        .collect()
}
