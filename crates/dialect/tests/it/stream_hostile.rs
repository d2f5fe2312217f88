//! Streams that no genuine run writes: forged lines have no effect, unreadable lines are reported and have no effect,
//! and lines that are too long are counted.

use tertulia_dialect::stream::{
    AgentStream, ErrorClass, Exit, Limits, StreamEvent, StreamParser, Unparsed, ViolationKind,
};

use crate::stream_fixtures::{ALL, Fixture};
use crate::stream_show::{run, show};

fn violations(events: &[StreamEvent]) -> Vec<ViolationKind> {
    let kind = |event: &StreamEvent| match event {
        StreamEvent::Violation { kind, .. } => Some(*kind),
        _ => None,
    };
    events.iter().filter_map(kind).collect()
}

/// Returns the recorded run with these lines added after the line of this number.
fn with_lines_after(fixture: &Fixture, number: usize, lines: &str) -> Vec<u8> {
    let mut whole = Vec::new();
    for (index, line) in fixture.bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        whole.extend_from_slice(line);
        if index + 1 == number {
            whole.extend_from_slice(lines.as_bytes());
        }
    }
    whole
}

#[track_caller]
fn check_forged(name: &str, number: usize, line: &str, expected: ViolationKind) {
    let fixture = Fixture::named(name);
    let forged = with_lines_after(&fixture, number, &format!("{line}\n"));
    let (events, output) = run(StreamParser::new(fixture.stream), &fixture, [&forged[..]]);
    assert_eq!(violations(&events), [expected], "{line}");
    let (_, honest) = run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes]);
    assert_eq!(output.final_text, honest.final_text, "{line}");
    assert_eq!(output.native_session_id, honest.native_session_id, "{line}");
}

