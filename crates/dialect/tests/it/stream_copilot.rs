//! Recorded streams of Copilot CLI: their events and the results of the turns.

use crate::stream_show::check;

#[test]
fn an_answer_is_read() {
    check(
        "copilot-text",
        r#"
started - -
text "Hello from the fake model."
text ends
success Stated
=> "Hello from the fake model."
"#,
    );
}

#[test]
fn a_tool_is_reported_with_its_output() {
    check(
        "copilot-tool",
        r#"
started - -
text "I will run a command."
text ends
tool bash 085684 {"command":"echo fake-tool-output","description":"Say it"}
tool bash 085684 done Some("fake-tool-output\n<shellId: 0 completed with exit code 0>")
text "The command printed fake-tool-output."
text ends
success Stated
=> "The command printed fake-tool-output."
"#,
    );
}

#[test]
fn a_tool_that_is_not_allowed_is_denied() {
    check(
        "copilot-denied",
        r#"
started - -
text "I will run a command."
text ends
tool bash f364a7 {"command":"echo fake-tool-output","description":"Say it"}
tool bash f364a7 denied
tool bash f364a7 failed Some("Permission to run this tool was denied due to the following rules: `shell`")
text "The command printed fake-tool-output."
text ends
success Stated
=> "The command printed fake-tool-output."
"#,
    );
}

#[test]
fn a_wrong_key_is_auth() {
    check(
        "copilot-auth",
        r#"
started - -
warning auth: Authentication failed with provider at http://127.0.0.1:8080/v1 (HTTP 401).
failed auth: Authentication failed with provider at http://127.0.0.1:8080/v1 (HTTP 401).
=> auth: Authentication failed with provider at http://127.0.0.1:8080/v1 (HTTP 401).
"#,
    );
}

#[test]
fn a_prompt_that_is_too_long_is_overflow() {
    check(
        "copilot-overflow",
        r#"
started - -
warning overflow: The provider rejected the prompt as too long, but automatic recovery could not r
failed overflow: The provider rejected the prompt as too long, but automatic recovery could not r
=> overflow: The provider rejected the prompt as too long, but automatic recovery could not r
"#,
    );
}

#[test]
fn what_a_failed_attempt_said_does_not_count() {
    check(
        "copilot-retried",
        r#"
started - -
text "Recovered after drop."
text ends
success Stated
=> "Recovered after drop."
"#,
    );
}

#[test]
fn an_empty_answer_is_none() {
    check(
        "copilot-empty",
        r#"
started - -
warning empty: No response was returned. Send your message again to retry.
failed empty: No response was returned. Send your message again to retry.
=> empty: No response was returned. Send your message again to retry.
"#,
    );
}
