//! Classes of failed turns. A class shows who can solve the problem: the person (key, plan, setup), the caller (a
//! smaller prompt, a later retry) or nobody. The readers and the verdict use it. It depends on messages and HTTP
//! statuses, not on any agent's JSON.

use std::fmt;

use super::usage_limit::UsageLimit;

/// Maximum number of bytes of a message that are searched. Genuine messages are short.
const SEARCHED_BYTES_MAX: usize = 8 * 1024;

tertulia_session::word_enum! {
    /// The class of the error of a failed turn.
    #[non_exhaustive]
    pub enum ErrorClass: "the class of a failure, such as auth or quota" {
        /// There is no key, or the key is wrong or lacks a permission.
        Auth = "auth",
        /// Too many requests, or the plan is used up.
        Quota = "quota",
        /// The prompt is larger than the model accepts.
        Overflow = "overflow",
        /// The service cannot be reached, has disconnected, or has an internal error.
        Network = "network",
        /// The model or its safety filter declined to answer.
        Refused = "refused",
        /// The agent reached a limit of turns, money or length that was set for it.
        Limit = "limit",
        /// The agent was started incorrectly: with a flag, model, session or folder that it does
        /// not accept.
        Setup = "setup",
        /// The turn succeeded without any text.
        Empty = "empty",
        Cancelled = "cancelled",
        /// No other class applies: the program was killed, or the error is unknown.
        Crash = "crash",
    }
}

/// A failure with its class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{class}: {message}; {}", class.advice())]
pub struct TurnError {
    pub class: ErrorClass,
    pub message: Box<str>,
    /// The usage limit that the agent or endpoint reported as the reason.
    pub limit: Option<UsageLimit>,
}

