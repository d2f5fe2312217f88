//! The 35 tests that the contract names for the ContextManager, in its order: 9 of messages, 5 of the
//! team task, 9 of contexts, 7 of the lifecycle, 5 of assemblers.

use std::sync::Arc;

use tertulia_context::record::SnapshotRecord;
use tertulia_context::{ContextManager, ContextManagerOptions, ContextRequest, ContextSnapshot};
use tertulia_session::{Message, MessageId};

use crate::harness::{
    Notes, add_json, ann, ann_said, contents, context, everything, ids, imported, ivo, lena,
    nothing, say,
};

// Messages: 9.

#[test]
fn add_message_stores_and_returns_message_with_generated_id() {
    let mut manager = ContextManager::default();
    let stored = manager.add_message(Message::said(ann(), "Shall we?").to(["ivo"])).unwrap();
    assert_eq!(stored.id, MessageId::from("msg-1"));
    assert_eq!(stored.message, Message::said(ann(), "Shall we?").to(["ivo"]));
    assert_eq!(manager.get_messages(), [stored]);
    let second = manager.add_message(Message::said(ivo(), "")).unwrap();
    assert_eq!(second.id, MessageId::from("msg-2"));
}

#[test]
fn add_message_refuses_null_message() {
    let mut manager = ContextManager::default();
    let error = add_json(&mut manager, "null").unwrap_err();
    assert_eq!(error.to_string(), "Message cannot be null or undefined");
    assert!(manager.get_messages().is_empty());
}

