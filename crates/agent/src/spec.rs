//! The data of a turn: the agent's settings, the request, the listener, cancellation, and the
//! report. The driver creates it from the team file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tertulia_dialect::stream::{
    AgentStream, ErrorClass, Limits, StreamEvent, TurnError, TurnOutput,
};
pub use tertulia_dialect::stream::{PermissionChoice, PermissionRequest};
use tertulia_session::Timestamp;

use crate::agents::{self, AgentDefinition};
use crate::{Drift, Memory, Mentions, NativeHead};

/// Describes how to start an agent and how to communicate with it.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    pub kind: AgentKind,
    /// The program; by default that of its kind, found in `PATH`.
    pub program: Option<Box<str>>,
    /// Arguments that precede ours.
    pub args: Vec<Box<str>>,
    /// Variables that are added to the few variables of our environment that it inherits.
    pub env: BTreeMap<Box<str>, Box<str>>,
    pub model: Option<Box<str>>,
    pub cwd: PathBuf,
    pub permissions: Permissions,
    pub timeouts: Timeouts,
    pub limits: Limits,
    pub resources: ResourceLimits,
}

/// The kind of an agent, with the data needed to run it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentKind {
    /// A coding agent with its own program: one of [`crate::agents`] that has a `cli`.
    Cli(&'static AgentDefinition),
    /// Any program: prompt on stdin, answer on stdout.
    Command(CommandOutput),
    Acp,
    OpenAi(Endpoint),
    /// Prewritten answers, one per turn in order; the last one repeats.
    Script(Vec<ScriptLine>),
}

impl AgentKind {
    /// Returns what is specific to the agent.
    pub fn definition(&self) -> &'static AgentDefinition {
        match self {
            Self::Cli(definition) => definition,
            Self::Command(_) => agents::COMMAND,
            Self::Acp => agents::ACP,
            Self::OpenAi(_) => agents::OPENAI,
            Self::Script(_) => agents::SCRIPT,
        }
    }

    /// Returns whether a program is started for it.
    pub fn is_program(&self) -> bool {
        !matches!(self, Self::OpenAi(_) | Self::Script(_))
    }

    pub(crate) fn stream(&self) -> AgentStream {
        match self {
            Self::Cli(definition) => {
                definition.cli.as_ref().map_or(AgentStream::Text, |cli| cli.stream)
            }
            Self::Command(CommandOutput::Text) | Self::Script(_) => AgentStream::Text,
            Self::Command(CommandOutput::Jsonl) => AgentStream::Jsonl,
            Self::Acp => AgentStream::Acp,
            Self::OpenAi(_) => AgentStream::OpenAiChat,
        }
    }
}

/// Output format of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    #[default]
    Text,
    /// Our JSON lines; see docs/agent-streams.md.
    Jsonl,
}

/// Destination of model messages.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The URL up to and without `/chat/completions`.
    pub base_url: Box<str>,
    /// Variable of our environment that holds the key; no key is sent if it is `None`.
    pub key_variable: Option<Box<str>>,
}

/// One prewritten answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    pub text: Box<str>,
    pub delay: Duration,
}

/// The permissions of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permissions {
    /// May read, but not change anything.
    #[default]
    Read,
    /// May change files in its folder.
    Edit,
    /// May do everything that its user may do.
    Full,
}

/// Timeouts of a turn and its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the first byte of output.
    pub first_byte: Duration,
    /// Between two bytes of output.
    pub silence: Duration,
    pub total: Duration,
    /// From the final event to the exit of the process.
    pub after_final: Duration,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            silence: Duration::from_secs(600),
            total: Duration::from_secs(1800),
            after_final: Duration::from_secs(10),
            grace: Duration::from_secs(2),
        }
    }
}

impl AgentSpec {
    /// Creates an agent that works in this folder and may read everything there, with the default
    /// limits.
    pub fn new(kind: AgentKind, cwd: impl Into<PathBuf>) -> Self {
        Self {
            kind,
            program: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            model: None,
            cwd: cwd.into(),
            permissions: Permissions::default(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            resources: ResourceLimits::default(),
        }
    }
}

/// Resources that all processes of a turn together may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceLimits {
    pub processes: u32,
    pub memory_bytes: u64,
}

impl Default for ResourceLimits {
    /// 1,024 processes, and three quarters of the machine's memory, at least 2 GiB.
    fn default() -> Self {
        crate::process::default_limits()
    }
}

/// A limited resource of which a turn used too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overuse {
    pub resource: Resource,
    /// Number of processes, or of bytes.
    pub used: u64,
    pub limit: u64,
}

