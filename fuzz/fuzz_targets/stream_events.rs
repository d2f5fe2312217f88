//! Reads any bytes as the output of every agent: there must be no panic, chunks must not matter, every line must be
//! counted, and there must be an answer or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tertulia_dialect::stream::{AgentStream, Exit, Limits, StreamEvent, StreamParser, TurnOutput};

/// Small limits, so that short inputs exceed them.
const LIMITS: Limits = Limits { line_bytes_max: 1024, text_bytes_max: 512 };

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines = lines.count() as u64;
    for stream in AgentStream::ALL {
        let (events, output) = read(stream, bytes.chunks(bytes.len().max(1)));
        assert_eq!(output.final_text.is_some(), output.error.is_none());
        if stream != AgentStream::Text {
            let counts = output.lines;
            let read = counts.known + counts.ignored + counts.echoes;
            assert_eq!(read + counts.unparsed + counts.oversize + counts.violations, lines);
        }
        assert!(read(stream, bytes.chunks(1 + bytes.len() % 13)) == (events, output));
    }
});

fn read<'a>(
    stream: AgentStream,
    chunks: impl Iterator<Item = &'a [u8]>,
) -> (Vec<StreamEvent>, TurnOutput) {
    let mut parser = StreamParser::with_limits(stream, LIMITS);
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut events);
    }
    let output = parser.finish(Exit::Code(0), "", &mut events);
    (joined(events), output)
}

/// Joins the pieces of plain text, which depend on the chunks.
fn joined(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut joined: Vec<StreamEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (
                Some(StreamEvent::TextDelta { text: before }),
                StreamEvent::TextDelta { text: piece },
            ) => before.push_str(&piece),
            (_, event) => joined.push(event),
        }
    }
    joined
}
