//! Parses the output of an agent's process. Takes bytes of stdout in any chunks, and returns events and, at the end,
//! a verdict.
//!
//! Pure. The `agent` crate reads the pipes and calls [`StreamParser`]; this module handles no processes. Only stdout
//! contains events. The end of stderr is only searched for words that indicate the class of a failure.
//! docs/agent-streams.md describes the recorded output of each agent.
//!
//!
//! ```
//! use tertulia_dialect::stream::{AgentStream, Exit, StreamParser};
//!
//! let mut parser = StreamParser::new(AgentStream::Jsonl);
//! let mut events = Vec::new();
//! parser.push(b"{\"type\":\"text\",\"text\":\"Hel", &mut events);
//! parser.push(b"lo.\"}\n{\"type\":\"end\"}\n", &mut events);
//! let output = parser.finish(Exit::Code(0), "", &mut events);
//! assert_eq!(output.final_text.unwrap().text, "Hello.");
//! assert_eq!(output.error, None);
//! ```

mod acp;
mod app_server;
mod chat;
mod claude;
mod client;
mod codex;
mod copilot;
mod error_class;
mod event;
mod fields;
mod gemini;
mod gemini_transcript;
mod jsonl;
mod lines;
mod opencode;
mod outcome;
mod pi;
mod plain_text;
mod turn;
mod usage_limit;

pub use acp::NotLoaded;
pub use app_server::CodexSession;
pub use chat::{BodyError, chat_request};
pub use client::{
    AcpSession, AgentAsk, AgentClient, AgentPermission, AgentPrompt, LoadedSession,
    PermissionChoice, PermissionRequest, SessionTotals,
};
pub use error_class::{ErrorClass, TurnError};
pub use event::{Cost, DeniedTool, Scope, StreamEvent, TextOrigin, Unparsed, Usage, ViolationKind};
pub use gemini_transcript::gemini_transcript_text;
pub use outcome::{Exit, FinalText, LineCounts, TurnOutput};
pub use usage_limit::{Day, LimitScope, ResetTime, UsageLimit, WallTime};

use acp::Acp;
use app_server::AppServer;
use chat::Chat;
use claude::Claude;
use codex::Codex;
use fields::Refusal;
use gemini::Gemini;
use lines::{Line, Lines};
use opencode::OpenCode;
use pi::Pi;
use plain_text::PlainText;
use turn::Turn;

/// Format of an agent's stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentStream {
    /// Claude Code, `--output-format stream-json --verbose`.
    Claude,
    /// Codex, `exec --json`.
    Codex,
    /// Gemini CLI, `-o stream-json`.
    Gemini,
    /// opencode, `run --format json`.
    OpenCode,
    /// Copilot CLI, `--output-format json`.
    Copilot,
    /// pi, `--mode json`.
    Pi,
    /// Any program: its output is the answer.
    Text,
    /// Any program that writes our JSON lines.
    Jsonl,
    /// An endpoint that streams Chat Completions: the body of its response.
    OpenAiChat,
    /// An agent that supports the Agent Client Protocol; [`AgentClient`] answers it.
    Acp,
}

impl AgentStream {
    /// All formats.
    #[rustfmt::skip]
    pub const ALL: [Self; 10] = [
        Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode, Self::Copilot, Self::Pi,
        Self::Text, Self::Jsonl, Self::OpenAiChat, Self::Acp,
    ];
}

/// Limits on how much of an agent's output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longer lines are skipped.
    pub line_bytes_max: usize,
    /// Only the start of a longer answer is kept, and the turn fails.
    pub text_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes_max: 16 * 1024 * 1024, text_bytes_max: 64 * 1024 * 1024 }
    }
}

/// Parses the stream of one turn. The [`Limits`] bound its memory. Its time is linear in the number of bytes.
#[derive(Debug)]
pub struct StreamParser {
    lines: Lines,
    reader: Reader,
    turn: Turn,
    counts: LineCounts,
}

#[derive(Debug)]
enum Reader {
    Claude(Claude),
    Codex(Codex),
    Gemini(Gemini),
    OpenCode(OpenCode),
    Copilot,
    Pi(Pi),
    Text(PlainText),
    Jsonl,
    Chat(Chat),
    Acp(Box<Acp>),
    AppServer(Box<AppServer>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Known,
    Ignored,
    /// The prompt, repeated.
    Echo,
}

type Reading = Result<LineKind, Refusal>;

impl StreamParser {
    /// Creates a parser for one turn with the default limits.
    pub fn new(stream: AgentStream) -> Self {
        Self::with_limits(stream, Limits::default())
    }

    /// Creates a parser for one turn.
    pub fn with_limits(stream: AgentStream, limits: Limits) -> Self {
        let reader = match stream {
            AgentStream::Claude => Reader::Claude(Claude::default()),
            AgentStream::Codex => Reader::Codex(Codex::default()),
            AgentStream::Gemini => Reader::Gemini(Gemini::default()),
            AgentStream::OpenCode => Reader::OpenCode(OpenCode::default()),
            AgentStream::Copilot => Reader::Copilot,
            AgentStream::Pi => Reader::Pi(Pi::default()),
            AgentStream::Text => Reader::Text(PlainText::default()),
            AgentStream::Jsonl => Reader::Jsonl,
            AgentStream::OpenAiChat => Reader::Chat(Chat::default()),
            AgentStream::Acp => Reader::Acp(Box::default()),
        };
        Self::with_reader(reader, limits)
    }

