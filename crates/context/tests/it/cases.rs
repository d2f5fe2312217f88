//! The 120 cases of the contract, as data with inputs and outputs. Each is run through the same reading functions
//! that the program uses.

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tertulia_context::record::{Detail, PromptRecord, read_assembler_input};
use tertulia_context::{
    AgentType, Assembler, ContextManager, ContextManagerOptions, ContextRequest, ContextSnapshot,
    Prompt, format_addressees, strip_all_markers, truncate_to_bytes,
};
use tertulia_session::json::{FieldError, Object, RawValue, whole_number};
use tertulia_session::record::{read_addressees, read_message};
use tertulia_session::{ConversationMessage, Message};

use crate::harness::{Notes, add_json, ann, ids, say};

/// Every file of cases, and the number of cases in it.
const FIXTURES: [(&str, usize); 15] = [
    (include_str!("../fixtures/add_message.jsonl"), 5),
    (include_str!("../fixtures/assemble_claude.jsonl"), 16),
    (include_str!("../fixtures/assemble_codex.jsonl"), 3),
    (include_str!("../fixtures/assemble_gemini.jsonl"), 5),
    (include_str!("../fixtures/assemble_plain_text.jsonl"), 5),
    (include_str!("../fixtures/assemble_prompt.jsonl"), 1),
    (include_str!("../fixtures/context_for_agent.jsonl"), 12),
    (include_str!("../fixtures/dedupe.jsonl"), 3),
    (include_str!("../fixtures/format_addressees.jsonl"), 5),
    (include_str!("../fixtures/import_snapshot.jsonl"), 10),
    (include_str!("../fixtures/next_message_id.jsonl"), 5),
    (include_str!("../fixtures/normalize_agent_type.jsonl"), 8),
    (include_str!("../fixtures/strip_all_markers.jsonl"), 28),
    (include_str!("../fixtures/team_task.jsonl"), 5),
    (include_str!("../fixtures/truncate_to_bytes.jsonl"), 9),
];

#[test]
fn every_case_of_the_contract_comes_out_as_it_says() {
    let mut run = 0;
    let mut wrong = Vec::new();
    for (lines, count) in FIXTURES {
        let cases: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(cases.len(), count, "{}", cases[0]["call"]);
        for case in cases {
            run += 1;
            let answer = answer(text(&case["call"]), &expanded(&case["given"]));
            if answer.as_ref() != Ok(&expanded(&case["gives"])) {
                wrong.push(format!("{case}\n  came out as {answer:?}"));
            }
        }
    }
    assert_eq!(run, 120);
    assert!(wrong.is_empty(), "{} of {run} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_case_of_an_unknown_function_is_not_passed_over() {
    assert_eq!(answer("stripAllMakers", &json!("")), Err("no function stripAllMakers".to_owned()));
}

/// Returns the result of the function of this name.
fn answer(call: &str, given: &Value) -> Result<Value, String> {
    let answer = match call {
        "stripAllMarkers" => json!(strip_all_markers(text(given))),
        "formatAddressees" => format_a_list(given),
        "normalizeAgentType" => json!(AgentType::named(text(given)).as_str()),
        "truncateToBytes" => truncate(given),
        "setTeamTask" => task_of(|manager| manager.set_team_task(text(given))),
        "importSnapshotTask" => {
            task_of(|manager| manager.import_snapshot(read_snapshot(given).unwrap()).unwrap())
        }
        "nextMessageId" => next_message_id(given),
        "getContextForAgent" => or_error(context_for_agent(given)),
        "deduplicateContext" => context_of(given),
        "addMessage" => or_error(add_message(given)),
        "importSnapshot" => import_snapshot(given),
        "claude.assemble" => assemble(&Assembler::claude(), given),
        "codex.assemble" => assemble(&Assembler::codex(), given),
        "gemini.assemble" => assemble(&Assembler::gemini(), given),
        "plainText.assemble" => assemble(&Assembler::plain_text(), given),
        "assemblePrompt" => assemble_prompt(given),
        other => return Err(format!("no function {other}")),
    };
    Ok(answer)
}

fn format_a_list(given: &Value) -> Value {
    let addressees = (!given.is_null()).then(|| read_addressees(&raw(given)).unwrap());
    json!(format_addressees(addressees.as_deref()))
}

/// Truncates a text. Nothing fits into a negative limit.
fn truncate(given: &Value) -> Value {
    let bytes_max = given["maxBytes"].as_i64().unwrap();
    json!(truncate_to_bytes(text(&given["text"]), usize::try_from(bytes_max).unwrap_or(0)))
}

fn task_of(change: impl FnOnce(&mut ContextManager)) -> Value {
    let (log, calls) = (Notes::default(), Notes::default());
    let hook = calls.clone();
    let mut manager = ContextManager::new(ContextManagerOptions {
        log_sink: Some(log.sink()),
        on_team_task_changed: Some(Box::new(move |task| hook.take(task.unwrap()))),
        ..ContextManagerOptions::default()
    });
    change(&mut manager);
    let task = manager.get_team_task().unwrap();
    let calls = calls.read();
    assert!(calls.iter().all(|told| told == task), "the hook is told what is stored");
    json!({
        "bytes": task.len(), "characters": task.chars().count(),
        "hookCalls": calls.len(), "log": log.read(),
    })
}

fn next_message_id(given: &Value) -> Value {
    let speaker = json!({"roleId": "a", "roleName": "A"});
    let message = |id: &Value| json!({"id": id, "content": "", "speaker": speaker});
    let messages: Vec<Value> = given.as_array().unwrap().iter().map(message).collect();
    let mut manager = ContextManager::default();
    let snapshot = json!({"messages": messages, "teamTask": null, "version": 1});
    manager.import_snapshot(read_snapshot(&snapshot).unwrap()).unwrap();
    let added = manager.add_message(Message::said(ann(), "next")).unwrap();
    json!(added.id.number().unwrap())
}

fn context_for_agent(given: &Value) -> Result<Value, String> {
    let mut options = ContextManagerOptions::default();
    if let Some(size) = number(&given["options"], "contextWindowSize")? {
        options.context_window_size = usize::try_from(size).unwrap();
    }
    if let Some(bytes) = number(&given["options"], "maxBytes")? {
        options.max_bytes = bytes;
    }
    let window_size = number(&given["request"], "windowSizeOverride")?;
    let request = ContextRequest {
        window_size: window_size.map(|size| usize::try_from(size).unwrap()),
        ..ContextRequest::default()
    };
    let mut manager = ContextManager::new(options);
    for message in given["messages"].as_array().unwrap() {
        add_json(&mut manager, &message.to_string()).unwrap();
    }
    let input = manager.get_context_for_agent("ivo", "claude-code", &request);
    Ok(serde_json::to_value(&input).unwrap())
}

/// Returns the messages of a context whose ids another program assigned.
fn context_of(given: &Value) -> Value {
    let snapshot = json!({"messages": given["messages"], "teamTask": null, "version": 1});
    let mut manager = ContextManager::default();
    manager.import_snapshot(read_snapshot(&snapshot).unwrap()).unwrap();
    let input = manager.get_context_for_agent("lena", "claude-code", &ContextRequest::default());
    serde_json::to_value(&input).unwrap()["contextMessages"].take()
}

fn add_message(given: &Value) -> Result<Value, String> {
    let mut manager = ContextManager::default();
    let message = read_message(&raw(given)).map_err(|error| error.to_string())?;
    let added = manager.add_message(message).map_err(|error| error.to_string())?;
    let ConversationMessage { id, message } = &*added;
    let next = manager.add_message(Message::said(ann(), "next")).unwrap();
    let next_id = next.id.to_string();
    Ok(json!({"id": id.to_string(), "content": message.text(), "nextId": next_id}))
}

fn import_snapshot(given: &Value) -> Value {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["before"]);
    manager.set_team_task("before");
    let before = manager.export_snapshot(0);
    let read = read_snapshot(given).map_err(|error| error.to_string());
    let imported = read
        .and_then(|snapshot| manager.import_snapshot(snapshot).map_err(|error| error.to_string()));
    if let Err(error) = imported {
        assert_eq!(manager.export_snapshot(0), before, "nothing is touched");
        return json!({ "error": error });
    }
    say(&mut manager, &ann(), &["next"]);
    let next_id = manager.get_latest_message().unwrap().id.to_string();
    json!({"messageIds": ids(&manager), "teamTask": manager.get_team_task(), "nextId": next_id})
}

