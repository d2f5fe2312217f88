//! The errors of a build: what is wrong, where, and how to fix it. They quote ids and figures, never the text of
//! messages.

use std::borrow::Cow;
use std::fmt;

use tertulia_session::{EntryError, EntryId};

/// The reason why a context cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The configuration, the entries or another input is wrong.
    #[error("{0}")]
    InvalidInput(InvalidInput),
    /// The messages that must be sent exceed the limit.
    #[error("{0}")]
    Overflow(Overflow),
    #[error("the context cannot be made smaller: {reason}")]
    CompactionFailed { reason: String },
}

/// An input that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidInput {
    pub entry: Option<EntryId>,
    /// The field, such as `payload.firstKeptEntryId`.
    pub field: Option<Cow<'static, str>>,
    pub problem: String,
}

/// The size of what must be sent, which exceeds the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// The size in tokens of everything that must be sent.
    pub floor: u64,
    pub limit: u64,
    /// The largest pieces of the floor, largest first, at most five.
    pub biggest: Vec<FloorItem>,
}

/// A piece of what must be sent, with its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloorItem {
    pub what: FloorPart,
    pub tokens: u64,
}

/// The kinds of pieces that must be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FloorPart {
    /// The system prompt and the data of the run.
    SystemPrompt,
    Tools,
    RuntimeHints,
    /// A message: the newest request, a pinned one, or one of the newest unit.
    Entry(EntryId),
}

impl ContextError {
    /// Returns the name of the error, which is the same on every interface.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "ContextInvalidInput",
            Self::Overflow(_) => "ContextOverflow",
            Self::CompactionFailed { .. } => "ContextCompactionFailed",
        }
    }

    /// Creates the error of a field of the input that is wrong.
    pub fn field(field: impl Into<Cow<'static, str>>, problem: impl Into<String>) -> Self {
        let (entry, field, problem) = (None, Some(field.into()), problem.into());
        Self::InvalidInput(InvalidInput { entry, field, problem })
    }

    pub(super) fn entry(entry: &EntryId, field: &'static str, problem: impl Into<String>) -> Self {
        let (entry, field, problem) = (Some(entry.clone()), Some(field.into()), problem.into());
        Self::InvalidInput(InvalidInput { entry, field, problem })
    }

    pub(super) fn failed(reason: impl Into<String>) -> Self {
        Self::CompactionFailed { reason: reason.into() }
    }
}

impl From<EntryError> for ContextError {
    fn from(error: EntryError) -> Self {
        Self::InvalidInput(InvalidInput {
            entry: error.entry().cloned(),
            field: error.field().map(Cow::Borrowed),
            problem: error.to_string(),
        })
    }
}

impl fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message of an error from reading the log already names the entry and the field.
        match (&self.entry, &self.field) {
            (Some(entry), Some(field)) if !self.problem.starts_with("Entry ") => {
                write!(f, "Entry {entry}: {field} {}", self.problem)
            }
            (None, Some(field)) => write!(f, "{field} {}", self.problem),
            _ => f.write_str(&self.problem),
        }
    }
}

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { floor, limit, .. } = self;
        // The request is within the limit, but the model found it too large, and nothing more can be cut.
        if floor <= limit {
            write!(
                f,
                "the request needs {floor} tokens, which the model rejected as too many; shorten \
                 the largest parts"
            )?;
        } else {
            write!(
                f,
                "the request needs at least {floor} tokens, and the limit is {limit}; shorten the \
                 largest parts or raise maxInputTokens"
            )?;
        }
        for (place, item) in self.biggest.iter().enumerate() {
            let sign = if place == 0 { ":" } else { "," };
            write!(f, "{sign} {} {}", item.what, item.tokens)?;
        }
        Ok(())
    }
}

impl fmt::Display for FloorPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SystemPrompt => f.write_str("system prompt"),
            Self::Tools => f.write_str("tools"),
            Self::RuntimeHints => f.write_str("runtime hints"),
            Self::Entry(id) => write!(f, "entry {id}"),
        }
    }
}
