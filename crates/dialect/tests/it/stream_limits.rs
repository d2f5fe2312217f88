//! The usage limits of failed turns, as the streams report them.

use tertulia_dialect::stream::{
    AgentStream, ErrorClass, Exit, StreamEvent, StreamParser, TurnError, TurnOutput,
};

/// Returns the output of a stream, which must report the same error as an event, if it reports one.
fn output(stream: AgentStream, lines: &[&str], exit: i32, stderr: &str) -> TurnOutput {
    let mut parser = StreamParser::new(stream);
    let mut events = Vec::new();
    parser.push((lines.join("\n") + "\n").as_bytes(), &mut events);
    let output = parser.finish(Exit::Code(exit), stderr, &mut events);
    for event in events {
        if let StreamEvent::Failed(error) = event {
            assert_eq!(Some(error.limit), output.error.as_ref().map(|error| error.limit.clone()));
        }
    }
    output
}

/// Returns scope and reset of an error's limit.
fn limit(error: Option<&TurnError>) -> String {
    let limit = error.expect("a turn that failed").limit.as_ref();
    limit.map_or("none".to_owned(), |limit| format!("{} {:?}", limit.scope.as_str(), limit.resets))
}

#[track_caller]
fn check(stream: AgentStream, lines: &[&str], exit: i32, expected: &str) {
    let found = limit(output(stream, lines, exit, "").error.as_ref());
    assert!(found.starts_with(expected), "{found} instead of {expected}");
}

const CLAUDE_INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
const CLAUDE_REJECTED: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795176000,"rateLimitType":"five_hour","isUsingOverage":false},"session_id":"s"}"#;
const CLAUDE_LIMIT: &str = r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your limit · resets 3pm (Europe/Berlin)","session_id":"s"}"#;

#[test]
fn claude_reports_the_window_and_the_exact_reset_as_an_event() {
    let exact = "five_hour Some(At(Timestamp { millis: 1795176000000";
    check(AgentStream::Claude, &[CLAUDE_INIT, CLAUDE_REJECTED, CLAUDE_LIMIT], 1, exact);
    check(AgentStream::Claude, &[CLAUDE_INIT, CLAUDE_LIMIT], 1, "unknown Some(Wall(");
}

#[test]
fn a_rejected_window_is_no_limit_of_a_turn_that_failed_for_another_reason() {
    let max_turns =
        r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s"}"#;
    let unknown =
        r#"{"type":"result","subtype":"error","is_error":true,"result":"Oh.","session_id":"s"}"#;
    check(AgentStream::Claude, &[CLAUDE_INIT, CLAUDE_REJECTED, max_turns], 1, "none");
    check(AgentStream::Claude, &[CLAUDE_INIT, CLAUDE_REJECTED, unknown], 1, "none");
    let allowed = CLAUDE_REJECTED.replace("rejected", "allowed");
    let lines = [CLAUDE_INIT, CLAUDE_REJECTED, &allowed, CLAUDE_LIMIT];
    check(AgentStream::Claude, &lines, 1, "unknown");
}

#[test]
fn a_turn_that_succeeds_has_no_limit_whatever_the_answer_says() {
    let answer = CLAUDE_LIMIT.replace("\"is_error\":true", "\"is_error\":false");
    let output = output(AgentStream::Claude, &[CLAUDE_INIT, CLAUDE_REJECTED, &answer], 0, "");
    assert_eq!(output.error, None);
}

#[test]
fn texts_and_tools_of_a_turn_are_not_searched() {
    let said = r#"{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"You've hit your usage limit. Try again in 2 hours."}}"#;
    let tool = r#"{"type":"item.completed","item":{"id":"2","type":"command_execution","command":"c","aggregated_output":"You've hit your weekly limit · resets 3pm","exit_code":1,"status":"failed"}}"#;
    let failed = r#"{"type":"turn.failed","error":{"message":"unexpected status 418: no tea"}}"#;
    let start = [r#"{"type":"thread.started","thread_id":"t"}"#, r#"{"type":"turn.started"}"#];
    check(AgentStream::Codex, &[start[0], start[1], said, tool, failed], 1, "none");
}

#[test]
fn codex_reports_its_limit_as_a_message() {
    check(
        AgentStream::Codex,
        &[
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"turn.failed","error":{"message":"You’ve hit your usage limit. Upgrade to Pro or try again in 3 days 4 hours."}}"#,
        ],
        1,
        "unknown Some(After(273600s))",
    );
}

