//! The verdict on a turn: the final event, the way the process ended and the text have to agree. Called by
//! [`super::StreamParser::finish`].

use super::AgentStream;
use super::class::{self, ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, TextOrigin, Usage};
use super::turn::{End, Turn};

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

/// What became of the lines of a stream. For plain text, only `unparsed` counts: the places that are not
/// UTF-8.
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

/// What the verdict looks at besides the turn.
pub(super) struct Ending<'a> {
    pub(super) stream: AgentStream,
    pub(super) exit: Exit,
    /// Looked through for words, never for events.
    pub(super) stderr_tail: &'a str,
    pub(super) echo_bytes: u64,
    pub(super) is_setup: bool,
    pub(super) lines: LineCounts,
}

/// An echo longer than this, and then nothing, is how Gemini says that the prompt is too large.
const ECHO_OVERFLOW_BYTES: u64 = 1024 * 1024;

pub(super) fn judge(mut turn: Turn, ending: &Ending<'_>) -> TurnOutput {
    let mut output = TurnOutput { lines: ending.lines, ..std::mem::take(&mut turn.output) };
    let verdict = match turn.end.take() {
        // A failure in words that are not known may still be known by the exit code.
        Some(End::Failure(error)) if error.class == ErrorClass::Crash => {
            let class = class_of_exit(ending.stream, ending.exit).unwrap_or(error.class);
            Err(TurnError { class, ..error })
        }
        Some(End::Failure(error)) => Err(error),
        Some(End::Success { text, origin, is_cut }) => {
            check_success(FinalText { text, origin }, is_cut, ending.exit)
        }
        None => Err(unfinished(&turn, ending)),
    };
    match verdict {
        Ok(text) => output.final_text = Some(text),
        Err(error) => {
            output.partial_text = turn.into_partial_text();
            output.error = Some(error);
        }
    }
    output
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

fn unfinished(turn: &Turn, ending: &Ending<'_>) -> TurnError {
    if let Some(trouble) = &turn.trouble
        && trouble.class != ErrorClass::Crash
    {
        return trouble.clone();
    }
    let stderr = class::end(ending.stderr_tail);
    let is_echo_only = ending.stream == AgentStream::Gemini
        && ending.exit == Exit::Code(0)
        && ending.echo_bytes > ECHO_OVERFLOW_BYTES;
    let class = if is_echo_only {
        ErrorClass::Overflow
    } else {
        let by_exit = class_of_exit(ending.stream, ending.exit);
        // A program that ends before it was asked anything is the wrong one, or was started wrongly.
        let is_setup = ending.is_setup && matches!(ending.exit, Exit::Code(_));
        let otherwise = if is_setup { ErrorClass::Setup } else { ErrorClass::Crash };
        by_exit.or_else(|| ErrorClass::of_message(stderr)).unwrap_or(otherwise)
    };
    let mut message = said_exit(ending.exit);
    if ending.stream != AgentStream::Text {
        message.push_str(" without a final event");
    }
    if ending.lines.oversize > 0 {
        message.push_str("; a line was too long to be read");
    }
    if let Some(line) = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        message.push_str("; stderr ends with: ");
        message.push_str(line.get(..line.floor_char_boundary(500)).unwrap_or(line));
    }
    TurnError::new(class, message)
}

/// Only Gemini's exit codes say more than that something failed: its own ones, and HTTP statuses of which
/// the lowest eight bits are left.
fn class_of_exit(stream: AgentStream, exit: Exit) -> Option<ErrorClass> {
    match (stream, exit) {
        (AgentStream::Gemini, Exit::Code(41)) => Some(ErrorClass::Auth),
        (AgentStream::Gemini, Exit::Code(42 | 55)) => Some(ErrorClass::Setup),
        (AgentStream::Gemini, Exit::Code(53)) => Some(ErrorClass::Limit),
        (AgentStream::Gemini, Exit::Code(code @ 144..=247)) => {
            ErrorClass::of_status(u64::try_from(code).ok()? + 256)
        }
        (AgentStream::Codex, Exit::Code(2)) => Some(ErrorClass::Setup),
        _ => None,
    }
}

fn said_exit(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
    }
}
