//! How fast what agents write is read: the streams as they were recorded, with their middle repeated, once
//! as they are and once with texts of two kilobytes.

use std::time::Duration;

use tertulia_dialect::stream::{AgentStream, Exit, Limits, StreamParser};

use crate::measure::alone;
use crate::report::{Figure, Theme, Unit};

/// What a reader has to manage.
const LIMIT: f64 = 200.0;
/// How much is read at once, as from a pipe.
const CHUNK: usize = 64 * 1024;
/// How long a stream is.
const BYTES: usize = 32 * 1024 * 1024;
const TIME: Duration = Duration::from_millis(1_500);

/// A recorded stream.
struct Recorded {
    name: &'static str,
    stream: AgentStream,
    lines: &'static str,
    /// How many lines at its beginning and its end stand once.
    once: (usize, usize),
    /// A text in it that may be longer.
    text: &'static str,
}

const RECORDED: [Recorded; 7] = [
    Recorded {
        name: "Claude Code, pieces of text",
        stream: AgentStream::Claude,
        lines: include_str!("../../../crates/dialect/tests/fixtures/stream/claude-partial.jsonl"),
        once: (2, 1),
        text: "Hello from the fake model.",
    },
    Recorded {
        name: "Claude Code, tools",
        stream: AgentStream::Claude,
        lines: include_str!("../../../crates/dialect/tests/fixtures/stream/claude-tool.jsonl"),
        once: (1, 1),
        text: "fake-tool-output",
    },
    Recorded {
        name: "Codex, tools",
        stream: AgentStream::Codex,
        lines: include_str!("../../../crates/dialect/tests/fixtures/stream/codex-tools.jsonl"),
        once: (2, 1),
        text: "fake-tool-output",
    },
    Recorded {
        name: "Gemini CLI, pieces of text",
        stream: AgentStream::Gemini,
        lines: include_str!("../../../crates/dialect/tests/fixtures/stream/gemini-text.jsonl"),
        once: (2, 1),
        text: "Hello from t",
    },
    Recorded {
        name: "Chat Completions",
        stream: AgentStream::OpenAiChat,
        lines: include_str!("../../../crates/dialect/tests/fixtures/stream/chat-text.sse"),
        once: (0, 6),
        text: "Grüße ",
    },
    Recorded {
        name: "ACP, pieces of text",
        stream: AgentStream::Acp,
        lines: include_str!("../../../crates/dialect/tests/fixtures/stream/acp-text.jsonl"),
        once: (2, 1),
        text: "Grüße ",
    },
    Recorded {
        name: "a command's JSON lines",
        stream: AgentStream::Jsonl,
        lines: "{\"type\":\"text\",\"text\":\"Hello from the fake model.\"}\n{\"type\":\"end\"}\n",
        once: (0, 1),
        text: "Hello from the fake model.",
    },
];

/// Measures all of them.
pub(crate) fn measure() -> Result<Theme, String> {
    let mut figures = Vec::new();
    let long = "The quick brown fox — jumps over.\\n    let x = \\\"a\\\";\\n".repeat(40);
    for recorded in &RECORDED {
        let small = recorded.repeated(recorded.lines);
        figures.push(figure(recorded.name, recorded.stream, &small)?);
        let large = recorded.repeated(&recorded.lines.replace(recorded.text, &long));
        let name = format!("{}, texts of 2 KB", recorded.name);
        figures.push(figure(&name, recorded.stream, &large)?);
    }
    Ok(Theme { title: "Reading what agents write", figures })
}

impl Recorded {
    /// Returns the stream with its middle repeated.
    fn repeated(&self, lines: &str) -> String {
        let lines: Vec<&str> = lines.split_inclusive('\n').collect();
        let (first, last) = self.once;
        let end = lines.len().saturating_sub(last);
        let part = |from: usize, to: usize| lines.get(from..to).unwrap_or_default().concat();
        let (head, middle, tail) = (part(0, first), part(first, end), part(end, lines.len()));
        let mut text = head;
        while text.len() < BYTES {
            text.push_str(&middle);
        }
        text + &tail
    }
}

fn figure(name: &str, stream: AgentStream, text: &str) -> Result<Figure, String> {
    let read = || {
        let limits = Limits { text_bytes_max: 1 << 30, ..Limits::default() };
        let mut parser = StreamParser::with_limits(stream, limits);
        let (mut events, mut count) = (Vec::new(), 0);
        for chunk in text.as_bytes().chunks(CHUNK) {
            parser.push(chunk, &mut events);
            count += events.len();
            events.clear();
        }
        (parser.finish(Exit::Code(0), "", &mut events), count)
    };
    // A stream that is not understood would be read fast.
    let (output, events) = read();
    let lines = output.lines;
    if output.error.is_some() || lines.unparsed + lines.violations > 0 {
        return Err(format!("{name}: {:?}, {lines:?}", output.error));
    }
    let nanoseconds = alone(TIME, || read().1);
    let speed = text.len() as f64 / nanoseconds * 1e3;
    let events = events as f64 / (text.len() as f64 / 1e6);
    let detail = format!("{events:.0} events a MB");
    Ok(Figure::new(name, speed, Unit::MegabytesPerSecond).at_least(LIMIT).of(detail))
}
