//! Agents that are programs: Claude Code, Codex, Gemini CLI and any other one. [`run`] is one turn of one
//! of them, from its command line to the moment when nothing of it is left.

mod control_group;
mod descendants;
pub(crate) mod environment;
mod holder;
mod limits;
mod live;
mod mentions;
pub(crate) mod neutral;
pub(crate) mod pipes;
mod proc_table;
pub(crate) mod program;
mod start;
pub(crate) mod supervisor;
mod turn;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use holder::{containment, limit_keeper};
pub(crate) use limits::default_limits;
pub use live::{end_all_now, end_strays, is_held};
pub use mentions::{Mentions, PromptText};
pub use neutral::{Edit, apply, prompt_edits, sent_prompt};
pub(crate) use start::{CommandLine, Prepared, Running, StartError, headed, private_folder, start};
pub(crate) use turn::run;

/// The first bytes of a file, or all of it.
pub(crate) fn beginning_of(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
