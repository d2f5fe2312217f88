//! Signals as something that can be waited for beside keys and the table: each kind has a pipe of its
//! own. Called by the interactive chat.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::low_level::{pipe, unregister};

/// What may come from outside.
pub(crate) struct Signals {
    /// The screen has another size.
    pub(crate) resized: UnixStream,
    /// The process was stopped and goes on.
    pub(crate) continued: UnixStream,
    /// Somebody wants this process to end.
    pub(crate) ending: UnixStream,
    ids: Vec<signal_hook::SigId>,
}

impl Signals {
    /// Catches them from now on.
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

/// Takes everything out of a pipe.
pub(crate) fn drain(mut pipe: &UnixStream) {
    while pipe.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
}
