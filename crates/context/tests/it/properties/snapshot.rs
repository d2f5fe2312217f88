//! Exporting and importing a conversation through JSON does not change it.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tertulia_context::record::SnapshotRecord;
use tertulia_context::{ContextManager, ContextSnapshot};
use tertulia_session::Message;

use super::arbitrary::{at_least, message, prose};
use crate::harness::{ann, context};

fn conversation_of(messages: Vec<Message>, task: Option<String>) -> ContextManager {
    let mut manager = ContextManager::default();
    for message in messages {
        manager.add_message(message).unwrap();
    }
    if let Some(task) = task {
        manager.set_team_task(task);
    }
    manager
}

proptest! {
    #![proptest_config(at_least(300))]

    #[test]
    fn what_was_exported_is_imported_the_same(
        messages in vec(message(), 0..12),
        task in option::of(prose()),
        millis in any::<i64>(),
    ) {
        let mut manager = conversation_of(messages, task);
        let snapshot = manager.export_snapshot(millis);
        let json = serde_json::to_string(&SnapshotRecord(&snapshot)).unwrap();
        let read = ContextSnapshot::parse(&json).unwrap();
        prop_assert_eq!(&read, &snapshot);

        let mut other = ContextManager::default();
        other.import_snapshot(read).unwrap();
        prop_assert_eq!(&other.export_snapshot(millis), &snapshot);
        prop_assert_eq!(context(&other), context(&manager));
        let next = |manager: &mut ContextManager| {
            manager.add_message(Message::said(ann(), "next")).unwrap().id.to_string()
        };
        prop_assert_eq!(next(&mut other), next(&mut manager));
    }

    #[test]
    fn the_same_snapshot_is_written_with_the_same_bytes(messages in vec(message(), 0..6)) {
        let manager = conversation_of(messages, None);
        let written =
            || serde_json::to_string(&SnapshotRecord(&manager.export_snapshot(0))).unwrap();
        prop_assert_eq!(written(), written());
    }

    #[test]
    fn a_snapshot_or_the_fixed_error_comes_of_any_text(text in "[\\[\\]{}\":,a-z0-9 ]{0,40}") {
        for text in [&text, &format!(r#"{{"version":1,"messages":[{text}]}}"#)] {
            if let Err(error) = ContextSnapshot::parse(text) {
                prop_assert_eq!(error.to_string(), "Invalid snapshot format");
            }
        }
    }
}
