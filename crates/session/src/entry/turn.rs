//! A member's turn in the log: its states, and what its agent did besides answering. Data only.

use super::cause::Cause;
use crate::json::Json;
use crate::word::words;
use crate::{EntryId, Fields};

/// A member's turn changed its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub member: Box<str>,
    /// The new state.
    pub state: TurnState,
    /// The turn: the id of its `queued` entry. `None` in that entry itself.
    pub turn_id: Option<EntryId>,
    /// Why.
    pub cause: Cause,
    /// The cause as it was read, where it is written in another way now: a text of version 1, or an object with fields
    /// that this version does not know. Counts when the entry is written.
    pub cause_source: Option<Json>,
    /// What kind of error ended it.
    pub error_class: Option<Box<str>>,
    pub prompt_hash: Option<Box<str>>,
    /// How the prompt was made, so that it can be made again (docs/session-record.md).
    pub prompt_recipe: Option<Json>,
    /// The agent's own name of its session.
    pub native_session_id: Option<Box<str>>,
    /// What else the source said.
    pub unknown: Fields,
}

/// The state of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// It waits.
    Queued,
    /// The agent works.
    Started,
    /// The agent answered.
    Done,
    /// The agent could not answer.
    Failed,
    /// Somebody stopped it before it began or while it ran.
    Cancelled,
    /// The table stopped while it ran.
    Interrupted,
}

words!(TurnState, "queued, started, done, failed, cancelled or interrupted", {
    Queued = "queued",
    Started = "started",
    Done = "done",
    Failed = "failed",
    Cancelled = "cancelled",
    Interrupted = "interrupted",
});

/// Something that happened during a turn and is no message. No prompt and no model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEvent {
    pub turn_id: EntryId,
    pub member: Box<str>,
    /// What happened.
    pub activity: TurnActivity,
    /// The payload of the `custom` entry of version 1 that it was read from. Counts when the entry is written.
    pub source: Option<Json>,
    /// What else the source said.
    pub unknown: Fields,
}

/// What happened during a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnActivity {
    /// The agent began a session of its own, in which its own record of the turn is kept.
    Began {
        /// The agent's id of that session.
        session: Box<str>,
        /// The model that it says it will ask.
        model: Option<Box<str>>,
    },
    /// A tool was called.
    ToolStarted {
        /// The agent's id of the call.
        id: Box<str>,
        /// The tool.
        name: Box<str>,
        /// What it was given.
        input: Json,
    },
    /// A tool ended.
    ToolFinished {
        /// The agent's id of the call.
        id: Box<str>,
        /// The tool.
        name: Option<Box<str>>,
        /// What it gave.
        output: Option<Box<str>>,
        /// Whether it failed.
        is_error: bool,
    },
    /// A tool was not allowed.
    ToolDenied {
        /// The tool.
        name: Box<str>,
        /// Why.
        reason: Option<Box<str>>,
    },
    /// The agent asked to be allowed something.
    PermissionAsked {
        /// What it wanted, in its words.
        title: Box<str>,
    },
    /// The agent was told whether it is allowed.
    PermissionAnswered {
        /// What it wanted.
        title: Box<str>,
        /// The words of the choice; none for a no.
        choice: Option<Box<str>>,
    },
    /// The model thought.
    Thought {
        /// What it thought.
        text: Box<str>,
    },
    /// Something went wrong and the agent went on.
    Warned {
        /// The class, where it is known.
        class: Option<Box<str>>,
        /// What was said.
        message: Box<str>,
    },
    Failed {
        class: Box<str>,
        /// What was said or seen.
        message: Box<str>,
        /// What to do.
        cure: Box<str>,
    },
    /// The prompt was too large, and the turn is tried again with a smaller one.
    Retried {
        /// The budget of the second attempt.
        budget: u64,
    },
    /// The smaller prompt was sent.
    Resent {
        prompt_hash: Box<str>,
        /// How it was made; refers to no other recipe.
        prompt_recipe: Json,
    },
    /// An activity that this version does not know; its fields are the event's unknown ones.
    Other {
        /// The word in `kind`.
        kind: Box<str>,
    },
}

impl TurnEvent {
    /// What happened during a member's turn.
    pub fn new(turn_id: EntryId, member: impl Into<Box<str>>, activity: TurnActivity) -> Self {
        Self { turn_id, member: member.into(), activity, source: None, unknown: Fields::NONE }
    }
}

impl TurnActivity {
    /// The word in `kind`.
    pub fn kind(&self) -> &str {
        match self {
            Self::Began { .. } => "began",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolFinished { .. } => "tool_finished",
            Self::ToolDenied { .. } => "tool_denied",
            Self::PermissionAsked { .. } => "permission_asked",
            Self::PermissionAnswered { .. } => "permission_answered",
            Self::Thought { .. } => "thought",
            Self::Warned { .. } => "warned",
            Self::Failed { .. } => "failed",
            Self::Retried { .. } => "retried",
            Self::Resent { .. } => "resent",
            Self::Other { kind } => kind,
        }
    }
}
