//! An agent process that gets its prompts as messages on its pipes: agents of the Agent Client Protocol, and the
//! processes of Claude Code and Codex that stay alive between turns. `dialect` writes and parses the messages. A turn
//! ends with the agent's own message. A process without another turn has to exit when its stdin closes; otherwise it
//! is killed.

mod connection;

use std::time::{Duration, Instant};

use tempfile::TempDir;
use tertulia_dialect::stream::{AgentClient, AgentPrompt, Exit, TurnError, TurnOutput};

use super::pipes::{self, Tail};
use super::start::{CommandLine, Running, StartError, start};
use crate::clock::{self, Clock, OutputLimit};
use crate::spec::deliver;
use crate::{CancelToken, Ended, Job, Listener, TurnReport};
use connection::{Connection, Writer};

/// Time an agent has to confirm a cancellation before it is killed.
const CANCEL_WAIT: Duration = Duration::from_millis(400);
const DRAIN: Duration = Duration::from_millis(500);
/// Time an idle process has to exit after its stdin was closed.
const CLOSE_WAIT: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct LiveAgent {
    running: Running,
    stderr: Tail,
    connection: Connection,
    pub(crate) command: CommandLine,
    /// Deleted when the process has ended.
    pub(crate) folder: Option<TempDir>,
}

/// The way in which a turn stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    Answered,
    Exited(Exit),
    Ended(Ended, TurnError),
}

impl LiveAgent {
    /// Starts the process. Its first turn opens the session.
    pub(crate) fn start(
        command: CommandLine,
        client: AgentClient,
        job: Job<'_>,
    ) -> Result<Self, StartError> {
        let spec = job.spec;
        let mut running = start(&command, job.request.turn, job.forced)?;
        let connection = Connection {
            client,
            writer: Writer::start(running.stdin.take()),
            chunks: running.stdout.take().map(pipes::read),
            output_limit: OutputLimit::new(spec.limits),
            clock: Clock::start(spec.timeouts),
            permissions: spec.permissions,
            events: Vec::new(),
            is_fed: false,
        };
        let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
        Ok(Self { running, stderr, connection, command, folder: None })
    }

    pub(crate) fn client(&self) -> &AgentClient {
        &self.connection.client
    }

