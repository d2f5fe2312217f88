//! Measures the speed of reading the output of agents. Uses recorded streams whose middle is repeated, once
//! unchanged and once with texts of two kilobytes.

use std::time::Duration;

use tertulia_dialect::stream::{AgentStream, Exit, Limits, StreamParser};

use crate::measure::alone;
use crate::report::{Figure, Theme, Unit};

/// The minimum speed of a reader, in megabytes per second.
const LIMIT: f64 = 200.0;
/// The number of bytes that are read at once, as from a pipe.
const CHUNK: usize = 64 * 1024;
/// The length of a stream.
const BYTES: usize = 32 * 1024 * 1024;
const TIME: Duration = Duration::from_millis(1_500);

/// A recorded stream.
struct Recorded {
    name: &'static str,
    stream: AgentStream,
    lines: &'static str,
    /// The number of lines at its beginning and at its end that are not repeated.
    once: (usize, usize),
    /// A text in it that the second measurement replaces by a longer one.
    text: &'static str,
}

/// A recorded stream of an agent, from a file of the fixtures of `dialect`.
macro_rules! recorded {
    ($name:literal, $stream:ident, $file:literal, $once:expr, $text:literal) => {
        Recorded {
            name: $name,
            stream: AgentStream::$stream,
            lines: include_str!(concat!("../../../crates/dialect/tests/fixtures/stream/", $file)),
            once: $once,
            text: $text,
        }
    };
}

#[rustfmt::skip]
const RECORDED: [Recorded; 7] = [
    recorded!("Claude Code, pieces of text", Claude, "claude-partial.jsonl", (2, 1), "Hello from the fake model."),
    recorded!("Claude Code, tools", Claude, "claude-tool.jsonl", (1, 1), "fake-tool-output"),
    recorded!("Codex, tools", Codex, "codex-tools.jsonl", (2, 1), "fake-tool-output"),
    recorded!("Gemini CLI, pieces of text", Gemini, "gemini-text.jsonl", (2, 1), "Hello from t"),
    recorded!("Chat Completions", OpenAiChat, "chat-text.sse", (0, 6), "Grüße "),
    recorded!("ACP, pieces of text", Acp, "acp-text.jsonl", (2, 1), "Grüße "),
    Recorded {
        name: "a command's JSON lines",
        stream: AgentStream::Jsonl,
        lines: "{\"type\":\"text\",\"text\":\"Hello from the fake model.\"}\n{\"type\":\"end\"}\n",
        once: (0, 1),
        text: "Hello from the fake model.",
    },
];

/// Measures all streams.
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
    // Checks the result, because a stream of unknown events would be read fast.
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
