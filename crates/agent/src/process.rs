//! Agents that are programs: Claude Code, Codex, Gemini CLI and any other one. [`run`] is one turn of one
//! of them, from its command line to the moment when nothing of it is left.
//!
//! Other kinds of agents that are programs, and `probe`, use the layer below: `process/start.rs` says how
//! a program is started and ended, `process/pipes.rs` serves its pipes, `process/environment.rs` and
//! `process/program.rs` say what it sees and where it is found, `process/verdict.rs` makes the report of a
//! turn that never began, `process/neutral.rs` takes the commands out of a prompt.

mod control_group;
mod descendants;
pub(crate) mod environment;
mod holder;
mod limits;
mod live;
mod mentions;
pub(crate) mod neutral;
pub(crate) mod pipes;
pub(crate) mod prepare;
mod proc_table;
pub(crate) mod program;
mod start;
mod strays;
pub(crate) mod supervisor;
mod turn;
pub(crate) mod verdict;

pub use holder::{containment, limit_keeper};
pub(crate) use limits::default_limits;
pub use live::end_all_now;
pub use mentions::{Mentions, PromptText};
pub use neutral::{Edit, apply};
pub(crate) use prepare::headed;
pub(crate) use start::{CommandLine, Running, StartError, start};
pub use strays::{end_strays, is_held};
pub(crate) use turn::run;
