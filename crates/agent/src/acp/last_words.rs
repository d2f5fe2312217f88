//! The end of what an agent wrote to stderr, waited for: a process that has ended may have written words
//! that its reader has not seen yet. Used by [`super::Turn`] where the words have to say why it ended.

use std::convert::Infallible;
use std::io::Read;
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::process::pipes::{self, Tail};

/// How long the words are waited for. Only a process that got away holds the pipe open so long.
const WAIT: Duration = Duration::from_millis(500);

/// The end of stderr, and a channel that closes with the pipe.
pub(super) struct LastWords {
    tail: Tail,
    open: Receiver<Infallible>,
}

/// A pipe that is dropped, with its channel, when it has been read to its end.
struct Watched<R> {
    pipe: R,
    _open: Sender<Infallible>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.pipe.read(buffer)
    }
}

impl LastWords {
    pub(super) fn of(stderr: Option<ChildStderr>) -> Self {
        let (sender, open) = channel();
        let tail = stderr.map(|pipe| pipes::tail(Watched { pipe, _open: sender }));
        Self { tail: tail.unwrap_or_default(), open }
    }

    /// The words of an agent that has ended.
    pub(super) fn text(&self) -> String {
        // It gives nothing: it closes, or the time is up.
        let _ = self.open.recv_timeout(WAIT);
        self.tail.text()
    }
}
