//! One turn of a program, from its start to the moment when nothing of it is left. Called by
//! [`super::run`]; what is said is read by `dialect`, what it means for the turn is told by
//! [`super::verdict`].

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tertulia_dialect::stream::{Exit, StreamParser};

use super::hearing::Hearing;
use super::pipes;
use super::prepare::Prepared;
use super::start::{Running, StartError, start_held};
use super::verdict;
use crate::clock::{self, Clock};
use crate::{AgentSpec, CancelToken, Containment, Ended, Listener, TurnReport, TurnRequest};

/// How often the process is looked at once its output has ended and only its exit is awaited.
const POLL_AT_END: Duration = Duration::from_millis(4);
/// How long the rest of the output is read once all processes are dead. Only one that got out of the
/// weaker containment can hold the pipe open so long.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs a turn.
pub(super) fn run(
    prepared: Prepared,
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
    cancel: &CancelToken,
    listener: &mut dyn Listener,
    forced: Option<Containment>,
) -> Result<TurnReport, StartError> {
    let Prepared { command, prompt, files } = prepared;
    let correct = spec.kind.definition().cli.as_ref().and_then(|cli| cli.correct);
    let mut running = start_held(&command, request.turn, forced)?;
    let clock = Clock::start(spec.timeouts);
    // Claude gives up if nothing arrives within three seconds: the prompt goes in before anything else.
    if let Some(stdin) = running.stdin.take() {
        pipes::feed(stdin, prompt.into_bytes());
    }
    let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
    let chunks = running.stdout.take().map(pipes::read);
    listener.fed();
    let parser = StreamParser::with_limits(spec.kind.stream(), spec.limits);
    let mut hearing = Hearing::new(parser, correct.is_some(), spec.limits, listener);

    let ended = attend(&mut running, chunks.as_ref(), clock, cancel, &mut hearing);
    // Asked before we end it: what it does and says after that is its reaction to us, as an agent whose tool we
    // ended takes that for a result and goes on to an answer.
    let exit = running.poll();
    let has_succeeded = hearing.has_succeeded();
    let left_behind = running.end(spec.timeouts.grace);
    if let Some(chunks) = chunks {
        drain(&chunks, &mut hearing);
    }
    let exit = verdict_exit(ended, exit, has_succeeded);
    let output = hearing.finish(exit, &stderr.text(), |output| {
        if let Some(correct) = correct {
            correct(output, &command);
        }
    });
    let output = verdict::explain(output, ended, exit, &spec.timeouts, &spec.kind);
    drop(files);
    Ok(TurnReport { output, ended, containment: running.containment(), left_behind })
}

/// Listens until the program ends or has to.
fn attend(
    running: &mut Running,
    chunks: Option<&Receiver<Vec<u8>>>,
    mut clock: Clock,
    cancel: &CancelToken,
    hearing: &mut Hearing<'_>,
) -> Ended {
    loop {
        let heard =
            chunks.map_or(Err(RecvTimeoutError::Disconnected), |it| it.recv_timeout(clock::POLL));
        match heard {
            Ok(chunk) => {
                hearing.hear(&chunk);
                clock.hear();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL_AT_END),
        }
        if hearing.has_finished() {
            clock.answer();
        }
        if running.poll().is_some() {
            return running.overuse().map_or(Ended::ByItself, Ended::OverResources);
        }
        if cancel.is_cancelled() {
            return Ended::Cancelled;
        }
        if hearing.is_over_limit() {
            return Ended::OverLimit;
        }
        if let Some(timeout) = clock.expired() {
            return Ended::TimedOut(timeout);
        }
    }
}

/// Reads what the dead had written. What is over the limit is left where it is.
fn drain(chunks: &Receiver<Vec<u8>>, hearing: &mut Hearing<'_>) {
    let until = Instant::now() + DRAIN;
    while !hearing.is_over_limit()
        && let Ok(chunk) = chunks.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        hearing.hear(&chunk);
    }
}

/// The exit that the verdict is made by. A program that we ended did not end as it would have: one that
/// had said before that it succeeded is taken at its word, any other one was ended by a signal, even if it
/// answers that with success and 0.
fn verdict_exit(ended: Ended, exit: Option<Exit>, has_succeeded: bool) -> Exit {
    const TERMINATED: Exit = Exit::Signal(15);
    match ended {
        Ended::ByItself => exit.unwrap_or(TERMINATED),
        _ if has_succeeded => Exit::Code(0),
        _ => TERMINATED,
    }
}
