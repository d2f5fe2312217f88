//! Errors name the position, the field and the fix, and the exit code is 1.

use serde_json::{Value, json};

use super::{refused, talk};
use crate::harness::tertulia;

/// Checks that each input is refused with this text.
#[track_caller]
fn check(input: &Value, reported: &str) {
    let reported = format!("tertulia: ContextInvalidInput: {reported}\n");
    assert_eq!(refused(&[], &input.to_string()), reported, "{input}");
}

fn with(field: &str, value: Value) -> Value {
    let mut input = talk();
    input[field] = value;
    input
}

fn config(field: &str, value: Value) -> Value {
    let mut input = talk();
    input["config"][field] = value;
    input
}

#[test]
fn settings_out_of_their_range_are_named() {
    let whole = "must be a whole number of 0 or more; got";
    check(&config("maxInputTokens", json!(-1)), &format!("config.maxInputTokens {whole} -1"));
    check(
        &config("maxInputTokens", json!("9")),
        &format!("config.maxInputTokens {whole} a string"),
    );
    check(&config("maxInputTokens", json!(0)), "config.maxInputTokens must be at least 1; got 0");
    check(
        &config("maxHistoryMessages", json!(0)),
        "config.maxHistoryMessages must be at least 1; got 0",
    );
    check(
        &config("maxHistoryMessages", json!(1.5)),
        &format!("config.maxHistoryMessages {whole} 1.5"),
    );
    let below = "must be less than maxInputTokens, 1000; got";
    check(&config("reserveTokens", json!(1000)), &format!("config.reserveTokens {below} 1000"));
    check(&config("recallTokens", json!(1001)), &format!("config.recallTokens {below} 1001"));
    let summary = "config.summaryTokens must be at least 1; leave it out for the usual cap; got 0";
    check(&config("summaryTokens", json!(0)), summary);
    check(&config("elideMinTokens", json!(-2)), &format!("config.elideMinTokens {whole} -2"));
}

#[test]
fn shares_and_words_out_of_their_range_are_named() {
    let ratio = "must be a number from 0.001 to 1; got";
    check(&config("targetRatio", json!(1.2)), &format!("config.targetRatio {ratio} 1.2"));
    check(&config("targetRatio", json!(0)), &format!("config.targetRatio {ratio} 0"));
    check(&config("targetRatio", json!(-0.5)), &format!("config.targetRatio {ratio} -0.5"));
    check(
        &config("protectRatio", json!("half")),
        "config.protectRatio must be a number from 0 to 1, such as 0.6; got a string",
    );
    check(
        &config("strategies", json!(["elide", "forget"])),
        "config.strategies[1] must be elide, summarize or drop; got \"forget\"",
    );
    check(
        &config("strategies", json!([])),
        "config.strategies must name at least one of elide, summarize, drop",
    );
    check(
        &config("enableCompaction", json!(1)),
        "config.enableCompaction must be true or false; got a number",
    );
    check(&with("config", json!([])), "config must be an object; got a list");
    check(
        &with("compactor", json!("magic")),
        "compactor must be extractive, or none or null for no summaries; got \"magic\"",
    );
    check(
        &with("tokenizer", json!("words")),
        "tokenizer must be o200k, cl100k, gemma, claude or bytes; got \"words\"",
    );
    check(
        &with("model", json!("gpt-5")),
        "tokenizer and model exclude each other; leave one of them out",
    );
}

#[test]
fn a_budget_that_nobody_named_is_asked_for() {
    let reported = "config.maxInputTokens is missing; give a number of tokens, or a model whose window \
                is known";
    check(&json!({}), reported);
    check(&json!({"model": "gpt-9"}), reported);
}

#[test]
fn entries_are_named_by_their_place_and_id() {
    let log = |entry: Value| with("sessionEntries", json!([talk()["sessionEntries"][0], entry]));
    let said = |payload: Value| log(json!({"id": "e-4", "type": "message", "payload": payload}));
    check(
        &said(json!({"role": "boss", "content": "x"})),
        "sessionEntries[1]: Entry e-4: payload.role must be system, user, assistant or tool; got \
         \"boss\"",
    );
    check(
        &said(json!({"role": "user"})),
        "sessionEntries[1]: Entry e-4: payload.parts is missing; give a list of parts, or content as \
         a string",
    );
    check(
        &log(json!({"type": "message"})),
        "sessionEntries[1]: Entry id is missing; give a string",
    );
    check(&log(json!(7)), "sessionEntries[1]: Entry the value must be an object; got a number");
    check(
        &log(json!({"id": "h", "type": "session_header", "payload": {"version": 9}})),
        "sessionEntries[1]: Entry h: payload.version is 9, and this program reads versions 1 to 2; \
         use a newer version of Tertulia",
    );
    check(&with("sessionEntries", json!({})), "sessionEntries must be a list; got an object");
}

