//! One turn of a program, from its start until none of its processes is left. `dialect` parses the output and derives
//! the result from it and the exit. This file adds whether we ended the program, and why.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tertulia_dialect::stream::{
    AgentStream, ErrorClass, Exit, StreamEvent, StreamParser, TurnError, TurnOutput,
};

use super::pipes;
use super::start::{CommandLine, Prepared, Running, StartError, start};
use crate::agents::AgentDefinition;
use crate::clock::{self, Clock, OutputLimit, not_started};
use crate::{
    AgentKind, AgentSpec, CancelToken, Ended, Job, Listener, Timeout, Timeouts, TurnReport,
    TurnRequest,
};

/// Time to read the remaining output after all processes are dead. Only a process that escaped the weaker containment
/// can keep the pipe open this long.
const DRAIN: Duration = Duration::from_secs(1);
/// Maximum number of unreadable or forbidden lines that are reported as events. All are counted.
const NOISE_MAX: usize = 1000;

pub(crate) fn run(job: Job<'_>, listener: &mut dyn Listener) -> TurnReport {
    if job.cancel.is_cancelled() {
        return clock::cancelled(&job.spec.timeouts);
    }
    let turn = start_and_run(job, listener);
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
            let message = "no program is named; set `command` to a program that reads a prompt and writes an answer";
            Err(StartError::NotAllowed { message: message.into() })
        }
        AgentKind::Command(_) => Prepared::new(spec, request),
        AgentKind::Cli(_) | AgentKind::Acp | AgentKind::OpenAi(_) | AgentKind::Script(_) => {
            let message = "this kind of agent does not start a program";
            Err(StartError::NotAllowed { message: message.into() })
        }
    }
}

fn start_and_run(job: Job<'_>, listener: &mut dyn Listener) -> Result<TurnReport, StartError> {
    let Job { spec, request, .. } = job;
    let Prepared { command, prompt, folder, profile } = prepare(spec, request)?;
    let mut running = start(&command, request.turn, job.forced)?;
    let clock = Clock::start(spec.timeouts);
    // Claude gives up if no input arrives within three seconds, so the prompt is written first.
    if let Some(stdin) = running.stdin.take() {
        pipes::feed(stdin, prompt.into_bytes());
    }
    let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
    let chunks = running.stdout.take().map(pipes::read);
    listener.fed();
    let mut reader = OutputReader::new(job, listener);

    let ended = run_until_exit(&mut running, chunks.as_ref(), clock, job.cancel, &mut reader);
    // The exit is read before we end the program, because its later behaviour is a reaction to us. For example, an
    // agent whose tool we killed may take that as a result and continue to an answer.
    let exit = running.poll();
    let has_succeeded = reader.has_succeeded == Some(true);
    let orphans_killed = running.end(spec.timeouts.grace);
    if let Some(chunks) = chunks {
        drain(&chunks, &mut reader);
    }
    let exit = verdict_exit(ended, exit, has_succeeded);
    let output = reader.finish(exit, &stderr.text(), &command);
    let output = explain(output, ended, exit, &spec.timeouts, &spec.kind);
    drop((folder, profile));
    let containment = running.containment();
    let report = TurnReport::without_process(output, ended);
    Ok(TurnReport { containment, orphans_killed, ..report })
}

fn run_until_exit(
    running: &mut Running,
    chunks: Option<&Receiver<Vec<u8>>>,
    mut clock: Clock,
    cancel: &CancelToken,
    reader: &mut OutputReader<'_>,
) -> Ended {
    loop {
        if let Some(chunk) = pipes::next(chunks, clock::POLL) {
            reader.read(&chunk);
            clock.note_output();
        }
        if reader.has_succeeded.is_some() {
            clock.note_final();
        }
        if running.poll().is_some() {
            return running.overuse().map_or(Ended::ByItself, Ended::OverResources);
        }
        if let Some(ended) = clock::reason_to_end(cancel, &reader.output_limit, &clock) {
            return ended;
        }
    }
}

