//! The three pipes of a program, each on its own thread so that none blocks another. The prompt is written at once,
//! output arrives in chunks with back-pressure, and only the end of stderr is kept. Used by [`super::run`], `acp` and
//! `probe`. This module interprets no data.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const CHUNK_BYTES: usize = 64 * 1024;
/// Maximum number of waiting chunks. Beyond that the program has to wait.
const CHUNKS_MAX: usize = 8;
/// Poll interval after the output has ended, while the program has not exited.
const POLL_AT_END: Duration = Duration::from_millis(4);
const TAIL_BYTES: usize = 64 * 1024;
/// Time to wait for the end of stderr. Only a process that escaped the weaker containment can keep it open this long.
const TAIL_WAIT: Duration = Duration::from_millis(500);

/// Writes bytes and closes the pipe. It is no error if the program does not read them or closes its end: the
/// program's exit decides.
pub(crate) fn feed(pipe: impl Write + Send + 'static, bytes: Vec<u8>) {
    spawn("agent stdin", move || {
        let mut pipe = pipe;
        if let Err(error) = pipe.write_all(&bytes).and_then(|()| pipe.flush()) {
            tracing::debug!(%error, "an agent did not read its whole prompt");
        }
    });
}

pub(crate) fn read(pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(CHUNKS_MAX);
    spawn("agent stdout", move || {
        let _ = read_all(pipe, CHUNK_BYTES, |chunk| sender.send(chunk.to_vec()).is_ok());
    });
    receiver
}

/// Returns the next chunk if one arrives in time. After the end of the pipe, waits a moment, because then the exit of
/// the process decides.
pub(crate) fn next(chunks: Option<&Receiver<Vec<u8>>>, wait: Duration) -> Option<Vec<u8>> {
    match chunks.map_or(Err(RecvTimeoutError::Disconnected), |it| it.recv_timeout(wait)) {
        Ok(chunk) => Some(chunk),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => {
            std::thread::sleep(wait.min(POLL_AT_END));
            None
        }
    }
}

/// Reads to the end, or until the callback returns `false`.
pub(crate) fn read_all(
    mut pipe: impl Read,
    chunk_bytes: usize,
    mut take: impl FnMut(&[u8]) -> bool,
) -> std::io::Result<()> {
    let mut buffer = vec![0; chunk_bytes];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) if take(buffer.get(..length).unwrap_or_default()) => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<(Mutex<Kept>, Condvar)>);

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// Whether the pipe is still being read.
    is_open: bool,
}

pub(crate) fn tail(pipe: impl Read + Send + 'static) -> Tail {
    let tail = Tail::default();
    tail.kept().is_open = true;
    let reader = TailReader(tail.clone());
    spawn("agent stderr", move || {
        let _ = read_all(pipe, 8 * 1024, |chunk| {
            reader.0.push(chunk);
            true
        });
    });
    tail
}

/// Marks the pipe as ended when dropped.
struct TailReader(Tail);

impl Drop for TailReader {
    fn drop(&mut self) {
        self.0.kept().is_open = false;
        self.0.0.1.notify_all();
    }
}

impl Tail {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let kept = &mut self.kept().bytes;
        kept.extend(bytes);
        let excess = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..excess);
    }

    /// Returns the kept bytes as text. Call it after the program has exited. Waits a moment for the end of the pipe,
    /// because the last output may not have been read yet.
    pub(crate) fn text(&self) -> String {
        let waiting = self.0.1.wait_timeout_while(self.kept(), TAIL_WAIT, |kept| kept.is_open);
        let (kept, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        let (first, second) = kept.bytes.as_slices();
        String::from_utf8_lossy(&[first, second].concat()).into_owned()
    }
}

/// Runs this work in a thread. If no thread can be created, the pipe is closed, and the program notices that.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
        tracing::warn!(%error, name, "no thread for a pipe");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_stderr_is_kept() {
        let tail = Tail::default();
        for _ in 0..100 {
            tail.push(&[b'x'; 8 * 1024]);
        }
        tail.push("the é end".as_bytes());
        let text = tail.text();
        assert_eq!(text.len(), TAIL_BYTES);
        assert!(text.ends_with("xthe é end"));
    }

    #[test]
    fn the_last_words_are_waited_for() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let tail = tail(reader);
        let speaker = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            writer.write_all(b"why").unwrap();
        });
        assert_eq!(tail.text(), "why");
        speaker.join().unwrap();
    }

    #[test]
    fn a_listener_that_is_gone_stops_the_reader() {
        let endless = std::io::repeat(b'y');
        let (sender, receiver) = sync_channel(1);
        let take = move |chunk: &[u8]| sender.send(chunk.to_vec()).is_ok();
        let reader = std::thread::spawn(move || read_all(endless, CHUNK_BYTES, take));
        assert_eq!(receiver.recv().unwrap().len(), CHUNK_BYTES);
        drop(receiver);
        reader.join().unwrap().unwrap();
    }
}
