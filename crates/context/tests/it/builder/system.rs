//! The frozen message, the hints, the breakpoints for caches, and messages that are passed again.

use std::sync::Arc;

use tertulia_context::builder::{ContextBuildInput, ContextConfig, HINTS, ProvideHints};
use tertulia_context::tokens::ToolSpec;
use tertulia_session::json::Json;

use super::claim::{appended, build, builder, of_log, refused, sent, with_entries};
use super::notation::{json, legacy_log, log, message, messages};

fn large() -> ContextConfig {
    ContextConfig::new(10_000)
}

#[test]
fn the_prompt_of_the_input_goes_before_the_logs_before_the_runs_before_the_builders() {
    let builder = builder(large()).with_system_prompt("mine");
    let check = |lines: &[&str], prompt: Option<&str>, expected: &str| {
        let log = log(lines);
        let input = ContextBuildInput { system_prompt: prompt, ..of_log(&log) };
        assert_eq!(sent(&build(&builder, &input).model_messages)[0], expected, "{lines:?}");
    };
    check(&["u hi"], None, "P mine");
    let init = r#"init {"systemPrompt":"of run","cwd":"/"}"#;
    check(&[init, "u hi"], None, "P of run / cwd: /");
    check(&[init, "prompt first", "prompt of log", "u hi"], None, "P of log / cwd: /");
    check(&[init, "prompt of log", "u hi"], Some("given"), "P given / cwd: /");
    check(&["prompt secret", "u hi", "redact 0"], None, "P mine");
    check(&["u hi", "prompt left", "@0 a yo"], None, "P mine");
}

