//! What a stream says, in one vocabulary for every agent. Made by the readers, taken by the caller.

use tertulia_session::json::Json;

use super::class::{ErrorClass, TurnError};

/// One thing that an agent's stream says. The ids of calls and the names of tools are the agent's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The agent runs, in a session that can be resumed by its id, and says which model it will ask.
    Started { session_id: Option<Box<str>>, model: Option<Box<str>> },
    /// The next piece of the answer's text, byte for byte. Pieces up to a [`TextEnd`](Self::TextEnd) are one text.
    TextDelta { text: String },
    /// The text that the pieces made is whole; what follows is another one.
    TextEnd,
    /// The pieces since the last [`TextEnd`](Self::TextEnd) are void: the attempt failed and is repeated.
    TextWithdrawn,
    /// A piece of the model's thinking.
    Thinking { text: String },
    /// A tool was called.
    ToolStarted {
        id: Box<str>,
        name: Box<str>,
        input: Json,
        /// The call of the sub-agent that called it; `None` for the agent itself.
        parent: Option<Box<str>>,
    },
    /// A tool ended.
    ToolFinished {
        id: Box<str>,
        /// `None` if no call of this id was seen.
        name: Option<Box<str>>,
        /// What it gave, as far as the agent shows it.
        output: Option<String>,
        is_error: bool,
    },
    /// A tool was asked for and not allowed, or is not there.
    ToolDenied(DeniedTool),
    /// What was used.
    Usage(Usage),
    /// What it cost, as the agent reckons.
    Cost(Cost),
    /// Something went wrong and the agent goes on: a retry, a notice.
    Warning { class: Option<ErrorClass>, message: Box<str> },
    /// The agent says that its turn succeeded with this text. Believed when
    /// [`finish`](super::StreamParser::finish) agrees.
    FinalText { text: String, origin: TextOrigin },
    /// The agent says that its turn failed.
    Failed(TurnError),
    /// A line that no honest run of this agent writes. It changed nothing.
    Violation { kind: ViolationKind, line: Box<[u8]> },
    /// A line that cannot be read. It changed nothing.
    Unparsed { reason: Unparsed, line: Box<[u8]> },
    /// A line beyond the cap: its length without its line feed, and its first bytes. It was not read.
    Oversize { length: u64, head: Box<[u8]> },
}

/// Where a final text is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOrigin {
    /// The agent stated it as a whole.
    Stated,
    /// It was put together from the pieces after the last tool. An attempt that was retried may stand in
    /// front of it without a mark; the agent's transcript has the exact text.
    Pieced,
    /// The same, and it begins again in the middle, as after a retry: take the transcript's text.
    Repeated,
}

/// A tool that was asked for in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedTool {
    pub id: Box<str>,
    pub name: Box<str>,
    pub reason: Option<Box<str>>,
}

/// Tokens, in the same sense for every agent. `None` where the agent does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read afresh: neither from a cache nor into one.
    pub input: Option<u64>,
    pub cache_read: Option<u64>,
    /// Read and put into a cache.
    pub cache_write: Option<u64>,
    /// Written, thinking included.
    pub output: Option<u64>,
    /// Of the written ones, those of thinking.
    pub thinking: Option<u64>,
    pub scope: Scope,
}

impl Usage {
    /// Adds what another part of the same turn used: the counts in the order of the fields.
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

/// Money.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// US dollars at list price.
    pub usd: f64,
    pub scope: Scope,
}

/// What a figure is the sum of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    Turn,
    /// The agent's whole session, earlier turns included: subtract the last figure.
    Session,
}

/// What is wrong with a line that is readable but cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViolationKind {
    SecondStart,
    BeforeStart,
    AfterEnd,
    /// It names another session than the first event, or than the one that was asked for.
    ForeignSession,
    /// A field that decides what it means stands twice.
    DuplicateField,
}

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparsed {
    NotUtf8,
    NotJson,
    /// It is JSON, and not an event: no object, no type, or a known type without what belongs to it.
    WrongShape,
}
