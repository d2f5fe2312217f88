//! The verdict on a turn: the final event, the way the process ended and the text have to agree. Called by
//! [`super::StreamParser::finish`].

use super::class::{self, ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, TextOrigin, Usage};
use super::turn::End;
use super::{Reader, StreamParser};

/// How the agent's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// What a turn gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnOutput {
    /// The answer; there is one if and only if there is no error.
    pub final_text: Option<FinalText>,
    /// Of a turn that failed: the last text of the answer, as far as it came.
    pub partial_text: Option<String>,
    pub usage: Option<Usage>,
    pub cost: Option<Cost>,
    /// The agent's own id of the session.
    pub native_session_id: Option<Box<str>>,
    /// The model that the agent said it would ask.
    pub model: Option<Box<str>>,
    /// What it was not allowed to use.
    pub denied_tools: Vec<DeniedTool>,
    pub error: Option<TurnError>,
    pub lines: LineCounts,
}

impl TurnOutput {
    /// Of a turn in which no stream was read: it gave this text.
    pub fn answered(text: String) -> Self {
        let final_text = Some(FinalText { text, origin: TextOrigin::Stated });
        Self { final_text, ..Self::default() }
    }

    /// Of a turn that failed before it said anything.
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

/// What became of the lines of a stream. For plain text, only `unparsed` counts: the places that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub known: u64,
    /// Events of a type that is not known, or without use.
    pub ignored: u64,
    pub echoes: u64,
    pub unparsed: u64,
    pub oversize: u64,
    /// Lines that cannot be true.
    pub violations: u64,
}

/// An echo longer than this, and then nothing, is how Gemini says that the prompt is too large.
const ECHO_OVERFLOW_BYTES: u64 = 1024 * 1024;

impl StreamParser {
    /// `stderr_tail` is looked through for words, never for events.
    pub(super) fn judge(mut self, exit: Exit, stderr_tail: &str) -> TurnOutput {
        let verdict = match self.turn.end.take() {
            // A failure in words that are not known may still be known by the exit code.
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
        let output = std::mem::take(&mut self.turn.output);
        let (final_text, error) = match verdict {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(error)),
        };
        let partial_text = error.as_ref().and_then(|_| self.turn.into_partial_text());
        TurnOutput { final_text, partial_text, error, lines: self.counts, ..output }
    }

    /// A turn without a final event.
    fn unfinished(&self, exit: Exit, stderr_tail: &str) -> TurnError {
        if let Some(trouble) = &self.turn.trouble
            && trouble.class != ErrorClass::Crash
        {
            return trouble.clone();
        }
        let stderr = class::end(stderr_tail);
        let class = match &self.reader {
            Reader::Gemini(gemini)
                if exit == Exit::Code(0) && gemini.echo_bytes > ECHO_OVERFLOW_BYTES =>
            {
                ErrorClass::Overflow
            }
            reader => {
                // A program that ends before it was asked anything is the wrong one, or was started wrongly.
                let is_setup = matches!(reader, Reader::Acp(acp) if acp.is_before_prompt())
                    && matches!(exit, Exit::Code(_));
                let otherwise = if is_setup { ErrorClass::Setup } else { ErrorClass::Crash };
                let by_exit = class_of_exit(&self.reader, exit);
                by_exit.or_else(|| ErrorClass::of_message(stderr)).unwrap_or(otherwise)
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
        TurnError::new(class, message)
    }
}

fn check_success(text: FinalText, is_cut: bool, exit: Exit) -> Result<FinalText, TurnError> {
    if exit != Exit::Code(0) {
        let message = format!("it said that it succeeded, and then {}", said_exit(exit));
        Err(TurnError::new(ErrorClass::Crash, message))
    } else if text.text.trim().is_empty() {
        Err(TurnError::new(ErrorClass::Empty, "finished without any output"))
    } else if is_cut {
        Err(TurnError::new(ErrorClass::Limit, "the answer is longer than what is kept of it"))
    } else {
        Ok(text)
    }
}

/// Only Gemini's exit codes say more than that something failed: its own ones, and HTTP statuses of which
/// the lowest eight bits are left.
fn class_of_exit(reader: &Reader, exit: Exit) -> Option<ErrorClass> {
    match (reader, exit) {
        (Reader::Gemini(_), Exit::Code(41)) => Some(ErrorClass::Auth),
        (Reader::Gemini(_), Exit::Code(42 | 55)) => Some(ErrorClass::Setup),
        (Reader::Gemini(_), Exit::Code(53)) => Some(ErrorClass::Limit),
        (Reader::Gemini(_), Exit::Code(code @ 144..=247)) => {
            ErrorClass::of_status(u64::try_from(code).ok()? + 256)
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