#[test]
fn the_data_of_the_input_stand_for_those_of_the_log_sorted_by_name() {
    let log = log(&[r#"init {"os":"linux","cwd":"/a"}"#, "u hi"]);
    let data = json(r#"{"os":"mac","cwd":"/b","n":[1, 2],"none":null,"a\u0062c":"x","os":"bsd"}"#);
    let own = build(&builder(large()), &of_log(&log));
    assert_eq!(sent(&own.model_messages), ["P cwd: /a|os: linux", "u hi"]);
    let input = ContextBuildInput { runtime_init_data: Some(&data), ..of_log(&log) };
    let given = build(&builder(large()), &input);
    assert_eq!(sent(&given.model_messages), ["P abc: x|cwd: /b|n: [1,2]|os: bsd", "u hi"]);
}

#[test]
fn the_time_among_the_data_of_a_run_belongs_to_the_hints() {
    let log = log(&[r#"init {"cwd":"/","time":"noon"}"#, "u hi"]);
    let alone = build(&builder(large()), &of_log(&log));
    assert_eq!(sent(&alone.model_messages), ["P cwd: /", "u hi", "H time: noon"]);
    let hints = json(r#"{"time":"one","step":2,"zoo":{"x": 1},"activeFile":"a.rs"}"#);
    let input = ContextBuildInput { runtime_hints: Some(&hints), ..of_log(&log) };
    let hinted = build(&builder(large()), &input);
    let expected = "H activeFile: a.rs|step: 2|time: one|zoo: {\"x\":1}";
    assert_eq!(sent(&hinted.model_messages)[2], expected);
    let meta = hinted.model_messages[2].message.meta.as_ref().unwrap();
    assert_eq!(meta.as_str(), r#"{"kind":"runtime_hints"}"#);
    // The list without hints is a prefix of the list with them.
    assert_eq!(hinted.model_messages[..2], alone.model_messages[..2]);
    assert!(hinted.entries_to_append.is_empty());
}

#[derive(Debug)]
struct Noon;

impl ProvideHints for Noon {
    fn hints(&self) -> Option<Json> {
        Some(json(r#"{"time":"noon"}"#))
    }
}

#[test]
fn a_provider_of_hints_is_asked_where_the_input_brings_none() {
    let log = log(&["u hi"]);
    let builder = builder(large()).with_hints(Arc::new(Noon));
    assert_eq!(sent(&build(&builder, &of_log(&log)).model_messages), ["u hi", "H time: noon"]);
    let hints = json("{}");
    let input = ContextBuildInput { runtime_hints: Some(&hints), ..of_log(&log) };
    assert_eq!(sent(&build(&builder, &input).model_messages), ["u hi"]);
}

#[test]
fn the_known_hints_are_sorted_and_of_the_kind_that_they_say() {
    assert!(HINTS.is_sorted_by_key(|hint| hint.name));
    let check = |hints: &str, message: &str| {
        let hints = json(hints);
        let input = ContextBuildInput { runtime_hints: Some(&hints), ..of_log(&[]) };
        assert_eq!(refused(&builder(large()), &input).to_string(), message);
    };
    check("[1]", "runtimeHints must be an object; got a list");
    check(r#"{"step":"2"}"#, "runtimeHints.step must be a whole number of 0 or more; got a string");
    check(r#"{"step":-2}"#, "runtimeHints.step must be a whole number of 0 or more; got a number");
    check(r#"{"time":5}"#, "runtimeHints.time must be a string; got a number");
    check(
        r#"{"openFiles":["a",1]}"#,
        "runtimeHints.openFiles must be a list of strings; got a list",
    );
    let fine = json(r#"{"time":null,"step":3,"openFiles":[],"odd":[{}]}"#);
    let input = ContextBuildInput { runtime_hints: Some(&fine), ..of_log(&[]) };
    let result = build(&builder(large()), &input);
    assert_eq!(sent(&result.model_messages), ["H odd: [{}]|openFiles: []|step: 3"]);
}

#[test]
fn the_data_of_a_run_must_be_an_object() {
    let data = json("\"cwd\"");
    let input = ContextBuildInput { runtime_init_data: Some(&data), ..of_log(&[]) };
    let error = refused(&builder(large()), &input);
    assert_eq!(error.to_string(), "runtimeInitData must be an object; got a string");
    assert_eq!(error.code(), "ContextInvalidInput");
}

#[test]
fn messages_that_the_log_ends_with_are_taken_once() {
    let check = |log_lines: &[&str], input: &[&str], new: &[&str]| {
        let (log, input_messages) = (log(log_lines), messages(input));
        let input = ContextBuildInput { input_messages: &input_messages, ..of_log(&log) };
        let result = build(&builder(large()), &input);
        assert_eq!(appended(&result.entries_to_append), new, "{log_lines:?} + {input:?}");
    };
    check(&["u a", "a b"], &["u a", "a b"], &[]);
    check(&["u a", "a b"], &["a b", "u c"], &["u c"]);
    check(&["u a", "usage m 5", "odd"], &["u a"], &[]);
    check(&["u a", "a b"], &["u a"], &["u a"]);
    // A hidden message is recognised if it is passed again, so that it does not come back.
    check(&["u a", "redact 0"], &["u a"], &[]);
    check(&["u a", "a b", "u c", "redact 1"], &["u a", "a b", "u c", "a d"], &["a d"]);
}

#[test]
fn new_entries_follow_the_tail_under_the_ids_of_their_content() {
    for log in [log(&["u a", "odd"]), legacy_log(&["u a", "odd"])] {
        let new = [message("a b"), message("u c")];
        let input = ContextBuildInput { input_messages: &new, ..of_log(&log) };
        let entries = build(&builder(large()), &input).entries_to_append;
        assert_eq!(entries[0].parent_id, Some(log[1].id.clone()));
        assert_eq!(entries[1].parent_id, Some(entries[0].id.clone()));
        assert!(entries.iter().all(|entry| entry.id == entry.content_id()));
        let log = with_entries(&log, &entries);
        let result = build(&builder(large()), &of_log(&log));
        assert_eq!(sent(&result.model_messages), ["u a", "a b", "u c"]);
    }
}

#[test]
fn breakpoints_are_behind_the_system_message_the_last_request_and_the_history() {
    let check = |lines: &[&str], expected: &[usize]| {
        let log = log(lines);
        let hints = json(r#"{"step":1}"#);
        let input = ContextBuildInput { runtime_hints: Some(&hints), ..of_log(&log) };
        let result = build(&builder(large()), &input);
        assert_eq!(result.cache_breakpoints, expected, "{lines:?}");
    };
    check(&["odd"], &[]);
    check(&["u hi"], &[0]);
    check(&["prompt p", "u hi"], &[0, 1]);
    check(&["prompt p", "u hi", "a +1", "t =1"], &[0, 1, 3]);
    check(&["prompt p", "u hi", "a +1", "t =1", "a ok", "u more"], &[0, 3, 5]);
}

#[test]
fn tools_pass_through_in_order_and_are_counted() {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: None,
        parameter_schema: json(r#"{"type":"object"}"#),
        strict: None,
    };
    let tools = [tool("zoo"), tool("ant")];
    let log = log(&["u hi"]);
    let input = ContextBuildInput { tool_specs: &tools, ..of_log(&log) };
    let (with, without) =
        (build(&builder(large()), &input), build(&builder(large()), &of_log(&log)));
    assert_eq!(with.model_tool_specs, tools);
    assert_eq!(with.model_messages, without.model_messages);
    assert!(with.stats.input_tokens > without.stats.input_tokens);
}
