//! Who speaks next in a session of people and agents, and how their turns run.
//!
//! - [`Machine`] decides, and is pure: [`Event`]s go in, [`Effect`]s come out. The same log gives the same decisions
//!   ([`Machine::replay`]), and each of them has a [`Cause`](tertulia_session::Cause). docs/routing.md has the rules.
//! - [`Driver`] performs the effects. It has threads and a clock.
//! - [`Team`] says who the members are and how they answer; [`mod@file`] reads it from a team file.
//!
//! A session of a person and two agents, whose answers are written down here:
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
//! // Whatever implements `EventSink` is told what happens; a channel is one.
//! let (mut sink, events) = std::sync::mpsc::channel();
//! driver.say(None, "Please plan. @max", &mut sink)?;
//! driver.run(&mut sink)?;
//! assert!(events.try_iter().any(|event| matches!(event, SessionEvent::Text { .. })));
//! let messages = driver.entries().iter().filter(|entry| matches!(entry.kind, EntryKind::Message(_)));
//! assert_eq!(messages.count(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[expect(clippy::disallowed_methods, reason = "the driver does IO: it has threads and a clock")]
mod driver;
mod effect;
pub mod file;
mod guard;
mod house;
mod machine;
mod message;
mod names;
mod note;
mod preamble;
mod queue;
mod replay;
mod state;
mod table;
mod team;

pub use driver::{
    Command, Compacted, Door, DriveError, Driver, EventSink, Opened, Pause, PermissionNumber,
    Preview, PromptLost, RecipeError, SentPrompt, SessionEvent, TurnPrompt, Visit, is_partial,
    preview, reached_nobody, sent_prompt,
};
pub use effect::{Cancel, Effect, Event, Question, Why};
pub use guard::Dollars;
pub use machine::{Decision, Machine, Status, WaitingTurn};
pub use message::PersonMessage;
pub use names::nearest_name;
pub use note::Note;
pub use preamble::Preamble;
pub use replay::{Difference, Replay, Undecided};
pub use table::{Limits, Member, MemberKind, SpeakerError, Table, TableError};
pub use team::{Answers, DEFAULT_WINDOW, Team, TeamError, TeamMember, UnknownMember};

// What a team is made of, and what the command line needs of agents: it knows the team, not the agents.
pub use house::{LIBRARIAN, SCRIBE};
pub use tertulia_agent::agents;
pub use tertulia_agent::end_all_now;
pub use tertulia_agent::{
    AgentKind, AgentSpec, CommandOutput, Containment, Endpoint, LimitKeeper, PermissionAnswer,
    PermissionChoice, PermissionRequest, Permissions, Probe, ResourceLimits, ScriptLine, SignIn,
    Timeouts, Unusable, Whereabouts, containment, limit_keeper, look_for, probe, supervisor_main,
};
