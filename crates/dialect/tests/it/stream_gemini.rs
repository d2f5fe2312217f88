//! Recorded streams of Gemini CLI: their events and the results of the turns.

use crate::stream_show::check;

#[test]
fn the_prompt_is_not_reported_and_the_answer_is_put_together() {
    check(
        "gemini-text",
        r#"
started 51edc9e1 auto
text "Hello from the fake model."
text ends
usage 10952 0 ? 34 ? of the turn
success Pieced
=> "Hello from the fake model."
"#,
    );
}

#[test]
fn text_before_a_tool_is_not_the_answer() {
    check(
        "gemini-tool",
        r#"
started ce27dcf4 gemini-3-pro-preview
text "I will run a command."
text ends
tool run_shell_command e06ec6 {"command":"echo fake-tool-output","description":"fake"}
tool run_shell_command e06ec6 done Some("fake-tool-output")
text "The command printed fake-tool-output."
text ends
usage 24037 0 ? 34 ? of the turn
success Pieced
=> "The command printed fake-tool-output."
"#,
    );
}

#[test]
fn a_tool_that_the_mode_does_not_offer_is_denied() {
    check(
        "gemini-tool-missing",
        r#"
started c6e2e954 gemini-3-pro-preview
tool no_such_tool c6b5c8 {"x":1}
tool no_such_tool c6b5c8 denied
tool no_such_tool c6b5c8 failed Some("Tool \"no_such_tool\" not found. Did you mean one of: \"update_topic\", \"list_direct")
text "ok, no such tool."
text ends
usage 20306 0 ? 34 ? of the turn
success Pieced
=> "ok, no such tool."
"#,
    );
}

#[test]
fn line_feeds_and_markers_stay() {
    check(
        "gemini-markers",
        r#"
started 948a2b14 gemini-3-pro-preview
text "I have finished my part.\n\n[NEXT: sarah]\n[STATUS: done]\n"
text ends
usage 10099 0 ? 17 ? of the turn
success Pieced
=> "I have finished my part.\n\n[NEXT: sarah]\n[STATUS: done]\n"
"#,
    );
}

#[test]
fn characters_that_meet_across_pieces_stay() {
    check(
        "gemini-unicode",
        r#"
started 4bef158c gemini-3-pro-preview
text "Grüße — 😀 \u{2028}line-sep\u{2029} tab\t nul-less \u{1b}[31mred\u{1b}[0m end"
text ends
usage 10105 0 ? 17 ? of the turn
success Pieced
=> "Grüße — 😀 \u{2028}line-sep\u{2029} tab\t nul-less \u{1b}[31mred\u{1b}[0m end"
"#,
    );
}

#[test]
fn a_silent_retry_cannot_be_seen_so_no_answer_is_stated() {
    check(
        "gemini-retried",
        r#"
started bef46ace gemini-3-pro-preview
text "partial answer before the failureRecovered after drop."
text ends
usage 10105 0 ? 17 ? of the turn
success Pieced
=> "partial answer before the failureRecovered after drop."
"#,
    );
}

#[test]
fn a_hung_turn_that_was_killed_keeps_what_came() {
    check(
        "gemini-repeated",
        r#"
started 27997e60 gemini-3-pro-preview
text "partial answer before the failurepartial answer before the failure"
=> crash: was ended by signal 9 without a final event
   so far "partial answer before the failurepartial answer before the failure"
"#,
    );
}

