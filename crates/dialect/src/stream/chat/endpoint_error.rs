//! Errors of an endpoint: in the stream, as a body, or with an HTTP status. [`super::Chat`] and
//! [`crate::stream::StreamParser::refused`] call it. Each endpoint puts the message into another field;
//! docs/agent-streams.md lists them.

use serde_json::value::RawValue;

use crate::stream::error_class::{ErrorClass, TurnError};
use crate::stream::fields::{Value, read_fields};
use crate::stream::usage_limit::UsageLimit;

/// Maximum length of an unformatted text that is shown.
const SHOWN_BYTES_MAX: usize = 300;
const MESSAGE_BYTES_MAX: usize = 4 * 1024;

/// Words in `code` and `type` that determine a class. The first match is used.
const CODES: [(ErrorClass, &[&str]); 6] = [
    (
        ErrorClass::Overflow,
        &["context_length", "context_size", "context_window", "string_above_max"],
    ),
    (ErrorClass::Quota, &["quota", "rate_limit", "billing", "tokens_per_minute"]),
    (ErrorClass::Auth, &["api_key", "authentication", "unauthorized", "permission"]),
    (ErrorClass::Refused, &["content_filter", "content_policy", "moderation"]),
    (ErrorClass::Setup, &["model_not_found", "unknown_model", "unsupported"]),
    (ErrorClass::Network, &["server_error", "overloaded", "unavailable"]),
];

/// Messages about a prompt that is too large, from endpoints without a code for it.
const OVERFLOW_WORDS: [&str; 4] =
    ["maximum context length", "context length", "context size", "context window"];

/// Returns the error of a response. `headers` are `name: value` lines.
pub(in crate::stream) fn from_reply(status: u16, headers: &str, body: &str) -> TurnError {
    let body = body.trim();
    let mut error = if body.starts_with(['{', '[']) {
        from_json(first(body), Some(u64::from(status)))
    } else {
        let class = class_of("", Some(u64::from(status)), body);
        TurnError::new(class.unwrap_or(ErrorClass::Setup), shown(body))
    };
    error.message = format!("HTTP {status}: {}", error.message).into();
    let response = format!("{headers}\n{body}");
    let limit = UsageLimit::from_response(Some(u64::from(status)), &response);
    error.limit = limit.filter(|_| error.class.may_be_limit());
    error
}

pub(super) fn from_json(json: &str, status: Option<u64>) -> TurnError {
    let mut error = error_in(json, status);
    // The limit may be in a field besides the message.
    if error.class.may_be_limit() {
        error.limit = UsageLimit::from_message(json).or(error.limit);
    }
    error
}

fn error_in(json: &str, status: Option<u64>) -> TurnError {
    const NAMES: [&str; 5] = ["error", "message", "detail", "code", "type"];
    let mut json = json;
    // A gateway may wrap the error of another gateway. The depth is limited.
    for _ in 0..3 {
        let Ok([error, message, detail, code, kind]) = read_fields(json, &NAMES) else { break };
        let message = error.text().or_else(|| message.text()).or_else(|| detail.text());
        match (error.source(), message) {
            (_, Some(message)) => return said(&message, code, kind, status),
            (Some(error), None) => json = error,
            (None, None) => break,
        }
    }
    said(beginning(json), Value::default(), Value::default(), status)
}

pub(super) fn from_body(body: &str) -> TurnError {
    let message =
        format!("the endpoint answered with something other than a completion: {}", shown(body));
    TurnError::new(ErrorClass::Setup, message)
}

/// Returns the first element of a list. Google's endpoint puts its error into one.
pub(super) fn first(body: &str) -> &str {
    let list: Option<Vec<&RawValue>> =
        body.starts_with('[').then(|| serde_json::from_str(body).ok()).flatten();
    list.and_then(|list| list.first().map(|first| first.get())).unwrap_or(body)
}

/// Returns the start of a text for display.
pub(super) fn beginning(text: &str) -> &str {
    let text = text.trim();
    text.get(..text.floor_char_boundary(SHOWN_BYTES_MAX)).unwrap_or(text)
}

fn shown(body: &str) -> &str {
    match body {
        "" => "no words",
        page if page.starts_with('<') => "a web page",
        words => beginning(words),
    }
}

fn said(message: &str, code: Value<'_>, kind: Value<'_>, status: Option<u64>) -> TurnError {
    let codes = [code, kind].map(Value::text_or_empty).join(" ");
    let status = status.or_else(|| code.count());
    let class = class_of(&codes.to_ascii_lowercase(), status, message);
    let otherwise = if status.is_some_and(|status| status >= 400) {
        ErrorClass::Setup
    } else {
        ErrorClass::Crash
    };
    let message = message.get(..message.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or(message);
    let error = TurnError::new(class.unwrap_or(otherwise), message);
    let limit = UsageLimit::from_response(status, message);
    TurnError { limit: limit.filter(|_| error.class.may_be_limit()), ..error }
}

/// Returns the class. The code is exact and the status almost exact, so the message is used last.
fn class_of(codes: &str, status: Option<u64>, message: &str) -> Option<ErrorClass> {
    let by_code = CODES.iter().find(|(_, words)| words.iter().any(|word| codes.contains(word)));
    by_code
        .map(|(class, _)| *class)
        .or_else(|| status.and_then(ErrorClass::from_status))
        .or_else(|| {
            let words = beginning(message).to_ascii_lowercase();
            let is_overflow = OVERFLOW_WORDS.iter().any(|word| words.contains(word));
            is_overflow.then_some(ErrorClass::Overflow)
        })
        .or_else(|| ErrorClass::from_message(message))
}
