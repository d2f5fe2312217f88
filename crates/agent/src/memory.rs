//! The memory of an agent between turns: whether it can keep its own session, what a turn does with it, and the state
//! in which a turn left it. The driver stores a [`NativeHead`] in the log and passes it to the member's next turn.

mod drift;
pub(crate) mod export;
mod head;
mod program;
mod settings;
pub(crate) mod transcript;

use crate::KeptAgents;

pub use drift::Drift;
pub use head::{HeadError, NativeHead};
pub(crate) use program::program_identity;
pub(crate) use settings::{Settings, short_hash};
pub use tertulia_dialect::stream::SessionTotals as Totals;

/// Whether an agent can continue its own session in a later turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemorySupport {
    /// Its process stays alive between turns. If the process has ended, a new one continues the session.
    Kept,
    /// Its process stays alive between turns. If the process has ended, a new one continues the session only if it can
    /// load the session and replays what was said in it.
    Loaded,
    /// Each turn starts a new process, which continues the session.
    Resumed,
    /// It starts every turn with the whole prompt.
    Unsupported { reason: Box<str> },
}

/// What a turn does with the agent's own session.
#[derive(Clone, Copy, Debug, Default)]
pub enum Memory<'a> {
    /// A new session, which nobody continues.
    #[default]
    Fresh,
    /// A new session that later turns may continue. Ends the process that the member had before.
    Begin { kept: &'a KeptAgents, member: &'a str },
    /// The session of an earlier turn, in the state that it left. Fails with [`Drift`] if it has another state.
    Continue { kept: &'a KeptAgents, member: &'a str, head: &'a NativeHead },
}

impl<'a> Memory<'a> {
    pub(crate) fn head(&self) -> Option<&'a NativeHead> {
        match *self {
            Self::Continue { head, .. } => Some(head),
            Self::Fresh | Self::Begin { .. } => None,
        }
    }
}