#[test]
fn gemini_reports_its_limit_as_a_message_or_on_stderr() {
    let start = r#"{"type":"init","session_id":"s","model":"m"}"#;
    let result = r#"{"type":"result","status":"error","error":{"type":"Error","message":"[API Error: You have exhausted your capacity on this model. Your quota will reset after 4h12m3s.]"}}"#;
    check(AgentStream::Gemini, &[start, result], 173, "model Some(After(15123s))");
    let stderr = "Error: You have exhausted your capacity on this model. Your quota will reset after 4h12m3s.\n    at run (file:///x.js:1:1)";
    let output = output(AgentStream::Gemini, &[start], 173, stderr);
    assert_eq!(limit(output.error.as_ref()), "model Some(After(15123s))");
}

#[test]
fn copilot_reports_a_status_with_the_message() {
    let check_error = |data: &str, expected: &str| {
        let error = format!(r#"{{"type":"session.error","data":{data}}}"#);
        check(AgentStream::Copilot, &[&error, r#"{"type":"result","exitCode":1}"#], 1, expected);
    };
    check_error(
        r#"{"errorType":"rate_limit","message":"Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period. Please try again in 51 hours.","statusCode":429}"#,
        "unknown Some(After(183600s))",
    );
    check_error(r#"{"message":"Something new","statusCode":429}"#, "minute None");
    check_error(r#"{"message":"Something new","statusCode":402}"#, "credits None");
    check_error(r#"{"message":"Something new","statusCode":500}"#, "none");
}

#[test]
fn opencode_reports_headers_and_body_of_the_response() {
    let error = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"This request would exceed your account's rate limit. Please try again later.","statusCode":429,"responseHeaders":{"anthropic-ratelimit-unified-status":"rejected","anthropic-ratelimit-unified-representative-claim":"seven_day","anthropic-ratelimit-unified-reset":"1795176000"},"responseBody":"{\"type\":\"error\"}"}}}"#;
    let exact = "week Some(At(Timestamp { millis: 1795176000000";
    check(AgentStream::OpenCode, &[error], 1, exact);
}

#[test]
fn pi_reports_the_response_in_its_message() {
    check(
        AgentStream::Pi,
        &[
            r#"{"type":"session","id":"s"}"#,
            r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"429: {\"type\":\"usage_limit_reached\",\"resets_in_seconds\":13872}"}}"#,
            r#"{"type":"agent_settled"}"#,
        ],
        0,
        "unknown Some(After(13872s))",
    );
}

#[test]
fn acp_reports_its_limit_as_an_error() {
    check(
        AgentStream::Acp,
        &[
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#,
            r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#,
            r#"{"jsonrpc":"2.0","id":4,"error":{"code":429,"message":"You have exhausted your daily quota on this model."}}"#,
        ],
        0,
        "model None",
    );
}

#[track_caller]
fn check_refused(status: u16, headers: &str, body: &str, expected: &str) {
    let mut events = Vec::new();
    let parser = StreamParser::new(AgentStream::OpenAiChat);
    let output = parser.refused(status, headers, body.as_bytes(), &mut events);
    let found = limit(output.error.as_ref());
    assert!(found.starts_with(expected), "{found} instead of {expected}");
}

#[test]
fn an_endpoint_reports_its_limit_by_status_headers_and_body() {
    let slow = r#"[{"error":{"code":429,"message":"slow"}}]"#;
    check_refused(429, "", slow, "minute None");
    check_refused(429, "retry-after: 20\n", slow, "minute Some(After(20s))");
    check_refused(429, "retry-after: 42694\n", slow, "unknown Some(After(42694s))");
    check_refused(402, "", "<html>pay</html>", "credits None");
    let free = r#"{"error":{"message":"Rate limit exceeded: free-models-per-day. ","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"1795176000000"}}}}"#;
    check_refused(429, "", free, "day Some(At(");
    let over = r#"{"error":{"message":"This model's maximum context length is 4096","code":"context_length_exceeded"}}"#;
    check_refused(400, "retry-after: 20\n", over, "none");
    check_refused(503, "retry-after: 20\n", "busy", "none");
}

#[test]
fn an_endpoint_may_report_its_limit_in_the_stream() {
    let data = r#"data: {"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}"#;
    check(AgentStream::OpenAiChat, &[data], 0, "credits None");
}

#[test]
fn a_limit_that_is_reached_while_retrying_is_kept() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":1,"error_status":429,"error":"rate_limit","session_id":"s"}"#;
    let output = output(AgentStream::Claude, &[CLAUDE_INIT, CLAUDE_REJECTED, retry], 143, "");
    let error = output.error.unwrap();
    assert_eq!(error.class, ErrorClass::Quota);
    assert!(limit(Some(&error)).starts_with("five_hour"), "{error:?}");
}