fn assemble(assembler: &Assembler, given: &Value) -> Value {
    shown(&assembler.plan(&read_assembler_input(&raw(given)).unwrap()))
}

fn assemble_prompt(given: &Value) -> Value {
    let notes = Notes::default();
    let input = read_assembler_input(&raw(&given["input"])).unwrap();
    let manager = notes.logged();
    let mut shown = shown(&manager.plan_prompt(text(&given["agentType"]), &input));
    shown["log"] = json!(notes.read());
    shown
}

fn shown(prompt: &Prompt<'_>) -> Value {
    let record = PromptRecord::new(prompt, Detail::Totals);
    let mut shown = serde_json::to_value(record).unwrap();
    let fields = shown.as_object_mut().unwrap();
    fields.retain(|name, _| {
        ["prompt", "systemFlag", "status", "keptContext"].contains(&name.as_str())
    });
    shown
}

fn or_error(result: Result<Value, String>) -> Value {
    result.unwrap_or_else(|error| json!({ "error": error }))
}

fn read_snapshot(given: &Value) -> Result<ContextSnapshot, tertulia_context::SnapshotError> {
    ContextSnapshot::read(&raw(given))
}

/// Returns a number of an object, if it has one of this name.
fn number(object: &Value, name: &str) -> Result<Option<u64>, String> {
    if object.is_null() {
        return Ok(None);
    }
    let raw = raw(object);
    let mut object = Object::try_from(&*raw).unwrap();
    object.take_with(name, whole_number).map_err(|error: FieldError| error.to_string())
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Returns the value with every `{"repeat": text, "count": n}` replaced by the repeated text.
fn expanded(value: &Value) -> Value {
    match value {
        Value::Object(fields) => match (&value["repeat"], &value["count"]) {
            (Value::String(text), Value::Number(count)) => {
                json!(text.repeat(usize::try_from(count.as_u64().unwrap()).unwrap()))
            }
            _ => fields.iter().map(|(name, value)| (name.clone(), expanded(value))).collect(),
        },
        Value::Array(items) => items.iter().map(expanded).collect(),
        other => other.clone(),
    }
}
