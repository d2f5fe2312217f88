//! Who answers: an agent is started for one turn, fed its prompt, read to its end and taken away with
//! all its processes.
//!
//! Blocking, one thread per pipe; no runtime. Called by the driver in `team`. It knows processes, pipes
//! and endpoints, and `dialect` reads what they say; it knows no session log, no queue and no budget.

//!
//! [`run`] is one turn: an [`AgentSpec`] says who, a [`TurnRequest`] what it is given, a [`Listener`] hears it work, a
//! [`CancelToken`] ends it early, and the [`TurnReport`] says what became of it. [`probe()`] looks whether an agent is
//! there and signed in.
//!
//! ```
//! use std::time::Duration;
//!
//! use tertulia_agent::{
//!     AgentKind, AgentSpec, CancelToken, Listener, Mentions, PermissionAnswer, PermissionRequest,
//!     ScriptLine, TurnRequest, run,
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
//! // Written answers; `AgentKind` names the agents that start a program or call an endpoint.
//! let answer = ScriptLine { text: "Yes.".into(), delay: Duration::ZERO };
//! let spec = AgentSpec::new(AgentKind::Script(vec![answer]), ".");
//! let request = TurnRequest {
//!     turn: "t1",
//!     number: 0,
//!     prompt: "Shall we start?",
//!     mentions: Mentions::none(),
//!     system: None,
//!     body: None,
//! };
//! let mut printer = Printer(String::new());
//! let report = run(&spec, &request, &CancelToken::default(), &mut printer);
//! assert_eq!(printer.0, "Yes.");
//! assert!(report.output.error.is_none());
//! ```

#![expect(
    clippy::disallowed_methods,
    reason = "this room starts programs, and so reads the environment, files and the clock"
)]

pub mod agents;
mod cancel;
mod clock;
mod flood;
mod listener;
mod probe;
mod process;
mod sent;
mod spec;

pub use cancel::CancelToken;
pub use listener::{Listener, PermissionAnswer, PermissionChoice, PermissionRequest};
pub use probe::{Probe, SignIn, Unusable, Whereabouts, look_for, probe};
pub use process::{Edit, Mentions, PromptText, apply};
pub(crate) use sent::reader_of;
pub use sent::{prompt_edits, sent_prompt};
pub use spec::{
    AgentKind, AgentSpec, CommandOutput, Containment, Ended, Endpoint, LimitKeeper, Overuse,
    Permissions, Resource, ResourceLimits, ScriptLine, Timeout, Timeouts, TurnReport, TurnRequest,
};

/// Lets an agent answer once. Returns when it has ended and nothing of it is left, however it ended:
/// a failure is in the report, with its class and cure.
pub fn run(
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
    cancel: &CancelToken,
    listener: &mut dyn Listener,
) -> TurnReport {
    match &spec.kind {
        AgentKind::Cli(_) | AgentKind::Command(_) => {
            process::run(spec, request, cancel, listener, None)
        }
        AgentKind::Acp => agents::acp::run(spec, request, cancel, listener),
        AgentKind::OpenAi(endpoint) => {
            agents::openai::run(spec, endpoint, request, cancel, listener)
        }
        AgentKind::Script(lines) => agents::script::run(lines, request, cancel, listener),
    }
}

/// What holds the processes of a turn together on this machine. The first call tries it.
pub fn containment() -> Containment {
    process::containment()
}

/// Who sees to it that the processes of a turn use no more than they may on this machine.
pub fn limit_keeper() -> LimitKeeper {
    process::limit_keeper()
}

/// To be called first in `main`, before anything else runs or is opened. If this process was started to
/// supervise a turn, it does that and gives the exit code to return. Else it gives `None`, and from then on
/// turns of this process are supervised by its own program.
///
/// A program that calls it starts no processes in other sessions by other means: if somebody kills the
/// supervisor of a turn, all children in other sessions are taken for orphans of that turn and ended.
pub fn supervisor_main() -> Option<std::process::ExitCode> {
    process::supervisor::main()
}

/// Names the program that supervises turns, for a process that cannot call [`supervisor_main`] in its own
/// `main`, such as a host that loads this crate as a library. The program has to call it; this crate has one
/// that does nothing else, `tertulia-supervisor`. The first name counts.
pub fn set_supervisor(program: &std::path::Path) {
    process::supervisor::set_program(program);
}

/// Ends what is left of turns whose tables were killed.
pub fn end_strays() {
    process::end_strays();
}

/// Kills at once, and without a polite word, every process of every turn that runs here. For whoever is about
/// to leave this process without waiting for its turns: nothing is started any more afterwards. From any
/// thread. Takes milliseconds in control groups, a tenth of a second where descendants have to be looked for,
/// and half a second at most, where the system does not let a process die.
pub fn end_all_now() {
    process::end_all_now();
}

/// Whether a table that lives, of this process or another, has processes of this turn.
pub fn is_held(turn: &str) -> bool {
    process::is_held(turn)
}

/// [`run`] for an agent that is a program, in a weaker containment than this machine allows. For tests.
#[doc(hidden)]
pub fn run_held_by(
    containment: Containment,
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
    cancel: &CancelToken,
    listener: &mut dyn Listener,
) -> TurnReport {
    process::run(spec, request, cancel, listener, Some(containment))
}
