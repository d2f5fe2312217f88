//! Tests the rpc methods that build contexts for models: formats, errors for programs, summaries of models.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tertulia_context::builder::{ContextBuildInput, ContextBuilder, ContextConfig};
use tertulia_session::Entry;
use tertulia_session::record::{MessageRecord, read_entry_line};

use crate::harness::{ask, request, rpc_with_logs};

/// Returns a log that is far too long for the budget, with a question at its end.
fn long() -> Value {
    let words = "The cache in src/cache.rs keeps its keys for 90 seconds and no longer. ";
    let mut entries: Vec<Value> = (0..20)
        .map(|place: usize| {
            let parent = place.checked_sub(1).map(|place| format!("e-{place}"));
            let role = if place.is_multiple_of(2) { "user" } else { "assistant" };
            let text = format!("Step {place} of task T-{place}: {}", words.repeat(3));
            json!({"id": format!("e-{place}"), "parentId": parent, "type": "message",
            "payload": {"role": role, "parts": [{"kind": "text", "payload": {"text": text}}]}})
        })
        .collect();
    entries.push(json!({"id": "e-20", "parentId": "e-19", "type": "message",
        "payload": {"role": "user", "parts": [{"kind": "text", "payload": {"text": "What is left?"}}]}}));
    json!({"config": {"maxInputTokens": 600, "requestSummaries": true}, "tokenizer": "bytes",
        "sessionEntries": entries})
}