/// A limited resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    Processes,
    Memory,
}

/// The mechanism that enforces the resource limits of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitEnforcer {
    Kernel,
    Supervisor,
    /// There is no supervisor, and control groups cannot limit resources here.
    Nobody,
}

/// Input of an agent for one turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnRequest<'a> {
    /// Id of the turn; marks its processes.
    pub turn: &'a str,
    /// 0-based number of this turn among the member's turns in the session; selects a scripted
    /// answer.
    pub number: usize,
    pub prompt: &'a str,
    pub mentions: &'a Mentions,
    pub system: Option<&'a str>,
    /// For an endpoint: the fields of the body that hold the messages, as a JSON object.
    pub body: Option<&'a str>,
    pub memory: Memory<'a>,
    /// The byte of `prompt` at which the message to answer begins. Before it stands what others said. Codex, if it
    /// keeps its session, gets the two parts separately; the others get one text.
    pub message_start: usize,
}

/// One turn of one agent. `forced` is the containment that a test requests; without it, the strongest one is used.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) spec: &'a AgentSpec,
    pub(crate) request: &'a TurnRequest<'a>,
    pub(crate) cancel: &'a CancelToken,
    pub(crate) forced: Option<Containment>,
}

/// Result of a turn.
#[derive(Clone, Debug)]
pub struct TurnReport {
    pub output: TurnOutput,
    pub ended: Ended,
    pub containment: Containment,
    /// Number of its processes that were still alive after the program itself had exited. They are counted a moment
    /// later if the program exited by itself, and after `grace` if it was asked to exit. All of them were killed. The
    /// number is 0 if the program itself had to be killed.
    pub orphans_killed: usize,
    /// The time at which the usage limit of a failed turn ends, as far as the agent reported it.
    pub limit_resets_at: Option<Timestamp>,
    /// The state of the agent's own session, if the turn keeps it and the session contains the prompt. A failed turn
    /// has none, or its session contains the prompt without an answer.
    pub native: Option<NativeHead>,
    /// The reason why the agent's own session could not be used. Nothing was sent, so the turn can start fresh.
    pub drift: Option<Drift>,
}

impl TurnReport {
    /// Creates the report of a turn without a process.
    pub fn without_process(output: TurnOutput, ended: Ended) -> Self {
        let containment = Containment::None;
        Self {
            output,
            ended,
            containment,
            orphans_killed: 0,
            limit_resets_at: None,
            native: None,
            drift: None,
        }
    }

    /// Creates the report of a turn that could not use the agent's own session.
    pub(crate) fn drifted(drift: Drift) -> Self {
        let error = TurnError::new(ErrorClass::Setup, drift.to_string());
        let report = Self::without_process(TurnOutput::failed(error), Ended::ByItself);
        Self { drift: Some(drift), ..report }
    }
}

/// The end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    ByItself,
    Cancelled,
    TimedOut(Timeout),
    OverLimit,
    OverResources(Overuse),
    /// The agent asked for a permission, and nobody could answer. The turn ended with the class `refused`.
    NeedsPerson,
}

/// The timeout that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    FirstByte,
    Silence,
    Total,
    AfterFinal,
}

/// The mechanism that contains the processes of a turn. A turn uses the strongest one that this machine allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// A control group for each turn. No process escapes.
    ControlGroup,
    /// A supervisor adopts all orphans of the turn. No process escapes, unless it kills the supervisor and us at the
    /// same time.
    Supervisor,
    /// We find descendants by scanning and by a variable that marks them, and we adopt orphans. A process may escape
    /// if it clears its environment and leaves its parents at once.
    Descendants,
    None,
}

/// Receives the events of one turn, on the thread that called [`crate::run`].
pub trait Listener {
    /// Called when the agent has started and the first byte of its prompt is being written.
    fn fed(&mut self) {}

    fn event(&mut self, event: StreamEvent);

    /// Called when the agent asks for a permission and waits. Until this returns, the clocks of the turn are paused.
    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer;
}

pub(crate) fn deliver(events: &mut Vec<StreamEvent>, listener: &mut dyn Listener) {
    for event in events.drain(..) {
        listener.event(event);
    }
}

/// The person's answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    Choose(Box<str>),
    /// Denied; the agent may continue without it.
    Deny,
    /// Denied, and the turn ends, because nobody can be asked.
    EndTurn,
}

/// A cancellation token shared between the caller and a turn, checked several times a second.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Creates a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the turn.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether the turn was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
