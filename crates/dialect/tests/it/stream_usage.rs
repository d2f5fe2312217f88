//! What every agent counts. Each stream reports the same requests in its own numbers: 100 fresh, 1,000 cached and 200
//! written tokens of input, and 50 tokens of output with 30 of thinking.

use tertulia_dialect::stream::{AgentStream, Exit, StreamEvent, StreamParser, Usage};

use crate::stream_show::show_usage;

fn usages(stream: AgentStream, lines: &str) -> Vec<Usage> {
    let mut parser = StreamParser::new(stream);
    let mut events = Vec::new();
    parser.push(lines.as_bytes(), &mut events);
    parser.finish(Exit::Code(0), "", &mut events);
    let usage_of = |event| match event {
        StreamEvent::Usage(usage) => Some(usage),
        _ => None,
    };
    events.into_iter().filter_map(usage_of).collect()
}

/// Checks the last usage of a stream: fresh, cached, written, output, thinking.
#[track_caller]
fn check(stream: AgentStream, lines: &str, expected: &str) {
    let usages = usages(stream, lines);
    assert_eq!(usages.last().map(show_usage).as_deref(), Some(expected), "{stream:?}");
}

#[test]
fn claude_counts_the_parts_of_the_input_separately() {
    check(
        AgentStream::Claude,
        r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}
{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","usage":{"input_tokens":100,"cache_read_input_tokens":1000,"cache_creation_input_tokens":200,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}}
"#,
        "100 1000 200 50 30 of the turn",
    );
}

#[test]
fn claude_adds_up_its_models_and_with_them_its_sub_agents() {
    check(
        AgentStream::Claude,
        r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}
{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","usage":{"input_tokens":1,"output_tokens":1},"model_usage_since_last_result":{"m":{"inputTokens":90,"cacheReadInputTokens":1000,"cacheCreationInputTokens":150,"outputTokens":45,"thinkingTokens":30,"costUSD":0.5},"n":{"inputTokens":10,"cacheReadInputTokens":0,"cacheCreationInputTokens":50,"outputTokens":5,"thinkingTokens":0,"costUSD":0.25}}}
"#,
        "100 1000 200 50 30 of the turn",
    );
}

#[test]
fn codex_includes_all_parts_in_its_input() {
    check(
        AgentStream::Codex,
        r#"{"type":"thread.started","thread_id":"s"}
{"type":"turn.started"}
{"type":"turn.completed","usage":{"input_tokens":1300,"cached_input_tokens":1000,"cache_write_input_tokens":200,"output_tokens":50,"reasoning_output_tokens":30}}
"#,
        "100 1000 200 50 30 of the session",
    );
}

#[test]
fn gemini_includes_thinking_only_in_its_total_and_reports_no_writing() {
    check(
        AgentStream::Gemini,
        r#"{"type":"init","session_id":"s","model":"m"}
{"type":"result","status":"success","stats":{"total_tokens":1150,"input_tokens":1100,"output_tokens":20,"cached":1000,"input":100}}
"#,
        "100 1000 ? 50 30 of the turn",
    );
}

#[test]
fn opencode_counts_thinking_besides_its_output() {
    check(
        AgentStream::OpenCode,
        r#"{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","tokens":{"input":40,"output":10,"reasoning":10,"cache":{"read":400,"write":200}}}}
{"type":"step_finish","sessionID":"s","part":{"reason":"stop","tokens":{"input":60,"output":10,"reasoning":20,"cache":{"read":600,"write":0}}}}
"#,
        "100 1000 200 50 30 of the turn",
    );
}

#[test]
fn pi_counts_the_parts_of_the_input_separately() {
    check(
        AgentStream::Pi,
        r#"{"type":"session","id":"s"}
{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"toolUse","usage":{"input":40,"cacheRead":400,"cacheWrite":200,"output":20,"reasoning":10}}}
{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"stop","usage":{"input":60,"cacheRead":600,"cacheWrite":0,"output":30,"reasoning":20}}}
"#,
        "100 1000 200 50 30 of the turn",
    );
}

#[test]
fn copilot_includes_all_parts_in_its_input() {
    check(
        AgentStream::Copilot,
        r#"{"type":"assistant.usage","data":{"model":"m","inputTokens":1000,"cacheReadTokens":800,"cacheWriteTokens":150,"outputTokens":40,"reasoningTokens":25}}
{"type":"assistant.usage","data":{"model":"m","inputTokens":300,"cacheReadTokens":200,"cacheWriteTokens":50,"outputTokens":10,"reasoningTokens":5}}
"#,
        "100 1000 200 50 30 of the turn",
    );
}

#[test]
fn an_endpoint_includes_all_parts_in_its_prompt() {
    for written in [
        r#""prompt_tokens_details":{"cached_tokens":1000,"cache_write_tokens":200}"#,
        r#""prompt_tokens_details":{"cached_tokens":1000,"cache_creation_tokens":200}"#,
        r#""prompt_cache_hit_tokens":1000,"cache_creation_input_tokens":200"#,
    ] {
        let chunk = format!(
            r#"data: {{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":1300,"completion_tokens":50,"completion_tokens_details":{{"reasoning_tokens":30}},{written}}}}}
data: [DONE]
"#
        );
        check(AgentStream::OpenAiChat, &chunk, "100 1000 200 50 30 of the turn");
    }
}

#[test]
fn an_acp_agent_includes_all_parts_if_its_total_says_so() {
    let hello = r#"{"id":1,"result":{"protocolVersion":1}}
{"id":2,"result":{"sessionId":"s"}}
"#;
    for (input, total) in [(1300, 1350), (100, 1350)] {
        let end = format!(
            r#"{{"id":4,"result":{{"stopReason":"end_turn","usage":{{"inputTokens":{input},"cachedReadTokens":1000,"cachedWriteTokens":200,"outputTokens":50,"thoughtTokens":30,"totalTokens":{total}}}}}}}
"#
        );
        let expected = "100 1000 200 50 30 of the turn";
        check(AgentStream::Acp, &format!("{hello}{end}"), expected);
    }
}

#[test]
fn a_command_counts_the_parts_separately() {
    check(
        AgentStream::Jsonl,
        r#"{"type":"usage","input":100,"cache_read":1000,"cache_write":200,"output":50,"thinking":30}
{"type":"end","text":"x"}
"#,
        "100 1000 200 50 30 of the turn",
    );
}

#[test]
fn the_usage_so_far_never_shrinks_while_the_turn_runs() {
    let lines = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}
{"type":"stream_event","session_id":"s","event":{"type":"message_start","message":{"id":"a","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":0,"output_tokens":1}}}}
{"type":"assistant","session_id":"s","message":{"id":"a","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":0,"output_tokens":1}}}
{"type":"assistant","session_id":"s","parent_tool_use_id":"t","message":{"id":"b","content":[],"usage":{"input_tokens":100,"output_tokens":2}}}
{"type":"stream_event","session_id":"s","event":{"type":"message_delta","usage":{"output_tokens":40}}}
{"type":"assistant","session_id":"s","message":{"id":"a","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}
"#;
    let shown: Vec<String> = usages(AgentStream::Claude, lines).iter().map(show_usage).collect();
    let expected =
        ["10 5 0 1 ? of the turn", "110 5 0 3 ? of the turn", "110 5 0 42 ? of the turn"];
    assert_eq!(shown, expected);
}