#[track_caller]
fn result(method: &str, params: &Value) -> Value {
    let answer = ask(method, &params.to_string());
    let result = answer.strip_prefix("\"result\":");
    serde_json::from_str(result.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

#[track_caller]
fn error(method: &str, params: &Value) -> Value {
    let answer = ask(method, &params.to_string());
    let error = answer.strip_prefix("\"error\":");
    serde_json::from_str(error.unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

fn append(params: &mut Value, result: &Value) {
    let new = result["entriesToAppend"].as_array().unwrap().clone();
    params["sessionEntries"].as_array_mut().unwrap().extend(new);
}

#[test]
fn a_context_is_built_from_messages_alone() {
    let params = r#"{"config":{"maxInputTokens":500},"systemPrompt":"Be brief.","inputMessages":[{"role":"user","content":"Hello"}],"explain":true,"returnTokenCounts":true,"format":"openai"}"#;
    assert_snapshot!(ask("buildContext", params), @r#""result":{"modelMessages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}],"compacted":false,"entriesToAppend":[{"id":"e-87588a7168b58c152123f72377d2589d","type":"message","payload":{"role":"user","parts":[{"kind":"text","payload":{"text":"Hello"}}]}}],"stats":{"inputTokens":15,"exact":false,"limit":500,"messageCount":2,"droppedMessagesCount":0,"summarizedMessagesCount":0,"elidedMessagesCount":0,"recalledEntriesCount":0},"cacheBreakpoints":[0,1],"verdicts":[{"entry":"e-87588a7168b58c152123f72377d2589d","state":"kept"}],"tokenCounts":{"e-87588a7168b58c152123f72377d2589d":5},"request":{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}]},"notes":[]}"#);
}

#[test]
fn the_command_and_the_method_say_the_same() {
    let params = long().to_string();
    let answer = ask("buildContext", &params);
    let printed = crate::harness::tertulia(&["build"], &params).stdout;
    assert_eq!(answer.strip_prefix("\"result\":"), Some(printed.trim_end()));
}

/// Returns the messages of the library's default for this log, as JSON.
fn library_messages(entries: &[Value], budget: u64) -> Value {
    let entry = |(at, entry): (usize, &Value)| read_entry_line(at + 1, &entry.to_string()).unwrap();
    let log: Vec<Entry> = entries.iter().enumerate().map(entry).collect();
    let builder = ContextBuilder::new(ContextConfig::new(budget)).unwrap();
    let input = ContextBuildInput { session_entries: &log, ..ContextBuildInput::default() };
    let built = builder.build_context(&input).unwrap();
    let sent = built.model_messages.iter();
    sent.map(|sent| serde_json::to_value(MessageRecord(&sent.message)).unwrap()).collect()
}

#[test]
fn library_command_and_method_have_the_same_default() {
    let long = long();
    let entries = long["sessionEntries"].as_array().unwrap();
    let mut asked = entries.clone();
    asked[20]["payload"]["parts"][0]["payload"]["text"] = json!("What was step 2 of task T-2?");
    for (entries, budget) in [(entries, 600), (&asked, 600), (&asked, 900), (&asked, 100_000)] {
        let params = json!({"config": {"maxInputTokens": budget}, "sessionEntries": entries});
        let by_method = result("buildContext", &params);
        let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
        let budget_flag = budget.to_string();
        let flags = ["build", "--log", "-", "--budget", &budget_flag];
        let printed = crate::harness::tertulia(&flags, &lines.join("\n")).stdout;
        let by_command: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(by_command["modelMessages"], by_method["modelMessages"], "{budget}");
        assert_eq!(library_messages(entries, budget), by_method["modelMessages"], "{budget}");
        let recalled = by_method["stats"]["recalledEntriesCount"].as_u64().unwrap();
        assert_eq!(recalled > 0, entries == &asked && budget < 1_000, "{budget}");
    }
}

#[test]
fn an_update_without_news_changes_nothing() {
    let params = json!({"config": {"maxInputTokens": 500},
        "sessionEntries": [{"id": "a", "type": "message", "payload": {"role": "user", "content": "hi"}}],
        "newMessages": [{"role": "user", "content": "hi"}]});
    assert_snapshot!(ask("computeContextUpdates", &params.to_string()), @r#""result":{"compacted":false,"entriesToAppend":[],"stats":{"inputTokens":7,"exact":false,"limit":500,"messageCount":1,"droppedMessagesCount":0,"summarizedMessagesCount":0,"elidedMessagesCount":0,"recalledEntriesCount":0}}"#);
}

#[test]
fn an_update_appends_new_messages_and_cuts_when_the_model_says_so() {
    let mut params = long();
    params["newMessages"] = json!([{"role": "assistant", "content": "Nothing."}]);
    params["config"]["maxInputTokens"] = json!(5000);
    let small = result("computeContextUpdates", &params);
    assert_eq!(small["compacted"], false);
    assert_eq!(small["updatedMessages"].as_array().unwrap().len(), 22);
    params["overflowHint"] = json!(true);
    params["returnTokenCounts"] = json!(true);
    let cut = result("computeContextUpdates", &params);
    assert_eq!(cut["compacted"], true);
    assert!(cut["updatedMessages"].as_array().unwrap().len() < 22);
    assert!(cut["tokenCounts"]["e-20"].is_u64());
}

#[test]
fn a_summary_of_a_model_takes_the_place_of_the_extractive_one() {
    let mut params = long();
    let built = result("buildContext", &params);
    let asked = built["summaryRequest"].clone();
    assert!(asked["text"].as_str().unwrap().contains("src/cache.rs"), "{asked}");
    append(&mut params, &built);
    let mut call = params.clone();
    call["summaryRequest"] = asked;
    call["text"] =
        json!("The steps up to T-9 are done; the cache in src/cache.rs keeps keys for 90 seconds.");
    call["author"] = json!("gpt-5");
    let accepted = result("acceptSummary", &call);
    assert_eq!(accepted["accepted"], true, "{accepted}");
    assert_eq!(accepted["entriesToAppend"][0]["payload"]["author"], "gpt-5");
    append(&mut params, &accepted);
    let again = result("buildContext", &params);
    assert_eq!(again["entriesToAppend"], json!([]));
    assert!(again["modelMessages"][0]["content"].as_str().unwrap().contains("up to T-9 are done"));
}

#[test]
fn a_summary_that_does_not_pass_is_refused_with_its_reason() {
    let mut params = long();
    let built = result("buildContext", &params);
    append(&mut params, &built);
    params["summaryRequest"] = built["summaryRequest"].clone();
    params["text"] = json!("  ");
    let refused = result("acceptSummary", &params);
    assert_eq!(refused["accepted"], false);
    assert_snapshot!(refused["reason"].as_str().unwrap(), @"the summary is blank");
    let payload = &refused["entriesToAppend"][0]["payload"];
    assert!(payload["refused"].as_str().unwrap().starts_with("model: "), "{payload}");
}

#[test]
fn a_summary_of_another_log_is_wrong_input() {
    let mut params = long();
    params["summaryRequest"] = result("buildContext", &params)["summaryRequest"].clone();
    params["text"] = json!("Done.");
    assert_snapshot!(error("acceptSummary", &params), @r#"{"code":-32000,"data":{"category":"context","code":"ContextInvalidInput","field":"summaryRequest.coveredHash","retryable":false},"message":"summaryRequest.coveredHash does not belong to the newest summary: first append entriesToAppend, or build again if entries were redacted or cut since"}"#);
}

#[test]
fn an_overflow_has_floor_limit_and_the_biggest_for_programs() {
    let params = json!({"config": {"maxInputTokens": 20}, "tokenizer": "bytes", "systemPrompt": "x".repeat(100),
        "sessionEntries": [{"id": "a", "type": "message",
            "payload": {"role": "user", "content": "y".repeat(40)}}]});
    assert_snapshot!(error("buildContext", &params), @r#"{"code":-32000,"data":{"biggest":[{"part":"systemPrompt","tokens":28},{"entry":"a","tokens":13}],"category":"context","code":"ContextOverflow","floor":44,"limit":20,"retryable":false},"message":"the request needs at least 44 tokens, and the limit is 20; shorten the largest parts or raise maxInputTokens: system prompt 28, entry a 13"}"#);
}

#[test]
fn an_input_error_has_entry_and_field_for_programs() {
    let entry = json!({"config": {"maxInputTokens": 20}, "sessionEntries": [{"id": "a",
        "type": "message", "payload": {"role": "boss", "content": "y"}}]});
    assert_snapshot!(error("buildContext", &entry), @r#"{"code":-32000,"data":{"category":"context","code":"ContextInvalidInput","entry":"a","field":"payload.role","retryable":false},"message":"sessionEntries[0]: Entry a: payload.role must be system, user, assistant or tool; got \"boss\""}"#);
    let nameless = json!({"config": {"maxInputTokens": 20}, "sessionEntries": [{}]});
    assert_snapshot!(error("buildContext", &nameless), @r#"{"code":-32000,"data":{"category":"context","code":"ContextInvalidInput","field":"sessionEntries[0].id","retryable":false},"message":"sessionEntries[0]: Entry id is missing; give a string"}"#);
    let config = json!({"config": {"maxInputTokens": 0}});
    assert_snapshot!(error("computeContextUpdates", &config), @r#"{"code":-32000,"data":{"category":"context","code":"ContextInvalidInput","field":"config.maxInputTokens","retryable":false},"message":"config.maxInputTokens must be at least 1; got 0"}"#);
    let message = json!({"config": {"maxInputTokens": 9}, "newMessages": [{}]});
    assert_snapshot!(error("computeContextUpdates", &message), @r#"{"code":-32000,"data":{"category":"context","code":"ContextInvalidInput","field":"newMessages[0].parts","retryable":false},"message":"newMessages[0].parts is missing; give a list of parts, or content as a string"}"#);
    let missing = json!({"config": {"maxInputTokens": 9}});
    assert_snapshot!(error("acceptSummary", &missing), @r#"{"code":-32000,"data":{"category":"context","code":"ContextInvalidInput","field":"summaryRequest","retryable":false},"message":"summaryRequest is missing; give the summaryRequest of the result that asked for a text"}"#);
}

#[test]
fn a_cut_that_makes_nothing_smaller_is_an_error_and_no_loop() {
    let cut = |id: &str, parent: &str| {
        json!({"id": id, "parentId": parent, "type": "context_cut",
        "payload": {"strategy": "drop", "firstKeptEntryId": "a", "tokensBefore": 50, "tokensAfter": 50,
            "reason": "budget"}})
    };
    let params = json!({"config": {"maxInputTokens": 20}, "tokenizer": "bytes", "sessionEntries": [
        {"id": "a", "type": "message", "payload": {"role": "user", "content": "y".repeat(200)}},
        cut("b", "a"), cut("c", "b")]});
    assert_snapshot!(error("buildContext", &params), @r#"{"code":-32000,"data":{"category":"context","code":"ContextCompactionFailed","reason":"the last two cuts did not make it smaller, and there are no new messages; raise maxInputTokens or shorten pinned entries","retryable":false},"message":"the context cannot be made smaller: the last two cuts did not make it smaller, and there are no new messages; raise maxInputTokens or shorten pinned entries"}"#);
}

#[test]
fn unknown_parameters_and_models_are_reported_in_the_log() {
    let params = r#"{"config":{"maxInputTokens":50,"x":1},"y":2,"model":"nobody-9"}"#;
    let lines = rpc_with_logs(&[&request("buildContext", params)]);
    assert!(lines[0].contains("[rpc] buildContext: unknown parameters ignored: y, config.x"));
    assert!(lines[1].contains("[rpc] buildContext: unknown model"), "{lines:?}");
    let params = r#"{"config":{"maxInputTokens":50},"explain":true,"format":"openai"}"#;
    let lines = rpc_with_logs(&[&request("computeContextUpdates", params)]);
    assert!(lines[0].contains("unknown parameters ignored: explain, format"), "{lines:?}");
}
