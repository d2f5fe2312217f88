//! What can be wrong with a JSON value: one sentence with the place and the cure.

use std::fmt;

use serde_json::value::RawValue;

use super::Kind;

/// A field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    /// Where it is, such as `messages[3].speaker.roleId`; empty for the value itself.
    pub path: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not there.
    Missing {
        /// What should be there.
        expected: &'static str,
    },
    WrongKind {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        got: Kind,
    },
    /// It is a number, but negative or not whole.
    NotWhole {
        /// The number.
        got: String,
    },
    /// It has an escape such as `\ud800` that is half a character.
    LoneSurrogate,
    /// It is a word that is not one of a few.
    NotOneOf {
        /// The words that are.
        allowed: &'static str,
        /// The word.
        got: String,
    },
    /// It is a number that is too small.
    TooSmall {
        /// The smallest that is not.
        min: u64,
        /// The number.
        got: u64,
    },
    /// It excludes another field that is there too.
    Excludes {
        /// The other field.
        other: &'static str,
    },
    /// One of its field names has an escape that is half a character.
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
    /// What the parser found.
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
        let path = if self.path.is_empty() { "the value" } else { &self.path };
        match &self.problem {
            Problem::Missing { expected } => write!(f, "{path} is missing; give {expected}"),
            Problem::WrongKind { expected, got } => {
                write!(f, "{path} must be {expected}; got {got}")
            }
            Problem::NotWhole { got } => {
                write!(f, "{path} must be a whole number of 0 or more; got {got}")
            }
            Problem::LoneSurrogate => write!(
                f,
                "{path} holds half a surrogate pair (an escape such as \\ud800 alone), which is no \
                 character; write both halves or leave it out"
            ),
            Problem::NotOneOf { allowed, got } => {
                write!(f, "{path} must be {allowed}; got {got:?}")
            }
            Problem::TooSmall { min, got } => write!(f, "{path} must be {min} or more; got {got}"),
            Problem::Excludes { other } => {
                write!(f, "{path} and {other} exclude each other; leave one out")
            }
            Problem::LoneSurrogateInName => {
                // Without a path the sentence goes on from what stands before it.
                let subject = if self.path.is_empty() { "" } else { &format!("{path} ") };
                write!(
                    f,
                    "{subject}has a field name with half a surrogate pair (an escape such as \\ud800 \
                     alone), which is no character; write both halves or leave it out"
                )
            }
        }
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
