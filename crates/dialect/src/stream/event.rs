//! The events of a stream, with the same meaning for every agent. The readers create them, and the caller uses them.

use tertulia_session::json::Json;

use super::error_class::{ErrorClass, TurnError};

/// One event of an agent's stream. Ids of calls and names of tools are those that the agent uses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The agent runs. The session id can be used to resume its session, and the model is the one that it will use.
    Started { session_id: Option<Box<str>>, model: Option<Box<str>> },
    /// The next piece of the answer's text, byte for byte. Pieces up to a
    /// [`TextEnd`](Self::TextEnd) form one text.
    TextDelta { text: String },
    /// The text of the pieces is complete; another one follows.
    TextEnd,
    /// The pieces since the last [`TextEnd`](Self::TextEnd) are not part of the answer: the attempt failed and is
    /// repeated.
    TextWithdrawn,
    /// A piece of the model's thinking.
    Thinking { text: String },
    /// A tool was called.
    ToolStarted {
        id: Box<str>,
        name: Box<str>,
        input: Json,
        /// The call of the sub-agent that called this tool. `None` for the agent itself.
        parent: Option<Box<str>>,
    },
    /// A tool ended.
    ToolFinished {
        id: Box<str>,
        /// `None` if no earlier event had a call of this id.
        name: Option<Box<str>>,
        /// Its output, if the agent shows it.
        output: Option<String>,
        is_error: bool,
    },
    /// A tool was requested, but is not allowed or does not exist.
    ToolDenied(DeniedTool),
    /// The tokens used so far.
    Usage(Usage),
    /// Cost, as the agent calculates it.
    Cost(Cost),
    /// A problem after which the agent continues, such as a retry or a notice.
    Warning { class: Option<ErrorClass>, message: Box<str> },
    /// The agent reports success with this text. The text is valid only if [`finish`](super::StreamParser::finish)
    /// confirms it.
    FinalText { text: String, origin: TextOrigin },
    /// The agent reports that its turn failed.
    Failed(TurnError),
    /// A line that no genuine run of this agent writes. It has no effect.
    Violation { kind: ViolationKind, line: Box<[u8]> },
    /// A line that cannot be parsed. It has no effect.
    Unparsed { reason: Unparsed, line: Box<[u8]> },
    /// A line over the limit, which was not parsed: its length without the line feed, and its first bytes.
    Oversize { length: u64, prefix: Box<[u8]> },
}

/// Source of a final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOrigin {
    /// The agent sent the whole text.
    Stated,
    /// Assembled from the pieces after the last tool. An attempt that was retried may precede it without a mark. The
    /// agent's transcript has the exact text.
    Pieced,
    /// Assembled like `Pieced`, but the text begins again in the middle, as after a retry. Use the text of the
    /// transcript.
    Repeated,
}

/// A tool that was requested and denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedTool {
    pub id: Box<str>,
    pub name: Box<str>,
    pub reason: Option<Box<str>>,
}

/// Token counts, with the same meaning for every agent. `None` if the agent does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input that was neither read from a cache nor written to one.
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    /// Input that was written to a cache.
    pub cache_write: Option<u64>,
    /// Output, including thinking.
    pub output: Option<u64>,
    /// The part of the output that is thinking.
    pub thinking: Option<u64>,
    pub scope: Scope,
}

/// Returns the fresh part of an input count that includes these parts.
pub(super) fn fresh_input(input: Option<u64>, parts: [Option<u64>; 2]) -> Option<u64> {
    input.map(|input| parts.into_iter().flatten().fold(input, u64::saturating_sub))
}

impl Usage {
    /// Adds the usage of another part of the same turn. The counts are in the order of the fields.
    pub(super) fn add(&mut self, counts: [Option<u64>; 5]) {
        let Self { input, cache_read, cache_write, output, thinking, scope: _ } = self;
        for (sum, more) in
            [input, cache_read, cache_write, output, thinking].into_iter().zip(counts)
        {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
    }
}

/// An amount of money.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// US dollars at list price.
    pub usd: f64,
    pub scope: Scope,
}

/// The part of a session that a figure covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    Turn,
    /// The whole session of the agent, including earlier turns. Subtract the previous figure.
    Session,
}

/// The reason why a readable line cannot come from a genuine run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViolationKind {
    SecondStart,
    BeforeStart,
    AfterEnd,
    /// The line names another session than the first event, or than the requested one.
    ForeignSession,
    /// A field that decides the meaning of the line occurs twice.
    DuplicateField,
}

/// The reason why a line cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparsed {
    NotUtf8,
    NotJson,
    /// It is JSON, but not an event: not an object, no type, or a known type without its fields.
    WrongShape,
}
