//! Invalid snapshots are refused with a reason and change nothing, and unknown fields are kept.

use std::error::Error;
use std::sync::Arc;

use tertulia_context::record::SnapshotRecord;
use tertulia_context::{ContextManager, ContextSnapshot};
use tertulia_session::{ConversationMessage, Fields, Message, MessageId};

use crate::harness::{Notes, ann, ann_said, ids, say, snapshot_of_ids};

const SPEAKER: &str = r#"{"roleId":"ann","roleName":"Ann","type":"human"}"#;

/// Checks the cause of the error for a text that is not a snapshot. The outer error is always the same.
#[track_caller]
fn check_cause(text: &str, cause: &str) {
    let error = ContextSnapshot::parse(&text.replace('§', SPEAKER)).unwrap_err();
    assert_eq!(error.to_string(), "Invalid snapshot format");
    assert_eq!(error.source().unwrap().to_string(), cause, "{text}");
}

fn written(snapshot: &ContextSnapshot) -> String {
    serde_json::to_string(&SnapshotRecord(snapshot)).unwrap()
}

#[test]
fn the_cause_names_what_is_wrong_with_the_snapshot_itself() {
    for (text, cause) in [
        ("null", "the snapshot must be an object; got null"),
        ("[]", "the snapshot must be an object; got a list"),
        ("7", "the snapshot must be an object; got a number"),
        ("{}", "version is missing; give the number 1"),
        (r#"{"version":2,"messages":[]}"#, "version must be the number 1; got 2"),
        (r#"{"version":"1","messages":[]}"#, "version must be the number 1; got \"1\""),
        (r#"{"version":null,"messages":[]}"#, "version must be the number 1; got null"),
        (r#"{"version":true,"messages":[]}"#, "version must be the number 1; got true"),
        (r#"{"version":1}"#, "messages is missing; give a list of messages"),
        (r#"{"version":1,"messages":null}"#, "messages must be a list; got null"),
        (r#"{"version":1,"messages":{}}"#, "messages must be a list; got an object"),
        (r#"{"version":1,"messages":[],"teamTask":5}"#, "teamTask must be a string; got a number"),
    ] {
        check_cause(text, cause);
    }
}

#[test]
fn the_cause_names_the_message_that_is_wrong() {
    for (messages, cause) in [
        ("[null]", "messages[0]: Message cannot be null or undefined"),
        ("[7]", "messages[0]: Message content must be a string"),
        (r#"[{"content":"a","speaker":§}]"#, "messages[0]: Message id is missing; give a string"),
        (
            r#"[{"id":1,"content":"a","speaker":§}]"#,
            "messages[0]: Message id must be a string; got a number",
        ),
        (
            r#"[{"id":"a","content":"a","speaker":§},{"id":"b","speaker":§}]"#,
            "messages[1]: Message content must be a string",
        ),
        (r#"[{"id":"a","content":"a"}]"#, "messages[0]: Message speaker is required"),
        (
            r#"[{"id":"a","content":"a","speaker":{}}]"#,
            "messages[0]: Message speaker.roleId is required",
        ),
        (
            r#"[{"id":"a","content":"a","speaker":§,"routing":{"resolvedAddressees":[7]}}]"#,
            "messages[0]: Message routing.resolvedAddressees[0] must be a name or an object with \
             an identifier; got a number",
        ),
    ] {
        check_cause(&format!(r#"{{"version":1,"messages":{messages}}}"#), cause);
    }
}

#[test]
fn a_text_that_is_not_json_is_reported_with_its_position() {
    let error = ContextSnapshot::parse("{\"version\":1,\n\"messages\":oops}").unwrap_err();
    assert_eq!(error.to_string(), "Invalid snapshot format");
    let cause = error.source().unwrap().to_string();
    assert!(cause.starts_with("not JSON at line 2, column 12: "), "{cause}");
}

#[test]
fn the_version_is_a_number_however_it_is_written() {
    for version in ["1", "1.0", "1e0", "10e-1"] {
        let text = format!(r#"{{"version":{version},"messages":[]}}"#);
        assert!(ContextSnapshot::parse(&text).is_ok(), "{version}");
    }
}

#[test]
fn task_and_time_may_be_missing() {
    for text in [
        r#"{"version":1,"messages":[]}"#,
        r#"{"version":1,"messages":[],"teamTask":null,"timestamp":null}"#,
    ] {
        let snapshot = ContextSnapshot::parse(text).unwrap();
        assert_eq!((snapshot.team_task, snapshot.timestamp), (None, None));
    }
}

#[test]
fn a_refused_snapshot_touches_nothing() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    let kept = r#"{"version":1,"messages":[],"teamTask":"tea","note":"kept"}"#;
    manager.import_snapshot(ContextSnapshot::parse(kept).unwrap()).unwrap();
    say(&mut manager, &ann(), &["one", "two"]);
    let before = manager.export_snapshot(0);
    notes.read();

    let mut broken = snapshot_of_ids(&["msg-90", "msg-91"]);
    let nobody = Message { speaker: None, ..Message::said(ann(), "x") };
    let message = ConversationMessage { id: MessageId::from("msg-92"), message: nobody };
    broken.messages.push(Arc::new(message));
    broken.team_task = Some("x".repeat(9000));
    let error = manager.import_snapshot(broken).unwrap_err();
    assert_eq!(error.to_string(), "Invalid snapshot format");
    assert_eq!(error.source().unwrap().to_string(), "messages[2]: Message speaker is required");

    assert_eq!(manager.export_snapshot(0), before);
    assert!(notes.read().is_empty(), "no hook is called and nothing is logged");
    say(&mut manager, &ann(), &["three"]);
    assert_eq!(ids(&manager), ["msg-1", "msg-2", "msg-3"]);
}

#[test]
fn fields_that_nobody_knows_are_exported_again() {
    let text = concat!(
        r#"{"messages":[{"id":"msg-1","content":"a","#,
        r#""speaker":{"roleId":"ann","roleName":"Ann","mood":1.10},"x":1e400}],"#,
        r#""teamTask":null,"timestamp":5,"version":1,"schema":{"a":[]},"n":12345678901234567890123}"#
    );
    let mut manager = ContextManager::default();
    manager.import_snapshot(ContextSnapshot::parse(text).unwrap()).unwrap();
    assert_eq!(written(&manager.export_snapshot(5)), text);
    manager.clear();
    assert_eq!(
        written(&manager.export_snapshot(5)),
        r#"{"messages":[],"teamTask":null,"timestamp":5,"version":1}"#
    );
}

#[test]
fn fields_of_the_snapshot_before_are_gone() {
    let mut manager = ContextManager::default();
    for text in [r#"{"version":1,"messages":[],"old":1}"#, r#"{"version":1,"messages":[],"new":2}"#]
    {
        manager.import_snapshot(ContextSnapshot::parse(text).unwrap()).unwrap();
    }
    let unknown = manager.export_snapshot(0).unknown;
    assert_eq!(unknown.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["new"]);
}

#[test]
fn a_time_of_any_kind_is_kept_in_the_snapshot_that_was_read() {
    for timestamp in ["1", "-1.5", "\"2026-01-31T12:00:00.000Z\"", "{\"s\":1}"] {
        let text =
            format!(r#"{{"messages":[],"teamTask":null,"timestamp":{timestamp},"version":1}}"#);
        assert_eq!(written(&ContextSnapshot::parse(&text).unwrap()), text);
    }
}

#[test]
fn an_import_calls_the_task_hook_once_and_the_message_hook_never() {
    let notes = Notes::default();
    let mut manager = ContextManager::new(notes.hooked());
    manager.import_snapshot(snapshot_of_ids(&["msg-1", "msg-2"])).unwrap();
    assert_eq!(notes.read(), ["task None"]);
}

#[test]
fn a_snapshot_does_not_change_with_the_conversation() {
    let mut manager = ann_said(&["one"]);
    let snapshot = manager.export_snapshot(0);
    say(&mut manager, &ann(), &["two"]);
    manager.set_team_task("tea");
    assert_eq!(snapshot.messages.len(), 1);
    assert_eq!(snapshot.team_task, None);
    manager.import_snapshot(snapshot).unwrap();
    assert_eq!(ids(&manager), ["msg-1"]);
    assert_eq!(manager.export_snapshot(0).unknown, Fields::NONE);
}

#[test]
fn the_speaker_of_an_imported_agent_without_type_is_not_an_agent() {
    let speaker = r#"{"id":"ivo","name":"Ivo"}"#;
    let text = format!(
        r#"{{"version":1,"messages":[{{"id":"a","content":"x","speaker":{speaker}}},
            {{"id":"b","content":"x","speaker":{speaker}}}]}}"#
    );
    let mut manager = ContextManager::default();
    manager.import_snapshot(ContextSnapshot::parse(&text).unwrap()).unwrap();
    assert_eq!(crate::harness::contents(&crate::harness::context(&manager)), ["x"]);
}
