//! The problems of reading. Reading continues after each of them, and the record is kept unchanged.

use std::fmt;

use tertulia_session::json::SyntaxError;

/// A record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadProblem {
    /// The file, as in [`super::Record::file`].
    pub file: Box<str>,
    pub line: u64,
    pub kind: ProblemKind,
}

/// The reason why a record could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemKind {
    #[error("not UTF-8; kept as it is")]
    NotUtf8,
    #[error("not JSON at column {}: {}; kept as it is", .0.column, .0.reason)]
    Syntax(SyntaxError),
    #[error("the file ends in the middle of a record; the next import reads it again")]
    Truncated,
    #[error(
        "the last message may not be complete; it is read when more follows it, or a minute after the \
         file has changed"
    )]
    Unfinished,
    #[error("{field} is missing or has the wrong type; kept as it is")]
    Field { field: &'static str },
    #[error("the record has the unknown type {name:?}; kept as it is")]
    UnknownType { name: Box<str> },
    #[error(
        "the parent {parent:?} does not come before the record; it gets the previous record as its parent"
    )]
    ParentMissing { parent: Box<str> },
    #[error("the record has the id {id:?} of an earlier record; it gets a new id")]
    IdRepeated { id: Box<str> },
}

impl ProblemKind {
    /// Returns whether a record was left out because the rest of it may be written later.
    pub fn is_left_out(&self) -> bool {
        matches!(self, Self::Truncated | Self::Unfinished)
    }
}

impl fmt::Display for ReadProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}: ", self.file)?;
        }
        write!(f, "line {}: {}", self.line, self.kind)
    }
}
