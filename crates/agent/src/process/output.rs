//! Runs a program that prints something and exits, such as an agent that exports a session. Contained like a turn.

use std::time::{Duration, Instant};

use tertulia_dialect::stream::Exit;

use super::pipes;
use super::start::{CommandLine, StartError, start};

const GRACE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// `None` if it did not exit in time, or printed too much.
    pub(crate) exit: Option<Exit>,
}

/// Runs a program without input to its end.
pub(crate) fn output_of(
    command: &CommandLine,
    time: Duration,
    bytes_max: usize,
) -> Result<ProgramOutput, StartError> {
    let until = Instant::now() + time;
    let mut running = start(command, "output", None)?;
    running.stdin = None;
    let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
    let chunks = running.stdout.take().map(pipes::read);
    let mut stdout = Vec::new();
    let mut exit = None;
    while Instant::now() < until && stdout.len() <= bytes_max && exit.is_none() {
        match pipes::next(chunks.as_ref(), Duration::from_millis(10)) {
            Some(chunk) => stdout.extend_from_slice(&chunk),
            None => exit = running.poll(),
        }
    }
    running.end(GRACE);
    // The rest was written before the exit.
    while let Some(Ok(chunk)) = chunks.as_ref().map(|chunks| chunks.recv_timeout(GRACE)) {
        stdout.extend_from_slice(&chunk);
    }
    let exit = exit.filter(|_| stdout.len() <= bytes_max);
    Ok(ProgramOutput { stdout, stderr: stderr.text(), exit })
}
