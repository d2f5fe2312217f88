//! The outcome of an entry in a prompt or a model's context. All explanations use these terms.

use tertulia_session::{EntryId, MessageId};

/// An entry, or a message with another kind of id, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<E = EntryId> {
    pub entry: E,
    pub outcome: Outcome,
    /// Whether passages of it were recalled.
    pub recalled: bool,
}

/// The outcome of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It is sent to a model unchanged.
    Kept,
    /// It is in a prompt as a whole.
    InPrompt { section: Section, bytes: usize },
    /// It is the current message of a prompt, and only a first part of it fits.
    Truncated { kept_bytes: usize, bytes: usize },
    /// It is sent with stubs for its tool outputs.
    Elided,
    /// This summary replaces it.
    Summarized { by: EntryId },
    /// It is left out.
    Dropped { reason: DropReason },
    /// It is not for models.
    Hidden { reason: HideReason },
}

/// The reason for leaving a message out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// It is before a cut that has no summary.
    Cut,
    /// It is empty, or contains only markers.
    Empty,
    /// It is a result without its call.
    Orphan,
    /// It is before the window.
    OutsideWindow {
        /// How many more messages the window would need to include it; 1 for the first message before the window.
        behind: usize,
    },
    /// It repeats the current message.
    Duplicate { of: MessageId },
    /// It is in the window, but not within the budget.
    OverBudget { bytes: usize },
}

/// The reason why an entry is never sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HideReason {
    /// A redaction hides it, or it is a summary that includes a redacted entry.
    Redacted,
    OtherBranch,
    NoMessage,
    /// A newer entry of its kind replaces it.
    Superseded,
}

/// The section of a prompt that contains a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Context,
    Message,
}

impl Outcome {
    /// Returns the word in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::InPrompt { .. } => "in_prompt",
            Self::Truncated { .. } => "truncated",
            Self::Elided => "elided",
            Self::Summarized { .. } => "summarized",
            Self::Dropped { .. } => "dropped",
            Self::Hidden { .. } => "hidden",
        }
    }
}

impl DropReason {
    /// Returns the word in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Empty => "empty",
            Self::Orphan => "orphan",
            Self::OutsideWindow { .. } => "outside_window",
            Self::Duplicate { .. } => "duplicate",
            Self::OverBudget { .. } => "over_budget",
        }
    }
}

impl HideReason {
    /// Returns the word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Redacted => "redacted",
            Self::OtherBranch => "other_branch",
            Self::NoMessage => "no_message",
            Self::Superseded => "superseded",
        }
    }
}
