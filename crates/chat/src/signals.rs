//! Signals. The chat on a terminal polls them together with keys and session events. `run` and a chat without a terminal
//! end properly on the first signal, so that the session is stored and no agent keeps running; the next signal kills the
//! agents and ends the process at once.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::{Handle, Signals as SignalIterator};
use signal_hook::low_level::{pipe, unregister};
use tertulia_team::{Command, DriverHandle};

use crate::join::{ClientSender, Link};
use crate::screen::SavedMode;

/// The exit code of an interrupted process.
const INTERRUPTED: i32 = 130;
/// A second signal within this time is a duplicate: `timeout` signals its child and then the whole group.
const DUPLICATE_WINDOW: Duration = Duration::from_millis(250);
/// Time for the chat to end by itself. Stopping an agent properly takes less.
const CHAT_PATIENCE: Duration = Duration::from_secs(6);
/// Time for a run to end by itself. It cannot if nobody reads its output.
const RUN_PATIENCE: Duration = Duration::from_secs(8);
const MOMENT: Duration = Duration::from_millis(20);
/// Time for the chat to end after its session is closed. It cannot while it reads a line.
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

/// Starts a watchdog that runs until the result is dropped; `terminal` is the mode to restore. If the terminal accepts no
/// output (Ctrl-S, a hanging connection), the chat cannot handle a signal. After a while the watchdog ends the agents and
/// the process.
pub(crate) fn start_watchdog(terminal: SavedMode) -> Option<SignalListener> {
    SignalListener::listen("tertulia-watchdog", &[SIGTERM, SIGHUP], move |signals| {
        if signals.forever().next().is_some() {
            thread::sleep(CHAT_PATIENCE);
            terminal.restore();
            leave_now();
        }
    })
}

/// A session as signals see it.
#[derive(Clone)]
pub struct SessionHandle(pub(crate) Handled);

#[derive(Clone)]
pub(crate) enum Handled {
    Own(DriverHandle),
    /// Another process runs the session. A signal only leaves it.
    Joined(Link),
    Client(ClientSender),
}

impl From<DriverHandle> for SessionHandle {
    fn from(handle: DriverHandle) -> Self {
        Self(Handled::Own(handle))
    }
}

impl From<ClientSender> for SessionHandle {
    fn from(client: ClientSender) -> Self {
        Self(Handled::Client(client))
    }
}

impl SessionHandle {
    /// Leaves a session that another process runs. Returns the handle of an own session.
    fn own_or_leave(&self) -> Option<&DriverHandle> {
        match &self.0 {
            Handled::Own(handle) => return Some(handle),
            Handled::Joined(link) => link.leave(),
            Handled::Client(client) => client.leave(),
        }
        None
    }
}

/// Waits for signals until it is dropped.
pub struct Interrupt {
    happened: Arc<AtomicBool>,
    handle: Arc<Mutex<SessionHandle>>,
    _signals: Option<SignalListener>,
}

impl Interrupt {
    /// Starts to wait; `end` is called in its own thread. If that is impossible, a signal ends the process as usual.
    pub fn watch(handle: impl Into<SessionHandle>, end: fn(&SessionHandle)) -> Self {
        let handle = handle.into();
        let happened = Arc::new(AtomicBool::new(false));
        let handle = Arc::new(Mutex::new(handle));
        let (flag, shared) = (Arc::clone(&happened), Arc::clone(&handle));
        let listen = move |signals: &mut SignalIterator| {
            let mut first = None;
            for _ in signals {
                match request(&mut first, Instant::now()) {
                    Request::End => flag.store(true, Ordering::SeqCst),
                    Request::Duplicate => continue,
                    Request::EndNow => leave_now(),
                }
                let handle = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                thread::spawn(move || end(&handle));
            }
        };
        let signals =
            SignalListener::listen("tertulia-signals", &[SIGINT, SIGTERM, SIGHUP], listen);
        Self { happened, handle, _signals: signals }
    }

    /// Applies to another session from now on.
    pub(crate) fn follow(&self, handle: SessionHandle) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = handle;
    }

    /// Returns whether a signal arrived.
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }
}

/// Stops the running turn, and the process if it does not end by itself.
pub fn stop_turn(handle: &SessionHandle) {
    if let Some(handle) = handle.own_or_leave() {
        handle.send(Command::CancelRunning);
    }
    thread::sleep(RUN_PATIENCE);
    leave_now()
}

/// Closes the session, then ends the process.
pub(crate) fn leave(handle: &SessionHandle) {
    if let Some(handle) = handle.own_or_leave() {
        handle.send(Command::Close);
        // The handle closes when the turn has ended and is stored.
        while handle.send(Command::CancelRunning) {
            thread::sleep(MOMENT);
        }
    }
    thread::sleep(GRACE);
    // No agent is running, unless the session ended during a turn.
    leave_now()
}

/// Stops listening for signals when it is dropped.
pub(crate) struct SignalListener(Handle);

impl SignalListener {
    /// Listens for signals in its own thread; `None` if that is impossible.
    fn listen(
        name: &str,
        signals: &[i32],
        run: impl FnOnce(&mut SignalIterator) + Send + 'static,
    ) -> Option<Self> {
        let mut signals = SignalIterator::new(signals).ok()?;
        let handle = signals.handle();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || run(&mut signals));
        thread.is_ok().then_some(Self(handle))
    }
}

impl Drop for SignalListener {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Kills every agent and ends the process. Needed because the running turn is not unwound and its agent has its own
/// process group.
fn leave_now() -> ! {
    tertulia_team::end_all_now();
    std::process::exit(INTERRUPTED)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    End,
    /// A repetition of the first one.
    Duplicate,
    EndNow,
}

/// Returns the meaning of a signal that arrives now.
fn request(first: &mut Option<Instant>, now: Instant) -> Request {
    match *first {
        None => {
            *first = Some(now);
            Request::End
        }
        Some(first) if now.duration_since(first) < DUPLICATE_WINDOW => Request::Duplicate,
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
        let requests = [0, 20, 249, 250, 9_000]
            .map(|moment| request(&mut first, begun + Duration::from_millis(moment)));
        let [first, second, third, later, last] = requests;
        assert_eq!([first, second, third], [Request::End, Request::Duplicate, Request::Duplicate]);
        assert_eq!([later, last], [Request::EndNow, Request::EndNow]);
    }
}
