//! What an agent's process says while it works: bytes of its stdout in any chunking, events out, and a
//! verdict at the end.
//!
//! Pure. The `agent` room reads the pipes and calls [`StreamParser`]; nothing here knows a process. Only
//! stdout is protocol: the end of stderr is looked through for words that name the class of a failure,
//! and nothing in it becomes an event. docs/agent-streams.md says what was recorded of each agent.
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

mod class;
mod claude;
mod codex;
mod event;
mod gemini;
mod jsonl;
mod lines;
mod outcome;
mod pick;
mod plain_text;
mod turn;

pub use class::{ErrorClass, TurnError};
pub use event::{Cost, DeniedTool, Scope, StreamEvent, TextOrigin, Unparsed, Usage, ViolationKind};
pub use outcome::{Exit, FinalText, LineCounts, TurnOutput};

use claude::Claude;
use codex::Codex;
use gemini::Gemini;
use lines::{Line, Lines};
use outcome::Ending;
use pick::Refusal;
use plain_text::PlainText;
use turn::Turn;

/// What an agent writes to its stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStream {
    /// Claude Code, `--output-format stream-json --verbose`.
    Claude,
    /// Codex, `exec --json`.
    Codex,
    /// Gemini CLI, `-o stream-json`.
    Gemini,
    /// Any program: its output is the answer.
    Text,
    /// Any program that writes our JSON lines.
    Jsonl,
}

impl AgentStream {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Gemini, Self::Text, Self::Jsonl];
}

/// How much is kept of what an agent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A longer line is drained, not read.
    pub line_bytes_max: usize,
    /// Of a longer answer, only the beginning is kept, and the turn fails.
    pub text_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes_max: 16 * 1024 * 1024, text_bytes_max: 64 * 1024 * 1024 }
    }
}

/// Reads the stream of one turn. Memory is bounded by the [`Limits`]; time is linear in the bytes.
#[derive(Debug)]
pub struct StreamParser {
    lines: Lines,
    reader: Reader,
    turn: Turn,
    counts: LineCounts,
}

/// The closed set of readers, each with what it remembers.
#[derive(Debug)]
enum Reader {
    Claude(Claude),
    Codex(Codex),
    Gemini(Gemini),
    Text(PlainText),
    Jsonl,
}

/// What became of a line that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Known,
    Ignored,
    /// The prompt, said back.
    Echo,
}

type Reading = Result<Fate, Refusal>;

impl StreamParser {
    /// A parser for one turn, with the default limits.
    pub fn new(stream: AgentStream) -> Self {
        Self::with_limits(stream, Limits::default())
    }

    /// A parser for one turn.
    pub fn with_limits(stream: AgentStream, limits: Limits) -> Self {
        let reader = match stream {
            AgentStream::Claude => Reader::Claude(Claude::default()),
            AgentStream::Codex => Reader::Codex(Codex::default()),
            AgentStream::Gemini => Reader::Gemini(Gemini::default()),
            AgentStream::Text => Reader::Text(PlainText::default()),
            AgentStream::Jsonl => Reader::Jsonl,
        };
        Self {
            lines: Lines::new(limits.line_bytes_max),
            reader,
            turn: Turn::new(limits),
            counts: LineCounts::default(),
        }
    }

    /// Takes only this session for the agent's own, as after a resume: Codex answers an id that it does
    /// not know with a new session.
    #[must_use]
    pub fn expecting_session(mut self, id: &str) -> Self {
        self.turn.session_id = Some(id.into());
        self
    }

    /// Reads the next bytes of stdout and appends what they say.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) {
        let Self { lines, reader, turn, counts } = self;
        match reader {
            Reader::Text(text) => text.push(bytes, turn, out),
            _ => lines.push(bytes, |line| read_line(&line, reader, turn, counts, out)),
        }
    }

    /// Reads what is left of the last line, and judges the turn. `stderr_tail` is the end of what the
    /// agent wrote to stderr; it only helps to name the class of a failure.
    pub fn finish(
        mut self,
        exit: Exit,
        stderr_tail: &str,
        out: &mut Vec<StreamEvent>,
    ) -> TurnOutput {
        let Self { lines, reader, turn, counts } = &mut self;
        lines.finish(|line| read_line(&line, reader, turn, counts, out));
        let mut echo_bytes = 0;
        let stream = match reader {
            Reader::Claude(_) => AgentStream::Claude,
            Reader::Codex(_) => AgentStream::Codex,
            Reader::Jsonl => AgentStream::Jsonl,
            Reader::Gemini(gemini) => {
                echo_bytes = gemini.echo_bytes;
                AgentStream::Gemini
            }
            Reader::Text(text) => {
                text.finish(turn, out);
                counts.unparsed = text.unparsed;
                // Nothing but the exit code says that a text is whole.
                if exit == Exit::Code(0) {
                    turn.succeed_with_pieces(false, out);
                }
                AgentStream::Text
            }
        };
        let ending = Ending { stream, exit, stderr_tail, echo_bytes, lines: self.counts };
        outcome::judge(self.turn, &ending)
    }
}

/// Reads one line, and says what became of it.
fn read_line(
    line: &Line<'_>,
    reader: &mut Reader,
    turn: &mut Turn,
    counts: &mut LineCounts,
    out: &mut Vec<StreamEvent>,
) {
    let bytes = match *line {
        Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return,
        Line::Whole(bytes) => bytes,
        Line::Oversize { head, length } => {
            counts.oversize += 1;
            out.push(StreamEvent::Oversize { length, head: head.into() });
            return;
        }
    };
    let reading = match std::str::from_utf8(bytes) {
        Err(_) => Err(Unparsed::NotUtf8.into()),
        Ok(line) => match reader {
            Reader::Claude(claude) => claude.read(line, turn, out),
            Reader::Codex(codex) => codex.read(line, turn, out),
            Reader::Gemini(gemini) => gemini.read(line, turn, out),
            Reader::Jsonl => jsonl::read(line, turn, out),
            // Plain text has no lines.
            Reader::Text(_) => Ok(Fate::Ignored),
        },
    };
    let counter = match reading {
        Ok(Fate::Known) => &mut counts.known,
        Ok(Fate::Ignored) => &mut counts.ignored,
        Ok(Fate::Echo) => &mut counts.echoes,
        Err(Refusal::Unparsed(reason)) => {
            out.push(StreamEvent::Unparsed { reason, line: bytes.into() });
            &mut counts.unparsed
        }
        Err(Refusal::Violation(kind)) => {
            out.push(StreamEvent::Violation { kind, line: bytes.into() });
            &mut counts.violations
        }
    };
    *counter += 1;
}
