//! Tests `tertulia build`: from an input, a log or a vendor's request to the messages for a model.

mod errors;
mod flags;
mod formats;
mod logs;

use serde_json::{Value, json};

use crate::harness::tertulia;

/// Returns an input with a short conversation, counted by bytes so that the figures are simple.
fn talk() -> Value {
    json!({
        "config": {"maxInputTokens": 1000},
        "tokenizer": "bytes",
        "systemPrompt": "Be brief.",
        "sessionEntries": [
            {"id": "e-1", "type": "message", "payload": {"role": "user", "content": "Which colour?"}},
            {"id": "e-2", "type": "message", "payload": {"role": "assistant", "content": "Blue."}}
        ],
        "inputMessages": [{"role": "user", "content": "Why blue?"}]
    })
}

/// Returns a log of an agent's work that is far too long for a small budget.
fn work(turns: usize) -> Vec<Value> {
    let mut entries =
        vec![message(0, "user", "The login fails with E4711 in src/login.rs. Mend it.")];
    for turn in 0..turns {
        let call = json!({"toolCallId": format!("c{turn}"), "toolName": "read",
            "arguments": {"path": format!("src/part{turn}.rs")}});
        let result = json!({"toolCallId": format!("c{turn}"), "content": format!(
            "fn part{turn}() -> u32 {{ {turn} }} // {}", "a long output ".repeat(20))});
        entries.push(entry(
            entries.len(),
            "assistant",
            &json!([{"kind": "tool_call", "payload": call}]),
        ));
        entries.push(entry(
            entries.len(),
            "tool",
            &json!([{"kind": "tool_result", "payload": result}]),
        ));
    }
    entries.push(message(entries.len(), "assistant", "I read all parts."));
    entries.push(message(entries.len(), "user", "And what was E4711 about?"));
    entries
}

fn message(place: usize, role: &str, text: &str) -> Value {
    entry(place, role, &json!([{"kind": "text", "payload": {"text": text}}]))
}

fn entry(place: usize, role: &str, parts: &Value) -> Value {
    let parent = place.checked_sub(1).map(|place| format!("e-{place}"));
    json!({"id": format!("e-{place}"), "parentId": parent, "type": "message",
        "payload": {"role": role, "parts": parts}})
}

/// Returns the result of a successful build.
#[track_caller]
fn built(flags: &[&str], input: &Value) -> Value {
    let outcome = tertulia(&[&["build"], flags].concat(), &input.to_string());
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

/// Returns the error of a failed build.
#[track_caller]
fn refused(flags: &[&str], input: &str) -> String {
    let outcome = tertulia(&[&["build"], flags].concat(), input);
    assert!(outcome.exits_with(1), "{}", outcome.stdout);
    assert_eq!(outcome.stdout, "");
    outcome.stderr
}
