//! Reads JSON field by field, so that an error can name the field and unknown fields are kept. Values stay JSON text
//! until they are needed, so numbers keep all their digits and deep nesting needs no stack.

mod escape;
mod object;

use std::fmt;

use serde::{Serialize, Serializer};
pub use serde_json::value::RawValue;

pub use escape::{Escape, Unescaped, inner, unescape, words};
pub use object::{Object, each, elements};

/// A JSON value as its text, without whitespace between tokens, so that it always fits on one line.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

/// The error of a field that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldError {
    /// The path, such as `messages[3].speaker.roleId`; empty for the value itself.
    pub path: String,
    pub problem: Problem,
}

/// A problem with a field, and the expected value. In a sentence, it follows the name of the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("is missing; give {expected}")]
    Missing { expected: &'static str },
    #[error("must be {expected}; got {got}")]
    WrongKind { expected: &'static str, got: Kind },
    #[error("must be a whole number of 0 or more; got {got}")]
    NotWhole { got: String },
    #[error(
        "contains half a surrogate pair (an escape such as \\ud800 alone), which is not a character; write both \
         halves or leave it out"
    )]
    LoneSurrogate,
    #[error("must be {allowed}; got {got:?}")]
    NotOneOf { allowed: &'static str, got: String },
    #[error("must be {min} or more; got {got}")]
    TooSmall { min: u64, got: u64 },
    #[error("and {other} exclude each other; leave one of them out")]
    Excludes { other: &'static str },
    #[error(
        "has a field name with half a surrogate pair (an escape such as \\ud800 alone), which is not a \
         character; write both halves or leave it out"
    )]
    LoneSurrogateInName,
}

/// The error of a text that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at line {line}, column {column}: {reason}")]
pub struct SyntaxError {
    /// The line number, from 1.
    pub line: usize,
    /// The position in the line in bytes, from 1.
    pub column: usize,
    pub reason: String,
}

impl From<&RawValue> for Json {
    fn from(raw: &RawValue) -> Self {
        // A string is a single token, so it contains no whitespace between tokens.
        if raw.get().starts_with('"') {
            return Self(raw.to_owned());
        }
        let compact = match without_spaces(raw.get()) {
            // Removing whitespace between tokens keeps JSON valid, so the fallback is never needed.
            Some(text) => RawValue::from_string(text).unwrap_or_else(|_| raw.to_owned()),
            None => raw.to_owned(),
        };
        Self(compact)
    }
}

impl Json {
    /// Parses one JSON value.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse(text).map(Self::from)
    }

    /// Serializes a value, in one pass over its texts. `None` if it cannot be JSON. It must not contain a [`RawValue`],
    /// which may have whitespace between tokens.
    pub fn serialized(value: &impl Serialize) -> Option<Self> {
        serde_json::value::to_raw_value(value).ok().map(Self)
    }

    /// Returns a text as a JSON string.
    pub fn text(text: &str) -> Self {
        // A string is always valid JSON, so the fallback is never needed.
        let raw = serde_json::value::to_raw_value(text);
        Self(raw.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Creates a whole number.
    pub fn number(number: u64) -> Self {
        // The digits of a number are JSON, so this does not fail.
        let raw = RawValue::from_string(number.to_string());
        Self(raw.unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    /// Returns the JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the value for reading its fields.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> Kind {
        Kind::from(&*self.0)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl From<&RawValue> for Kind {
    fn from(raw: &RawValue) -> Self {
        match raw.get().as_bytes().first() {
            Some(b'n') | None => Self::Null,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'"') => Self::String,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            Some(_) => Self::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        })
    }
}

impl FieldError {
    /// Creates an error about the value itself. Callers then add the path from the innermost field outwards.
    pub fn new(problem: Problem) -> Self {
        Self { path: String::new(), problem }
    }

    /// Creates an error for a value of the wrong kind.
    pub fn wrong_kind(expected: &'static str, raw: &RawValue) -> Self {
        Self::new(Problem::WrongKind { expected, got: Kind::from(raw) })
    }

    /// Creates an error for a missing field.
    pub fn missing(name: &str, expected: &'static str) -> Self {
        Self::new(Problem::Missing { expected }).within(name)
    }

    /// Adds the name of the field that contains the value to the path.
    #[must_use]
    pub fn within(mut self, name: &str) -> Self {
        self.path = match self.path.as_str() {
            "" => name.to_owned(),
            path if path.starts_with('[') => format!("{name}{path}"),
            path => format!("{name}.{path}"),
        };
        self
    }

    /// Adds the index of the list element that contains the value to the path.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.path.as_str() {
            // This sentence already contains the path.
            "" if self.problem == Problem::LoneSurrogateInName => return self.problem.fmt(f),
            "" => "the value",
            path => path,
        };
        write!(f, "{subject} {}", self.problem)
    }
}