#[test]
fn a_wrong_key_is_auth() {
    check(
        "gemini-auth",
        r#"
started cb71525a gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed auth: [API Error: {"error":{"code":401,"message":"Fake: invalid API key","status":"UNA
=> auth: [API Error: {"error":{"code":401,"message":"Fake: invalid API key","status":"UNA
"#,
    );
}

#[test]
fn too_many_requests_are_quota() {
    check(
        "gemini-quota",
        r#"
started 64f6ea65 gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed quota: [API Error: Fake: rate limited]
=> quota: [API Error: Fake: rate limited]
"#,
    );
}

#[test]
fn a_plan_that_is_used_up_is_quota() {
    check(
        "gemini-quota-used-up",
        r#"
started ad5830c9 gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed quota: [API Error: You have exhausted your daily quota on this model.]
=> quota: [API Error: You have exhausted your daily quota on this model.]
"#,
    );
}

#[test]
fn a_prompt_that_the_service_does_not_take_is_overflow() {
    check(
        "gemini-overflow",
        r#"
started 9051a8b0 gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed overflow: [API Error: {"error":{"code":400,"message":"The input token count (1200000) exce
=> overflow: [API Error: {"error":{"code":400,"message":"The input token count (1200000) exce
"#,
    );
}

#[test]
fn a_service_that_cannot_be_reached_is_network() {
    check(
        "gemini-network",
        r#"
started f67c1668 gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed network: [API Error: exception TypeError: fetch failed sending request]
=> network: [API Error: exception TypeError: fetch failed sending request]
"#,
    );
}

#[test]
fn a_service_in_trouble_is_network() {
    check(
        "gemini-server",
        r#"
started 84c085f2 gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed network: [API Error: {"error":{"code":500,"message":"Fake: internal server error","status
=> network: [API Error: {"error":{"code":500,"message":"Fake: internal server error","status
"#,
    );
}

#[test]
fn a_stream_that_breaks_off_is_network_though_the_process_exits_with_0() {
    check(
        "gemini-cut-stream",
        r#"
started fb2c71ff gemini-3-pro-preview
text "partial answer before the failurepartial answer before the failurepartial answer before the failurepartial answer before the failure"
warning network: Model stream ended without a finish reason.
usage 40420 0 ? 68 ? of the turn
failed network: Model stream ended without a finish reason.
=> network: Model stream ended without a finish reason.
   so far "partial answer before the failurepartial answer before the failurepartial answer before the failurepartial answer before the failure"
"#,
    );
}

#[test]
fn a_safety_block_is_refused_though_the_process_exits_with_0() {
    check(
        "gemini-refused",
        r#"
started a3cbe93f gemini-3-pro-preview
warning refused: The model response was blocked due to safety settings.
usage 40420 0 ? 68 ? of the turn
failed refused: The model response was blocked due to safety settings.
=> refused: The model response was blocked due to safety settings.
"#,
    );
}

#[test]
fn an_answer_without_anything_is_empty() {
    check(
        "gemini-empty",
        r#"
started fb503b4d gemini-3-pro-preview
warning empty: The model returned an empty response with no text or thoughts. This may be a tra
usage 40537 0 ? 68 ? of the turn
failed empty: The model returned an empty response with no text or thoughts. This may be a tra
=> empty: The model returned an empty response with no text or thoughts. This may be a tra
"#,
    );
}

#[test]
fn the_limit_of_turns_is_limit() {
    check(
        "gemini-limit",
        r#"
started 7c6891b2 gemini-3-pro-preview
tool run_shell_command 1c092d {"command":"echo fake-tool-output","description":"fake"}
tool run_shell_command 1c092d done Some("fake-tool-output")
tool run_shell_command e82343 {"command":"echo fake-tool-output","description":"fake"}
tool run_shell_command e82343 done Some("fake-tool-output")
usage 24019 0 ? 34 ? of the turn
failed limit: Reached max session turns for this session. Increase the number of turns by spec
=> limit: Reached max session turns for this session. Increase the number of turns by spec
"#,
    );
}

#[test]
fn an_unknown_model_is_setup() {
    check(
        "gemini-no-model",
        r#"
started 5f98a87f gemini-3-pro-preview
usage 0 0 ? 0 ? of the turn
failed setup: [API Error: Fake: model not found]
=> setup: [API Error: Fake: model not found]
"#,
    );
}

#[test]
fn a_killed_turn_is_a_crash_though_the_process_exits_with_0() {
    check(
        "gemini-killed",
        r#"
started 752e4b80 gemini-3-pro-preview
tool run_shell_command a0d6f4 {"command":"echo started; sleep 77; echo finished","description":"fake"}
=> crash: ended with exit code 0 without a final event
"#,
    );
}
