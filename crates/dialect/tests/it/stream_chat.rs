//! Streams of endpoints: their events and the results of the turns.

use tertulia_dialect::stream::{AgentStream, ErrorClass, Exit, Limits, StreamParser, TurnOutput};

use crate::stream_show::check;

#[test]
fn a_streamed_completion_is_an_answer_with_its_counts() {
    check(
        "chat-text",
        r#"
started - m-1
text "Grüße 😀."
text ends
usage 4 16 ? 7 2 of the turn
success Stated
=> "Grüße 😀."
"#,
    );
}

#[test]
fn reasoning_is_thinking_by_either_name() {
    check(
        "chat-thinking",
        r#"
started - m-1
thinking "Let me see."
text "42"
text ends
usage 3 ? ? 1 ? of the turn
success Stated
=> "42"
"#,
    );
}

#[test]
fn other_line_ends_fields_and_empty_chunks_do_not_matter() {
    check(
        "chat-crlf",
        r#"
started - m-1
text "Short."
text ends
success Stated
=> "Short."
"#,
    );
}

#[test]
fn content_may_come_in_parts_and_only_one_choice_is_read() {
    check(
        "chat-parts",
        r#"
started - m-1
thinking "Hm."
text "In parts."
text ends
usage 5 4 ? 2 ? of the turn
success Stated
=> "In parts."
"#,
    );
}

#[test]
fn an_answer_beyond_the_output_limit_is_limit_and_what_came_is_kept() {
    check(
        "chat-length",
        r#"
started - m-1
text "Half of"
text ends
usage 9 ? ? 2 ? of the turn
failed limit: the answer reached the model's maximum length
=> limit: the answer reached the model's maximum length
   so far "Half of"
"#,
    );
}

#[test]
fn a_filter_is_refused() {
    check(
        "chat-filter",
        r#"
started - m-1
text "Well"
text ends
failed refused: the endpoint's filter stopped the answer
=> refused: the endpoint's filter stopped the answer
   so far "Well"
"#,
    );
}

#[test]
fn a_refusal_is_refused_in_its_own_words() {
    check(
        "chat-refusal",
        r#"
started - m-1
failed refused: I can not help with it.
=> refused: I can not help with it.
"#,
    );
}

#[test]
fn a_tool_that_nobody_offered_is_denied_and_the_turn_fails() {
    check(
        "chat-tool",
        r#"
started - m-1
tool look call_1 denied
failed setup: the model called a tool, although none was offered
=> setup: the model called a tool, although none was offered
"#,
    );
}

#[test]
fn an_error_in_the_stream_fails_the_turn() {
    check(
        "chat-error",
        r#"
started - m-1
text "Half"
failed quota: Too many requests in this minute
=> quota: Too many requests in this minute
   so far "Half"
"#,
    );
}

#[test]
fn an_error_may_be_an_event_of_its_own() {
    check(
        "chat-error-event",
        r#"
failed network: The engine is overloaded
=> network: The engine is overloaded
"#,
    );
}

#[test]
fn an_error_may_be_inside_a_choice() {
    check(
        "chat-error-choice",
        r#"
started - m-1
text "Half"
text ends
failed network: Upstream hung up
=> network: Upstream hung up
   so far "Half"
"#,
    );
}

#[test]
fn a_stream_that_breaks_off_is_network_and_what_came_is_kept() {
    check(
        "chat-cut",
        r#"
started - m-1
text "Half of"
=> network: the stream ended early
   so far "Half of"
"#,
    );
}

#[test]
fn text_behind_the_end_is_not_believed() {
    check(
        "chat-late",
        r#"
started - m-1
text "All."
violation AfterEnd in 68 bytes
text ends
success Stated
violation AfterEnd in 68 bytes
=> "All."
"#,
    );
}

#[test]
fn a_completion_that_comes_whole_is_an_answer_too() {
    check(
        "chat-whole",
        r#"
started - m-1
thinking "Hm."
text "All of it."
text ends
usage 5 ? ? 3 ? of the turn
success Stated
=> "All of it."
"#,
    );
}