/// Reads the remaining output of the dead processes, up to the output limit.
fn drain(chunks: &Receiver<Vec<u8>>, reader: &mut OutputReader<'_>) {
    let until = Instant::now() + DRAIN;
    while !reader.output_limit.is_over()
        && let Ok(chunk) = chunks.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        reader.read(&chunk);
    }
}

/// Returns the exit from which the result of the turn follows. For a program that we ended, its own exit does not
/// count. If it had reported success before, that counts. Otherwise it was ended by a signal, even if it reacts to
/// that with success and exit code 0.
fn verdict_exit(ended: Ended, exit: Option<Exit>, has_succeeded: bool) -> Exit {
    const TERMINATED: Exit = Exit::Signal(15);
    match ended {
        Ended::ByItself => exit.unwrap_or(TERMINATED),
        _ if has_succeeded => Exit::Code(0),
        _ => TERMINATED,
    }
}

/// Adds to a failure what we did to the program, and what that means.
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
        // The agent reported why it failed; only its exit was late.
        Ended::TimedOut(Timeout::AfterFinal) => error,
        // Only agents of the Agent Client Protocol ask for permissions.
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

/// Returns the error of a timeout. A turn that was retrying failed for the reason of its last warning. For an agent
/// that uses a service, silence is a failure of the service. For a user's own program, it is a limit that somebody
/// set.
fn timed_out(error: &TurnError, mut time_up: TurnError, kind: &AgentKind) -> TurnError {
    if error.class != ErrorClass::Crash {
        let message = format!("{}; before that: {}", time_up.message, error.message);
        let limit = error.limit.clone();
        return TurnError { limit, ..TurnError::new(error.class, message) };
    }
    if !matches!(kind, AgentKind::Cli(_)) {
        time_up.class = ErrorClass::Limit;
    }
    time_up
}

/// Reads the output of one agent: bytes go to the parser, events to the listener in order.
struct OutputReader<'a> {
    parser: StreamParser,
    listener: &'a mut dyn Listener,
    output_limit: OutputLimit,
    /// Corrects the final text. The text is then held back until the end of the turn.
    correct: Option<fn(&mut TurnOutput, &CommandLine)>,
    is_held_back: bool,
    events: Vec<StreamEvent>,
    noise: usize,
    /// Whether the turn succeeded; set by the final event.
    has_succeeded: Option<bool>,
}

impl<'a> OutputReader<'a> {
    fn new(Job { spec, request, .. }: Job<'_>, listener: &'a mut dyn Listener) -> Self {
        let parser = StreamParser::with_limits(spec.kind.stream(), spec.limits);
        let parser = match request.memory.head() {
            Some(head) => parser.expecting_session(&head.session),
            None => parser,
        };
        Self {
            parser,
            listener,
            output_limit: OutputLimit::new(spec.limits),
            correct: spec.kind.definition().cli.as_ref().and_then(|cli| cli.correct),
            is_held_back: false,
            events: Vec::new(),
            noise: 0,
            has_succeeded: None,
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        self.parser.push(bytes, &mut self.events);
        self.output_limit.note(bytes.len(), &self.events);
        self.deliver();
    }

    /// Ends the reading. A final text that was held back is reported last, after its correction.
    fn finish(mut self, exit: Exit, stderr: &str, command: &CommandLine) -> TurnOutput {
        let parser = std::mem::replace(&mut self.parser, StreamParser::new(AgentStream::Text));
        let mut output = parser.finish(exit, stderr, &mut self.events);
        self.deliver();
        if let Some(correct) = self.correct.filter(|_| self.is_held_back) {
            correct(&mut output, command);
            if let Some(text) = &output.final_text {
                let (text, origin) = (text.text.clone(), text.origin);
                self.listener.event(StreamEvent::FinalText { text, origin });
            }
        }
        output
    }

    fn deliver(&mut self) {
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
