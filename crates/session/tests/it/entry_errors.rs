//! The errors for values that are not entries: they name the entry, the field and the fix.

use crate::entry_wire::{check_error, read};

#[test]
fn an_entry_without_an_id_cannot_be_named() {
    check_error("7", "Entry the value must be an object; got a number");
    check_error("{}", "Entry id is missing; give a string");
    check_error(r#"{"id":null}"#, "Entry id must be a string; got null");
    check_error(r#"{"id":7,"type":"custom"}"#, "Entry id must be a string; got a number");
}

#[test]
fn parent_and_type_are_named_with_the_entry() {
    check_error(r#"{"id":"a"}"#, "Entry a: type is missing; give a string");
    check_error(r#"{"id":"a","type":1}"#, "Entry a: type must be a string; got a number");
    check_error(
        r#"{"id":"a","type":"custom","parentId":["b"]}"#,
        "Entry a: parentId must be a string; got a list",
    );
}

#[test]
fn a_known_type_needs_its_payload() {
    check_error(r#"{"id":"a","type":"usage"}"#, "Entry a: payload is missing; give an object");
    check_error(
        r#"{"id":"a","type":"usage","payload":"free"}"#,
        "Entry a: payload must be an object; got a string",
    );
}

/// A type, its payload, and the expected error.
type Case = (&'static str, &'static str, &'static str);

const MESSAGES: &[Case] = &[
    (
        "message",
        r#"{"parts":[]}"#,
        "payload.role is missing; give system, user, assistant or tool, or a speaker",
    ),
    (
        "message",
        r#"{"role":"wizard","parts":[]}"#,
        "payload.role must be system, user, assistant or tool; got \"wizard\"",
    ),
    (
        "message",
        r#"{"role":"user"}"#,
        "payload.parts is missing; give a list of parts, or content as a string",
    ),
    ("message", r#"{"role":"user","content":[]}"#, "payload.content must be a string; got a list"),
    (
        "message",
        r#"{"role":"user","content":"x","parts":{}}"#,
        "payload.parts must be a list; got an object",
    ),
    (
        "message",
        r#"{"role":"tool","parts":[{"kind":"tool_result","payload":{"content":1}}]}"#,
        "payload.parts[0].payload.toolCallId is missing; give a string",
    ),
    (
        "message",
        r#"{"content":"x","speaker":"ann"}"#,
        "payload.speaker must be an object; got a string",
    ),
    (
        "message",
        r#"{"content":"x","speaker":{}}"#,
        "payload.speaker.roleId is missing; give a string that is not empty",
    ),
    (
        "message",
        r#"{"content":"x","speaker":{"roleId":5}}"#,
        "payload.speaker.roleId must be a string; got a number",
    ),
    (
        "message",
        r#"{"content":"x","role":"user","routing":[]}"#,
        "payload.routing must be an object; got a list",
    ),
];

const OTHERS: &[Case] = &[
    (
        "session_header",
        r#"{"version":"1"}"#,
        "payload.version must be a whole number of 0 or more; got a string",
    ),
    ("model_change", "{}", "payload.model is missing; give a string"),
    ("thinking_level_change", r#"{"level":3}"#, "payload.level must be a string; got a number"),
    ("runtime_init", r#"{"data":[]}"#, "payload.data must be an object; got a list"),
    (
        "system_prompt_override",
        r#"{"systemPrompt":null}"#,
        "payload.systemPrompt must be a string; got null",
    ),
    ("team_task", r#"{"task":0}"#, "payload.task must be a string; got a number"),
    (
        "compaction_summary",
        r#"{"summary":""}"#,
        "payload.firstKeptEntryId is missing; give a string",
    ),
    (
        "compaction_summary",
        r#"{"summary":"","firstKeptEntryId":"a","tokensAfter":-1}"#,
        "payload.tokensAfter must be a whole number of 0 or more; got -1",
    ),
    (
        "context_cut",
        r#"{"strategy":"burn"}"#,
        "payload.strategy must be elide or drop; got \"burn\"",
    ),
    (
        "context_cut",
        r#"{"strategy":"drop","elidedIds":["a",1]}"#,
        "payload.elidedIds[1] must be a string; got a number",
    ),
    (
        "branch_summary",
        r#"{"sourceSessionId":"s"}"#,
        "payload.sourceEntryId is missing; give a string",
    ),
    ("recall", r#"{"text":"x"}"#, "payload.sourceIds is missing; give a list of strings"),
    (
        "recall",
        r#"{"text":"x","sourceIds":["a",1]}"#,
        "payload.sourceIds[1] must be a string; got a number",
    ),
    (
        "recall",
        r#"{"text":"x","sourceIds":[],"replaces":1}"#,
        "payload.replaces must be true or false; got a number",
    ),
    ("redaction", r#"{"targetId":null}"#, "payload.targetId must be a string; got null"),
    (
        "turn",
        r#"{"member":"m","state":"lost"}"#,
        "payload.state must be queued, started, done, failed, cancelled or interrupted; got \"lost\"",
    ),
    (
        "usage",
        r#"{"member":"m","inputTokens":1.5}"#,
        "payload.inputTokens must be a whole number of 0 or more; got 1.5",
    ),
    (
        "usage",
        r#"{"member":"m","inputTokens":1,"outputTokens":1,"costUsd":-0.1}"#,
        "payload.costUsd must be a number of 0 or more; got a number",
    ),
];

#[test]
fn fields_of_payloads_are_named() {
    for (kind, payload, sentence) in MESSAGES.iter().chain(OTHERS) {
        let text = format!(r#"{{"id":"a","type":"{kind}","payload":{payload}}}"#);
        check_error(&text, &format!("Entry a: {sentence}"));
    }
}

#[test]
fn half_a_surrogate_pair_is_an_error_only_where_the_text_is_needed() {
    assert!(read(r#"{"id":"\ud800","type":"custom"}"#).is_err());
    assert!(read(r#"{"id":"a","type":"redaction","payload":{"targetId":"\ud800"}}"#).is_err());
    assert!(read(r#"{"id":"a","type":"surprise","payload":{"targetId":"\ud800"}}"#).is_ok());
}
