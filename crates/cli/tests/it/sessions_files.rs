//! Tests exports and imports of sessions in every format.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{TestStore, ask, repository_file, said, without_salts};

fn example(path: &str) -> String {
    std::fs::read_to_string(repository_file(path)).unwrap()
}

/// Returns one entry of every type, each after the previous one.
fn all_types() -> String {
    example("crates/session/tests/fixtures/entries-v1.jsonl")
}

#[test]
fn a_log_comes_back_byte_for_byte_with_the_same_head() {
    let store = TestStore::new();
    for (id, log) in [("login", example("examples/session.jsonl")), ("types", all_types())] {
        store.import(id, &log);
        // Redacted entries are purged during the import, so the first export is the reference.
        let exported = store.prints(&["export", id], "");
        let again = format!("{id}-again");
        store.import(&again, &exported);
        assert_eq!(store.prints(&["export", &again], ""), exported);
        let head = |id: &str| {
            let json = store.prints(&["verify", id, "--json"], "");
            let verified: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(verified["damage"], Value::Null);
            verified["head"].clone()
        };
        assert_eq!(head(id), head(&again));
    }
    assert_eq!(store.prints(&["export", "login"], ""), example("examples/session.jsonl"));
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
        let store = TestStore::new();
        store.import("one", &log.join("\n"));
        let exported = store.prints(&["export", "one"], "");
        store.import("two", &exported);
        prop_assert_eq!(store.prints(&["export", "two"], ""), exported);
    }
}

#[test]
fn an_export_is_for_its_owner_alone_and_replaces_nothing_unasked() {
    let store = TestStore::new();
    store.import("one", &said("m", "user", "Hello"));
    let file = store.path("one.jsonl");
    let name = file.display().to_string();
    store.prints(&["export", "one", "-o", &name], "");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let there = store.refuses(&["export", "one", "-o", &name], "");
    assert!(there.contains("already exists; name another file, or use --force"));
    std::fs::write(&file, "old").unwrap();
    store.prints(&["export", "one", "-o", &name, "--force"], "");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), store.prints(&["export", "one"], ""));
    let folder = store.path("").display().to_string();
    let no_file = store.refuses(&["export", "one", "-o", &folder, "--force"], "");
    assert!(no_file.contains("is not a file"), "{no_file}");
    let left: Vec<_> = std::fs::read_dir(store.path("")).unwrap().collect();
    assert!(left.iter().all(|entry| {
        !entry.as_ref().unwrap().file_name().to_string_lossy().ends_with("-part")
    }));
}

#[test]
fn the_ending_of_the_output_file_names_the_format_unless_somebody_else_does() {
    let store = TestStore::new();
    store.import("one", &said("m", "user", "Hello"));
    let exported = |name: &str, format: &[&str]| {
        let file = store.path(name).display().to_string();
        let words: Vec<&str> = [&["export", "one", "-o", &file], format].concat();
        store.prints(&words, "");
        std::fs::read_to_string(file).unwrap()
    };
    let markdown = exported("one.md", &[]);
    assert!(!markdown.starts_with('{') && markdown.contains("Hello"), "{markdown}");
    assert!(exported("one.html", &[]).starts_with("<!doctype html>"));
    assert!(exported("one.txt", &[]).starts_with('{'));
    assert!(exported("two.md", &["--format", "jsonl"]).starts_with('{'));
    assert_eq!(exported("three", &["--format", "md"]), markdown);
}

