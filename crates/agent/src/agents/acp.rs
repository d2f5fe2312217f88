//! Runs agents that support the Agent Client Protocol on their pipes. `dialect` writes and parses the messages. The
//! protocol has no field for a system text, so the system text precedes the prompt. The turn ends with the response
//! to the prompt. The agent has to exit when its stdin closes; otherwise it is killed.

mod connection;

use std::time::{Duration, Instant};

use tertulia_dialect::stream::{AcpClient, AcpPrompt, ErrorClass, Exit, TurnError};

use super::{AgentDefinition, GENERIC, PROGRAM_FIELDS, PROMPT_FIELDS, ProjectSettings, SystemText};
use crate::clock::{self, Clock, OutputLimit};
use crate::process::environment::Environment;
use crate::process::escape::PromptSyntax;
use crate::process::pipes::Tail;
use crate::process::{self, CommandLine, Running, StartError, pipes, program};
use crate::spec::deliver;
use crate::{CancelToken, Ended, Job, Listener, TurnReport};
use connection::{Connection, Writer};

/// Time an agent has to confirm a cancellation before it is killed.
const CANCEL_WAIT: Duration = Duration::from_millis(400);
const DRAIN: Duration = Duration::from_millis(500);

/// Any agent that supports the Agent Client Protocol.
pub const ACP: &AgentDefinition = &AgentDefinition {
    word: "acp",
    title: "an agent",
    fields: &[PROMPT_FIELDS, PROGRAM_FIELDS, &["permissions"]],
    required: &[(
        "command",
        "has no command; write, for example, command = [\"gemini\", \"--acp\"]",
    )],
    // Settings of agents that support the protocol and have no definition of their own.
    settings: ProjectSettings {
        folders: &[".amp", ".cursor", ".goose", ".qwen"],
        files: &[".crush.json", "crush.json"],
        skipped: &[],
    },
    prompt_syntax: PromptSyntax::Acp,
    system_text: SystemText::Instructions,
    ..GENERIC
};

pub(crate) fn run(job: Job<'_>, listener: &mut dyn Listener) -> TurnReport {
    let Some(program) = job.spec.program.as_deref() else {
        let message = "no program is named; set `command` to a program that supports ACP";
        return clock::not_started(TurnError::new(ErrorClass::Setup, message), Ended::ByItself);
    };
    match start(program, job) {
        Ok(running) => Turn::new(running, job).run(job, listener),
        Err(error) => clock::not_started(error.into(), Ended::ByItself),
    }
}

fn start(name: &str, Job { spec, request, .. }: Job<'_>) -> Result<Running, StartError> {
    let environment = Environment::for_agent(AgentDefinition::for_adapter(name), &spec.env);
    let program = program::resolve(name, &environment, &spec.cwd)?;
    process::start(&CommandLine::new(program, environment, spec), request.turn, None)
}

struct Turn {
    running: Running,
    stderr: Tail,
    connection: Connection,
}

enum Stop {
    Answered,
    Exited(Exit),
    Ended(Ended, TurnError),
}

impl Turn {
    fn new(mut running: Running, Job { spec, request, .. }: Job<'_>) -> Self {
        let cwd = std::path::absolute(&spec.cwd).unwrap_or_else(|_| spec.cwd.clone());
        let prompt = AcpPrompt {
            cwd: &cwd.to_string_lossy(),
            model: spec.model.as_deref(),
            prompt: &crate::sent_prompt(spec, request),
        };
        let connection = Connection {
            client: AcpClient::new(&prompt, spec.limits),
            writer: Writer::start(running.stdin.take()),
            chunks: running.stdout.take().map(pipes::read),
            output_limit: OutputLimit::new(spec.limits),
            clock: Clock::start(spec.timeouts),
            permissions: spec.permissions,
            events: Vec::new(),
            is_fed: false,
        };
        let stderr = running.stderr.take().map(pipes::tail).unwrap_or_default();
        Self { running, stderr, connection }
    }

    fn run(mut self, job: Job<'_>, listener: &mut dyn Listener) -> TurnReport {
        self.connection.writer.send(AcpClient::hello());
        let stop = self.wait_for_answer(job, listener);
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
        let mut events = std::mem::take(&mut self.connection.events);
        let client = self.connection.client;
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
        let containment = self.running.containment();
        TurnReport { output, ended, containment, orphans_killed, limit_resets_at: None }
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

#[cfg(test)]
mod tests {
    use crate::{AgentKind, AgentSpec, Mentions, TurnRequest};

    /// Returns the prompt that an agent with this command line gets.
    fn text(words: &[&str], system: Option<&str>, prompt: &str) -> String {
        let (program, args) = words.split_first().unwrap();
        let spec = AgentSpec {
            program: Some((*program).into()),
            args: args.iter().map(|word| (*word).into()).collect(),
            ..AgentSpec::new(AgentKind::Acp, "/")
        };
        let request = TurnRequest {
            turn: "t",
            number: 0,
            prompt,
            mentions: Mentions::none(),
            system,
            body: None,
        };
        crate::sent_prompt(&spec, &request)
    }

    #[test]
    fn the_prompt_begins_with_the_system_text() {
        let whole = "<instructions>\nBe.\n</instructions>\n\nHello";
        assert_eq!(text(&["bot"], Some("Be.\n"), "Hello"), whole);
        assert_eq!(text(&["bot"], None, "Hello"), "Hello");
        assert_eq!(text(&["bot"], Some(" "), "Hello"), "Hello");
    }

    #[test]
    fn a_prompt_is_no_command_of_the_agent() {
        let gemini = ["gemini", "--acp"];
        assert_eq!(text(&gemini, None, " /memory show"), r" \/memory show");
        assert_eq!(text(&gemini, None, "$memory show"), r"\$memory show");
        assert_eq!(text(&["claude-agent-acp"], None, "/compact"), r"\/compact");
        assert!(text(&gemini, Some("Be."), "/help").ends_with("\n/help"), "it begins elsewhere");
    }

    #[test]
    fn an_at_sign_is_escaped_only_for_adapters_of_claude() {
        for name in ["claude-code-acp", "/opt/bin/claude-agent-acp", "./claude-acp"] {
            assert_eq!(text(&[name], None, "see @(a)/b"), r"see \@(a)/b", "{name}");
        }
        let started = ["npx", "-y", "@zed-industries/claude-code-acp@1"];
        assert_eq!(
            text(&started, Some("Read @a."), "@b"),
            text(&["claude-acp"], Some("Read @a."), "@b")
        );
        for name in ["gemini", "codex-acp", "/opt/claude/bin/bot"] {
            assert_eq!(text(&[name, "--acp"], None, "see @(a)/b"), "see @(a)/b", "{name}");
        }
    }
}
