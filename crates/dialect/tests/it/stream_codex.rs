//! Recorded streams of Codex: their events and the results of the turns.

use crate::stream_show::check;

#[test]
fn the_last_message_is_the_answer() {
    check(
        "codex-text",
        r#"
started 01a1e07b -
text "Hello from the fake model."
text ends
usage 13934 0 0 17 0 of the session
success Stated
=> "Hello from the fake model."
"#,
    );
}

#[test]
fn commands_are_tools() {
    check(
        "codex-tools",
        r#"
started 01a1e07d -
tool command_execution item_0 "/bin/bash -lc 'echo fake-tool-output'"
tool command_execution item_0 done Some("fake-tool-output\n")
tool command_execution item_1 "/bin/bash -lc 'cat /project/hello.txt'"
tool command_execution item_1 done Some("hello-file\n")
text "Done with two tools."
text ends
usage 42230 0 0 51 0 of the session
success Stated
=> "Done with two tools."
"#,
    );
}

#[test]
fn a_command_that_exits_badly_has_failed() {
    check(
        "codex-tool-failed",
        r#"
started 01a1e07d -
tool command_execution item_0 "/bin/bash -lc 'echo oops >&2; exit 3'"
tool command_execution item_0 failed Some("oops\n")
text "The command failed with 3."
text ends
usage 28335 0 0 34 0 of the session
success Stated
=> "The command failed with 3."
"#,
    );
}

#[test]
fn changed_files_are_a_tool() {
    check(
        "codex-file-change",
        r#"
started 01a1e07d -
tool file_change item_0 [{"path":"/project/written.txt","kind":"add"}]
tool file_change item_0 done None
text "Wrote it."
text ends
usage 28317 0 0 34 0 of the session
success Stated
=> "Wrote it."
"#,
    );
}

#[test]
fn reasoning_is_thinking() {
    check(
        "codex-thinking",
        r#"
started 01a1e07d -
thinking "Let me think about it step by step."
text "The answer is 42."
text ends
usage 13935 0 0 17 5 of the session
success Stated
=> "The answer is 42."
"#,
    );
}

#[test]
fn raw_line_separators_do_not_end_a_line() {
    check(
        "codex-unicode",
        r#"
started 01a1e09c -
text "Grüße — 😀 \u{2028}line-sep\u{2029} tab\t nul-less \u{1b}[31mred\u{1b}[0m end"
text ends
usage 14091 0 0 17 0 of the session
success Stated
=> "Grüße — 😀 \u{2028}line-sep\u{2029} tab\t nul-less \u{1b}[31mred\u{1b}[0m end"
"#,
    );
}

#[test]
fn a_reconnection_is_a_warning() {
    check(
        "codex-retried",
        r#"
started 01a1e080 -
warning quota: Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)
text "Recovered after 429."
text ends
usage 13929 0 0 17 0 of the session
success Stated
=> "Recovered after 429."
"#,
    );
}

