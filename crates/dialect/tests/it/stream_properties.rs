//! Properties of every stream. The chunks do not matter, and texts arrive byte for byte. There is either an answer or
//! an error, and never a panic.

use proptest::prelude::*;
use tertulia_dialect::stream::{AgentStream, Exit, Limits, StreamEvent, StreamParser, TurnOutput};

use crate::arbitrary::at_least;
use crate::stream_fixtures::{ALL, Fixture};
use crate::stream_show::{joined, run};
use crate::stream_written::WRITTEN;

const LIMITS: Limits = Limits { line_bytes_max: 700, text_bytes_max: 2000 };

const STREAMS_OF_LINES: [AgentStream; 9] = [
    AgentStream::Claude,
    AgentStream::Codex,
    AgentStream::Gemini,
    AgentStream::OpenCode,
    AgentStream::Copilot,
    AgentStream::Pi,
    AgentStream::Jsonl,
    AgentStream::OpenAiChat,
    AgentStream::Acp,
];

/// Returns the bytes in chunks that end at these positions.
fn chunks<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    ends.extend([0, bytes.len()]);
    ends.sort_unstable();
    ends.windows(2).map(|range| &bytes[range[0]..range[1]]).collect()
}

fn read(stream: AgentStream, limits: Limits, chunks: &[&[u8]]) -> (Vec<StreamEvent>, TurnOutput) {
    let mut parser = StreamParser::with_limits(stream, limits);
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(chunk, &mut events);
    }
    let output = parser.finish(Exit::Code(0), "", &mut events);
    (joined(events), output)
}

#[test]
fn every_stream_says_the_same_byte_by_byte() {
    for fixture in all() {
        let whole = run(StreamParser::new(fixture.stream), fixture, [fixture.bytes]);
        let single = run(StreamParser::new(fixture.stream), fixture, fixture.bytes.chunks(1));
        assert_eq!(whole, single, "{}", fixture.name);
    }
}

fn all() -> impl Iterator<Item = &'static Fixture> {
    ALL.iter().chain(WRITTEN)
}

/// Generates lines of some format, and meaningless lines.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let recorded: Vec<&'static [u8]> =
        all().flat_map(|fixture| fixture.bytes.split(|byte| *byte == b'\n')).collect();
    prop_oneof![
        8 => prop::sample::select(recorded).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => prop::sample::select(vec![
            r#"{"type":"text","text":"a\ud83d"}"#,
            r#"{"type":"end"}"#,
            r#"{"type":"start","session_id":"s"}"#,
            r#"{"type":"tool_end","id":"1"}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}"#,
            r#"{"type":"result","is_error":true}"#,
        ]).prop_map(|line| line.as_bytes().to_vec()),
    ]
}

fn any_stream() -> impl Strategy<Value = AgentStream> {
    prop::sample::select(AgentStream::ALL.to_vec())
}

