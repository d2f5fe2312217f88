//! What can be wrong with a JSON value: one sentence with the place and the cure.

use std::fmt;

use serde_json::value::RawValue;

use super::Kind;

/// A field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    /// Where it is, such as `messages[3].speaker.roleId`; empty for the value itself.
    pub path: String,
    pub problem: Problem,
}

/// What is wrong with a field, and what should be there instead. It is said behind the name of the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("is missing; give {expected}")]
    Missing { expected: &'static str },
    #[error("must be {expected}; got {got}")]
    WrongKind { expected: &'static str, got: Kind },
    #[error("must be a whole number of 0 or more; got {got}")]
    NotWhole { got: String },
    #[error(
        "holds half a surrogate pair (an escape such as \\ud800 alone), which is no character; write both \
         halves or leave it out"
    )]
    LoneSurrogate,
    #[error("must be {allowed}; got {got:?}")]
    NotOneOf { allowed: &'static str, got: String },
    #[error("must be {min} or more; got {got}")]
    TooSmall { min: u64, got: u64 },
    #[error("and {other} exclude each other; leave one out")]
    Excludes { other: &'static str },
    #[error(
        "has a field name with half a surrogate pair (an escape such as \\ud800 alone), which is no \
         character; write both halves or leave it out"
    )]
    LoneSurrogateInName,
}

/// A text that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at line {line}, column {column}: {reason}")]
pub struct SyntaxError {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    pub reason: String,
}

impl FieldError {
    /// An error of the value itself; callers add the path from the inside out.
    pub fn new(problem: Problem) -> Self {
        Self { path: String::new(), problem }
    }

    /// A value of the wrong kind.
    pub fn wrong_kind(expected: &'static str, raw: &RawValue) -> Self {
        Self::new(Problem::WrongKind { expected, got: Kind::from(raw) })
    }

    /// A field that is not there.
    pub fn missing(name: &str, expected: &'static str) -> Self {
        Self::new(Problem::Missing { expected }).within(name)
    }

    /// The same error, seen from the object that holds the value as this field.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => name.to_owned(),
            path if path.starts_with('[') => format!("{name}{path}"),
            path => format!("{name}.{path}"),
        };
        self
    }

    /// The same error, seen from the list that holds the value at this place.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.path.as_str() {
            // The sentence goes on from what stands before it.
            "" if self.problem == Problem::LoneSurrogateInName => return self.problem.fmt(f),
            "" => "the value",
            path => path,
        };
        write!(f, "{subject} {}", self.problem)
    }
}

impl SyntaxError {
    pub(crate) fn new(cause: &serde_json::Error) -> Self {
        let text = cause.to_string();
        // The parser appends the place, which is kept apart here.
        let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
        Self { line: cause.line(), column: cause.column(), reason }
    }
}