    fn with_reader(reader: Reader, limits: Limits) -> Self {
        Self {
            lines: Lines::new(limits.line_bytes_max),
            reader,
            turn: Turn::new(limits),
            counts: LineCounts::default(),
        }
    }

    /// Accepts only this session of the agent, for a turn that resumes it. Codex answers an unknown id with a new
    /// session.
    #[must_use]
    pub fn expecting_session(mut self, id: &str) -> Self {
        self.turn.output.native_session_id = Some(id.into());
        self
    }

    /// Parses the next bytes of stdout and appends their events.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) {
        let Self { lines, reader, turn, counts, .. } = self;
        turn.collecting_events(out, |turn| match reader {
            Reader::Text(text) => text.push(bytes, turn),
            _ => lines.push(bytes, |line| read_line(&line, reader, turn, counts)),
        });
    }

    /// Returns whether the final event has arrived.
    pub fn is_ended(&self) -> bool {
        self.turn.end.is_some()
    }

    /// Returns whether the answer is complete. An endpoint may still send its usage before the
    /// final event.
    pub fn is_answered(&self) -> bool {
        self.is_ended() || matches!(&self.reader, Reader::Chat(chat) if chat.is_finished())
    }

    /// Parses the rest of the last line.
    fn flush(&mut self, out: &mut Vec<StreamEvent>) {
        let Self { lines, reader, turn, counts } = self;
        turn.collecting_events(out, |turn| {
            lines.finish(|line| read_line(&line, reader, turn, counts));
        });
    }

    /// Parses the rest of the last line and judges the turn. `stderr_tail` is the end of the agent's stderr. It only
    /// helps to classify a failure. For an endpoint it is the error of the connection.
    pub fn finish(
        mut self,
        exit: Exit,
        stderr_tail: &str,
        out: &mut Vec<StreamEvent>,
    ) -> TurnOutput {
        let Self { lines, reader, turn, counts, .. } = &mut self;
        turn.collecting_events(out, |turn| {
            lines.finish(|line| read_line(&line, reader, turn, counts));
            match reader {
                Reader::OpenCode(opencode) => opencode.finish(turn),
                Reader::Chat(chat) => chat.finish(error_class::end(stderr_tail).trim(), turn),
                Reader::Text(text) => {
                    text.finish(turn);
                    counts.unparsed = text.unparsed;
                    // Only the exit code shows whether a plain text is complete.
                    if exit == Exit::Code(0) {
                        turn.succeed_with_pieces(false);
                    }
                }
                _ => {}
            }
        });
        self.judge(exit, stderr_tail)
    }

    /// Judges a turn whose request an endpoint refused with this HTTP status and body. `headers` are `name: value`
    /// lines; [`UsageLimit::is_header`] selects the useful ones.
    pub fn refused(
        mut self,
        status: u16,
        headers: &str,
        body: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> TurnOutput {
        let error = chat::from_reply(status, headers, &String::from_utf8_lossy(body));
        self.turn.collecting_events(out, |turn| turn.fail(error));
        self.judge(Exit::Code(0), "")
    }

    /// Judges a turn that the caller ended for this reason. The reason becomes no event, because the agent did not
    /// report it.
    pub fn failed(mut self, error: TurnError) -> TurnOutput {
        self.turn.give_up(error);
        self.judge(Exit::Code(0), "")
    }
}

fn read_line(line: &Line<'_>, reader: &mut Reader, turn: &mut Turn, counts: &mut LineCounts) {
    let bytes = match *line {
        Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return,
        Line::Whole(bytes) => bytes,
        Line::Oversize { prefix, length } => {
            counts.oversize += 1;
            match reader {
                Reader::Chat(chat) => chat.has_gap = true,
                Reader::Acp(acp) => acp.has_gap = true,
                Reader::AppServer(server) => server.has_gap = true,
                _ => {}
            }
            turn.events.push(StreamEvent::Oversize { length, prefix: prefix.into() });
            return;
        }
    };
    let reading = match std::str::from_utf8(bytes) {
        Err(_) => Err(Unparsed::NotUtf8.into()),
        Ok(line) => match reader {
            Reader::Claude(claude) => claude.read(line, turn),
            Reader::Codex(codex) => codex.read(line, turn),
            Reader::Gemini(gemini) => gemini.read(line, turn),
            Reader::OpenCode(opencode) => opencode.read(line, turn),
            Reader::Copilot => copilot::read(line, turn),
            Reader::Pi(pi) => pi.read(line, turn),
            Reader::Jsonl => jsonl::read(line, turn),
            Reader::Chat(chat) => chat.read(line, turn),
            Reader::Acp(acp) => acp.read(line, turn),
            Reader::AppServer(server) => server.read(line, turn),
            // Plain text has no lines.
            Reader::Text(_) => Ok(LineKind::Ignored),
        },
    };
    let counter = match reading {
        Ok(LineKind::Known) => &mut counts.known,
        Ok(LineKind::Ignored) => &mut counts.ignored,
        Ok(LineKind::Echo) => &mut counts.echoes,
        Err(Refusal::Unparsed(reason)) => {
            turn.events.push(StreamEvent::Unparsed { reason, line: bytes.into() });
            &mut counts.unparsed
        }
        Err(Refusal::Violation(kind)) => {
            turn.events.push(StreamEvent::Violation { kind, line: bytes.into() });
            &mut counts.violations
        }
    };
    *counter += 1;
}
