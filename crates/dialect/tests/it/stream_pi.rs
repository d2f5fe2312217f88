//! Recorded streams of pi: their events and the results of the turns.

use crate::stream_show::check;

#[test]
fn an_answer_is_read() {
    check(
        "pi-text",
        r#"
started 01a1e92f -
text "Hello from the fake model."
usage 1421 0 0 17 0 of the turn
text ends
success Stated
=> "Hello from the fake model."
"#,
    );
}

#[test]
fn a_tool_is_reported_with_its_output() {
    check(
        "pi-tool",
        r#"
started 01a1e949 -
text "I will run a command."
usage 1421 0 0 17 0 of the turn
text ends
tool bash 88b27f {"command":"echo fake-tool-output","description":"Say it"}
tool bash 88b27f done Some("fake-tool-output\n")
text "The command printed fake-tool-output."
usage 2924 0 0 34 0 of the turn
text ends
success Stated
=> "The command printed fake-tool-output."
"#,
    );
}

#[test]
fn a_tool_that_is_not_allowed_is_denied() {
    check(
        "pi-denied",
        r#"
started 01a1e949 -
text "I will run a command."
usage 1229 0 0 17 0 of the turn
text ends
tool bash 720fb6 {"command":"echo fake-tool-output","description":"Say it"}
tool bash 720fb6 denied
tool bash 720fb6 failed Some("Tool bash not found")
text "The command printed fake-tool-output."
usage 2541 0 0 34 0 of the turn
text ends
success Stated
=> "The command printed fake-tool-output."
"#,
    );
}

#[test]
fn a_wrong_key_is_auth() {
    check(
        "pi-auth",
        r#"
started 01a1e930 -
failed auth: 401: {"message":"Fake: invalid API key","type":"authentication_error","param":nu
=> auth: 401: {"message":"Fake: invalid API key","type":"authentication_error","param":nu
"#,
    );
}

#[test]
fn a_prompt_that_is_too_long_is_overflow() {
    check(
        "pi-overflow",
        r#"
started 01a1e930 -
failed overflow: 400: {"message":"Your input exceeds the context window of this model. Please adj
=> overflow: 400: {"message":"Your input exceeds the context window of this model. Please adj
"#,
    );
}

#[test]
fn what_a_failed_attempt_said_does_not_count() {
    check(
        "pi-retried",
        r#"
started 01a1e931 -
warning -: terminated
text "Recovered after drop."
usage 1421 0 0 17 0 of the turn
text ends
success Stated
=> "Recovered after drop."
"#,
    );
}

#[test]
fn an_empty_answer_is_none() {
    check(
        "pi-empty",
        r#"
started 01a1e931 -
usage 1421 0 0 17 0 of the turn
=> empty: finished without any output
"#,
    );
}

#[test]
fn a_status_at_the_start_of_a_message_names_the_class() {
    use tertulia_dialect::stream::{AgentStream, ErrorClass, Exit, StreamParser};
    for (status, class) in
        [(401, ErrorClass::Auth), (429, ErrorClass::Quota), (503, ErrorClass::Network)]
    {
        let stream = format!(
            r#"{{"type":"session","id":"s"}}
{{"type":"message_end","message":{{"role":"assistant","content":[],"stopReason":"error","errorMessage":"{status}: no"}}}}
{{"type":"agent_settled"}}
"#
        );
        let mut parser = StreamParser::new(AgentStream::Pi);
        let mut events = Vec::new();
        parser.push(stream.as_bytes(), &mut events);
        let output = parser.finish(Exit::Code(0), "", &mut events);
        assert_eq!(output.error.map(|error| error.class), Some(class), "{status}");
    }
}
