//! Signals. The chat on a terminal waits for them beside keys and the table. `run` and a chat without a terminal end in
//! good order with the first one, so that what was said so far is stored and no agent stays behind; the next one kills
//! the agents and ends the process at once.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::{Handle, Signals as SignalIterator};
use signal_hook::low_level::{pipe, unregister};
use tertulia_team::{Command, Door};

use crate::screen::Cooked;

/// The exit code of a process that somebody interrupted.
const INTERRUPTED: i32 = 130;
/// What comes so soon is the same request: `timeout` signals its child and then the whole group.
const ECHO: Duration = Duration::from_millis(250);
/// How long the chat has to end by itself. An agent that is stopped in good order takes less.
const CHAT_PATIENCE: Duration = Duration::from_secs(6);
/// How long a run has to end by itself. It cannot where nobody reads what it writes.
const RUN_PATIENCE: Duration = Duration::from_secs(8);
const MOMENT: Duration = Duration::from_millis(20);
/// How long the chat has to end by itself once its table is gone. It cannot while it reads a line.
const GRACE: Duration = Duration::from_millis(300);

pub(crate) struct Signals {
    pub(crate) resized: UnixStream,
    pub(crate) continued: UnixStream,
    pub(crate) ending: UnixStream,
    ids: Vec<signal_hook::SigId>,
}

impl Signals {
    pub(crate) fn catch() -> io::Result<Self> {
        let mut ids = Vec::new();
        let mut caught = |signals: &[i32]| -> io::Result<UnixStream> {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            for signal in signals {
                ids.push(pipe::register(*signal, write.try_clone()?)?);
            }
            Ok(read)
        };
        let resized = caught(&[SIGWINCH])?;
        let continued = caught(&[SIGCONT])?;
        let ending = caught(&[SIGINT, SIGTERM, SIGHUP])?;
        Ok(Self { resized, continued, ending, ids })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}

pub(crate) fn drain(mut pipe: &UnixStream) {
    while pipe.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
}

/// Waits for a request to end until the result is dropped; `terminal` is as the shell wants it back. The chat does not
/// hear it where its terminal takes nothing any more (Ctrl-S, a connection that hangs) and it waits in the middle of a
/// line. After a while the agents are ended all the same, and the process.
pub(crate) fn watch_stall(terminal: Cooked) -> Option<Closing> {
    Closing::listen("tertulia-stall", &[SIGTERM, SIGHUP], move |signals| {
        if signals.forever().next().is_some() {
            thread::sleep(CHAT_PATIENCE);
            terminal.restore();
            leave_now();
        }
    })
}

/// Waits for signals until it is dropped.
pub struct Interrupt {
    happened: Arc<AtomicBool>,
    door: Arc<Mutex<Door>>,
    _signals: Option<Closing>,
}

impl Interrupt {
    /// Begins to wait; `end` is called in a thread of its own. Where that is impossible a signal ends the
    /// process as usual.
    pub fn watch(door: Door, end: fn(&Door)) -> Self {
        let happened = Arc::new(AtomicBool::new(false));
        let door = Arc::new(Mutex::new(door));
        let (flag, shared) = (Arc::clone(&happened), Arc::clone(&door));
        let listen = move |signals: &mut SignalIterator| {
            let mut first = None;
            for _ in signals {
                match request(&mut first, Instant::now()) {
                    Request::End => flag.store(true, Ordering::SeqCst),
                    Request::Echo => continue,
                    Request::EndNow => leave_now(),
                }
                let door = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                thread::spawn(move || end(&door));
            }
        };
        let signals = Closing::listen("tertulia-signals", &[SIGINT, SIGTERM, SIGHUP], listen);
        Self { happened, door, _signals: signals }
    }

    /// Another session is ended from now on.
    pub(crate) fn follow(&self, door: Door) {
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
    thread::sleep(RUN_PATIENCE);
    leave_now()
}

/// Leaves the session, and the process once the session is closed.
pub(crate) fn leave(door: &Door) {
    door.send(Command::Close);
    // The door is shut when the turn that ran has ended and is stored.
    while door.send(Command::CancelRunning) {
        thread::sleep(MOMENT);
    }
    thread::sleep(GRACE);
    // Nothing is left to end, unless the table went away with its turn still running.
    leave_now()
}

/// Ends the wait for signals when it is dropped.
pub(crate) struct Closing(Handle);

impl Closing {
    /// Hears signals in a thread of its own; `None` where that is impossible.
    fn listen(
        name: &str,
        signals: &[i32],
        hear: impl FnOnce(&mut SignalIterator) + Send + 'static,
    ) -> Option<Self> {
        let mut signals = SignalIterator::new(signals).ok()?;
        let handle = signals.handle();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || hear(&mut signals));
        thread.is_ok().then_some(Self(handle))
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Ends every agent, and the process. Nobody unwinds the turn that runs then, and its agent has a session of its own.
fn leave_now() -> ! {
    tertulia_team::end_all_now();
    std::process::exit(INTERRUPTED)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    End,
    /// The same once more, from the same hand.
    Echo,
    EndNow,
}

/// What a signal asks for that comes now, after the first one.
fn request(first: &mut Option<Instant>, now: Instant) -> Request {
    match *first {
        None => {
            *first = Some(now);
            Request::End
        }
        Some(first) if now.duration_since(first) < ECHO => Request::Echo,
        Some(_) => Request::EndNow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_at_once_is_an_echo_and_what_comes_later_is_meant() {
        let begun = Instant::now();
        let mut first = None;
        let heard = [0, 20, 249, 250, 9_000]
            .map(|moment| request(&mut first, begun + Duration::from_millis(moment)));
        let [first, second, third, later, last] = heard;
        assert_eq!([first, second, third], [Request::End, Request::Echo, Request::Echo]);
        assert_eq!([later, last], [Request::EndNow, Request::EndNow]);
    }
}