    /// Returns whether the process runs. Also scans for its descendants.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.running.poll().is_none()
    }

    /// Runs a turn until the agent has answered or the turn has to end.
    pub(crate) fn turn(
        &mut self,
        prompt: &AgentPrompt<'_>,
        job: Job<'_>,
        listener: &mut dyn Listener,
    ) -> Stop {
        match self.connection.begin(prompt, job.spec, listener) {
            Ok(()) => self.wait_for_answer(job, listener),
            Err(stop) => stop,
        }
    }

    /// Returns the report of a turn that was answered. The process stays.
    pub(crate) fn report(&mut self, listener: &mut dyn Listener) -> TurnReport {
        let mut events = std::mem::take(&mut self.connection.events);
        let output = self.connection.client.finish(Exit::Code(0), "", &mut events);
        deliver(&mut events, listener);
        let report = TurnReport::without_process(output, Ended::ByItself);
        TurnReport { containment: self.running.containment(), ..report }
    }

    /// Ends the process after a turn, and returns the report of the turn.
    pub(crate) fn end(
        &mut self,
        stop: Stop,
        job: Job<'_>,
        listener: &mut dyn Listener,
    ) -> TurnReport {
        let ended = match &stop {
            Stop::Answered => self.wait_for_exit(job.cancel, listener),
            Stop::Exited(_) => Ended::ByItself,
            Stop::Ended(ended, _) => {
                self.ask_to_stop(listener);
                *ended
            }
        };
        let orphans_killed = self.running.end(job.spec.timeouts.grace);
        self.drain(listener);
        let output = self.output(stop, ended, listener);
        let report = TurnReport::without_process(output, ended);
        TurnReport { containment: self.running.containment(), orphans_killed, ..report }
    }

    /// Tells a process that it gets no more turns, so that it may exit by itself.
    pub(crate) fn hang_up(&mut self) {
        self.connection.writer.close();
    }

    /// Ends a process that has no turn. It may exit by itself first.
    pub(crate) fn close(&mut self, grace: Duration) {
        self.hang_up();
        let until = Instant::now() + CLOSE_WAIT.min(grace);
        while self.is_alive() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.running.end(grace);
    }

    fn output(&mut self, stop: Stop, ended: Ended, listener: &mut dyn Listener) -> TurnOutput {
        let mut events = std::mem::take(&mut self.connection.events);
        let client = &mut self.connection.client;
        let output = match stop {
            Stop::Ended(_, error) if !client.is_ended() => client.failed(error),
            Stop::Ended(_, error) => {
                let mut output = client.finish(Exit::Code(0), "", &mut events);
                if ended == Ended::NeedsPerson {
                    // The agent was denied a request, so its output is not an answer to the prompt.
                    let answer_text = output.final_text.take().map(|answer| answer.text);
                    output.partial_text = answer_text.or(output.partial_text);
                    output.error = Some(error);
                } else {
                    output.error = output.error.map(|_| error);
                }
                output
            }
            Stop::Exited(exit) => client.finish(exit, &self.stderr.text(), &mut events),
            Stop::Answered => client.finish(Exit::Code(0), "", &mut events),
        };
        deliver(&mut events, listener);
        output
    }

    fn wait_for_answer(&mut self, job: Job<'_>, listener: &mut dyn Listener) -> Stop {
        let stop = |ended| Stop::Ended(ended, clock::failure(ended, &job.spec.timeouts));
        loop {
            if let Err(stop) = self.connection.receive(clock::POLL, listener) {
                return stop;
            }
            if self.connection.client.is_ended() {
                return Stop::Answered;
            }
            if let Some(exit) = self.running.poll() {
                self.drain(listener);
                let is_ended = self.connection.client.is_ended();
                if let Some(overuse) = self.running.overuse().filter(|_| !is_ended) {
                    return stop(Ended::OverResources(overuse));
                }
                return if is_ended { Stop::Answered } else { Stop::Exited(exit) };
            }
            if let Some(ended) = clock::reason_to_end(
                job.cancel,
                &self.connection.output_limit,
                &self.connection.clock,
            ) {
                return stop(ended);
            }
        }
    }

    fn wait_for_exit(&mut self, cancel: &CancelToken, listener: &mut dyn Listener) -> Ended {
        self.connection.writer.close();
        self.connection.clock.note_final();
        loop {
            if self.running.poll().is_some() {
                return Ended::ByItself;
            }
            if let Some(timeout) = self.connection.clock.expired() {
                return Ended::TimedOut(timeout);
            }
            if cancel.is_cancelled() || self.connection.output_limit.is_over() {
                return Ended::ByItself;
            }
            // Later output is not part of the turn, and is reported as a violation of the protocol.
            let _ = self.connection.receive(clock::POLL, listener);
        }
    }

    fn ask_to_stop(&mut self, listener: &mut dyn Listener) {
        let Some(line) = self.connection.client.cancel() else { return };
        self.connection.writer.send(line);
        let until = Instant::now() + CANCEL_WAIT;
        while Instant::now() < until
            && !self.connection.client.is_ended()
            && !self.connection.output_limit.is_over()
            && self.running.poll().is_none()
        {
            // A permission request that arrives now is denied, because the turn is ending.
            let _ = self.connection.receive(clock::POLL, &mut EventsOnly(listener));
        }
        self.connection.writer.close();
    }

    fn drain(&mut self, listener: &mut dyn Listener) {
        let until = Instant::now() + DRAIN;
        while !self.connection.output_limit.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.connection.receive_rest(left, listener) {
                return;
            }
        }
    }
}

struct EventsOnly<'a>(&'a mut dyn Listener);

impl Listener for EventsOnly<'_> {
    fn event(&mut self, event: tertulia_dialect::stream::StreamEvent) {
        self.0.event(event);
    }

    fn permit(&mut self, _request: &crate::PermissionRequest) -> crate::PermissionAnswer {
        crate::PermissionAnswer::Deny
    }
}
