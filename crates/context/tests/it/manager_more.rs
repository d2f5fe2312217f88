//! Features of the manager that the contract's own tests do not cover: windows of members, the cap with its archive,
//! ids at the limit of 64 bits, the order in which hooks are called.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tertulia_context::{
    AddMessageError, ContextManager, ContextManagerOptions, ContextRequest, ContextSnapshot,
    MessageCap, Strip, TaskBlock,
};
use tertulia_session::{ConversationMessage, Fields, Message, MessageId};

use crate::harness::{Notes, ann, contents, context, ids, imported, say, snapshot_of_ids};

/// Returns a conversation with at most this many messages, which records `archived id`.
fn capped(messages_max: usize, notes: &Notes) -> ContextManager {
    let archive = notes.clone();
    ContextManager::new(ContextManagerOptions {
        message_cap: Some(MessageCap {
            messages_max: NonZeroUsize::new(messages_max).unwrap(),
            archive: Box::new(move |message| archive.take(format!("archived {}", message.id))),
        }),
        ..notes.hooked()
    })
}

#[test]
fn a_window_counts_by_call_then_by_id_then_by_type() {
    let windows = [("ivo", 1), ("claude-code", 2), ("llama", 3), ("codex", 6)];
    let mut manager = ContextManager::new(ContextManagerOptions {
        context_window_size: 4,
        member_windows: windows.map(|(name, size)| (name.to_owned(), size)).into(),
        ..ContextManagerOptions::default()
    });
    say(&mut manager, &ann(), &["1", "2", "3", "4", "5", "6", "7"]);
    let window = |agent_id: &str, agent_type: &str, window_size| {
        let request = ContextRequest { window_size, ..ContextRequest::default() };
        manager.get_context_for_agent(agent_id, agent_type, &request).context_messages.len()
    };
    assert_eq!(window("ivo", "claude", None), 1);
    assert_eq!(window("ivo", "gemini", None), 1);
    assert_eq!(window("lena", "claude", None), 2);
    assert_eq!(window("lena", "CLAUDE-code", None), 2);
    assert_eq!(window("lena", "openai-codex", None), 6);
    assert_eq!(window("lena", "CODEX", None), 6);
    assert_eq!(window("lena", "llama", None), 3);
    assert_eq!(window("lena", "Llama", None), 4);
    assert_eq!(window("lena", "gemini", None), 4);
    assert_eq!(window("ivo", "claude", Some(5)), 5);
    assert_eq!(window("ivo", "claude", Some(0)), 0);
}

#[test]
fn a_member_may_have_a_window_of_nothing() {
    let mut manager = ContextManager::new(ContextManagerOptions {
        member_windows: [("ivo".to_owned(), 0)].into(),
        ..ContextManagerOptions::default()
    });
    say(&mut manager, &ann(), &["1", "2"]);
    assert!(context(&manager).context_messages.is_empty());
    assert_eq!(context(&manager).current_message, "2");
}

#[test]
fn beyond_the_cap_the_oldest_message_goes_to_the_archive() {
    let notes = Notes::default();
    let mut manager = capped(2, &notes);
    say(&mut manager, &ann(), &["1", "2", "3", "4"]);
    assert_eq!(ids(&manager), ["msg-3", "msg-4"]);
    assert_eq!(manager.archived_messages(), 2);
    let archived: Vec<String> =
        notes.read().into_iter().filter(|note| note.starts_with("archived")).collect();
    assert_eq!(archived, ["archived msg-1", "archived msg-2"]);
    assert_eq!(contents(&context(&manager)), ["3"]);
}

#[test]
fn nothing_is_lost_between_the_conversation_and_the_archive() {
    let kept: Arc<std::sync::Mutex<Vec<Arc<ConversationMessage>>>> = Arc::default();
    let archive = Arc::clone(&kept);
    let mut manager = ContextManager::new(ContextManagerOptions {
        message_cap: Some(MessageCap {
            messages_max: NonZeroUsize::new(3).unwrap(),
            archive: Box::new(move |message| archive.lock().unwrap().push(message)),
        }),
        ..ContextManagerOptions::default()
    });
    let mut all = Vec::new();
    for n in 0..50 {
        all.push(manager.add_message(Message::said(ann(), format!("{n}"))).unwrap());
    }
    let mut found = kept.lock().unwrap().clone();
    found.extend(manager.get_messages());
    assert_eq!(found, all);
}

#[test]
fn importing_more_than_the_cap_archives_the_oldest_first() {
    let notes = Notes::default();
    let mut manager = capped(2, &notes);
    say(&mut manager, &ann(), &["old"]);
    notes.read();
    manager.import_snapshot(snapshot_of_ids(&["x", "msg-9", "y", "msg-4"])).unwrap();
    assert_eq!(ids(&manager), ["y", "msg-4"]);
    assert_eq!(
        notes.read(),
        [
            "task None",
            "debug [ContextManager] Message archived: x",
            "archived x",
            "debug [ContextManager] Message archived: msg-9",
            "archived msg-9",
        ]
    );
    say(&mut manager, &ann(), &["new"]);
    assert_eq!(ids(&manager), ["msg-4", "msg-10"]);
    assert_eq!(manager.archived_messages(), 3);
}

#[test]
fn clearing_archives_nothing_and_counts_from_zero_again() {
    let notes = Notes::default();
    let mut manager = capped(1, &notes);
    say(&mut manager, &ann(), &["1", "2"]);
    assert_eq!(manager.archived_messages(), 1);
    notes.read();
    manager.clear();
    assert_eq!(notes.read(), ["task None"]);
    assert_eq!(manager.archived_messages(), 0);
}