#[test]
fn a_log_that_does_not_hang_together_is_refused() {
    let summary = json!({"id": "s", "type": "compaction_summary",
        "payload": {"summary": "x", "firstKeptEntryId": "nowhere"}});
    check(
        &with("sessionEntries", json!([summary])),
        "Entry s: payload.firstKeptEntryId names nowhere, which is not in the log; name an entry of the log",
    );
    let orphan = json!({"id": "a", "parentId": "b", "type": "custom"});
    let reported = refused(&[], &with("sessionEntries", json!([orphan])).to_string());
    assert!(reported.contains("ContextInvalidInput: Entry a: parentId"), "{reported}");
}

#[test]
fn messages_tools_and_the_rest_are_named_by_their_place() {
    check(
        &with("inputMessages", json!([{"role": "user", "content": "x"}, {"content": "y"}])),
        "inputMessages[1].role is missing; give system, user, assistant or tool, or a speaker",
    );
    check(
        &with("inputMessages", json!([{"role": "user", "parts": [{"kind": "text"}]}])),
        "inputMessages[0].parts[0].payload is missing; give an object",
    );
    check(
        &with("toolSpecs", json!([{"name": "f"}])),
        "toolSpecs[0].parameterSchema is missing; give a JSON Schema",
    );
    check(&with("runtimeInitData", json!([])), "runtimeInitData must be an object; got a list");
    check(&with("runtimeHints", json!(5)), "runtimeHints must be an object; got a number");
    check(
        &with("runtimeHints", json!({"step": "two"})),
        "runtimeHints.step must be a whole number of 0 or more; got a string",
    );
    check(
        &with("tokenCounts", json!({"e-1": -3})),
        "tokenCounts.e-1 must be a whole number of 0 or more; got -3",
    );
    check(&with("overflowHint", json!("yes")), "overflowHint must be true or false; got a string");
    check(
        &with("format", json!("grok")),
        "format must be openai, responses, anthropic or gemini; got \"grok\"",
    );
    check(&with("inputFormat", json!(7)), "inputFormat must be a string; got a number");
}

#[test]
fn what_must_be_sent_and_does_not_fit_is_named_with_its_size() {
    let reported = refused(&["--budget", "10"], &talk().to_string());
    assert!(
        reported.starts_with("tertulia: ContextOverflow: the request needs at least "),
        "{reported}"
    );
    assert!(
        reported.contains(
            "the limit is 10; shorten the largest parts or raise maxInputTokens: system prompt 6, entry e-"
        ),
        "{reported}"
    );
}

#[test]
fn files_that_are_no_input_are_reported() {
    let reported = refused(&[], "{\"config\":");
    assert_eq!(
        reported,
        "tertulia: standard input: not JSON at line 1, column 10: EOF while parsing a value\n"
    );
    assert_eq!(
        refused(&[], "[]"),
        "tertulia: ContextInvalidInput: the input must be an object; got a list\n"
    );
    assert!(refused(&["no-such-file"], "").contains("cannot read no-such-file"));
}

#[test]
fn unknown_fields_are_passed_over_with_a_word() {
    let mut input = with("colour", json!("blue"));
    input["config"]["maxTokens"] = json!(5);
    let outcome = tertulia(&["build"], &input.to_string());
    assert!(outcome.exits_with(0));
    let reported = "tertulia: unknown fields ignored: colour, config.maxTokens\n";
    assert_eq!(outcome.stderr, reported);
}

#[test]
fn an_unknown_model_is_estimated_and_reported() {
    let outcome = tertulia(&["build", "--model", "nobody-9"], &talk().to_string());
    assert_eq!(outcome.stderr, "tertulia: unknown model \"nobody-9\"; using an estimate\n");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for flags in [
        &["--budget", "-1"][..],
        &["--recall", "many"],
        &["--format", "grok"],
        &["--from", "grok"],
        &["--explain", "--format", "openai"],
        &["-", "--log", "-"],
    ] {
        assert!(tertulia(&[&["build"], flags].concat(), "{}").exits_with(2), "{flags:?}");
    }
    let reported = tertulia(&["build", "--format", "grok"], "").stderr;
    assert!(reported.contains("must be openai, responses, anthropic or gemini"), "{reported}");
}