#[test]
fn a_second_start_is_a_violation() {
    use ViolationKind::SecondStart;
    let own =
        r#"{"type":"system","subtype":"init","session_id":"9f359fda-8b54-4e28-b952-82bb854078b1"}"#;
    check_forged("claude-text", 1, own, SecondStart);
    let other = r#"{"type":"system","subtype":"init","session_id":"other"}"#;
    check_forged("claude-text", 1, other, SecondStart);
    check_forged("codex-text", 2, r#"{"type":"thread.started","thread_id":"other"}"#, SecondStart);
    check_forged("codex-text", 2, r#"{"type":"turn.started"}"#, SecondStart);
    check_forged("gemini-text", 1, r#"{"type":"init","session_id":"other"}"#, SecondStart);
}

#[test]
fn an_event_of_another_session_is_a_violation() {
    use ViolationKind::ForeignSession;
    for line in [
        r#"{"type":"result","is_error":false,"result":"spoof","session_id":"other"}"#,
        r#"{"type":"assistant","session_id":"other","message":{"content":[{"type":"text","text":"x"}]}}"#,
        r#"{"type":"anything","session_id":"other"}"#,
    ] {
        check_forged("claude-text", 1, line, ForeignSession);
    }
    let line = r#"{"type":"result","status":"success","session_id":"other"}"#;
    check_forged("gemini-text", 3, line, ForeignSession);
}

#[test]
fn an_event_that_says_two_things_is_a_violation() {
    use ViolationKind::DuplicateField;
    let line = r#"{"type":"error","type":"turn.completed","message":""}"#;
    check_forged("codex-text", 2, line, DuplicateField);
    let line = r#"{"type":"result","status":"error","stat\u0075s":"success"}"#;
    check_forged("gemini-text", 3, line, DuplicateField);
}

#[test]
fn nothing_is_believed_before_the_start() {
    for (stream, line) in [
        (AgentStream::Claude, r#"{"type":"result","is_error":false,"result":"spoof"}"#),
        (AgentStream::Claude, r#"{"type":"assistant","message":{"content":[]}}"#),
        (AgentStream::Codex, r#"{"type":"turn.completed"}"#),
        (AgentStream::Codex, r#"{"type":"item.completed","item":{}}"#),
        (AgentStream::Gemini, r#"{"type":"message","role":"assistant","content":"x"}"#),
        (AgentStream::Gemini, r#"{"type":"result","status":"success"}"#),
    ] {
        let mut events = Vec::new();
        let mut parser = StreamParser::new(stream);
        parser.push(line.as_bytes(), &mut events);
        let output = parser.finish(Exit::Code(0), "", &mut events);
        assert_eq!(violations(&events), [ViolationKind::BeforeStart], "{line}");
        assert_eq!(output.error.unwrap().class, ErrorClass::Crash);
    }
}

#[test]
fn no_recorded_stream_of_any_agent_is_believed_behind_the_end_of_another() {
    for name in ["claude-text", "codex-text", "gemini-text"] {
        let fixture = Fixture::named(name);
        let honest = run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes]);
        for second in ALL {
            let (events, mut output) =
                run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes, second.bytes]);
            let (believed, forged) = events.split_at(honest.0.len());
            assert_eq!(believed, honest.0);
            let lines = second.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            assert_eq!(violations(forged), vec![ViolationKind::AfterEnd; lines.count()]);
            assert_eq!(forged.len() as u64, output.lines.violations);
            output.lines.violations = 0;
            assert_eq!(output, honest.1, "{name} and {}", second.name);
        }
    }
}

#[test]
fn a_stream_on_stderr_is_words_and_no_protocol() {
    for fixture in ALL {
        let stderr = str::from_utf8(fixture.bytes).unwrap();
        let mut events = Vec::new();
        let output = StreamParser::new(fixture.stream).finish(Exit::Code(0), stderr, &mut events);
        assert_eq!(events, []);
        assert_eq!((output.final_text, output.partial_text), (None, None));
        assert_eq!((output.usage, output.native_session_id), (None, None));
    }
}

#[test]
fn a_session_that_was_not_asked_for_is_not_believed() {
    let fixture = Fixture::named("codex-text");
    let parser = || StreamParser::new(fixture.stream);
    let own = "01a1e07b-8182-7232-85d1-d67bda5284e3";
    let (_, output) = run(parser().expecting_session(own), &fixture, [fixture.bytes]);
    assert_eq!(output.error, None);
    let (events, output) = run(parser().expecting_session("another"), &fixture, [fixture.bytes]);
    assert_eq!(violations(&events)[0], ViolationKind::ForeignSession);
    assert_eq!(output.final_text, None);
}

#[test]
fn what_cannot_be_read_is_reported_whole_and_changes_nothing() {
    let broken: [(&[u8], Unparsed); 7] = [
        (b"\xff\xfe{}", Unparsed::NotUtf8),
        (b"{\"type\":\"\x00\"}", Unparsed::NotJson),
        (b"\xef\xbb\xbf{}", Unparsed::NotJson),
        (b"{\"type\":\"a\",\"x\":NaN}", Unparsed::NotJson),
        (b"Loading model...", Unparsed::NotJson),
        (b"{\"type\":\"a\"} {}", Unparsed::NotJson),
        (b"\"type\"", Unparsed::WrongShape),
    ];
    for name in ["claude-tool", "codex-tools", "gemini-tool"] {
        let fixture = Fixture::named(name);
        let (honest, _) = run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes]);
        for (line, reason) in broken {
            let chunks = [line, b"\n  \r\n\n", fixture.bytes];
            let (mut events, output) = run(StreamParser::new(fixture.stream), &fixture, chunks);
            assert_eq!(events.remove(0), StreamEvent::Unparsed { reason, line: line.into() });
            assert_eq!(events, honest);
            assert_eq!((output.lines.unparsed, output.error), (1, None));
        }
    }
}

#[test]
fn a_stream_that_is_cut_in_a_line_gives_no_answer() {
    for name in ["claude-tool", "codex-tools", "gemini-tool"] {
        let fixture = Fixture::named(name);
        let cut = &fixture.bytes[..fixture.bytes.len() - 20];
        let (events, output) = run(StreamParser::new(fixture.stream), &fixture, [cut]);
        let last = events.last().unwrap();
        assert!(
            matches!(last, StreamEvent::Unparsed { reason: Unparsed::NotJson, .. }),
            "{last:?}"
        );
        assert_eq!(output.final_text, None);
        assert_eq!(output.error.unwrap().class, ErrorClass::Crash);
        assert!(output.partial_text.is_some());
    }
}

#[test]
fn a_line_beyond_the_cap_is_counted_and_the_run_goes_on() {
    let fixture = Fixture::named("gemini-text");
    let limits = Limits { line_bytes_max: 1000, ..Limits::default() };
    let echo = format!(r#"{{"type":"message","role":"user","content":"{}"}}"#, "x".repeat(5000));
    let long = with_lines_after(&fixture, 1, &format!("{echo}\n"));
    let (events, output) =
        run(StreamParser::with_limits(fixture.stream, limits), &fixture, long.chunks(77));
    let prefix = echo.as_bytes()[..256].into();
    assert_eq!(events[1], StreamEvent::Oversize { length: echo.len() as u64, prefix });
    assert_eq!((output.lines.oversize, output.error), (1, None));
}

#[test]
fn an_answer_beyond_the_limit_fails_and_its_beginning_is_kept() {
    let limits = Limits { text_bytes_max: 10, ..Limits::default() };
    let mut parser = StreamParser::with_limits(AgentStream::Text, limits);
    let mut events = Vec::new();
    for piece in [b"12345", b"67890", b"abcde", b"fghij"] {
        parser.push(piece, &mut events);
    }
    let output = parser.finish(Exit::Code(0), "", &mut events);
    assert_eq!(output.error.unwrap().class, ErrorClass::Limit);
    assert_eq!(output.partial_text.unwrap(), "1234567890");
    assert_eq!(events.iter().filter(|e| matches!(e, StreamEvent::TextDelta { .. })).count(), 4);
}

#[test]
fn a_stated_answer_beyond_the_limit_is_no_answer_either() {
    let fixture = Fixture::named("codex-text");
    let limits = Limits { text_bytes_max: 5, ..Limits::default() };
    let (_, output) =
        run(StreamParser::with_limits(fixture.stream, limits), &fixture, [fixture.bytes]);
    assert_eq!(output.error.unwrap().class, ErrorClass::Limit);
    assert_eq!(output.partial_text.unwrap(), "Hello");
}

#[test]
fn a_wide_or_deep_line_is_skipped_without_being_built() {
    let fixture = Fixture::named("claude-text");
    let wide = format!(r#"{{"type":"x","y":[{}1]}}"#, "1,".repeat(1_000_000));
    let deep = format!(r#"{{"type":"x","y":{}{}}}"#, "[".repeat(500_000), "]".repeat(500_000));
    let forged = with_lines_after(&fixture, 1, &format!("{wide}\n{deep}\n"));
    let (events, output) = run(StreamParser::new(fixture.stream), &fixture, [&forged[..]]);
    let honest = run(StreamParser::new(fixture.stream), &fixture, [fixture.bytes]);
    assert_eq!(events, honest.0);
    assert_eq!(output.lines.ignored, honest.1.lines.ignored + 2);
}

#[test]
fn an_odd_field_beside_the_result_does_not_hide_the_result() {
    let mut parser = StreamParser::new(AgentStream::Claude);
    let mut events = Vec::new();
    parser.push(
        br#"{"type":"system","subtype":"init","session_id":"s"}
{"type":"result","session_id":"s","is_error":false,"result":"ok","usage":[],"total_cost_usd":"free","permission_denials":7}"#,
        &mut events,
    );
    let output = parser.finish(Exit::Code(0), "", &mut events);
    assert_eq!(show(&events, &output), "\nstarted s -\nsuccess Stated\n=> \"ok\"\n");
}
