//! Ctrl-C, a request to terminate or a closed terminal, while `run` or a chat without a terminal works. The first
//! one ends it in good order, so that what was said so far is stored and no agent stays behind; the next one kills
//! the agents and ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use tertulia_team::{Command, Door};

use crate::leaving::{Request, Requests, leave_now};

/// How long a run has to end by itself. It cannot where nobody reads what it writes.
const PATIENCE: Duration = Duration::from_secs(8);
const MOMENT: Duration = Duration::from_millis(20);
/// How long the chat has to end by itself once its table is gone. It cannot while it reads a line.
const GRACE: Duration = Duration::from_millis(300);

/// Waits for signals until it is dropped.
pub struct Interrupt {
    happened: Arc<AtomicBool>,
    /// The session that is ended.
    door: Arc<Mutex<Door>>,
    handle: Option<Handle>,
}

impl Interrupt {
    /// Begins to wait; `end` is called in a thread of its own. Where that is impossible a signal ends the
    /// process as usual.
    pub fn watch(door: Door, end: fn(&Door)) -> Self {
        let happened = Arc::new(AtomicBool::new(false));
        let door = Arc::new(Mutex::new(door));
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
            return Self { happened, door, handle: None };
        };
        let handle = signals.handle();
        let (flag, shared) = (Arc::clone(&happened), Arc::clone(&door));
        let listen = move || {
            let mut requests = Requests::default();
            for _ in &mut signals {
                match requests.hear(Instant::now()) {
                    Request::End => flag.store(true, Ordering::SeqCst),
                    Request::Echo => continue,
                    Request::EndNow => leave_now(),
                }
                let door = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                thread::spawn(move || end(&door));
            }
        };
        let thread = thread::Builder::new().name("tertulia-signals".to_owned()).spawn(listen);
        Self { happened, door, handle: thread.is_ok().then_some(handle) }
    }

    /// Another session is ended from now on.
    pub(super) fn follow(&self, door: Door) {
        *self.door.lock().unwrap_or_else(PoisonError::into_inner) = door;
    }

    /// Whether somebody interrupted.
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }
}

/// Stops the turn that runs, and the process if it does not end by itself then.
pub fn stop_turn(door: &Door) {
    door.send(Command::CancelRunning);
    thread::sleep(PATIENCE);
    leave_now()
}

/// Leaves the session, and the process once the session is closed.
pub(super) fn leave(door: &Door) {
    door.send(Command::Close);
    // The door is shut when the turn that ran has ended and is stored.
    while door.send(Command::CancelRunning) {
        thread::sleep(MOMENT);
    }
    thread::sleep(GRACE);
    // Nothing is left to end, unless the table went away with its turn still running.
    leave_now()
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}
