//! Ctrl-C while the table works: the first one stops the turn that runs, so that what was said so far is
//! kept; the second one ends the process at once, and the agents with it. The same for a request to
//! terminate and for a terminal that is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use tertulia_team::{Command, Door};

use tertulia_chat::leaving::{Request, Requests, leave_now};

/// How long the run has to end by itself. It cannot where nobody reads what it writes.
const PATIENCE: Duration = Duration::from_secs(8);

/// Waits for signals until it is dropped.
pub(super) struct Interrupt {
    happened: Arc<AtomicBool>,
    handle: Option<Handle>,
}

impl Interrupt {
    /// Begins to wait. Where that is impossible a signal ends the process as usual.
    pub(super) fn watch(door: Door) -> Self {
        let happened = Arc::new(AtomicBool::new(false));
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
            return Self { happened, handle: None };
        };
        let handle = signals.handle();
        let flag = Arc::clone(&happened);
        let listen = move || {
            let mut requests = Requests::default();
            for _ in &mut signals {
                match requests.hear(Instant::now()) {
                    Request::End => flag.store(true, Ordering::SeqCst),
                    Request::Echo => continue,
                    Request::EndNow => leave_now(),
                }
                door.send(Command::CancelRunning);
                std::thread::spawn(|| {
                    std::thread::sleep(PATIENCE);
                    leave_now();
                });
            }
        };
        let thread = std::thread::Builder::new().name("tertulia-signals".to_owned()).spawn(listen);
        Self { happened, handle: thread.is_ok().then_some(handle) }
    }

    /// Whether somebody interrupted.
    pub(super) fn happened(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.close();
        }
    }
}