#[test]
fn an_error_that_comes_as_an_answer_is_an_error() {
    check(
        "chat-whole-error",
        r#"
failed quota: Quota exceeded
=> quota: Quota exceeded
"#,
    );
}

#[test]
fn a_page_is_no_answer() {
    check(
        "chat-page",
        r#"
=> setup: the endpoint answered with something other than a completion: a web page
"#,
    );
}

fn finish(bytes: &[u8], connection_error: &str, limits: Limits) -> TurnOutput {
    let mut events = Vec::new();
    let mut parser = StreamParser::with_limits(AgentStream::OpenAiChat, limits);
    parser.push(bytes, &mut events);
    parser.finish(Exit::Code(0), connection_error, &mut events)
}

#[test]
fn the_error_of_the_connection_is_reported() {
    let error = finish(b": hm\n", "reset by peer", Limits::default()).error.unwrap();
    assert_eq!(error.class, ErrorClass::Network);
    assert_eq!(&*error.message, "the stream ended early: reset by peer");
    let error = finish(b"", "", Limits::default()).error.unwrap();
    assert_eq!(&*error.message, "the endpoint sent no answer");
}

#[test]
fn a_text_with_a_hole_is_no_answer() {
    let long = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\ndata: {}\ndata: {{\"choices\":[{{\"finish_reason\":\"stop\"}}]}}\ndata: [DONE]\n",
        "x".repeat(500)
    );
    let limits = Limits { line_bytes_max: 200, ..Limits::default() };
    let output = finish(long.as_bytes(), "", limits);
    assert_eq!(output.error.unwrap().class, ErrorClass::Limit);
    assert_eq!(output.partial_text.as_deref(), Some("a"));
}

#[test]
fn a_reply_is_known_by_its_code_then_its_status_then_its_words() {
    for (status, body, class, message) in [
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"m"}}"#,
            ErrorClass::Overflow,
            "m",
        ),
        (
            400,
            r#"{"error":{"type":"exceed_context_size_error","message":"m"}}"#,
            ErrorClass::Overflow,
            "m",
        ),
        (
            400,
            r#"{"message":"This model's maximum context length is 9"}"#,
            ErrorClass::Overflow,
            "This model's maximum context length is 9",
        ),
        (400, r#"{"error":{"code":"content_filter","message":"m"}}"#, ErrorClass::Refused, "m"),
        (400, r#"{"error":"no"}"#, ErrorClass::Setup, "no"),
        (400, r#"{"a":1}"#, ErrorClass::Setup, r#"{"a":1}"#),
        (400, "{", ErrorClass::Setup, "{"),
        (
            401,
            r#"{"error":{"error":{"error":{"message":"deep"}}}}"#,
            ErrorClass::Auth,
            r#"{"message":"deep"}"#,
        ),
        (402, "pay", ErrorClass::Quota, "pay"),
        (403, "", ErrorClass::Auth, "no words"),
        (404, r#"{"detail":"Not Found"}"#, ErrorClass::Setup, "Not Found"),
        (413, "<html>", ErrorClass::Overflow, "a web page"),
        (429, r#"{"error":{"code":"insufficient_quota","message":"m"}}"#, ErrorClass::Quota, "m"),
        (418, "a teapot", ErrorClass::Setup, "a teapot"),
        (500, r#"{"error":{"message":"m","type":"invalid_api_key"}}"#, ErrorClass::Auth, "m"),
        (529, "", ErrorClass::Network, "no words"),
    ] {
        let mut events = Vec::new();
        let parser = StreamParser::new(AgentStream::OpenAiChat);
        let error = parser.refused(status, "", body.as_bytes(), &mut events).error.unwrap();
        assert_eq!(error.class, class, "{status} {body}");
        assert_eq!(&*error.message, format!("HTTP {status}: {message}"));
        assert_eq!(events.len(), 1);
    }
}

#[test]
fn an_error_of_any_depth_costs_no_stack() {
    let deep = r#"{"error":"#.repeat(100_000) + "1" + &"}".repeat(100_000);
    let mut events = Vec::new();
    let output =
        StreamParser::new(AgentStream::OpenAiChat).refused(400, "", deep.as_bytes(), &mut events);
    assert!(output.error.unwrap().message.len() < 1000);
}
