//! The queue of one client. Whoever adds a line never waits. A client that does not read its lines is disconnected: it can
//! join again, and the log has what it missed.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tertulia_team::DriveError;
use tertulia_team::wire::{ByeReason, HostMessage};

use crate::engine::ChatEvent;
use crate::style::Line;

/// The maximum number of bytes that wait for a client. A single longer line may wait.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// The maximum number of requests of a client that are not executed yet. The next one is read afterwards.
const REQUESTS_MAX: usize = 64;
/// How long a client may take to read its last lines.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often a writer that is blocked checks whether its client is being disconnected.
pub(super) const WRITE_CHECK: Duration = Duration::from_millis(200);

pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    stream: UnixStream,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Arc<str>>,
    bytes: usize,
    requests: usize,
    /// The time at which the connection ends even if the client has not read its last lines.
    closing: Option<Instant>,
    is_over: bool,
}

impl Queue {
    pub(super) fn new(stream: UnixStream) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), stream })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, message: &HostMessage) {
        self.push(&message.to_line().into());
    }

    /// Adds a line. If too much waits already, the client is disconnected.
    pub(super) fn push(&self, line: &Arc<str>) {
        let mut state = self.state();
        if state.closing.is_some() {
            return;
        }
        if state.bytes + line.len() > BYTES_MAX && !state.lines.is_empty() {
            state.lines.clear();
            state.bytes = 0;
            drop(state);
            return self.close(ByeReason::Behind, "this process did not read fast enough");
        }
        state.bytes += line.len();
        state.lines.push_back(Arc::clone(line));
        self.changed.notify_all();
    }

    /// Ends the connection after the lines that wait, and a last one with the reason.
    pub(super) fn close(&self, reason: ByeReason, text: &str) {
        let mut state = self.state();
        if state.closing.is_none() {
            let bye = HostMessage::Bye { reason, text: text.into() };
            state.lines.push_back(bye.to_line().into());
            state.closing = Some(Instant::now() + FAREWELL);
            self.changed.notify_all();
        }
    }

    /// Ends the connection because this process no longer runs the session.
    pub(super) fn host_ended(&self) {
        self.close(ByeReason::Ended, "the process that ran the session has ended");
    }

    pub(super) fn is_closing(&self) -> bool {
        self.state().closing.is_some()
    }

    /// Waits until the connection has ended, or its time is over.
    pub(super) fn wait_for_end(&self) {
        let mut state = self.state();
        while !state.is_over {
            let left = state.closing.map(|at| at.saturating_duration_since(Instant::now()));
            let Some(left) = left.filter(|left| !left.is_zero()) else { return };
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the client may send another request; `false` if the connection has ended.
    pub(super) fn begin_request(&self) -> bool {
        let mut state = self.state();
        while state.requests >= REQUESTS_MAX && state.closing.is_none() && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.requests += 1;
        state.closing.is_none() && !state.is_over
    }

    fn end_request(&self) {
        let mut state = self.state();
        state.requests = state.requests.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.closing.get_or_insert_with(Instant::now);
        let _ = self.stream.shutdown(Shutdown::Both);
        self.changed.notify_all();
    }

    /// Writes the lines until the connection ends. The stream must have [`WRITE_CHECK`] as its write timeout.
    pub(super) fn write_all(&self) {
        while let Some(line) = self.next() {
            if !self.write(line.as_bytes()) || !self.write(b"\n") {
                break;
            }
        }
        self.cut();
    }

    /// Returns the next line; `None` after the last one.
    fn next(&self) -> Option<Arc<str>> {
        let mut state = self.state();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(line) = state.lines.pop_front() {
                state.bytes = state.bytes.saturating_sub(line.len());
                return Some(line);
            }
            if state.closing.is_some() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes bytes; `false` if the connection has ended or its time is over.
    fn write(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(count @ 1..) => bytes = bytes.get(count..).unwrap_or_default(),
                Ok(_) => return false,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) =>
                {
                    let state = self.state();
                    if state.is_over || state.closing.is_some_and(|until| Instant::now() > until) {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        true
    }
}

/// Answers one request of a client. Dropped when the request was executed.
#[derive(Clone)]
pub(crate) struct Reply(Arc<OpenRequest>);

struct OpenRequest {
    queue: Arc<Queue>,
    number: u64,
}

impl Reply {
    pub(super) fn new(queue: Arc<Queue>, number: u64) -> Self {
        Self(Arc::new(OpenRequest { queue, number }))
    }

    pub(super) fn lines(&self, lines: &[Line]) {
        let (number, lines) = (self.0.number, lines.iter().map(Line::to_wire).collect());
        self.0.queue.send(&HostMessage::Lines { number, lines });
    }

    fn refused(&self, text: String, needs_person: bool, is_closing: bool) {
        let (number, text, is_closing) = (self.0.number, text.into(), Some(is_closing));
        self.0.queue.send(&HostMessage::Refused { number, text, needs_person, is_closing });
    }

    /// Sends the answer to a command.
    pub(crate) fn send(&self, event: ChatEvent) {
        let number = self.0.number;
        match event {
            ChatEvent::Lines(lines) => self.lines(&lines),
            ChatEvent::Refused(text) | ChatEvent::NotForked(text) => {
                self.refused(text, false, false);
            }
            ChatEvent::NotSaid(error) => self.refused(error.to_string(), true, false),
            ChatEvent::Closing => self.refused(DriveError::Closing.to_string(), false, true),
            ChatEvent::Status { runs, .. } => {
                self.0.queue.send(&HostMessage::Status { number, runs });
            }
            ChatEvent::Forked(session) => {
                let session = session.as_str().into();
                self.0.queue.send(&HostMessage::Forked { number, session });
            }
            // Events of the session go to all clients.
            ChatEvent::Session(_)
            | ChatEvent::Past { .. }
            | ChatEvent::Text { .. }
            | ChatEvent::Ended(_)
            | ChatEvent::HostLost
            | ChatEvent::HostFound
            | ChatEvent::TakeOver => {}
        }
    }

    /// Confirms that the request was executed.
    pub(super) fn done(&self) {
        self.0.queue.send(&HostMessage::Done { number: self.0.number });
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.queue.end_request();
    }
}
