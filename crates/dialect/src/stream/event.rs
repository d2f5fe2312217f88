//! The events of a stream, in one vocabulary for every agent. Created by the readers, used by the
//! caller.

use tertulia_session::json::Json;

use super::error_class::{ErrorClass, TurnError};

/// One event of an agent's stream. The ids of calls and the names of tools are the agent's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The agent runs, in a session that can be resumed by its id, and names the model it will use.
    Started { session_id: Option<Box<str>>, model: Option<Box<str>> },
    /// The next piece of the answer's text, byte for byte. Pieces up to a
    /// [`TextEnd`](Self::TextEnd) form one text.
    TextDelta { text: String },
    /// The text of the pieces is complete; another one follows.
    TextEnd,
    /// The pieces since the last [`TextEnd`](Self::TextEnd) are void: the attempt failed and is
    /// repeated.
    TextWithdrawn,
    /// A piece of the model's thinking.
    Thinking { text: String },
    /// A tool was called.
    ToolStarted {
        id: Box<str>,
        name: Box<str>,
        input: Json,
        /// Call of the sub-agent that called it; `None` for the agent itself.
        parent: Option<Box<str>>,
    },
    /// A tool ended.
    ToolFinished {
        id: Box<str>,
        /// `None` if no call of this id was seen.
        name: Option<Box<str>>,
        /// Its output, as far as the agent shows it.
        output: Option<String>,
        is_error: bool,
    },
    /// A tool was requested, but is not allowed or does not exist.
    ToolDenied(DeniedTool),
    /// Tokens used so far.
    Usage(Usage),
    /// Cost, as the agent calculates it.
    Cost(Cost),
    /// Something went wrong and the agent continues: a retry, a notice.
    Warning { class: Option<ErrorClass>, message: Box<str> },
    /// The agent reports success with this text. Valid only if
    /// [`finish`](super::StreamParser::finish) agrees.
    FinalText { text: String, origin: TextOrigin },
    /// The agent reports that its turn failed.
    Failed(TurnError),
    /// A line that no genuine run of this agent writes. It changed nothing.
    Violation { kind: ViolationKind, line: Box<[u8]> },
    /// A line that cannot be parsed. It changed nothing.
    Unparsed { reason: Unparsed, line: Box<[u8]> },
    /// A line over the limit: its length without the line feed, and its first bytes. It was not
    /// parsed.
    Oversize { length: u64, prefix: Box<[u8]> },
}

/// Source of a final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOrigin {
    /// The agent stated it as a whole.
    Stated,
    /// Assembled from the pieces after the last tool. A retried attempt may precede it without a
    /// mark; the agent's transcript has the exact text.
    Pieced,
    /// The same, and it begins again in the middle, as after a retry: use the transcript's text.
    Repeated,
}

/// A tool that was requested and denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedTool {
    pub id: Box<str>,
    pub name: Box<str>,
    pub reason: Option<Box<str>>,
}

/// Tokens, with the same meaning for every agent. `None` if the agent does not report them.
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

impl Usage {
    /// Adds the usage of another part of the same turn: the counts in the order of the fields.
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

/// The messages that a figure covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    Turn,
    /// The agent's whole session, including earlier turns: subtract the last figure.
    Session,
}

/// The reason why a readable line cannot be genuine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViolationKind {
    SecondStart,
    BeforeStart,
    AfterEnd,
    /// It names another session than the first event, or than the requested one.
    ForeignSession,
    /// A field that decides its meaning occurs twice.
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