impl SyntaxError {
    fn new(cause: &serde_json::Error) -> Self {
        let text = cause.to_string();
        // The parser appends the position, which is stored separately here.
        let reason = text.split(" at line ").next().unwrap_or(&text).to_owned();
        Self { line: cause.line(), column: cause.column(), reason }
    }
}

/// Parses a text that must be one JSON value; the value borrows from it.
pub fn parse(json: &str) -> Result<&RawValue, SyntaxError> {
    serde_json::from_str(json).map_err(|cause| SyntaxError::new(&cause))
}

/// Returns the text of a JSON string.
pub fn text(raw: &RawValue) -> Result<String, FieldError> {
    if Kind::from(raw) != Kind::String {
        return Err(FieldError::wrong_kind("a string", raw));
    }
    // The syntax was checked when the value was read. Only an escape that is not a character can fail here.
    serde_json::from_str(raw.get()).map_err(|_| FieldError::new(Problem::LoneSurrogate))
}

/// Returns a boolean.
pub fn boolean(raw: &RawValue) -> Result<bool, FieldError> {
    match raw.get() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(FieldError::wrong_kind("true or false", raw)),
    }
}

/// Returns a whole number of 0 or more, also for a number such as `5.0`. Numbers beyond 64 bits become the largest
/// one.
pub fn whole_number(raw: &RawValue) -> Result<u64, FieldError> {
    if Kind::from(raw) != Kind::Number {
        return Err(FieldError::wrong_kind("a whole number of 0 or more", raw));
    }
    let digits = raw.get();
    if let Ok(number) = digits.parse() {
        return Ok(number);
    }
    match digits.parse::<f64>() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and not negative was just checked; the cast saturates"
        )]
        Ok(number) if number >= 0.0 && number.fract() == 0.0 => Ok(number as u64),
        Ok(number) if number == f64::INFINITY => Ok(u64::MAX),
        _ => Err(FieldError::new(Problem::NotWhole { got: digits.chars().take(40).collect() })),
    }
}

/// Removes whitespace between tokens; returns `None` if there is none.
fn without_spaces(json: &str) -> Option<String> {
    let mut compact: Option<String> = None;
    let (bytes, mut kept_until, mut at) = (json.as_bytes(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at),
            b' ' | b'\n' | b'\r' | b'\t' => {
                compact.get_or_insert_default().push_str(&json[kept_until..at - 1]);
                kept_until = at;
            }
            _ => {}
        }
    }
    if let Some(text) = &mut compact {
        text.push_str(&json[kept_until..]);
    }
    compact
}

/// Returns the index behind the closing quote of a string, from an index in it.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| escape::find(rest, b'"', b'\\')) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        // What is escaped does not end the string.
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn whitespace_between_tokens_goes_and_whitespace_in_strings_stays() {
        let json = "{ \"a b\" : [ 1 ,\n\t\"x \\\" y\\\\\" , true ] }";
        assert_eq!(Json::parse(json).unwrap().as_str(), r#"{"a b":[1,"x \" y\\",true]}"#);
    }

    #[test]
    fn numbers_keep_all_their_digits() {
        for json in ["123456789012345678901234567890", "1e400", "1.10", "-0"] {
            assert_eq!(Json::parse(json).unwrap().as_str(), json);
        }
    }

    #[test]
    fn nesting_of_any_depth_is_read() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(Json::parse(&deep).unwrap().as_str(), deep);
    }

    #[test]
    fn whole_numbers_are_whole_however_they_are_written() {
        for (json, number) in [("0", 0), ("5.0", 5), ("1e3", 1000), ("-0", 0), ("1e30", u64::MAX)] {
            assert_eq!(whole_number(raw(json)), Ok(number), "{json}");
        }
        for json in ["-1", "1.5", "-1e400"] {
            let error = whole_number(raw(json)).unwrap_err().to_string();
            assert!(error.ends_with(&format!("must be a whole number of 0 or more; got {json}")));
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_named_as_such() {
        let error = text(raw(r#""a\ud83d""#)).unwrap_err();
        assert_eq!(error.problem, Problem::LoneSurrogate);
        assert_eq!(text(raw(r#""\ud83d\ude00""#)).unwrap(), "😀");
    }
}
