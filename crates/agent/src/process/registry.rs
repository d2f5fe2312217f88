//! All running turns of this process. They can be killed at once when the process has to exit and nobody else will
//! end the turns. Also cleans up after turns whose program was killed. The registry is a static, because the thread
//! that receives a signal has no access to the turns.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::control_group;
use super::proc_table::{self, Identity};
use super::scope::{MARK, Mechanism};

/// Time to wait for killed processes to disappear. This normally takes a few milliseconds. Only processes that hang
/// in the kernel take longer, and nothing can be done about them.
const TIME_MAX: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(2);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { is_over: false, held: BTreeMap::new() });

struct Registry {
    /// Whether everything was ended, so that nothing may start any more.
    is_over: bool,
    held: BTreeMap<u64, Entry>,
}

struct Entry {
    main: u32,
    link: Option<UnixStream>,
    mechanism: SharedMechanism,
}

pub(super) type SharedMechanism = Arc<Mutex<Mechanism>>;

/// Locks a mutex. Ignores a panic of another thread, because it left no inconsistent state.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program in this scope. Returns `None` if everything is being ended. [`end_all_now`] cannot run between
/// the check and the start, so it misses no program.
pub(super) fn spawn(
    number: u64,
    held: &SharedMechanism,
    line: &mut Command,
    link: Option<UnixStream>,
) -> Option<std::io::Result<Child>> {
    let mut live = lock(&REGISTRY);
    if live.is_over {
        return None;
    }
    let child = line.spawn();
    if let Ok(child) = &child {
        lock(held).track(child.id());
        let entry = Entry { main: child.id(), link, mechanism: Arc::clone(held) };
        live.held.insert(number, entry);
    }
    Some(child)
}

pub(super) fn is_main(pid: u32) -> bool {
    lock(&REGISTRY).held.values().any(|entry| entry.main == pid)
}

pub(super) fn forget(number: u64) {
    lock(&REGISTRY).held.remove(&number);
}

/// Kills every process of every running turn at once. For a process that is about to exit: afterwards nothing can be
/// started. Can be called from any thread. Takes milliseconds with control groups and a tenth of a second with scans
/// for descendants. Takes at most half a second if the system does not let a process die.
pub fn end_all_now() {
    let (done, is_done) = mpsc::channel();
    let end = move || {
        end_all();
        // Sending fails only if the waiting caller has continued.
        let _ = done.send(());
    };
    // This work has its own thread, so that the caller never waits longer than this for a lock, or for a file of a
    // process that hangs.
    match thread::Builder::new().name("tertulia-end".to_owned()).spawn(end) {
        Ok(_) => drop(is_done.recv_timeout(TIME_MAX)),
        Err(_) => end_all(),
    }
}

fn end_all() {
    let held: Vec<SharedMechanism> = {
        let mut live = lock(&REGISTRY);
        live.is_over = true;
        for link in live.held.values().filter_map(|entry| entry.link.as_ref()) {
            // A supervisor that has not started its program yet exits by itself.
            let _ = link.shutdown(Shutdown::Write);
        }
        live.held.values().map(|entry| Arc::clone(&entry.mechanism)).collect()
    };
    if held.is_empty() {
        return;
    }
    let until = Instant::now() + TIME_MAX;
    // Repeated, because a process may start another one while it is being killed.
    while kill(&held) > 0 && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    // If this takes too long, the next turn of any program cleans up.
    for mechanism in &held {
        if let Ok(mut mechanism) = mechanism.try_lock() {
            mechanism.release();
        }
    }
}

/// Runs one round. Returns how many processes were still alive.
fn kill(held: &[SharedMechanism]) -> usize {
    // A mechanism that its turn is using is skipped; the next round tries again.
    let found: usize = held
        .iter()
        .map(|mechanism| match mechanism.try_lock() {
            Ok(mut mechanism) => mechanism.kill(),
            Err(TryLockError::Poisoned(mechanism)) => mechanism.into_inner().kill(),
            Err(TryLockError::WouldBlock) => 1,
        })
        .sum();
    // A shell that has not entered its control group yet is in no group, but it has the mark.
    let owner = format!("{}-", proc_table::own_name());
    found + kill_marked(|mark| mark.starts_with(&owner))
}

const ROUNDS: u32 = 40;
const ORPHANS_PAUSE: Duration = Duration::from_millis(25);

/// Kills the remaining processes of turns whose program was killed. Waits until they have exited.
pub fn kill_orphans() {
    control_group::sweep_own();
    for _ in 0..ROUNDS {
        if sweep() == 0 {
            return;
        }
        thread::sleep(ORPHANS_PAUSE);
    }
}

pub(super) fn sweep() -> usize {
    kill_marked(proc_table::is_orphaned)
}

fn kill_marked(is_match: impl Fn(&str) -> bool) -> usize {
    let orphans = marked(is_match);
    for identity in &orphans {
        proc_table::signal(*identity, Signal::KILL);
    }
    orphans.len()
}

/// Returns whether a living program, this one or another, has processes of this turn.
pub fn is_turn_alive(turn: &str) -> bool {
    let is_of = |mark: &str| turn_of(mark) == Some(turn) && !proc_table::is_orphaned(mark);
    !marked(is_of).is_empty()
}

/// Kills the processes that were started in these turns, if their program is alive but no longer has the right to run
/// them. Waits until they have exited. Processes that wait for their next turn belong to the turn that started them.
pub fn end_turns(turns: &BTreeSet<&str>) {
    for _ in 0..ROUNDS {
        if kill_marked(|mark| turn_of(mark).is_some_and(|turn| turns.contains(turn))) == 0 {
            return;
        }
        thread::sleep(ORPHANS_PAUSE);
    }
}

/// Returns the turn of a mark.
fn turn_of(mark: &str) -> Option<&str> {
    mark.split_once('/').map(|(_, turn)| turn)
}

fn marked(is_match: impl Fn(&str) -> bool) -> Vec<Identity> {
    let own = std::process::id();
    let rows = proc_table::rows().into_iter().filter(|row| !row.is_zombie);
    rows.map(|row| row.identity)
        .filter(|one| one.pid != own)
        .filter(|one| proc_table::variable(one.pid, MARK).is_some_and(|mark| is_match(&mark)))
        .collect()
}
