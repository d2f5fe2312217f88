//! Vendors' formats: contexts as requests of four APIs, and the data of their SDKs as input.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{built, refused, talk};
use crate::harness::tertulia;

/// Returns a conversation with a tool call.
fn called() -> Value {
    let mut input = talk();
    let call = json!({"toolCallId": "c1", "toolName": "paint", "arguments": {"colour": "blue"}});
    let result = json!({"toolCallId": "c1", "content": "done"});
    input["inputMessages"] = json!([
        {"role": "assistant", "parts": [{"kind": "tool_call", "payload": call}]},
        {"role": "tool", "parts": [{"kind": "tool_result", "payload": result}]}
    ]);
    input["toolSpecs"] = json!([{"name": "paint", "parameterSchema": {"type": "object"}}]);
    input["runtimeHints"] = json!({"time": "10:00"});
    input
}

fn printed(format: &str) -> String {
    let outcome = tertulia(&["build", "--format", format], &called().to_string());
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    outcome.stdout
}

#[test]
fn openai_chat_completions() {
    assert_snapshot!(printed("openai"), @r#"{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Which colour?"},{"role":"assistant","content":"Blue."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"paint","arguments":"{\"colour\":\"blue\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"done"},{"role":"system","content":"time: 10:00"}],"tools":[{"type":"function","function":{"name":"paint","parameters":{"type":"object"}}}]}"#);
}

#[test]
fn openai_responses() {
    assert_snapshot!(printed("responses"), @r#"{"instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Which colour?"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Blue."}]},{"type":"function_call","call_id":"c1","name":"paint","arguments":"{\"colour\":\"blue\"}"},{"type":"function_call_output","call_id":"c1","output":"done"},{"type":"message","role":"system","content":[{"type":"input_text","text":"time: 10:00"}]}],"tools":[{"type":"function","name":"paint","parameters":{"type":"object"}}]}"#);
}

#[test]
fn anthropic_messages() {
    assert_snapshot!(printed("anthropic"), @r#"{"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Which colour?"}]},{"role":"assistant","content":[{"type":"text","text":"Blue.","cache_control":{"type":"ephemeral"}},{"type":"tool_use","id":"c1","name":"paint","input":{"colour":"blue"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"done","cache_control":{"type":"ephemeral"}},{"type":"text","text":"time: 10:00"}]}],"tools":[{"name":"paint","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}]}"#);
}

#[test]
fn gemini_contents() {
    assert_snapshot!(printed("gemini"), @r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Which colour?"}]},{"role":"model","parts":[{"text":"Blue."},{"functionCall":{"id":"c1","name":"paint","args":{"colour":"blue"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"paint","response":{"output":"done"}}},{"text":"time: 10:00"}]}],"tools":[{"functionDeclarations":[{"name":"paint","parametersJsonSchema":{"type":"object"}}]}]}"#);
}

#[test]
fn what_a_vendor_cannot_take_is_noted_on_standard_error() {
    let mut input = talk();
    input["inputMessages"] = json!([{"role": "assistant", "parts": [
        {"kind": "thinking", "payload": {"text": "hm"}}, {"kind": "text", "payload": {"text": "Yes."}}]}]);
    let outcome = tertulia(&["build", "--format", "openai"], &input.to_string());
    assert_snapshot!(outcome.stderr, @"tertulia: message 3: thinking left out: Chat Completions takes none");
}

#[test]
fn the_field_format_puts_the_request_beside_the_result() {
    let mut input = called();
    input["format"] = json!("gemini");
    let result = built(&[], &input);
    let request: Value = serde_json::from_str(&printed("gemini")).unwrap();
    assert_eq!(result["request"], request);
    assert_eq!(result["notes"][0]["message"], 3);
    assert_eq!(result["notes"][0]["code"], "merged");
    assert!(result["modelMessages"].is_array());
}

/// Returns the same conversation in the format of each API.
fn requests() -> [(&'static str, Value); 4] {
    [
        (
            "openai",
            json!({"model": "gpt-5", "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which colour?"},
            {"role": "assistant", "content": "Blue."},
            {"role": "user", "content": "Why?"}]}),
        ),
        (
            "responses",
            json!({"model": "gpt-5", "instructions": "Be brief.", "input": [
            {"role": "user", "content": "Which colour?"},
            {"role": "assistant", "content": "Blue."},
            {"role": "user", "content": "Why?"}]}),
        ),
        (
            "anthropic",
            json!({"model": "gpt-5", "system": "Be brief.", "messages": [
            {"role": "user", "content": "Which colour?"},
            {"role": "assistant", "content": "Blue."},
            {"role": "user", "content": "Why?"}]}),
        ),
        (
            "gemini",
            json!({"model": "gpt-5", "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
            {"role": "user", "parts": [{"text": "Which colour?"}]},
            {"role": "model", "parts": [{"text": "Blue."}]},
            {"role": "user", "parts": [{"text": "Why?"}]}]}),
        ),
    ]
}

#[test]
fn a_request_of_every_api_is_an_input() {
    for (from, request) in requests() {
        let flags = ["--from", from, "--budget", "1000"];
        let result = built(&flags, &request);
        let texts: Vec<_> = result["modelMessages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].as_str().unwrap())
            .collect();
        assert_eq!(texts, ["Be brief.", "Which colour?", "Blue.", "Why?"], "{from}");
        assert_eq!(result["stats"]["exact"], true, "the model of the request counts: {from}");
        let inside = json!({"config": {"maxInputTokens": 1000}, "model": "gpt-5",
            "inputFormat": from, "inputMessages": request});
        assert_eq!(built(&[], &inside), result, "{from}");
    }
}

#[test]
fn a_bare_list_of_messages_is_an_input() {
    let list = json!([{"role": "user", "content": "hi"}]);
    let result = built(&["--from", "openai", "--budget", "100"], &list);
    assert_eq!(result["modelMessages"][0]["content"], "hi");
}

#[test]
fn tools_come_along_and_a_system_prompt_that_is_given_wins() {
    let request = json!({"messages": [{"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]});
    let flags = ["--from", "openai", "--budget", "1000", "--system", "Rhyme."];
    let result = built(&flags, &request);
    assert_eq!(result["modelToolSpecs"][0]["name"], "f");
    assert_eq!(result["modelMessages"][0]["content"], "Rhyme.");
    assert_eq!(result["modelMessages"][1]["content"], "Be brief.");
}

#[test]
fn one_api_goes_in_and_another_comes_out() {
    for (from, request) in requests() {
        let outputs: Vec<String> = ["openai", "responses", "anthropic", "gemini"]
            .into_iter()
            .map(|to| {
                let flags = ["build", "--from", from, "--format", to, "--budget", "1000"];
                tertulia(&flags, &request.to_string()).stdout
            })
            .collect();
        let (_, first) = &requests()[0];
        for (to, output) in ["openai", "responses", "anthropic", "gemini"].iter().zip(&outputs) {
            let flags = ["build", "--from", "openai", "--format", to, "--budget", "1000"];
            assert_eq!(*output, tertulia(&flags, &first.to_string()).stdout, "{from} to {to}");
        }
    }
}

#[test]
fn a_request_that_is_wrong_is_reported_with_its_place() {
    let wrong = json!({"messages": [{"role": "user", "content": 5}]});
    let reported = refused(&["--from", "openai", "--budget", "9"], &wrong.to_string());
    assert!(reported.contains("ContextInvalidInput: messages[0].content"), "{reported}");
    let inside =
        json!({"config": {"maxInputTokens": 9}, "inputFormat": "openai", "inputMessages": wrong});
    let reported = refused(&[], &inside.to_string());
    assert!(
        reported.contains("ContextInvalidInput: inputMessages.messages[0].content"),
        "{reported}"
    );
}
