//! Recorded streams of opencode: their events and the results of the turns.

use crate::stream_show::check;

#[test]
fn an_answer_is_read() {
    check(
        "opencode-text",
        r#"
started ses_e16d -
text "Hello from the fake model."
text ends
usage 7672 0 0 17 0 of the turn
success Stated
=> "Hello from the fake model."
"#,
    );
}

#[test]
fn a_tool_is_reported_with_its_output() {
    check(
        "opencode-tool",
        r#"
started ses_e16b -
text "I will run a command."
text ends
tool bash 4bd678 {"command":"echo fake-tool-output","description":"Say it"}
tool bash 4bd678 done Some("fake-tool-output\n")
usage 7672 0 0 17 0 of the turn
text "The command printed fake-tool-output."
text ends
usage 15426 0 0 34 0 of the turn
success Stated
=> "The command printed fake-tool-output."
"#,
    );
}

#[test]
fn a_wrong_key_is_auth() {
    check(
        "opencode-auth",
        r#"
started ses_e16c -
warning auth: Fake: invalid API key
failed auth: Fake: invalid API key
=> auth: Fake: invalid API key
"#,
    );
}

#[test]
fn a_prompt_that_is_too_long_is_overflow() {
    check(
        "opencode-overflow",
        r#"
started ses_e16c -
warning overflow: Your input exceeds the context window of this model. Please adjust your input an
warning overflow: Your input exceeds the context window of this model. Please adjust your input an
failed overflow: Your input exceeds the context window of this model. Please adjust your input an
=> overflow: Your input exceeds the context window of this model. Please adjust your input an
"#,
    );
}

#[test]
fn an_empty_answer_is_none() {
    check(
        "opencode-empty",
        r#"
started ses_e16c -
usage 7672 0 0 17 0 of the turn
=> empty: finished without any output
"#,
    );
}