#[test]
fn a_wrong_key_is_auth() {
    check(
        "codex-auth",
        r#"
started 01a1e07d -
warning auth: Reconnecting... 1/5 (unexpected status 401 Unauthorized: Fake: invalid API key,
warning auth: Reconnecting... 2/5 (unexpected status 401 Unauthorized: Fake: invalid API key,
warning auth: Reconnecting... 3/5 (unexpected status 401 Unauthorized: Fake: invalid API key,
warning auth: Reconnecting... 4/5 (unexpected status 401 Unauthorized: Fake: invalid API key,
warning auth: Reconnecting... 5/5 (unexpected status 401 Unauthorized: Fake: invalid API key,
warning auth: unexpected status 401 Unauthorized: Fake: invalid API key, url: http://model.exa
failed auth: unexpected status 401 Unauthorized: Fake: invalid API key, url: http://model.exa
=> auth: unexpected status 401 Unauthorized: Fake: invalid API key, url: http://model.exa
"#,
    );
}

#[test]
fn too_many_requests_are_quota() {
    check(
        "codex-quota",
        r#"
started 01a1e07e -
warning quota: exceeded retry limit, last status: 429 Too Many Requests
failed quota: exceeded retry limit, last status: 429 Too Many Requests
=> quota: exceeded retry limit, last status: 429 Too Many Requests
"#,
    );
}

#[test]
fn a_plan_that_is_used_up_is_quota() {
    check(
        "codex-quota-used-up",
        r#"
started 01a1e07e -
warning quota: Quota exceeded. Check your plan and billing details.
failed quota: Quota exceeded. Check your plan and billing details.
=> quota: Quota exceeded. Check your plan and billing details.
"#,
    );
}

#[test]
fn a_prompt_that_the_service_does_not_take_is_overflow() {
    check(
        "codex-overflow",
        r#"
started 01a1e07f -
warning overflow: {"error": {"message": "Your input exceeds the context window of this model. Plea
failed overflow: {"error": {"message": "Your input exceeds the context window of this model. Plea
=> overflow: {"error": {"message": "Your input exceeds the context window of this model. Plea
"#,
    );
}

#[test]
fn a_context_that_overflows_on_the_way_is_overflow() {
    check(
        "codex-overflow-in-stream",
        r#"
started 01a1e07f -
warning overflow: Codex ran out of room in the model's context window. Start a new thread or clear
failed overflow: Codex ran out of room in the model's context window. Start a new thread or clear
=> overflow: Codex ran out of room in the model's context window. Start a new thread or clear
"#,
    );
}

#[test]
fn a_service_that_cannot_be_reached_is_network() {
    check(
        "codex-network",
        r#"
started 01a1e08b -
warning network: Reconnecting... 1/5 (Connection failed: error sending request)
warning network: Reconnecting... 2/5 (Connection failed: error sending request)
warning network: Reconnecting... 3/5 (Connection failed: error sending request)
warning network: Reconnecting... 4/5 (Connection failed: error sending request)
warning network: Reconnecting... 5/5 (Connection failed: error sending request)
warning network: Connection failed: error sending request
failed network: Connection failed: error sending request
=> network: Connection failed: error sending request
"#,
    );
}

#[test]
fn a_service_in_trouble_is_network() {
    check(
        "codex-server",
        r#"
started 01a1e07e -
warning network: Reconnecting... 1/5 (We’re currently experiencing high demand, which may cause t
warning network: Reconnecting... 2/5 (We’re currently experiencing high demand, which may cause t
warning network: Reconnecting... 3/5 (We’re currently experiencing high demand, which may cause t
warning network: Reconnecting... 4/5 (We’re currently experiencing high demand, which may cause t
warning network: Reconnecting... 5/5 (We’re currently experiencing high demand, which may cause t
warning network: We’re currently experiencing high demand, which may cause temporary errors.
failed network: We’re currently experiencing high demand, which may cause temporary errors.
=> network: We’re currently experiencing high demand, which may cause temporary errors.
"#,
    );
}

#[test]
fn an_answer_beyond_the_output_limit_is_limit_and_what_came_is_kept() {
    check(
        "codex-limit",
        r#"
started 01a1e080 -
text "This was cut"
text ends
warning limit: Incomplete response returned, reason: max_output_tokens
failed limit: Incomplete response returned, reason: max_output_tokens
=> limit: Incomplete response returned, reason: max_output_tokens
   so far "This was cut"
"#,
    );
}

#[test]
fn a_refusal_leaves_no_trace_but_an_empty_turn() {
    check(
        "codex-refused",
        r#"
started 01a1e080 -
usage 13929 0 0 17 0 of the session
=> empty: finished without any output
"#,
    );
}

#[test]
fn an_unknown_model_is_setup() {
    check(
        "codex-no-model",
        r#"
started 01a1e07e -
warning setup: Fake: model not found
failed setup: Fake: model not found
=> setup: Fake: model not found
"#,
    );
}

#[test]
fn a_notice_before_the_turn_is_no_failure() {
    check(
        "codex-warned",
        r#"
started 01a1e07c -
warning -: Model metadata for `no-such-model-9` not found. Defaulting to fallback metadata;
text "Hello from the fake model."
text ends
usage 9842 0 0 17 0 of the session
success Stated
=> "Hello from the fake model."
"#,
    );
}

#[test]
fn no_key_is_auth() {
    check(
        "codex-no-key",
        r#"
started 01a1e082 -
warning auth: Missing environment variable: `EXAMPLE_KEY`.
failed auth: Missing environment variable: `EXAMPLE_KEY`.
=> auth: Missing environment variable: `EXAMPLE_KEY`.
"#,
    );
}

#[test]
fn a_killed_turn_is_a_crash() {
    check(
        "codex-killed",
        r#"
started 01a1e085 -
tool command_execution item_0 "/bin/bash -lc 'echo started; sleep 77; echo finished'"
=> crash: was ended by signal 15 without a final event
"#,
    );
}
