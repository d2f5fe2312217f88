//! The data of a turn: the settings of the agent, the request, who receives events and may cancel, and the report. The driver
//! creates it from the team file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tertulia_dialect::stream::{AgentStream, Limits, StreamEvent, TurnOutput};
pub use tertulia_dialect::stream::{PermissionChoice, PermissionRequest};

use crate::Mentions;
use crate::agents::{self, AgentDefinition};

/// How an agent is started and spoken to.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    pub kind: AgentKind,
    /// The program; by default the one of its kind, found in `PATH`.
    pub program: Option<Box<str>>,
    /// Arguments before ours.
    pub args: Vec<Box<str>>,
    /// Added to the few variables of our own environment that it inherits.
    pub env: BTreeMap<Box<str>, Box<str>>,
    pub model: Option<Box<str>>,
    pub cwd: PathBuf,
    pub permissions: Permissions,
    pub timeouts: Timeouts,
    pub limits: Limits,
    pub resources: ResourceLimits,
}

/// How an agent is run, with what is needed for that.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentKind {
    /// A coding agent with a program of its own: one of [`crate::agents`] that has a `cli`.
    Cli(&'static AgentDefinition),
    /// Any program: prompt on stdin, answer on stdout.
    Command(CommandOutput),
    Acp,
    OpenAi(Endpoint),
    /// Written answers, one per turn, from the first on; the last one again and again.
    Script(Vec<ScriptLine>),
}

impl AgentKind {
    /// What is specific to the agent.
    pub fn definition(&self) -> &'static AgentDefinition {
        match self {
            Self::Cli(definition) => definition,
            Self::Command(_) => agents::COMMAND,
            Self::Acp => agents::ACP,
            Self::OpenAi(_) => agents::OPENAI,
            Self::Script(_) => agents::SCRIPT,
        }
    }

    /// Whether a program is started for it.
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

/// What a program writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOutput {
    #[default]
    Text,
    /// Our JSON lines; docs/agent-streams.md.
    Jsonl,
}

/// Where model messages go.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Up to and without `/chat/completions`.
    pub base_url: Box<str>,
    /// The variable of our environment that holds the key; none is sent where it is `None`.
    pub key_variable: Option<Box<str>>,
}

/// One written answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    pub text: Box<str>,
    pub delay: Duration,
}

/// What an agent may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permissions {
    /// Look, and change nothing.
    #[default]
    Read,
    /// Change files in its folder.
    Edit,
    /// Whatever its user may.
    Full,
}

/// How long a turn may take, and its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the first byte of output.
    pub first_byte: Duration,
    /// Between two bytes of output.
    pub silence: Duration,
    pub total: Duration,
    /// From the final event to the end of the process.
    pub after_final: Duration,
    /// From the polite word to end until everything is killed.
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
    /// An agent that works in this folder and may look at everything there, with the usual limits.
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

/// What all processes of a turn together may use.
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

/// What a turn used too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overuse {
    pub resource: Resource,
    /// How much it was: processes, or bytes.
    pub used: u64,
    pub limit: u64,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    Processes,
    Memory,
}

/// Who sees to it that turns stay within their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKeeper {
    Kernel,
    Supervisor,
    /// Nobody: there is no supervisor, and control groups have no limits here.
    Nobody,
}

/// What an agent is given for one turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnRequest<'a> {
    /// The turn; marks its processes.
    pub turn: &'a str,
    /// Which turn of this member in the session it is, from 0; a script answers by it.
    pub number: usize,
    pub prompt: &'a str,
    pub mentions: &'a Mentions,
    pub system: Option<&'a str>,
    /// For an endpoint: the body's fields that hold the messages, as a JSON object.
    pub body: Option<&'a str>,
}

/// One turn of one agent; in this containment where a test asks for one, else in the strongest that there is.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) spec: &'a AgentSpec,
    pub(crate) request: &'a TurnRequest<'a>,
    pub(crate) cancel: &'a CancelToken,
    pub(crate) forced: Option<Containment>,
}

/// What became of a turn.
#[derive(Clone, Debug)]
pub struct TurnReport {
    pub output: TurnOutput,
    pub ended: Ended,
    pub containment: Containment,
    /// How many of its processes still lived when the program itself had ended: a moment later where it ended
    /// by itself, after `grace` where it was asked to. All are ended now. 0 where it had to be killed itself.
    pub left_behind: usize,
}

impl TurnReport {
    /// Of a turn without a process.
    pub fn without_process(output: TurnOutput, ended: Ended) -> Self {
        Self { output, ended, containment: Containment::None, left_behind: 0 }
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    ByItself,
    Cancelled,
    TimedOut(Timeout),
    OverLimit,
    OverResources(Overuse),
    /// It asked to be allowed something, and nobody was there to answer: ended with the class `refused`.
    NeedsPerson,
}

/// Which time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    FirstByte,
    Silence,
    Total,
    AfterFinal,
}

/// What holds the processes of a turn together; the strongest that this machine allows is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containment {
    /// A control group of its own: nothing gets out.
    ControlGroup,
    /// All orphans of the turn come to a supervisor: nothing gets out, unless it kills the supervisor and us at once.
    Supervisor,
    /// Descendants are looked for, orphans come to us, and a variable marks them. What clears its
    /// environment and leaves its parents in one moment may get out.
    Descendants,
    None,
}

/// Hears one turn, from the thread that called [`crate::run`].
pub trait Listener {
    /// The agent was started, and the first byte of its prompt is on the way.
    fn fed(&mut self) {}

    fn event(&mut self, event: StreamEvent);

    /// The agent asks whether it may do something, and waits; the clocks of the turn stand still meanwhile.
    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer;
}

pub(crate) fn tell(events: &mut Vec<StreamEvent>, listener: &mut dyn Listener) {
    for event in events.drain(..) {
        listener.event(event);
    }
}

/// The person's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    Choose(Box<str>),
    /// No; the agent may go on without it.
    Deny,
    /// No, and the turn is to end: nobody is there to be asked.
    EndTurn,
}

/// A word from outside that a turn is to end, looked at several times a second. Every clone is the same word.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A word that was not said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was said.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
