//! The verdict on a turn: the final event, the exit of the process and the text have to agree.
//! [`super::StreamParser::finish`] calls it.

use super::error_class::{self, ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, TextOrigin, Usage};
use super::turn::End;
use super::usage_limit::UsageLimit;
use super::{Reader, StreamParser};

/// The exit of the agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// The result of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnOutput {
    /// The answer. It is present if and only if there is no error.
    pub final_text: Option<FinalText>,
    /// For a failed turn: the last text of the answer, as far as it arrived.
    pub partial_text: Option<String>,
    pub usage: Option<Usage>,
    pub cost: Option<Cost>,
    /// The agent's own session id.
    pub native_session_id: Option<Box<str>>,
    /// The model that the agent named.
    pub model: Option<Box<str>>,
    /// Tools that it was not allowed to use.
    pub denied_tools: Vec<DeniedTool>,
    pub error: Option<TurnError>,
    pub lines: LineCounts,
}

impl TurnOutput {
    /// Creates the output of a turn that has this text and no stream.
    pub fn answered(text: String) -> Self {
        let final_text = Some(FinalText { text, origin: TextOrigin::Stated });
        Self { final_text, ..Self::default() }
    }

    /// Creates the output of a turn that failed before any output.
    pub fn failed(error: TurnError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalText {
    pub text: String,
    pub origin: TextOrigin,
}

/// Numbers of lines of a stream by kind. Plain text has only `unparsed`: the number of invalid UTF-8 sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub known: u64,
    /// Events that have an unknown type or are not used.
    pub ignored: u64,
    pub echoes: u64,
    pub unparsed: u64,
    pub oversize: u64,
    /// Lines that cannot come from a genuine run.
    pub violations: u64,
}

/// If Gemini prints a longer echo and nothing after it, the prompt is too large.
const ECHO_OVERFLOW_BYTES: u64 = 1024 * 1024;

impl StreamParser {
    /// Returns the result of the turn, and prepares for the next one. `stderr_tail` is searched for words, never for
    /// events.
    pub(super) fn judge(&mut self, exit: Exit, stderr_tail: &str) -> TurnOutput {
        let verdict = match self.turn.end.take() {
            // A failure with an unknown message may still be classified by the exit code.
            Some(End::Failure(error)) if error.class == ErrorClass::Crash => {
                let class = class_of_exit(&self.reader, exit).unwrap_or(error.class);
                Err(TurnError { class, ..error })
            }
            Some(End::Failure(error)) => Err(error),
            Some(End::Success { text, origin, is_cut }) => {
                check_success(FinalText { text, origin }, is_cut, exit)
            }
            None => Err(self.unfinished(exit, stderr_tail)),
        };
        let (final_text, error) = match verdict {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(self.turn.with_limit(error))),
        };
        let mut turn = self.turn.take();
        let output = std::mem::take(&mut turn.output);
        let partial_text = error.as_ref().and_then(|_| turn.into_partial_text());
        let lines = std::mem::take(&mut self.counts);
        TurnOutput { final_text, partial_text, error, lines, ..output }
    }

    /// Returns the error of a turn without a final event.
    fn unfinished(&self, exit: Exit, stderr_tail: &str) -> TurnError {
        if let Some(last_warning) = &self.turn.last_warning
            && last_warning.class != ErrorClass::Crash
        {
            return last_warning.clone();
        }
        let stderr = error_class::end(stderr_tail);
        let class = match &self.reader {
            Reader::Gemini(gemini)
                if exit == Exit::Code(0) && gemini.echo_bytes > ECHO_OVERFLOW_BYTES =>
            {
                ErrorClass::Overflow
            }
            reader => {
                // If a program exits before the prompt is sent, it is the wrong program or was started incorrectly.
                let is_setup = matches!(reader, Reader::Acp(acp) if acp.is_before_prompt())
                    && matches!(exit, Exit::Code(_));
                let otherwise = if is_setup { ErrorClass::Setup } else { ErrorClass::Crash };
                let by_exit = class_of_exit(&self.reader, exit);
                by_exit.or_else(|| ErrorClass::from_message(stderr)).unwrap_or(otherwise)
            }
        };
        let mut message = said_exit(exit);
        if !matches!(self.reader, Reader::Text(_)) {
            message.push_str(" without a final event");
        }
        if self.counts.oversize > 0 {
            message.push_str("; a line was too long to be read");
        }
        if let Some(line) = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            message.push_str("; stderr ends with: ");
            message.push_str(line.get(..line.floor_char_boundary(500)).unwrap_or(line));
        }
        let limit = UsageLimit::from_message(stderr).filter(|_| class == ErrorClass::Quota);
        TurnError { limit, ..TurnError::new(class, message) }
    }
}

fn check_success(text: FinalText, is_cut: bool, exit: Exit) -> Result<FinalText, TurnError> {
    if exit != Exit::Code(0) {
        let message = format!("it reported success, and then {}", said_exit(exit));
        Err(TurnError::new(ErrorClass::Crash, message))
    } else if text.text.trim().is_empty() {
        Err(TurnError::new(ErrorClass::Empty, "finished without any output"))
    } else if is_cut {
        Err(TurnError::new(ErrorClass::Limit, "the answer is longer than the limit"))
    } else {
        Ok(text)
    }
}

/// Returns the class of an exit code. Only Gemini has specific codes: its own ones, and the lowest eight bits of HTTP
/// statuses.
fn class_of_exit(reader: &Reader, exit: Exit) -> Option<ErrorClass> {
    match (reader, exit) {
        (Reader::Gemini(_), Exit::Code(41)) => Some(ErrorClass::Auth),
        (Reader::Gemini(_), Exit::Code(42 | 55)) => Some(ErrorClass::Setup),
        (Reader::Gemini(_), Exit::Code(53)) => Some(ErrorClass::Limit),
        (Reader::Gemini(_), Exit::Code(code @ 144..=247)) => {
            ErrorClass::from_status(u64::try_from(code).ok()? + 256)
        }
        (Reader::Codex(_), Exit::Code(2)) => Some(ErrorClass::Setup),
        _ => None,
    }
}

fn said_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}