#[test]
fn add_message_refuses_non_string_content() {
    let mut manager = ContextManager::default();
    for content in ["7", "null", "[\"x\"]", "{}"] {
        let text = format!(r#"{{"content":{content},"speaker":{{"roleId":"ann"}}}}"#);
        let error = add_json(&mut manager, &text).unwrap_err();
        assert_eq!(error.to_string(), "Message content must be a string");
    }
    assert!(manager.get_messages().is_empty());
}

#[test]
fn add_message_refuses_missing_speaker() {
    let mut manager = ContextManager::default();
    let error = add_json(&mut manager, r#"{"content":"x"}"#).unwrap_err();
    assert_eq!(error.to_string(), "Message speaker is required");
    let nobody = Message { speaker: None, ..Message::said(ann(), "x") };
    let error = manager.add_message(nobody).unwrap_err();
    assert_eq!(error.to_string(), "Message speaker is required");
    assert!(manager.get_messages().is_empty());
}

#[test]
fn add_message_calls_on_message_added_hook() {
    let notes = Notes::default();
    let hook = notes.clone();
    let mut manager = ContextManager::new(ContextManagerOptions {
        on_message_added: Some(Box::new(move |message| {
            hook.take(format!("{} {}", message.id, message.message.text()));
        })),
        ..ContextManagerOptions::default()
    });
    say(&mut manager, &ann(), &["one", "two"]);
    assert_eq!(notes.read(), ["msg-1 one", "msg-2 two"]);
}

#[test]
fn get_messages_returns_shallow_copy() {
    let manager = ann_said(&["one", "two"]);
    let mut copy = manager.get_messages();
    assert!(Arc::ptr_eq(&copy[0], manager.messages().next().unwrap()));
    copy.clear();
    assert_eq!(manager.get_messages().len(), 2);
}

#[test]
fn get_messages_returns_empty_list_initially() {
    assert!(ContextManager::default().get_messages().is_empty());
}

#[test]
fn get_latest_message_returns_none_when_empty() {
    assert_eq!(ContextManager::default().get_latest_message(), None);
}

#[test]
fn get_latest_message_returns_last_message() {
    let manager = ann_said(&["one", "two"]);
    assert_eq!(manager.get_latest_message().unwrap().message.text(), "two");
}

// Team task: 5.

#[test]
fn set_team_task_stores_task() {
    let mut manager = ContextManager::default();
    manager.set_team_task("Have breakfast");
    assert_eq!(manager.get_team_task(), Some("Have breakfast"));
}

#[test]
fn set_team_task_truncates_at_5_kb() {
    let mut manager = ContextManager::default();
    for (task, bytes) in
        [("x".repeat(5120), 5120), ("x".repeat(5121), 5120), ("é".repeat(2561), 5120)]
    {
        manager.set_team_task(task.clone());
        let stored = manager.get_team_task().unwrap();
        assert_eq!(stored.len(), bytes);
        assert!(task.starts_with(stored));
    }
}

#[test]
fn set_team_task_logs_warning_on_truncation() {
    let notes = Notes::default();
    let mut manager = notes.logged();
    manager.set_team_task("x".repeat(5120));
    assert!(notes.read().is_empty());
    manager.set_team_task("中".repeat(2000));
    assert_eq!(
        notes.read(),
        ["warn [ContextManager] TeamTask exceeded 5KB limit (6000 bytes), truncated to 5118 bytes"]
    );
}

#[test]
fn set_team_task_calls_on_team_task_changed_hook() {
    let notes = Notes::default();
    let hook = notes.clone();
    let mut manager = ContextManager::new(ContextManagerOptions {
        on_team_task_changed: Some(Box::new(move |task| {
            hook.take(format!("{:?}", task.map(str::len)));
        })),
        ..ContextManagerOptions::default()
    });
    manager.set_team_task("tea");
    manager.set_team_task("x".repeat(6000));
    assert_eq!(notes.read(), ["Some(3)", "Some(5120)"]);
}

#[test]
fn get_team_task_returns_none_initially() {
    assert_eq!(ContextManager::default().get_team_task(), None);
}

// Contexts: 9.

#[test]
fn returns_empty_context_when_no_messages() {
    let mut manager = ContextManager::default();
    assert_eq!(context(&manager), nothing());
    manager.set_team_task("tea");
    assert_eq!(context(&manager).team_task.as_deref(), Some("tea"));
}

#[test]
fn applies_context_window_size_limit() {
    let mut manager = ContextManager::new(ContextManagerOptions {
        context_window_size: 3,
        ..ContextManagerOptions::default()
    });
    say(&mut manager, &ann(), &["1", "2", "3", "4", "5"]);
    let input = context(&manager);
    assert_eq!(contents(&input), ["2", "3", "4"]);
    assert_eq!(input.current_message, "5");
}

#[test]
fn respects_window_size_override() {
    let manager = ann_said(&["1", "2", "3", "4", "5", "6", "7", "8"]);
    let with_window = |window_size| {
        let request = ContextRequest { window_size, ..ContextRequest::default() };
        let input = manager.get_context_for_agent("ivo", "claude", &request);
        contents(&input).join("")
    };
    assert_eq!(with_window(None), "34567");
    assert_eq!(with_window(Some(2)), "67");
    assert_eq!(with_window(Some(7)), "1234567");
    assert_eq!(with_window(Some(usize::MAX)), "1234567");
    assert_eq!(with_window(Some(0)), "");
}

#[test]
fn strips_markers_from_context_messages() {
    let manager = ann_said(&["[FROM: ann] Tea?  [NEXT: ivo]", "[NEXT: ivo]", "last"]);
    assert_eq!(contents(&context(&manager)), ["Tea?", ""]);
}

#[test]
fn strips_markers_from_current_message() {
    let manager = ann_said(&["Tea, \t please. [NEXT: ivo]"]);
    assert_eq!(context(&manager).current_message, "Tea, please.");
    assert_eq!(manager.get_latest_message().unwrap().message.text(), "Tea, \t please. [NEXT: ivo]");
}

#[test]
fn deduplicates_ai_to_ai_context() {
    let mut manager = ann_said(&["Tea?"]);
    say(&mut manager, &ivo(), &["Done.", "Done. [NEXT: lena]"]);
    assert_eq!(contents(&context(&manager)), ["Tea?"]);
    say(&mut manager, &lena(), &["Done."]);
    assert_eq!(contents(&context(&manager)), ["Tea?", "Done.", "Done."]);
}

#[test]
fn does_not_deduplicate_human_messages() {
    let manager = ann_said(&["Tea?", "Tea?"]);
    assert_eq!(contents(&context(&manager)), ["Tea?"]);
}

#[test]
fn passes_system_instruction_and_instruction_file_text() {
    let request = ContextRequest {
        system_instruction: Some(" You are Ivo. "),
        instruction_file_text: Some(""),
        ..ContextRequest::default()
    };
    for manager in [ContextManager::default(), ann_said(&["Tea?"])] {
        let input = manager.get_context_for_agent("ivo", "claude", &request);
        assert_eq!(input.system_instruction.as_deref(), Some(" You are Ivo. "));
        assert_eq!(input.instruction_file_text.as_deref(), Some(""));
    }
}

#[test]
fn passes_max_bytes_to_output() {
    let mut manager = ContextManager::new(ContextManagerOptions {
        max_bytes: 1234,
        ..ContextManagerOptions::default()
    });
    assert_eq!(context(&manager).max_bytes, 1234);
    say(&mut manager, &ann(), &["Tea?"]);
    assert_eq!(context(&manager).max_bytes, 1234);
    assert_eq!(context(&ContextManager::default()).max_bytes, 786_432);
}

// Lifecycle: 7.

#[test]
fn clear_removes_all_messages() {
    let mut manager = ann_said(&["one", "two"]);
    manager.clear();
    assert!(manager.get_messages().is_empty());
    assert_eq!(manager.get_latest_message(), None);
    assert_eq!(manager.message_by_id(&MessageId::from("msg-1")), None);
}

#[test]
fn clear_resets_team_task() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    manager.clear();
    manager.set_team_task("tea");
    manager.clear();
    assert_eq!(manager.get_team_task(), None);
    assert_eq!(notes.read(), ["task None", "task Some(\"tea\")", "task None"]);
}

#[test]
fn clear_resets_message_id_counter() {
    let mut manager = imported(&["msg-41"]);
    manager.clear();
    say(&mut manager, &ann(), &["one"]);
    assert_eq!(ids(&manager), ["msg-1"]);
}

#[test]
fn export_snapshot_returns_serializable_object() {
    let mut manager = ann_said(&["Tea? [NEXT: ivo]"]);
    manager.set_team_task("Have breakfast");
    let snapshot = manager.export_snapshot(1_700_000_000_000);
    let json = serde_json::to_string(&SnapshotRecord(&snapshot)).unwrap();
    assert_eq!(
        json,
        concat!(
            r#"{"messages":[{"id":"msg-1","content":"Tea? [NEXT: ivo]","#,
            r#""speaker":{"roleId":"ann","roleName":"Ann","type":"human"}}],"#,
            r#""teamTask":"Have breakfast","timestamp":1700000000000,"version":1}"#
        )
    );
    assert_eq!(ContextSnapshot::parse(&json).unwrap(), snapshot);
}

#[test]
fn import_snapshot_restores_messages() {
    let source = ann_said(&["one", "two", "three"]);
    let mut manager = ann_said(&["something else"]);
    manager.import_snapshot(source.export_snapshot(0)).unwrap();
    assert_eq!(manager.get_messages(), source.get_messages());
    say(&mut manager, &ann(), &["four"]);
    assert_eq!(ids(&manager), ["msg-1", "msg-2", "msg-3", "msg-4"]);
}

#[test]
fn import_snapshot_restores_team_task() {
    let mut source = ContextManager::default();
    source.set_team_task("Have breakfast");
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    manager.import_snapshot(source.export_snapshot(0)).unwrap();
    assert_eq!(manager.get_team_task(), Some("Have breakfast"));
    manager.import_snapshot(ContextManager::default().export_snapshot(0)).unwrap();
    assert_eq!(manager.get_team_task(), None);
    assert_eq!(notes.read(), ["task Some(\"Have breakfast\")", "task None"]);
}

#[test]
fn import_snapshot_refuses_invalid_format() {
    for text in [
        "null",
        "{}",
        "[]",
        r#"{"messages":[],"teamTask":null,"timestamp":1}"#,
        r#"{"messages":[],"teamTask":null,"timestamp":1,"version":2}"#,
        r#"{"messages":[],"teamTask":null,"timestamp":1,"version":"1"}"#,
        r#"{"messages":{},"version":1}"#,
        "not json",
    ] {
        let error = ContextSnapshot::parse(text).unwrap_err();
        assert_eq!(error.to_string(), "Invalid snapshot format", "{text}");
    }
}

// Assemblers: 5.

fn prompt_of(agent_type: &str) -> String {
    ContextManager::default().assemble_prompt(agent_type, &everything()).prompt
}

#[test]
fn uses_claude_assembler_for_claude_code() {
    for name in ["claude-code", "claude", "CLAUDE"] {
        assert!(prompt_of(name).starts_with("[TEAM_TASK]\n"), "{name}");
        let output = ContextManager::default().assemble_prompt(name, &everything());
        assert_eq!(output.system_flag.as_deref(), Some("You are Ivo.\n\nMind the cups."));
    }
}

#[test]
fn uses_codex_assembler_for_openai_codex() {
    for name in ["openai-codex", "codex", "Codex"] {
        assert!(prompt_of(name).starts_with("[SYSTEM]\n"), "{name}");
    }
}

#[test]
fn uses_gemini_assembler_for_google_gemini() {
    for name in ["google-gemini", "gemini", "Google-Gemini"] {
        assert!(prompt_of(name).starts_with("Instructions:\n"), "{name}");
    }
}

#[test]
fn falls_back_to_plain_text_assembler_for_unknown_type() {
    for name in ["llama", "", "constructor", "claude code"] {
        assert!(prompt_of(name).starts_with("You are Ivo.\n\nMind the cups.\n\n"), "{name}");
    }
}

#[test]
fn logs_warning_for_unknown_agent_type() {
    let notes = Notes::default();
    let manager = notes.logged();
    manager.assemble_prompt("Codex", &nothing());
    assert!(notes.read().is_empty());
    manager.assemble_prompt("Llama", &nothing());
    assert_eq!(
        notes.read(),
        [
            "warn [ContextManager] Unknown agentType \"Llama\" (normalized: \"Llama\"), using PlainTextAssembler"
        ]
    );
}