#[test]
fn a_message_is_stored_then_logged_then_reported_and_only_then_another_is_archived() {
    let notes = Notes::default();
    let mut manager = capped(1, &notes);
    let first = manager.add_message(Message::said(ann(), "1")).unwrap();
    assert_eq!(notes.read(), ["debug [ContextManager] Message added: msg-1", "added msg-1"]);
    assert_eq!(manager.get_messages(), [first]);
    say(&mut manager, &ann(), &["2"]);
    assert_eq!(
        notes.read(),
        [
            "debug [ContextManager] Message added: msg-2",
            "added msg-2",
            "debug [ContextManager] Message archived: msg-1",
            "archived msg-1",
        ]
    );
}

#[test]
fn a_task_is_cut_before_it_is_reported() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    manager.set_team_task("x".repeat(5121));
    let told = notes.read();
    assert!(told[0].starts_with("warn [ContextManager] TeamTask exceeded 5KB limit"));
    assert_eq!(told[1].len(), "task Some(\"\")".len() + 5120);
    manager.clear_team_task();
    assert_eq!(manager.get_team_task(), None);
    assert_eq!(notes.read(), ["task None"]);
}

#[test]
fn a_refused_message_leaves_no_trace() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    let nobody = Message { speaker: None, ..Message::said(ann(), "x") };
    assert!(manager.add_message(nobody).is_err());
    let nameless = tertulia_session::Speaker { role_id: "".into(), ..ann() };
    let error = manager.add_message(Message::said(nameless, "x")).unwrap_err();
    assert_eq!(error.to_string(), "Message speaker.roleId is required");
    assert!(notes.read().is_empty());
    say(&mut manager, &ann(), &["x"]);
    assert_eq!(ids(&manager), ["msg-1"]);
}

#[test]
fn ids_count_up_to_the_last_but_one_of_64_bits() {
    let mut manager = imported(&["msg-18446744073709551613"]);
    say(&mut manager, &ann(), &["the last"]);
    assert_eq!(ids(&manager), ["msg-18446744073709551613", "msg-18446744073709551614"]);
    let error = manager.add_message(Message::said(ann(), "one more")).unwrap_err();
    assert_eq!(error, AddMessageError::IdsUsedUp);
    assert_eq!(
        error.to_string(),
        "Message ids are used up: the newest is msg-18446744073709551614; clear the conversation"
    );
    assert_eq!(ids(&manager).len(), 2);
    manager.clear();
    say(&mut manager, &ann(), &["again"]);
    assert_eq!(ids(&manager), ["msg-1"]);
}

#[test]
fn running_out_of_ids_calls_no_hook_and_logs_nothing() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    manager.import_snapshot(snapshot_of_ids(&["msg-18446744073709551614"])).unwrap();
    notes.read();
    assert!(manager.add_message(Message::said(ann(), "x")).is_err());
    assert!(notes.read().is_empty());
}

#[test]
fn ids_that_leave_no_successor_are_foreign() {
    for foreign in ["msg-18446744073709551615", "msg-18446744073709551616", "msg-1e3", "msg-"] {
        let mut manager = imported(&[foreign]);
        say(&mut manager, &ann(), &["x"]);
        assert_eq!(ids(&manager), [foreign, "msg-1"]);
    }
}

#[test]
fn the_largest_number_is_foreign_also_when_it_comes_as_a_number() {
    let id = MessageId::Numbered(u64::MAX);
    assert_eq!(id.number(), None, "it leaves no successor");
    let message = Arc::new(ConversationMessage { id, message: Message::said(ann(), "x") });
    let snapshot = ContextSnapshot {
        messages: vec![message],
        team_task: None,
        timestamp: None,
        unknown: Fields::NONE,
    };
    let mut manager = ContextManager::default();
    manager.import_snapshot(snapshot).unwrap();
    say(&mut manager, &ann(), &["y"]);
    assert_eq!(ids(&manager), ["msg-18446744073709551615", "msg-1"]);
}

#[test]
fn a_conversation_may_end_task_blocks_at_blank_lines() {
    let text = "[TEAM_TASK] Bake\nrow[0]\n\n  Hello";
    let stripped = |strip: Strip| {
        let mut manager = ContextManager::new(ContextManagerOptions {
            strip,
            ..ContextManagerOptions::default()
        });
        say(&mut manager, &ann(), &[text]);
        context(&manager).current_message.into_owned()
    };
    let to_blank_line = Strip::Compact(TaskBlock::ToBlankLine);
    assert_eq!(stripped(Strip::COMPACT), "[0]\nHello");
    assert_eq!(stripped(to_blank_line), "Hello");
    assert_eq!(stripped(Strip::Preserve), "\n  Hello");
}

#[test]
fn only_the_window_and_the_current_message_are_looked_at() {
    let notes = Notes::default();
    let mut manager = notes.logged();
    for _ in 0..1000 {
        say(&mut manager, &ann(), &["[TEAM_TASK] x"]);
    }
    notes.read();
    context(&manager);
    // There is one line for each message with stripped markers.
    assert_eq!(notes.read().len(), 6);
}

#[test]
fn a_context_shares_what_it_need_not_change() {
    let mut manager = ContextManager::default();
    say(&mut manager, &ann(), &["clean", "[NEXT: a] not", "clean too"]);
    let input = context(&manager);
    let borrowed = |text: &std::borrow::Cow<'_, str>| matches!(text, std::borrow::Cow::Borrowed(_));
    assert!(borrowed(&input.context_messages[0].content));
    assert!(!borrowed(&input.context_messages[1].content));
    assert!(borrowed(&input.current_message));
}
