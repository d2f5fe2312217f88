//! What a renderer or a reader changed or left out: nothing is lost silently. A note is a value with a
//! code for programs and a sentence for people.

use std::fmt;

/// One thing that was changed or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The message that it is about, by its index; `None` for the whole request.
    pub message: Option<usize>,
    pub kind: NoteKind,
}

/// What happened. Ids and names are those in the list of messages, except where something is rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// A message, or a text in it, that says nothing was left out.
    EmptyLeftOut,
    /// A model's thinking was left out.
    ThinkingLeftOut { why: &'static str },
    /// Signed thinking was moved to the front of its turn.
    ThinkingMoved,
    /// A picture was left out.
    ImageLeftOut { why: &'static str },
    /// A file is named in a text, since the request cannot carry it.
    FileAsText { path: Box<str> },
    /// A part of another kind was left out.
    PartLeftOut { kind: Box<str>, why: &'static str },
    /// A result was left out: no call waits for it.
    ResultWithoutCall { id: Box<str> },
    /// A call got an error as its result: it has none in the list.
    CallClosed { id: Box<str> },
    /// A result was moved behind its call, or into the order of the calls.
    ResultMoved { id: Box<str> },
    /// An id of a call was rewritten, in the call and its result.
    IdRewritten { from: Box<str>, to: Box<str> },
    /// The name of a tool was rewritten, in its spec and its calls, and so in the model's answer.
    ToolRenamed { from: Box<str>, to: Box<str> },
    /// Arguments that are no JSON object were put into one, as `{"_raw": …}`.
    ArgumentsWrapped { id: Box<str> },
    /// A failed result says so in its text, since there is no field for it.
    ErrorAsText { id: Box<str> },
    /// A system message in the middle stands in a user turn.
    SystemAsUser,
    /// A volatile message was moved to the end.
    VolatileMoved,
    /// Two messages of one role became one turn.
    Merged,
    /// Blanks at the end of the last assistant text were cut off.
    BlanksTrimmed,
    /// A user turn was added that nobody said.
    UserTurnAdded { why: Placeholder },
    /// The request ends with the assistant's words, which newer models refuse to continue.
    EndsWithAssistant,
    /// A cache breakpoint was left out.
    BreakpointLeftOut { why: &'static str },
    /// A tool was left out.
    ToolLeftOut { name: Box<str>, why: &'static str },
    /// A field of a tool was left out or replaced.
    ToolFieldChanged { name: Box<str>, field: &'static str },
    /// Half surrogate pairs, which are no characters, were replaced.
    SurrogatesReplaced,
}

/// Why a user turn was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder {
    /// The first turn must be the user's.
    Opening,
    /// The last turn must be the user's.
    Closing,
    /// There must be a turn.
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
    /// A note about this message.
    pub(crate) fn on(message: usize, kind: NoteKind) -> Self {
        Self { message: Some(message), kind }
    }

    /// A note about the whole request.
    pub(crate) fn whole(kind: NoteKind) -> Self {
        Self { message: None, kind }
    }
}

impl NoteKind {
    /// The code for programs.
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
            Self::BlanksTrimmed => "blanks_trimmed",
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

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyLeftOut => f.write_str("left out, since it says nothing"),
            Self::ThinkingLeftOut { why } => write!(f, "thinking left out: {why}"),
            Self::ThinkingMoved => f.write_str("signed thinking moved to the front of its turn"),
            Self::ImageLeftOut { why } => write!(f, "image left out: {why}"),
            Self::FileAsText { path } => write!(f, "file {path:?} named in a text"),
            Self::PartLeftOut { kind, why } => write!(f, "part of kind {kind:?} left out: {why}"),
            Self::ResultWithoutCall { id } => {
                write!(f, "result of {id:?} left out, since no call waits for it")
            }
            Self::CallClosed { id } => write!(f, "call {id:?} has no result; closed with an error"),
            Self::ResultMoved { id } => write!(f, "result of {id:?} moved behind its call"),
            Self::IdRewritten { from, to } => write!(f, "call id {from:?} rewritten as {to:?}"),
            Self::ToolRenamed { from, to } => write!(f, "tool {from:?} renamed {to:?}"),
            Self::ArgumentsWrapped { id } => {
                write!(f, "arguments of call {id:?} are no JSON object; sent as {{\"_raw\": …}}")
            }
            Self::ErrorAsText { id } => write!(f, "failure of call {id:?} said in its text"),
            Self::SystemAsUser => f.write_str("system message in the middle sent in a user turn"),
            Self::VolatileMoved => f.write_str("volatile message moved to the end"),
            Self::Merged => f.write_str("joined with the message before it, of the same role"),
            Self::BlanksTrimmed => f.write_str("blanks at the end of the last text cut off"),
            Self::UserTurnAdded { why } => write!(f, "user turn added: {}", why.words()),
            Self::EndsWithAssistant => {
                f.write_str("ends with the assistant; newer models refuse to continue its words")
            }
            Self::BreakpointLeftOut { why } => write!(f, "cache breakpoint left out: {why}"),
            Self::ToolLeftOut { name, why } => write!(f, "tool {name:?} left out: {why}"),
            Self::ToolFieldChanged { name, field } => {
                write!(f, "field {field} of tool {name:?} has no place or no value that fits")
            }
            Self::SurrogatesReplaced => f.write_str("half surrogate pairs replaced by U+FFFD"),
        }
    }
}