#[test]
fn a_link_is_not_written_through() {
    let store = TestStore::new();
    store.import("one", &said("m", "user", "Hello"));
    let (victim, link) = (store.path("victim"), store.path("link"));
    std::fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    for force in [&[][..], &["--force"]] {
        let name = link.display().to_string();
        store.refuses(&[&["export", "one", "-o", &name], force].concat(), "");
    }
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_snapshot_comes_in_and_goes_out_again() {
    let store = TestStore::new();
    store.import("table", &example("examples/login.json"));
    let out = store.prints(&["export", "table", "--format", "snapshot"], "");
    let (before, after): (Value, Value) = (
        serde_json::from_str(&example("examples/login.json")).unwrap(),
        serde_json::from_str(&out).unwrap(),
    );
    assert_eq!(before["messages"], after["messages"]);
    assert_eq!(before["teamTask"], after["teamTask"]);
    let imported = ask("importSnapshot", &format!(r#"{{"snapshot":{out}}}"#));
    assert_eq!(imported, r#""result":{"messageCount":8}"#);
}

/// A session file of agent-chatter with both spellings of a speaker, and a duplicate id.
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
    let store = TestStore::new();
    assert_eq!(store.prints(&["import", "-"], CHATTER), "s-42\n");
    assert_snapshot!(without_salts(&store.prints(&["show", "s-42", "--json"], "")), @r#"
    {"id":"e-1","type":"session_header","payload":{"version":2,"source":{"format":"agent-chatter","teamId":"web","sessionId":"s-42","createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:05:00.000Z","metadata":{"lastSpeakerId":"max","messageCount":3,"summary":"3 messages - \"Which colour?...\""},"schemaVersion":"1.0"}},"salt":"…"}
    {"id":"msg-1","parentId":"e-1","type":"message","timestamp":"2026-01-31T12:00:00.000Z","payload":{"parts":[{"kind":"text","payload":{"text":"Which colour?"}}],"speaker":{"roleId":"ann","roleName":"Ann","roleTitle":"Product","type":"human"},"timestamp":"2026-01-31T12:00:00.000Z"},"salt":"…"}
    {"id":"msg-2","parentId":"msg-1","type":"message","timestamp":"2026-01-31T12:01:00.000Z","payload":{"parts":[{"kind":"text","payload":{"text":"Blue."}}],"speaker":{"roleId":"max","roleName":"Max","roleTitle":"Architect","type":"ai"},"timestamp":"2026-01-31T12:01:00.000Z"},"salt":"…"}
    {"id":"e-2","parentId":"msg-2","type":"message","payload":{"parts":[{"kind":"text","payload":{"text":"Or green."}}],"speaker":{"roleId":"max","roleName":"Max","type":"ai"}},"salt":"…"}
    {"id":"e-3","parentId":"e-2","type":"team_task","payload":{"task":"Paint it"},"salt":"…"}
    "#);
    // The id is now in use, so the next session gets another one.
    assert_ne!(store.prints(&["import", "-"], CHATTER), "s-42\n");
}

#[test]
fn a_session_file_of_agent_chatter_goes_out_as_it_came() {
    let store = TestStore::new();
    store.import("chatter", CHATTER);
    let out = store.prints(&["export", "chatter", "--format", "agent-chatter"], "");
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
    store.import("again", &out);
    let names = store.prints(&["export", "again", "--format", "agent-chatter"], "");
    assert!(names.contains(r#""teamId":"web","sessionId":"s-42""#));
}

#[test]
fn what_a_form_cannot_hold_is_counted() {
    let store = TestStore::new();
    store.import("login", &example("examples/session.jsonl"));
    store.prints(&["redact", "login", "e-9"], "");
    store.prints(&["branch", "login", "e-8"], "");
    let outcome = store.sessions(&["export", "login", "--format", "snapshot"], "");
    assert_snapshot!(outcome.stderr, @"tertulia: omitted, because this format cannot represent it: 1 non-text part, 3 messages without text, 2 entries that are not messages, 2 entries of other branches");
    let imported = ask("importSnapshot", &format!(r#"{{"snapshot":{}}}"#, outcome.stdout));
    assert_eq!(imported, r#""result":{"messageCount":3}"#);
}

#[test]
fn the_form_can_be_said_and_is_distinguished_otherwise() {
    let store = TestStore::new();
    let snapshot: Value = serde_json::from_str(&example("examples/login.json")).unwrap();
    let spread = format!("\n\n{}", serde_json::to_string_pretty(&snapshot).unwrap());
    store.prints(&["import", "-", "--format", "snapshot"], &spread);
    store.prints(&["import", "-"], &format!("\u{feff}{spread}"));
    store.prints(&["import", "-"], &format!("\n\n{}\n\n", said("m", "user", "Hello")));
    let wrong = store.refuses(&["import", "-", "--format", "agent-chatter"], &spread);
    assert!(wrong.contains("schemaVersion must be \"1.0\"; got nothing"), "{wrong}");
    let wrong = store.refuses(&["import", "-", "--format", "jsonl"], CHATTER);
    assert!(wrong.contains("standard input: line 1, column "), "{wrong}");
    let other = CHATTER.replace("\"1.0\"", "\"2.0\"");
    let wrong = store.refuses(&["import", "-"], &other);
    assert!(wrong.contains("schemaVersion must be \"1.0\"; got \"2.0\""), "{wrong}");
    let broken = CHATTER.replace("\"Blue.\"", "\"Blue.");
    let wrong = store.refuses(&["import", "-"], &broken);
    assert!(wrong.contains("not JSON at line 8"), "{wrong}");
    assert_eq!(store.ids().len(), 3);
}
