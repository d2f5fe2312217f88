//! Runs a program that prints something and exits, such as an agent that exports a session. Contained like a turn.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tertulia_dialect::stream::Exit;

use super::pipes;
use super::start::{CommandLine, StartError, start};
use crate::CancelToken;

const GRACE: Duration = Duration::from_millis(500);
/// Maximum time to read what was written before the exit.
const REST: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// `None` if it did not exit in time, printed too much, or was cancelled.
    pub(crate) exit: Option<Exit>,
}

/// Runs a program without input to its end, or until it is cancelled.
pub(crate) fn output_of(
    command: &CommandLine,
    time: Duration,
    bytes_max: usize,
    cancel: &CancelToken,
) -> Result<ProgramOutput, StartError> {
    let until = Instant::now() + time;
    let mut running = start(command, "output", None)?;
    running.stdin = None;
    let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
    let chunks = running.stdout.take().map(pipes::read);
    let mut stdout = Vec::new();
    let mut exit = None;
    let is_over = |stdout: &[u8]| stdout.len() > bytes_max || cancel.is_cancelled();
    while Instant::now() < until && !is_over(&stdout) && exit.is_none() {
        match pipes::next(chunks.as_ref(), Duration::from_millis(10)) {
            Some(chunk) => stdout.extend_from_slice(&chunk),
            None => exit = running.poll(),
        }
    }
    running.end(GRACE);
    // The rest was written before the exit. A process that escaped might write forever.
    if let Some(chunks) = chunks.filter(|_| !is_over(&stdout)) {
        take_rest(&chunks, &mut stdout, bytes_max, Instant::now() + REST);
    }
    let exit = exit.filter(|_| !is_over(&stdout));
    Ok(ProgramOutput { stdout, stderr: stderr.text(), exit })
}

/// Reads what is left in a pipe, until it is closed, silent, or over one of these limits.
fn take_rest(chunks: &Receiver<Vec<u8>>, stdout: &mut Vec<u8>, bytes_max: usize, until: Instant) {
    while stdout.len() <= bytes_max && Instant::now() < until {
        match chunks.recv_timeout(GRACE) {
            Ok(chunk) => stdout.extend_from_slice(&chunk),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_writer_that_never_stops_is_not_read_forever() {
        let (sender, receiver) = sync_channel(1);
        let writer = std::thread::spawn(move || while sender.send(vec![b'x'; 64]).is_ok() {});
        let far = Duration::from_secs(3600);
        let mut stdout = Vec::new();
        take_rest(&receiver, &mut stdout, 1000, Instant::now() + far);
        assert!((1000..2000).contains(&stdout.len()), "{}", stdout.len());
        take_rest(&receiver, &mut stdout, usize::MAX, Instant::now() + GRACE);
        drop(receiver);
        writer.join().unwrap();
    }
}
