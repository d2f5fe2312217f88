//! Sessions as files: out and in again, in every form.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Shelf, ask, repository_file, said, without_salts};

fn example(path: &str) -> String {
    std::fs::read_to_string(repository_file(path)).unwrap()
}

/// One of every type of entry, each after the one before it.
fn all_types() -> String {
    example("crates/session/tests/fixtures/entries-v1.jsonl")
}

#[test]
fn a_log_comes_back_byte_for_byte_with_the_same_head() {
    let shelf = Shelf::new();
    for (id, log) in [("login", example("examples/session.jsonl")), ("types", all_types())] {
        shelf.import(id, &log);
        // What a log redacts is purged on the way in, so the first export is what counts.
        let exported = shelf.prints(&["export", id], "");
        let again = format!("{id}-again");
        shelf.import(&again, &exported);
        assert_eq!(shelf.prints(&["export", &again], ""), exported);
        let head = |id: &str| {
            let json = shelf.prints(&["verify", id, "--json"], "");
            let verified: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(verified["damage"], Value::Null);
            verified["head"].clone()
        };
        assert_eq!(head(id), head(&again));
    }
    assert_eq!(shelf.prints(&["export", "login"], ""), example("examples/session.jsonl"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_log_comes_back_byte_for_byte(texts in prop::collection::vec(any::<String>(), 1..12)) {
        let log: Vec<String> = texts.iter().enumerate().map(|(place, text)| {
            let parent = place.checked_sub(1).map(|before| format!("'; DROP TABLE {before}"));
            json!({"id": format!("'; DROP TABLE {place}"), "parentId": parent, "type": "custom",
                "payload": {text: text}, text: [text]}).to_string()
        }).collect();
        let shelf = Shelf::new();
        shelf.import("one", &log.join("\n"));
        let exported = shelf.prints(&["export", "one"], "");
        shelf.import("two", &exported);
        prop_assert_eq!(shelf.prints(&["export", "two"], ""), exported);
    }
}

#[test]
fn an_export_is_for_its_owner_alone_and_replaces_nothing_unasked() {
    let shelf = Shelf::new();
    shelf.import("one", &said("m", "user", "Hello"));
    let file = shelf.path("one.jsonl");
    let name = file.display().to_string();
    shelf.prints(&["export", "one", "-o", &name], "");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let there = shelf.refuses(&["export", "one", "-o", &name], "");
    assert!(there.contains("already exists; name another file, or use --force"));
    std::fs::write(&file, "old").unwrap();
    shelf.prints(&["export", "one", "-o", &name, "--force"], "");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), shelf.prints(&["export", "one"], ""));
    let folder = shelf.path("").display().to_string();
    let no_file = shelf.refuses(&["export", "one", "-o", &folder, "--force"], "");
    assert!(no_file.contains("is not a file"), "{no_file}");
    let left: Vec<_> = std::fs::read_dir(shelf.path("")).unwrap().collect();
    assert!(left.iter().all(|entry| {
        !entry.as_ref().unwrap().file_name().to_string_lossy().ends_with("-part")
    }));
}

