//! A member's turn in the log: its states, and what its agent did besides answering. Data only.

use super::cause::Cause;
use crate::json::Json;
use crate::word::words;
use crate::{EntryId, Fields};

/// A member's turn changed its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub member: Box<str>,
    pub state: TurnState,
    /// The turn: the id of its `queued` entry. `None` in that entry itself.
    pub turn_id: Option<EntryId>,
    pub cause: Cause,
    /// The cause as it was read, where it is written in another way now: a text of version 1, or an object with fields
    /// that this version does not know. Counts when the entry is written.
    pub cause_source: Option<Json>,
    pub error_class: Option<Box<str>>,
    pub prompt_hash: Option<Box<str>>,
    /// How the prompt was made, so that it can be made again (docs/session-record.md).
    pub prompt_recipe: Option<Json>,
    pub native_session_id: Option<Box<str>>,
    pub unknown: Fields,
}

words! {
    /// The state of a turn.
    pub enum TurnState: "queued, started, done, failed, cancelled or interrupted" {
        Queued = "queued",
        Started = "started",
        Done = "done",
        Failed = "failed",
        /// Somebody stopped it before it began or while it ran.
        Cancelled = "cancelled",
        /// The program stopped while it ran.
        Interrupted = "interrupted",
    }
}

/// Something that happened during a turn and is no message. No prompt and no model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEvent {
    pub turn_id: EntryId,
    pub member: Box<str>,
    pub activity: TurnActivity,
    /// The payload of the `custom` entry of version 1 that it was read from. Counts when the entry is written.
    pub source: Option<Json>,
    pub unknown: Fields,
}

/// What happened during a turn. The ids of calls and the words are the agent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnActivity {
    /// The agent began a session of its own, in which its own record of the turn is kept.
    Began { session: Box<str>, model: Option<Box<str>> },
    /// A tool was called.
    ToolStarted { id: Box<str>, name: Box<str>, input: Json },
    /// A tool ended.
    ToolFinished { id: Box<str>, name: Option<Box<str>>, output: Option<Box<str>>, is_error: bool },
    /// A tool was not allowed.
    ToolDenied { name: Box<str>, reason: Option<Box<str>> },
    /// The agent asked to be allowed something.
    PermissionAsked { title: Box<str> },
    /// The agent was told whether it is allowed: the words of the choice; none for a no.
    PermissionAnswered { title: Box<str>, choice: Option<Box<str>> },
    /// The model thought.
    Thought { text: Box<str> },
    /// Something went wrong and the agent went on.
    Warned { class: Option<Box<str>>, message: Box<str> },
    /// The turn failed; the cure is what to do.
    Failed { class: Box<str>, message: Box<str>, cure: Box<str> },
    /// The prompt was too large, and the turn is tried again with a smaller one of this budget.
    Retried { budget: u64 },
    /// The smaller prompt was sent. The recipe refers to no other one.
    Resent { prompt_hash: Box<str>, prompt_recipe: Json },
    /// An activity that this version does not know; its fields are the event's unknown ones.
    Other { kind: Box<str> },
}

impl TurnEvent {
    /// What happened during a member's turn.
    pub fn new(turn_id: EntryId, member: impl Into<Box<str>>, activity: TurnActivity) -> Self {
        Self { turn_id, member: member.into(), activity, source: None, unknown: Fields::NONE }
    }
}
