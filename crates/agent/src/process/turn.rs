//! One turn of a program, from its start to the moment when nothing of it is left. `dialect` reads what is said,
//! and judges it by how the program ended; here is added what only this crate knows: that we ended it, and why.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tertulia_dialect::stream::{
    AgentStream, ErrorClass, Exit, StreamEvent, StreamParser, TurnError, TurnOutput,
};

use super::pipes;
use super::start::{CommandLine, Prepared, Running, StartError, start};
use crate::agents::AgentDefinition;
use crate::clock::{self, Clock, Flood, not_started};
use crate::{
    AgentKind, AgentSpec, CancelToken, Ended, Job, Listener, Timeout, Timeouts, TurnReport,
    TurnRequest,
};

/// How long the rest of the output is read once all processes are dead. Only one that got out of the
/// weaker containment can hold the pipe open so long.
const DRAIN: Duration = Duration::from_secs(1);
/// The largest number of unreadable or forbidden lines that are reported as events. All are counted.
const NOISE_MAX: usize = 1000;

pub(crate) fn run(job: Job<'_>, listener: &mut dyn Listener) -> TurnReport {
    if job.cancel.is_cancelled() {
        return clock::cancelled(&job.spec.timeouts);
    }
    let turn = start_and_attend(job, listener);
    turn.unwrap_or_else(|error| not_started(error.into(), Ended::ByItself))
}

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    if let Some(model) = spec.model.as_deref().filter(|model| model.starts_with('-')) {
        let message = format!("{model:?} is not the name of a model: it begins with `-`");
        return Err(StartError::NotAllowed { message: message.into() });
    }
    match &spec.kind {
        AgentKind::Cli(AgentDefinition { cli: Some(cli), .. }) => (cli.prepare)(spec, request),
        AgentKind::Command(_) if spec.program.is_none() => {
            let message = "no program is named; set `command` to one that reads a prompt and writes \
                           an answer";
            Err(StartError::NotAllowed { message: message.into() })
        }
        AgentKind::Command(_) => Prepared::new(spec, request),
        AgentKind::Cli(_) | AgentKind::Acp | AgentKind::OpenAi(_) | AgentKind::Script(_) => {
            let message = "this kind of agent is not a program that takes a prompt";
            Err(StartError::NotAllowed { message: message.into() })
        }
    }
}

fn start_and_attend(job: Job<'_>, listener: &mut dyn Listener) -> Result<TurnReport, StartError> {
    let Job { spec, request, .. } = job;
    let Prepared { command, prompt, folder, profile } = prepare(spec, request)?;
    let mut running = start(&command, request.turn, job.forced)?;
    let clock = Clock::start(spec.timeouts);
    // Claude gives up if nothing arrives within three seconds: the prompt goes in before anything else.
    if let Some(stdin) = running.stdin.take() {
        pipes::feed(stdin, prompt.into_bytes());
    }
    let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
    let chunks = running.stdout.take().map(pipes::read);
    listener.fed();
    let mut hearing = Hearing::new(spec, listener);

    let ended = attend(&mut running, chunks.as_ref(), clock, job.cancel, &mut hearing);
    // Asked before we end it: what it does and says after that is its reaction to us, as an agent whose tool we
    // ended takes that for a result and goes on to an answer.
    let exit = running.poll();
    let has_succeeded = hearing.has_succeeded == Some(true);
    let left_behind = running.end(spec.timeouts.grace);
    if let Some(chunks) = chunks {
        drain(&chunks, &mut hearing);
    }
    let exit = verdict_exit(ended, exit, has_succeeded);
    let output = hearing.finish(exit, &stderr.text(), &command);
    let output = explain(output, ended, exit, &spec.timeouts, &spec.kind);
    drop((folder, profile));
    Ok(TurnReport { output, ended, containment: running.containment(), left_behind })
}

fn attend(
    running: &mut Running,
    chunks: Option<&Receiver<Vec<u8>>>,
    mut clock: Clock,
    cancel: &CancelToken,
    hearing: &mut Hearing<'_>,
) -> Ended {
    loop {
        if let Some(chunk) = pipes::next(chunks, clock::POLL) {
            hearing.hear(&chunk);
            clock.hear();
        }
        if hearing.has_succeeded.is_some() {
            clock.answer();
        }
        if running.poll().is_some() {
            return running.overuse().map_or(Ended::ByItself, Ended::OverResources);
        }
        if let Some(ended) = clock::must_end(cancel, &hearing.flood, &clock) {
            return ended;
        }
    }
}