impl ErrorClass {
    /// Returns advice on what to do about it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Auth => "log in to the agent, or check its key",
            Self::Quota => "wait, or check your plan",
            Self::Overflow => "send a smaller prompt, or choose a model with a larger window",
            Self::Network => "check the connection and try again later",
            Self::Refused => "rephrase the request, or choose another model",
            Self::Limit => "increase timeout_s, or ask for a smaller task",
            Self::Setup => "check the agent's settings: model, args, cwd",
            Self::Empty => "try again",
            Self::Cancelled => "retry the turn if you still want it",
            Self::Crash => "try again, or run it manually to see more output",
        }
    }

    /// Returns whether a failure of this class can be a usage limit. The other classes have another known reason. With
    /// some services, a request over a limit is forbidden, and an unknown message has the class `crash`.
    pub(super) fn may_be_limit(self) -> bool {
        matches!(self, Self::Quota | Self::Auth | Self::Crash)
    }

    pub(super) fn from_status(status: u64) -> Option<Self> {
        match status {
            401 | 403 | 407 => Some(Self::Auth),
            402 | 429 => Some(Self::Quota),
            404 => Some(Self::Setup),
            408 | 500..=599 => Some(Self::Network),
            413 => Some(Self::Overflow),
            _ => None,
        }
    }

    /// Returns the class of a message: by the HTTP status in it, otherwise by its words.
    pub(super) fn from_message(message: &str) -> Option<Self> {
        let message = beginning(message).to_ascii_lowercase();
        status_in(&message).and_then(Self::from_status).or_else(|| {
            let is_said =
                |words: &&(Self, &[&str])| words.1.iter().any(|word| message.contains(word));
            WORDS.iter().find(is_said).map(|(class, _)| *class)
        })
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TurnError {
    /// Creates a failure of this class.
    pub fn new(class: ErrorClass, message: impl Into<Box<str>>) -> Self {
        Self { class, message: message.into(), limit: None }
    }

    /// Creates a failure of this class. Without a class, derives it from the message.
    pub(super) fn classed(class: Option<ErrorClass>, message: impl Into<Box<str>>) -> Self {
        let message = message.into();
        let class = class.or_else(|| ErrorClass::from_message(&message));
        Self::new(class.unwrap_or(ErrorClass::Crash), message)
    }
}

/// Phrases of the agents' messages in lower case. The first class that matches is used. The phrases were recorded
/// from the agents, unless docs/agent-streams.md names another source.
#[rustfmt::skip]
const WORDS: [(ErrorClass, &[&str]); 8] = [
    (ErrorClass::Overflow, &[
        "context_length_exceeded", "context window", "prompt is too long", "prompt as too long",
        "maximum number of tokens", "exceeds the maximum length",
    ]),
    (ErrorClass::Limit, &[
        "max_output_tokens", "output token maximum", "maximum number of turns", "max session turns",
        "maximum budget",
    ]),
    (ErrorClass::Quota, &[
        "rate limit", "too many requests", "quota", "usage limit", "resource_exhausted", "billing",
    ]),
    (ErrorClass::Auth, &[
        "not logged in", "please run /login", "invalid api key", "unauthorized", "unauthenticated",
        "failed to authenticate", "auth method", "missing environment variable",
        "api_key environment variable",
    ]),
    (ErrorClass::Refused, &["safety", "safeguards", "refusal"]),
    (ErrorClass::Empty, &["empty response"]),
    (ErrorClass::Setup, &[
        "model not found", "unrecognized_model", "unknown option", "unexpected argument",
        "trusted directory", "session id", "no conversation found", "no rollout found",
        "requires --verbose", "no input provided", "no prompt provided", "input must be provided",
        "prompt file not found", "cannot be used with root", "no longer supported",
    ]),
    (ErrorClass::Network, &[
        "connection", "network error", "disconnected", "fetch failed", "error sending request",
        "high demand", "overloaded", "stream ended without a finish reason", "api error: terminated",
    ]),
];

/// Returns the HTTP status in a message, if a word before it marks it as one.
fn status_in(message: &str) -> Option<u64> {
    const CUES: [&str; 4] = ["status ", "status: ", "\"code\":", "api error: "];
    CUES.iter().find_map(|cue| {
        message.match_indices(cue).find_map(|(at, _)| {
            let rest = message.get(at + cue.len()..)?.trim_start();
            let digits = rest.get(..3)?;
            let is_longer = rest.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
            digits.parse().ok().filter(|status| !is_longer && (400..600).contains(status))
        })
    })
}

pub(super) fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(SEARCHED_BYTES_MAX)).unwrap_or(text)
}

pub(super) fn end(text: &str) -> &str {
    let start = text.len().saturating_sub(SEARCHED_BYTES_MAX);
    text.get(text.ceil_char_boundary(start)..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_counts_only_behind_a_word_that_says_it_is_one() {
        assert_eq!(status_in("unexpected status 401 unauthorized"), Some(401));
        assert_eq!(status_in("last status: 429"), Some(429));
        assert_eq!(status_in("{\"error\":{\"code\": 503}}"), Some(503));
        assert_eq!(status_in("i read 401 files, status 4011, status 200"), None);
        assert_eq!(status_in("status \u{e9}\u{e9}"), None);
    }

    #[test]
    fn a_status_that_means_one_thing_goes_before_words() {
        let class = ErrorClass::from_message("status 429: quota of safety tokens, no connection");
        assert_eq!(class, Some(ErrorClass::Quota));
        let class = ErrorClass::from_message("status 400: exceeds the maximum number of tokens");
        assert_eq!(class, Some(ErrorClass::Overflow));
    }

    #[test]
    fn every_class_is_found_by_its_word() {
        for class in ErrorClass::ALL {
            assert_eq!(class.as_str().parse::<ErrorClass>().ok(), Some(class));
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "é".repeat(SEARCHED_BYTES_MAX);
        assert_eq!(beginning(&long).len(), SEARCHED_BYTES_MAX);
        assert_eq!(end(&format!("{long}x")).len(), SEARCHED_BYTES_MAX - 1);
    }
}