proptest! {
    #![proptest_config(at_least(256))]

    #[test]
    fn chunks_do_not_matter_to_a_whole_stream(
        fixture in prop::sample::select(all().map(|fixture| fixture.name).collect::<Vec<_>>()),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let fixture = Fixture::named(fixture);
        let whole = run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes]);
        let cut = run(StreamParser::new(fixture.stream), &fixture, chunks(fixture.bytes, &cuts));
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn chunks_do_not_matter_to_any_stream_and_there_is_an_answer_or_an_error(
        stream in any_stream(),
        lines in prop::collection::vec(any_line(), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = lines.join(&b'\n');
        let (events, output) = read(stream, LIMITS, &[&bytes]);
        prop_assert_eq!(output.final_text.is_some(), output.error.is_none());
        prop_assert_eq!((events, output), read(stream, LIMITS, &chunks(&bytes, &cuts)));
    }

    #[test]
    fn every_line_is_accounted_for(
        stream in prop::sample::select(STREAMS_OF_LINES.to_vec()),
        lines in prop::collection::vec(any_line(), 0..12),
    ) {
        let bytes = lines.join(&b'\n');
        let written = bytes.split(|byte| *byte == b'\n');
        let written = written.filter(|line| !line.trim_ascii().is_empty()).count() as u64;
        let (events, output) = read(stream, LIMITS, &[&bytes]);
        let counts = output.lines;
        let read = counts.known + counts.ignored + counts.echoes;
        let refused = counts.unparsed + counts.oversize + counts.violations;
        prop_assert_eq!(read + refused, written);
        let is_refusal = |event: &&StreamEvent| matches!(
            event,
            StreamEvent::Unparsed { .. } | StreamEvent::Oversize { .. } | StreamEvent::Violation { .. }
        );
        prop_assert_eq!(events.iter().filter(is_refusal).count() as u64, refused);
    }

    #[test]
    fn any_text_arrives_byte_for_byte_through_every_agent(text in "\\PC{0,20}[ -~\\n\\t\"\\\\{}\u{2028}😀\u{0}]{1,40}x") {
        let json = tertulia_session::json::Json::text(&text);
        let json = json.as_str();
        let claude = format!(
            r#"{{"type":"system","subtype":"init","session_id":"s"}}
{{"type":"stream_event","session_id":"s","event":{{"type":"content_block_delta","delta":{{"type":"text_delta","text":{json}}}}}}}
{{"type":"assistant","session_id":"s","message":{{"content":[{{"type":"text","text":{json}}}]}}}}
{{"type":"result","session_id":"s","is_error":false,"result":{json}}}"#
        );
        let codex = format!(
            r#"{{"type":"thread.started","thread_id":"s"}}
{{"type":"item.completed","item":{{"id":"item_0","type":"agent_message","text":{json}}}}}
{{"type":"turn.completed"}}"#
        );
        let gemini = format!(
            r#"{{"type":"init","session_id":"s"}}
{{"type":"message","role":"user","content":{json}}}
{{"type":"message","role":"assistant","content":{json},"delta":true}}
{{"type":"result","status":"success"}}"#
        );
        let opencode = format!(
            r#"{{"type":"step_start","sessionID":"s","part":{{}}}}
{{"type":"text","sessionID":"s","part":{{"text":{json}}}}}
{{"type":"step_finish","sessionID":"s","part":{{"reason":"stop"}}}}"#
        );
        let copilot = format!(
            r#"{{"type":"user.message","data":{{"content":{json}}}}}
{{"type":"assistant.message","data":{{"content":{json}}}}}
{{"type":"result","sessionId":"s","exitCode":0}}"#
        );
        let pi = format!(
            r#"{{"type":"session","id":"s"}}
{{"type":"message_end","message":{{"role":"user","content":{json}}}}}
{{"type":"message_end","message":{{"role":"assistant","content":[{{"type":"text","text":{json}}}],"stopReason":"stop"}}}}
{{"type":"agent_settled"}}"#
        );
        let jsonl = format!("{{\"type\":\"text\",\"text\":{json}}}\n{{\"type\":\"end\"}}");
        let chat = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":{json}}},\"finish_reason\":\"stop\"}}]}}\n\n"
        );
        let acp = format!(
            r#"{{"id":1,"result":{{"protocolVersion":1}}}}
{{"id":2,"result":{{"sessionId":"s"}}}}
{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{json}}}}}}}}}
{{"id":4,"result":{{"stopReason":"end_turn"}}}}"#
        );
        for (stream, written) in [
            (AgentStream::OpenAiChat, &chat),
            (AgentStream::Acp, &acp),
            (AgentStream::Claude, &claude),
            (AgentStream::Codex, &codex),
            (AgentStream::Gemini, &gemini),
            (AgentStream::OpenCode, &opencode),
            (AgentStream::Copilot, &copilot),
            (AgentStream::Pi, &pi),
            (AgentStream::Jsonl, &jsonl),
            (AgentStream::Text, &text),
        ] {
            let (events, output) = read(stream, Limits::default(), &[written.as_bytes()]);
            prop_assert_eq!(&output.final_text.unwrap().text, &text);
            let texts: Vec<_> = events.iter().filter_map(|event| match event {
                StreamEvent::TextDelta { text } => Some(text),
                _ => None,
            }).collect();
            prop_assert_eq!(texts, [&text]);
        }
    }
}
