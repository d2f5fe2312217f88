//! Notes about what a renderer or a reader changed or left out, so that nothing is lost silently. A
//! note has a code for programs and a sentence for people.

use std::fmt;

/// One change or omission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Index of the message; `None` for the whole request.
    pub message: Option<usize>,
    pub kind: NoteKind,
}

/// The kind of a change. Ids and names are those in the list of messages, except where the note is about rewriting
/// them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoteKind {
    #[error("left out, because it is empty")]
    EmptyLeftOut,
    #[error("thinking left out: {reason}")]
    ThinkingLeftOut { reason: &'static str },
    #[error("signed thinking moved to the front of its turn")]
    ThinkingMoved,
    #[error("image left out: {reason}")]
    ImageLeftOut { reason: &'static str },
    #[error("file {path:?} sent as text")]
    FileAsText { path: Box<str> },
    #[error("part of kind {kind:?} left out: {reason}")]
    PartLeftOut { kind: Box<str>, reason: &'static str },
    #[error("result of {id:?} left out, because no call waits for it")]
    ResultWithoutCall { id: Box<str> },
    #[error("call {id:?} has no result; an error result was added")]
    CallClosed { id: Box<str> },
    #[error("result of {id:?} moved to its call")]
    ResultMoved { id: Box<str> },
    #[error("call id {from:?} rewritten as {to:?}")]
    IdRewritten { from: Box<str>, to: Box<str> },
    #[error("tool {from:?} renamed {to:?}")]
    ToolRenamed { from: Box<str>, to: Box<str> },
    #[error("arguments of call {id:?} are not a JSON object; sent as {{\"_raw\": …}}")]
    ArgumentsWrapped { id: Box<str> },
    #[error("failure of call {id:?} marked in its text")]
    ErrorAsText { id: Box<str> },
    #[error("system message in the middle of the conversation sent as a user message")]
    SystemAsUser,
    #[error("volatile message moved to the end")]
    VolatileMoved,
    #[error("joined with the message before it, of the same role")]
    Merged,
    #[error("spaces at the end of the last text removed")]
    SpacesTrimmed,
    #[error("user turn added: {}", reason.words())]
    UserTurnAdded { reason: Placeholder },
    #[error("the last message is the assistant's; newer models refuse to continue it")]
    EndsWithAssistant,
    #[error("cache breakpoint left out: {reason}")]
    BreakpointLeftOut { reason: &'static str },
    #[error("tool {name:?} left out: {reason}")]
    ToolLeftOut { name: Box<str>, reason: &'static str },
    #[error("field {field} of tool {name:?} is missing or has no valid value")]
    ToolFieldChanged { name: Box<str>, field: &'static str },
    #[error("half surrogate pairs replaced by U+FFFD")]
    SurrogatesReplaced,
}

/// The reason for adding a user turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The first turn must be the user's.
    Opening,
    /// The last turn must be the user's.
    Closing,
    /// There must be at least one turn.
    Empty,
}

impl Placeholder {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Opening => "(The assistant speaks first.)",
            Self::Closing => "(Please continue.)",
            Self::Empty => "(Nothing was said yet.)",
        }
    }
}

impl Note {
    pub(crate) fn on(message: usize, kind: NoteKind) -> Self {
        Self { message: Some(message), kind }
    }

    pub(crate) fn whole(kind: NoteKind) -> Self {
        Self { message: None, kind }
    }
}

impl NoteKind {
    /// Returns the code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::EmptyLeftOut => "empty_left_out",
            Self::ThinkingLeftOut { .. } => "thinking_left_out",
            Self::ThinkingMoved => "thinking_moved",
            Self::ImageLeftOut { .. } => "image_left_out",
            Self::FileAsText { .. } => "file_as_text",
            Self::PartLeftOut { .. } => "part_left_out",
            Self::ResultWithoutCall { .. } => "result_without_call",
            Self::CallClosed { .. } => "call_closed",
            Self::ResultMoved { .. } => "result_moved",
            Self::IdRewritten { .. } => "id_rewritten",
            Self::ToolRenamed { .. } => "tool_renamed",
            Self::ArgumentsWrapped { .. } => "arguments_wrapped",
            Self::ErrorAsText { .. } => "error_as_text",
            Self::SystemAsUser => "system_as_user",
            Self::VolatileMoved => "volatile_moved",
            Self::Merged => "merged",
            Self::SpacesTrimmed => "blanks_trimmed",
            Self::UserTurnAdded { .. } => "user_turn_added",
            Self::EndsWithAssistant => "ends_with_assistant",
            Self::BreakpointLeftOut { .. } => "breakpoint_left_out",
            Self::ToolLeftOut { .. } => "tool_left_out",
            Self::ToolFieldChanged { .. } => "tool_field_changed",
            Self::SurrogatesReplaced => "surrogates_replaced",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            Some(index) => write!(f, "message {index}: {}", self.kind),
            None => self.kind.fmt(f),
        }
    }
}
