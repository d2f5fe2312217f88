//! Decides who speaks next in a session of people and agents, and runs the turns.
//!
//! - [`Machine`] decides, and is pure: [`Event`]s go in, [`Effect`]s come out. The same log gives the same decisions
//!   ([`Machine::replay`]), and each of them has a [`Cause`](tertulia_session::Cause). docs/routing.md has the rules.
//! - [`Driver`] performs the effects. It has threads and a clock.
//! - [`Team`] lists the members and how each of them answers; [`mod@file`] reads it from a team file.
//!
//! A session of a person and two agents with scripted answers:
//!
//! ```
//! use tertulia_session::EntryKind;
//! use tertulia_store::SessionStore;
//! use tertulia_team::file::TeamFile;
//! use tertulia_team::{Driver, SessionEvent, Team};
//!
//! let text = r#"
//!     [[member]]
//!     name = "ann"
//!     kind = "human"
//!     [[member]]
//!     name = "max"
//!     agent = "script"
//!     answers = ["A plan. @eva, does it hold?"]
//!     [[member]]
//!     name = "eva"
//!     agent = "script"
//!     answers = ["It does. @ann"]
//! "#;
//! let file = TeamFile::parse(text, "tertulia.toml")?;
//! let team = Team::from_file(&file, ".".as_ref())?;
//! let store = SessionStore::memory();
//! let mut driver = Driver::begin(&store, None, team, false)?;
//! // Any `EventSink` receives the events; a channel sender is one.
//! let (mut sink, events) = std::sync::mpsc::channel();
//! driver.say(None, "Please plan. @max", &mut sink)?;
//! driver.run(&mut sink)?;
//! assert!(events.try_iter().any(|event| matches!(event, SessionEvent::Text { .. })));
//! let messages = driver.entries().iter().filter(|entry| matches!(entry.kind, EntryKind::Message(_)));
//! assert_eq!(messages.count(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod active;
mod ask;
mod built_in;
#[expect(clippy::disallowed_methods, reason = "the driver does IO: it has threads and a clock")]
mod driver;
mod effect;
mod failover;
pub mod file;
mod guard;
mod machine;
mod memory;
mod message;
mod names;
mod note;
mod preamble;
mod prices;
mod queue;
mod replay;
mod roster;
mod state;
mod team;
pub mod wire;
pub mod worktrees;

pub use active::TurnPhase;
pub use ask::{
    AskAnswer, AskComparison, AskCost, AskError, AskFinding, AskFollower, AskMissing, AskRequest,
    AskResult, AskUnread, ComparedLine, EVERYBODY, FindingSide, GRACE_SECONDS, LineKind, LineSide,
    read_lines,
};
pub use driver::{
    Call, Command, Compacted, DriveError, Driver, DriverHandle, EarlierTurn, EventSink, Opened,
    PermissionNumber, Preview, PromptLost, RecipeError, SentPrompt, SessionEvent, StopReason,
    TurnPrompt, earlier_turns, is_partial, preview, reached_nobody, sent_prompt,
};
pub use effect::{Cancel, Effect, Event, Overspent, PauseReason, Question, ReachedLimit};
pub use guard::Dollars;
pub use machine::{ActiveTurn, Decision, Machine, Status, WaitingTurn};
pub use message::PersonMessage;
pub use names::nearest_name;
pub use note::Note;
pub use preamble::Preamble;
pub use prices::{Amount, Price, PriceTable, PricedModel, Prices, Rate};
pub use replay::{Difference, Replay, Undecided};
pub use roster::{FallbackProblem, Limits, Member, MemberKind, Roster, RosterError, SpeakerError};
pub use team::{DEFAULT_WINDOW, Responder, Team, TeamError, TeamMember, UnknownMember};

// Re-exported because the command line depends on this crate and not on the agent crate.
pub use built_in::{LIBRARIAN, SCRIBE};
pub use tertulia_agent::agents;
pub use tertulia_agent::end_all_now;
pub use tertulia_agent::{
    AgentKind, AgentSpec, AuthState, CommandOutput, Containment, Endpoint, LimitEnforcer,
    MemorySupport, PermissionAnswer, PermissionChoice, PermissionRequest, Permissions, Probe,
    ProgramLocation, ResourceLimits, ScriptLine, Timeouts, Unusable, containment, limit_enforcer,
    locate_program, probe, supervisor_main,
};
