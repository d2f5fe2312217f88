//! Runs agents: starts one for a turn, passes it the prompt, reads its output to the end and
//! removes all its processes. Blocking, with one thread per pipe and no async runtime. Called by
//! the driver in `team`.
//!
//! [`run`] runs one turn: an [`AgentSpec`] describes the agent, a [`TurnRequest`] holds its input,
//! a [`Listener`] receives events, a [`CancelToken`] ends the turn early, and the [`TurnReport`]
//! holds the result. [`probe()`] checks whether an agent is installed and signed in.
//!
//!
//! ```
//! use std::time::Duration;
//!
//! use tertulia_agent::{
//!     AgentKind, AgentSpec, CancelToken, Listener, Memory, Mentions, PermissionAnswer,
//!     PermissionRequest, ScriptLine, TurnRequest, run,
//! };
//! use tertulia_dialect::stream::StreamEvent;
//!
//! struct Printer(String);
//!
//! impl Listener for Printer {
//!     fn event(&mut self, event: StreamEvent) {
//!         if let StreamEvent::TextDelta { text } = event {
//!             self.0.push_str(&text);
//!         }
//!     }
//!
//!     fn permit(&mut self, _: &PermissionRequest) -> PermissionAnswer {
//!         PermissionAnswer::Deny
//!     }
//! }
//!
//! // Prewritten answers. `AgentKind` lists the agents that start a program or call an endpoint.
//! let answer = ScriptLine { text: "Yes.".into(), delay: Duration::ZERO };
//! let spec = AgentSpec::new(AgentKind::Script(vec![answer]), ".");
//! let request = TurnRequest {
//!     turn: "t1",
//!     number: 0,
//!     prompt: "Shall we start?",
//!     mentions: Mentions::none(),
//!     system: None,
//!     body: None,
//!     memory: Memory::Fresh,
//!     message_start: 0,
//! };
//! let mut printer = Printer(String::new());
//! let report = run(&spec, &request, &CancelToken::default(), &mut printer);
//! assert_eq!(printer.0, "Yes.");
//! assert!(report.output.error.is_none());
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "this crate starts programs, and so reads the environment, files and the clock"
)]

pub mod agents;
mod clock;
mod kept;
mod limit_reset;
mod memory;
mod probe;
mod process;
mod spec;

pub use kept::{KeptAgents, KeptLimits, memory_support};
pub use memory::{Drift, HeadError, Memory, MemorySupport, NativeHead, Totals};
pub use probe::{AuthState, Probe, ProgramLocation, Unusable, locate_program, probe};
pub use process::supervisor::{set_supervisor, supervisor_main};
pub use process::{
    Edit, Mentions, PromptText, apply, containment, end_all_now, end_turns, is_turn_alive,
    kill_orphans, limit_enforcer, prompt_edits, sent_prompt,
};
pub(crate) use spec::Job;
pub use spec::{
    AgentKind, AgentSpec, CancelToken, CommandOutput, Containment, Ended, Endpoint, LimitEnforcer,
    Listener, Overuse, PermissionAnswer, PermissionChoice, PermissionRequest, Permissions,
    Resource, ResourceLimits, ScriptLine, Timeout, Timeouts, TurnReport, TurnRequest,
};

/// Runs one turn of an agent. Returns when the turn and all its processes have ended. The report contains a failure
/// with its class and advice.
pub fn run(
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
    cancel: &CancelToken,
    listener: &mut dyn Listener,
) -> TurnReport {
    let job = Job { spec, request, cancel, forced: None };
    if let Some(report) = kept::run(job, listener) {
        return limit_reset::resolve(report);
    }
    let report = match &spec.kind {
        AgentKind::Cli(_) | AgentKind::Command(_) => process::run(job, listener),
        AgentKind::Acp => agents::acp::run(job, listener),
        AgentKind::OpenAi(endpoint) => agents::openai::run(job, endpoint, listener),
        AgentKind::Script(lines) => agents::script::run(job, lines, listener),
    };
    limit_reset::resolve(report)
}

/// Same as [`run`], in a weaker containment than this machine allows. For tests, and only for agents that are
/// programs.
#[doc(hidden)]
pub fn run_in_containment(
    containment: Containment,
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
    cancel: &CancelToken,
    listener: &mut dyn Listener,
) -> TurnReport {
    let job = Job { spec, request, cancel, forced: Some(containment) };
    limit_reset::resolve(process::run(job, listener))
}
