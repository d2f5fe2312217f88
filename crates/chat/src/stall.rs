//! Somebody wants the process to end and the chat does not hear it, since its terminal takes nothing any more
//! (Ctrl-S, a connection that hangs) and it waits in the middle of a line. After a while the agents are ended
//! all the same, and the process. Called by the interactive chat.

use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::screen::Cooked;
use crate::leaving::leave_now;

/// How long the chat has to end by itself. An agent that is stopped in good order takes less.
const PATIENCE: Duration = Duration::from_secs(6);

/// Waits for a request to end until it is dropped.
pub(super) struct Stall(Option<Handle>);

impl Stall {
    /// Begins to wait; `terminal` is as the shell wants it back.
    pub(super) fn watch(terminal: Cooked) -> Self {
        let Ok(mut signals) = Signals::new([SIGTERM, SIGHUP]) else { return Self(None) };
        let handle = signals.handle();
        let listen = move || {
            if signals.forever().next().is_some() {
                thread::sleep(PATIENCE);
                terminal.restore();
                leave_now();
            }
        };
        let thread = thread::Builder::new().name("tertulia-stall".to_owned()).spawn(listen);
        Self(thread.is_ok().then_some(handle))
    }
}

impl Drop for Stall {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}