#[test]
fn a_link_is_not_written_through() {
    let shelf = Shelf::new();
    shelf.import("one", &said("m", "user", "Hello"));
    let (victim, link) = (shelf.path("victim"), shelf.path("link"));
    std::fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    for force in [&[][..], &["--force"]] {
        let name = link.display().to_string();
        shelf.refuses(&[&["export", "one", "-o", &name], force].concat(), "");
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_snapshot_comes_in_and_goes_out_again() {
    let shelf = Shelf::new();
    shelf.import("table", &example("examples/login.json"));
    let out = shelf.prints(&["export", "table", "--format", "snapshot"], "");
    let (before, after): (Value, Value) = (
        serde_json::from_str(&example("examples/login.json")).unwrap(),
        serde_json::from_str(&out).unwrap(),
    );
    assert_eq!(before["messages"], after["messages"]);
    assert_eq!(before["teamTask"], after["teamTask"]);
    let imported = ask("importSnapshot", &format!(r#"{{"snapshot":{out}}}"#));
    assert_eq!(imported, r#""result":{"messageCount":8}"#);
}

/// A session file of agent-chatter with both spellings of a speaker, and an id that is there twice.
const CHATTER: &str = r#"{
  "schemaVersion": "1.0", "teamId": "web", "sessionId": "s-42", "createdAt": "2026-01-31T12:00:00.000Z",
  "updatedAt": "2026-01-31T12:05:00.000Z",
  "context": {
    "messages": [
      {"id": "msg-1", "timestamp": "2026-01-31T12:00:00.000Z", "content": "Which colour?",
       "speaker": {"roleId": "ann", "roleName": "Ann", "roleTitle": "Product", "type": "human"}},
      {"id": "msg-2", "timestamp": "2026-01-31T12:01:00.000Z", "content": "Blue.",
       "speaker": {"id": "max", "name": "Max", "displayName": "Architect", "type": "ai"}},
      {"id": "msg-2", "content": "Or green.", "speaker": {"id": "max", "name": "Max", "type": "ai"}}
    ],
    "teamTask": "Paint it", "timestamp": "2026-01-31T12:05:00.000Z", "version": 1
  },
  "metadata": {"lastSpeakerId": "max", "messageCount": 3, "summary": "3 messages - \"Which colour?...\""}
}"#;

#[test]
fn a_session_file_of_agent_chatter_comes_in() {
    let shelf = Shelf::new();
    assert_eq!(shelf.prints(&["import", "-"], CHATTER), "s-42\n");
    assert_snapshot!(without_salts(&shelf.prints(&["show", "s-42", "--json"], "")), @r#"
    {"id":"e-1","type":"session_header","payload":{"version":2,"source":{"format":"agent-chatter","teamId":"web","sessionId":"s-42","createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:05:00.000Z","metadata":{"lastSpeakerId":"max","messageCount":3,"summary":"3 messages - \"Which colour?...\""},"schemaVersion":"1.0"}},"salt":"…"}
    {"id":"msg-1","parentId":"e-1","type":"message","timestamp":"2026-01-31T12:00:00.000Z","payload":{"parts":[{"kind":"text","payload":{"text":"Which colour?"}}],"speaker":{"roleId":"ann","roleName":"Ann","roleTitle":"Product","type":"human"},"timestamp":"2026-01-31T12:00:00.000Z"},"salt":"…"}
    {"id":"msg-2","parentId":"msg-1","type":"message","timestamp":"2026-01-31T12:01:00.000Z","payload":{"parts":[{"kind":"text","payload":{"text":"Blue."}}],"speaker":{"roleId":"max","roleName":"Max","roleTitle":"Architect","type":"ai"},"timestamp":"2026-01-31T12:01:00.000Z"},"salt":"…"}
    {"id":"e-2","parentId":"msg-2","type":"message","payload":{"parts":[{"kind":"text","payload":{"text":"Or green."}}],"speaker":{"roleId":"max","roleName":"Max","type":"ai"}},"salt":"…"}
    {"id":"e-3","parentId":"e-2","type":"team_task","payload":{"task":"Paint it"},"salt":"…"}
    "#);
    // The id is taken now, so the next one gets another.
    assert_ne!(shelf.prints(&["import", "-"], CHATTER), "s-42\n");
}

#[test]
fn a_session_file_of_agent_chatter_goes_out_as_it_came() {
    let shelf = Shelf::new();
    shelf.import("chatter", CHATTER);
    let out = shelf.prints(&["export", "chatter", "--format", "agent-chatter"], "");
    let (before, after): (Value, Value) =
        (serde_json::from_str(CHATTER).unwrap(), serde_json::from_str(&out).unwrap());
    for field in ["schemaVersion", "teamId", "sessionId", "metadata"] {
        assert_eq!(before[field], after[field], "{field}");
    }
    let messages = &after["context"]["messages"];
    assert_eq!(messages[1]["speaker"]["roleTitle"], "Architect");
    assert_eq!(messages[1]["timestamp"], "2026-01-31T12:01:00.000Z");
    let context = &after["context"];
    let imported = ask("importSnapshot", &format!(r#"{{"snapshot":{context}}}"#));
    assert_eq!(imported, r#""result":{"messageCount":3}"#);
    shelf.import("again", &out);
    let names = shelf.prints(&["export", "again", "--format", "agent-chatter"], "");
    assert!(names.contains(r#""teamId":"web","sessionId":"s-42""#));
}

#[test]
fn what_a_form_cannot_hold_is_counted() {
    let shelf = Shelf::new();
    shelf.import("login", &example("examples/session.jsonl"));
    shelf.prints(&["redact", "login", "e-9"], "");
    shelf.prints(&["branch", "login", "e-8"], "");
    let outcome = shelf.sessions(&["export", "login", "--format", "snapshot"], "");
    assert_snapshot!(outcome.stderr, @"tertulia: left out, since this form cannot hold it: 1 part that is no text, 3 messages without words, 2 entries that are no messages, 2 entries of other branches");
    let imported = ask("importSnapshot", &format!(r#"{{"snapshot":{}}}"#, outcome.stdout));
    assert_eq!(imported, r#""result":{"messageCount":3}"#);
}

#[test]
fn the_form_can_be_said_and_is_told_apart_otherwise() {
    let shelf = Shelf::new();
    let snapshot: Value = serde_json::from_str(&example("examples/login.json")).unwrap();
    let spread = format!("\n\n{}", serde_json::to_string_pretty(&snapshot).unwrap());
    shelf.prints(&["import", "-", "--format", "snapshot"], &spread);
    shelf.prints(&["import", "-"], &format!("\u{feff}{spread}"));
    shelf.prints(&["import", "-"], &format!("\n\n{}\n\n", said("m", "user", "Hello")));
    let wrong = shelf.refuses(&["import", "-", "--format", "agent-chatter"], &spread);
    assert!(wrong.contains("schemaVersion must be \"1.0\"; got nothing"), "{wrong}");
    let wrong = shelf.refuses(&["import", "-", "--format", "jsonl"], CHATTER);
    assert!(wrong.contains("standard input: line 1, column "), "{wrong}");
    let other = CHATTER.replace("\"1.0\"", "\"2.0\"");
    let wrong = shelf.refuses(&["import", "-"], &other);
    assert!(wrong.contains("schemaVersion must be \"1.0\"; got \"2.0\""), "{wrong}");
    let broken = CHATTER.replace("\"Blue.\"", "\"Blue.");
    let wrong = shelf.refuses(&["import", "-"], &broken);
    assert!(wrong.contains("not JSON at line 8"), "{wrong}");
    assert_eq!(shelf.ids().len(), 3);
}