/// Reads what the dead had written. What is over the limit is left where it is.
fn drain(chunks: &Receiver<Vec<u8>>, hearing: &mut Hearing<'_>) {
    let until = Instant::now() + DRAIN;
    while !hearing.flood.is_over()
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

/// Adds to a failure what was done to the program, and what it means.
fn explain(
    mut output: TurnOutput,
    ended: Ended,
    exit: Exit,
    timeouts: &Timeouts,
    kind: &AgentKind,
) -> TurnOutput {
    let Some(error) = output.error.take() else { return output };
    let said = match ended {
        Ended::ByItself => by_itself(error, exit, &output),
        // It said why it failed, and only its end was late.
        Ended::TimedOut(Timeout::AfterFinal) => error,
        // Only the Agent Client Protocol asks.
        Ended::NeedsPerson => error,
        Ended::TimedOut(_) => timed_out(&error, clock::failure(ended, timeouts), kind),
        Ended::Cancelled | Ended::OverLimit | Ended::OverResources(_) => {
            clock::failure(ended, timeouts)
        }
    };
    output.error = Some(said);
    output
}

fn by_itself(mut error: TurnError, exit: Exit, output: &TurnOutput) -> TurnError {
    if error.class != ErrorClass::Crash {
        return error;
    }
    let mut message = String::from(error.message);
    match exit {
        Exit::Signal(9) | Exit::Code(137) => {
            message.push_str("; it was killed, perhaps because the machine ran out of memory");
        }
        Exit::Code(126 | 127) if output.partial_text.is_none() && output.lines.known == 0 => {
            error.class = ErrorClass::Setup;
            message.push_str("; the program could not be started, check its path and #! line");
        }
        _ => {}
    }
    if output.lines.unparsed > 0 {
        message.push_str(&format!("; lines that could not be read: {}", output.lines.unparsed));
    }
    error.message = message.into();
    error
}

/// A time that was up. A turn that was retrying when it was ended failed for the reason of its last warning. Silence of
/// an agent that asks a service is the service's; a program of one's own ran into a limit that was set for it.
fn timed_out(error: &TurnError, mut time_up: TurnError, kind: &AgentKind) -> TurnError {
    if error.class != ErrorClass::Crash {
        let message = format!("{}; before that: {}", time_up.message, error.message);
        return TurnError::new(error.class, message);
    }
    if !matches!(kind, AgentKind::Cli(_)) {
        time_up.class = ErrorClass::Limit;
    }
    time_up
}

/// Reads what one agent says: bytes go to the parser, events to the listener in their order.
struct Hearing<'a> {
    parser: StreamParser,
    listener: &'a mut dyn Listener,
    flood: Flood,
    /// Corrects the final text, which is held back until the end then.
    correct: Option<fn(&mut TurnOutput, &CommandLine)>,
    is_held_back: bool,
    events: Vec<StreamEvent>,
    noise: usize,
    /// Whether the turn succeeded, once the final event came.
    has_succeeded: Option<bool>,
}

impl<'a> Hearing<'a> {
    fn new(spec: &AgentSpec, listener: &'a mut dyn Listener) -> Self {
        Self {
            parser: StreamParser::with_limits(spec.kind.stream(), spec.limits),
            listener,
            flood: Flood::new(spec.limits),
            correct: spec.kind.definition().cli.as_ref().and_then(|cli| cli.correct),
            is_held_back: false,
            events: Vec::new(),
            noise: 0,
            has_succeeded: None,
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.parser.push(bytes, &mut self.events);
        self.flood.note(bytes.len(), &self.events);
        self.tell();
    }

    /// Ends the reading. A final text that was held back is reported last, with its correction.
    fn finish(mut self, exit: Exit, stderr: &str, command: &CommandLine) -> TurnOutput {
        let parser = std::mem::replace(&mut self.parser, StreamParser::new(AgentStream::Text));
        let mut output = parser.finish(exit, stderr, &mut self.events);
        self.tell();
        if let Some(correct) = self.correct.filter(|_| self.is_held_back) {
            correct(&mut output, command);
            if let Some(text) = &output.final_text {
                let (text, origin) = (text.text.clone(), text.origin);
                self.listener.event(StreamEvent::FinalText { text, origin });
            }
        }
        output
    }

    fn tell(&mut self) {
        for event in std::mem::take(&mut self.events) {
            match &event {
                StreamEvent::FinalText { .. } => {
                    self.has_succeeded = Some(true);
                    if self.correct.is_some() {
                        self.is_held_back = true;
                        continue;
                    }
                }
                StreamEvent::Failed(_) => self.has_succeeded = Some(false),
                StreamEvent::Unparsed { .. }
                | StreamEvent::Oversize { .. }
                | StreamEvent::Violation { .. } => {
                    self.noise += 1;
                    if self.noise > NOISE_MAX {
                        continue;
                    }
                }
                _ => {}
            }
            self.listener.event(event);
        }
    }
}
