//! Agents that are programs, such as Claude Code, Codex and Gemini CLI. [`run`] runs one turn of
//! one of them, from its command line until none of its processes is left.

mod control_group;
mod descendants;
pub(crate) mod environment;
pub(crate) mod escape;
mod limits;
mod live;
mod mentions;
mod output;
pub(crate) mod pipes;
mod proc_table;
pub(crate) mod program;
mod registry;
mod scope;
mod start;
pub(crate) mod supervisor;
mod turn;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use escape::{Edit, apply, prompt_edits, sent_prompt};
pub(crate) use limits::default_limits;
pub(crate) use live::{LiveAgent, Stop};
pub use mentions::{Mentions, PromptText};
pub(crate) use output::output_of;
pub(crate) use proc_table::started_after;
pub use registry::{end_all_now, end_turns, is_turn_alive, kill_orphans};
pub use scope::{containment, limit_enforcer};
pub(crate) use start::{
    CommandLine, Prepared, StartError, private_folder, start, with_system_text,
};
pub(crate) use turn::run;

/// Reads the start of a file, up to this number of bytes.
pub(crate) fn read_prefix(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
