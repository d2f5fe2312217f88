//! Who speaks next: the router, the queue and the turn machine of a table.
//!
//! Pure so far: no files, no clock, no async. What happened goes in as [`Event`]s, what is to be done
//! comes out as [`Effect`]s, and whoever performs them tells what became of it. The same log gives the
//! same decisions ([`Machine::replay`]), and each of them has a [`Cause`]. docs/routing.md has the rules.
//!
//! ```
//! use tertulia_team::{Effect, Event, Machine, Member, Table};
//!
//! let table = Table::new([Member::human("ann"), Member::ai("max"), Member::ai("eva")])?;
//! let mut machine = Machine::new(table);
//! let said = Event::PersonSaid {
//!     entry: "m1".into(),
//!     member: None,
//!     text: "@eva, please review this.".to_owned(),
//! };
//! let effects = machine.step(said);
//! let [Effect::Append { .. }, Effect::Append { .. }, Effect::StartTurn { turn, member, .. }] =
//!     effects.as_slice()
//! else {
//!     panic!("queued, started, and off it goes")
//! };
//! assert_eq!(&**member, "eva");
//! assert_eq!(
//!     machine.why("m1")[0].to_string(),
//!     format!("eva's turn {turn} is queued: ann wrote @eva in m1")
//! );
//! # Ok::<(), tertulia_team::TableError>(())
//! ```

mod cause;
#[expect(clippy::disallowed_methods, reason = "the driver does IO: it has threads and a clock")]
mod driver;
mod effect;
mod event;
pub mod file;
mod guard;
mod house;
mod ledger;
mod machine;
mod message;
mod money;
mod names;
mod note;
mod preamble;
mod queue;
mod replay;
mod speaker;
mod state;
mod table;
mod table_note;
mod team;

pub use cause::{Cause, How, Rule};
pub use driver::{
    Audience, Command, Compacted, Door, DriveError, Driver, Opened, Pause, PermissionNumber,
    PromptLost, RecipeError, SentPrompt, TableEvent, TurnNote, TurnPrompt, Visit, What, is_partial,
    reached_nobody, sent_prompt,
};
pub use effect::{Effect, Question, Why};
pub use event::{Cancel, Event};
pub use ledger::Decision;
pub use machine::{Machine, Status, WaitingTurn};
pub use message::sender_named;
pub use money::Dollars;
pub use note::Note;
pub use preamble::Preamble;
pub use replay::{Difference, Replay, Undecided};
pub use speaker::SpeakerError;
pub use table::{Limits, Member, MemberKind, Table, TableError};
pub use table_note::{table_folder, table_words};
pub use team::{
    Answers, DEFAULT_BUDGET_TOKENS, DEFAULT_WINDOW, Team, TeamError, TeamMember, UnknownMember,
    default_budget_bytes,
};

// What the doors need of agents: they know the team, not the agents.
pub use tertulia_agent::end_all_now;
pub use tertulia_agent::{
    AgentKind, Containment, LimitKeeper, PermissionAnswer, PermissionChoice, PermissionRequest,
    Probe, ProbeKind, ResourceLimits, SignIn, Unusable, Whereabouts, containment, limit_keeper,
    look_for, probe, supervisor_main,
};
