//! Verdicts for which the final event is not sufficient: exit codes, stderr, retries, repeated text.

use tertulia_dialect::stream::{
    AgentStream, ErrorClass, Exit, StreamParser, TextOrigin, TurnOutput,
};

use crate::stream_fixtures::Fixture;

fn output(stream: AgentStream, written: &[u8], exit: Exit, stderr: &str) -> TurnOutput {
    let mut parser = StreamParser::new(stream);
    let mut events = Vec::new();
    parser.push(written, &mut events);
    parser.finish(exit, stderr, &mut events)
}

#[track_caller]
fn check_class(stream: AgentStream, written: &[u8], exit: Exit, stderr: &str, class: ErrorClass) {
    let error = output(stream, written, exit, stderr).error.unwrap();
    assert_eq!(error.class, class, "{error}");
}

#[test]
fn a_success_event_does_not_outweigh_the_way_the_process_ended() {
    for name in ["claude-text", "codex-text", "gemini-text"] {
        let fixture = Fixture::named(name);
        for exit in [Exit::Code(1), Exit::Signal(9)] {
            let output = output(fixture.stream, fixture.bytes, exit, "");
            assert_eq!(output.final_text, None);
            assert_eq!(output.error.unwrap().class, ErrorClass::Crash);
            assert_eq!(output.partial_text.unwrap(), "Hello from the fake model.");
        }
    }
}

#[test]
fn an_exit_code_of_0_does_not_outweigh_a_failure() {
    for (name, class) in [
        ("claude-auth", ErrorClass::Auth),
        ("codex-quota", ErrorClass::Quota),
        ("gemini-overflow", ErrorClass::Overflow),
    ] {
        let fixture = Fixture::named(name);
        check_class(fixture.stream, fixture.bytes, Exit::Code(0), "", class);
    }
}

#[test]
fn gemini_says_by_its_exit_code_what_its_words_do_not() {
    const FAILED: &[u8] = br#"{"type":"init","session_id":"s"}
{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: hm]"}}"#;
    for (code, class) in [
        (145, ErrorClass::Auth),
        (147, ErrorClass::Auth),
        (173, ErrorClass::Quota),
        (244, ErrorClass::Network),
        (247, ErrorClass::Network),
        (144, ErrorClass::Crash),
        (1, ErrorClass::Crash),
    ] {
        check_class(AgentStream::Gemini, FAILED, Exit::Code(code), "", class);
        check_class(AgentStream::Claude, b"", Exit::Code(code), "", ErrorClass::Crash);
    }
    for (code, class) in [
        (41, ErrorClass::Auth),
        (42, ErrorClass::Setup),
        (53, ErrorClass::Limit),
        (55, ErrorClass::Setup),
    ] {
        check_class(AgentStream::Gemini, b"", Exit::Code(code), "", class);
    }
}

#[test]
fn stderr_names_the_class_where_stdout_is_silent() {
    let failed = Exit::Code(1);
    for (stream, stderr, class) in [
        (AgentStream::Claude, "error: unknown option '--no-such-flag'\n", ErrorClass::Setup),
        (
            AgentStream::Claude,
            "Error: Invalid session ID. Must be a valid UUID.",
            ErrorClass::Setup,
        ),
        (AgentStream::Codex, "Not inside a trusted directory and so on", ErrorClass::Setup),
        (AgentStream::Codex, "Input exceeds the maximum length of 1048576", ErrorClass::Overflow),
        (AgentStream::Text, "curl: connection refused", ErrorClass::Network),
        (AgentStream::Text, "Segmentation fault", ErrorClass::Crash),
    ] {
        check_class(stream, b"", failed, stderr, class);
    }
    let error = output(AgentStream::Codex, b"", failed, "first\nlast words\n\n").error.unwrap();
    assert_eq!(
        error.to_string(),
        "crash: ended with exit code 1 without a final event; stderr ends with: last words; \
         try again, or run it manually to see more output"
    );
}

#[test]
fn stderr_does_not_overrule_what_stdout_says() {
    let fixture = Fixture::named("codex-quota");
    check_class(fixture.stream, fixture.bytes, fixture.exit, "401 Unauthorized", ErrorClass::Quota);
}

#[test]
fn a_turn_that_is_given_up_while_it_retries_failed_for_the_reason_of_the_retries() {
    let fixture = Fixture::named("codex-auth");
    let first_retries = fixture.bytes.split_inclusive(|byte| *byte == b'\n').take(4);
    let first_retries: Vec<u8> = first_retries.flatten().copied().collect();
    check_class(fixture.stream, &first_retries, Exit::Signal(9), "", ErrorClass::Auth);
    // A retry that succeeded is not the reason for a later failure.
    let helped = [
        &first_retries[..],
        br#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hi"}}"#,
    ];
    check_class(fixture.stream, &helped.concat(), Exit::Signal(9), "", ErrorClass::Crash);
}

#[test]
fn gemini_drops_a_prompt_that_is_too_large_without_a_word() {
    let echo = |length: usize| {
        let prompt = "x".repeat(length);
        format!(
            "{{\"type\":\"init\",\"session_id\":\"s\"}}\n\
             {{\"type\":\"message\",\"role\":\"user\",\"content\":\"{prompt}\"}}\n"
        )
    };
    let (large, small) = (echo(5_000_000), echo(1000));
    let ended = Exit::Code(0);
    check_class(AgentStream::Gemini, large.as_bytes(), ended, "", ErrorClass::Overflow);
    check_class(AgentStream::Gemini, small.as_bytes(), ended, "", ErrorClass::Crash);
    check_class(AgentStream::Gemini, large.as_bytes(), Exit::Signal(9), "", ErrorClass::Crash);
}

fn gemini_answer(pieces: &[&str], result: &str) -> TurnOutput {
    let mut written = "{\"type\":\"init\",\"session_id\":\"s\"}\n".to_owned();
    for piece in pieces {
        let line =
            format!(r#"{{"type":"message","role":"assistant","content":"{piece}","delta":true}}"#);
        written.push_str(&line);
        written.push('\n');
    }
    written.push_str(result);
    output(AgentStream::Gemini, written.as_bytes(), Exit::Code(0), "")
}

#[test]
fn a_text_that_begins_again_is_marked_so_that_the_transcript_is_asked() {
    let result = r#"{"type":"result","status":"success"}"#;
    let attempt = ["The answer to your ques", "tion is forty-two, and "];
    let repeated = gemini_answer(&[attempt, attempt].concat(), result).final_text.unwrap();
    assert_eq!(repeated.origin, TextOrigin::Repeated);
    let once = gemini_answer(&attempt, result).final_text.unwrap();
    assert_eq!(once.origin, TextOrigin::Pieced);
    let short = gemini_answer(&["ha ", "ha ", "ha "], result).final_text.unwrap();
    assert_eq!((short.text.as_str(), short.origin), ("ha ha ha ", TextOrigin::Pieced));
}

#[test]
fn both_shapes_of_geminis_result_are_known() {
    let text = |result| gemini_answer(&["Hi"], result).final_text.map(|text| text.text);
    assert_eq!(text(r#"{"type":"result","success":true}"#).as_deref(), Some("Hi"));
    assert_eq!(text(r#"{"type":"result","success":false}"#), None);
    assert_eq!(text(r#"{"type":"result","status":"error","success":true}"#), None);
    assert_eq!(text(r#"{"type":"result"}"#), None);
}
