//! The first import of a session.

use tertulia_dialect::native::original_bytes;
use tertulia_operations::handover::Link;
use tertulia_operations::import::{ImportError, LinkIndex};
use tertulia_session::{EntryKind, NativeDirection};
use tertulia_store::{ProjectScope, SearchQuery, SessionId};

use crate::machine::{FORMAT, Machine, NOW, SESSION, lines};

#[test]
fn a_session_is_stored_under_the_agent_and_its_id_with_its_project() {
    let mut machine = Machine::new();
    let path = machine.claude("any-name.txt", "u1=Hello a1=Hi");
    let imported = machine.import(&path);
    assert_eq!((imported.session.as_str(), imported.is_new), (SESSION, true));
    assert_eq!((imported.messages, imported.records, imported.problem_count), (2, 2, 0));
    assert_eq!(machine.said(SESSION), "u1:Hello a1:Hi");
    let info = machine.store.info(&imported.session).unwrap();
    assert_eq!(info.project.as_deref(), Some("/src"));
    let speaker = |id: &str| {
        let log = machine.log(SESSION);
        let entry = log.into_iter().find(|entry| entry.id.as_str() == id).unwrap();
        entry.message().unwrap().speaker.clone().unwrap().role_name.clone()
    };
    assert_eq!(&*speaker("u1"), "User");
    assert_eq!(&*speaker("a1"), "Claude Code");
}

#[test]
fn the_newest_entry_says_how_far_it_was_imported_and_is_on_the_branch_of_the_agent() {
    let mut machine = Machine::new();
    let text = lines("u1=Hello a1=Hi u2<u1=Again a2=Yes");
    let path = machine.write("s.jsonl", &text);
    machine.import(&path);
    let log = machine.log(SESSION);
    let link = Link::of(log.last().unwrap()).unwrap();
    assert_eq!((link.format, &*link.native_session_id), (FORMAT, "s-1"));
    assert_eq!((link.direction, link.records), (NativeDirection::Imported, 4));
    assert_eq!((link.bytes, link.anchor.as_str()), (text.len() as u64, "a2"));
    assert_eq!(link.last_record_id.as_deref(), Some("a2"));
    assert_eq!(link.path.as_deref(), path.to_str());
    assert_eq!(machine.said(SESSION), "u1:Hello u2:Again a2:Yes");
    assert_eq!(original_bytes(&log, "").unwrap(), text.as_bytes());
}

#[test]
fn the_title_of_the_agent_becomes_the_title_of_the_session() {
    let mut machine = Machine::new();
    let title = r#"{"type":"custom-title","customTitle":"Login page","sessionId":"s-1"}"#;
    let path = machine.write("s.jsonl", &format!("{}{title}\n", lines("u1=Hello")));
    let imported = machine.import(&path);
    assert_eq!(imported.title.as_deref(), Some("Login page"));
    let info = machine.store.info(&imported.session).unwrap();
    assert_eq!((info.title.as_deref(), info.has_own_title), (Some("Login page"), true));
}

#[test]
fn a_dry_run_stores_nothing() {
    let mut machine = Machine::new();
    machine.is_dry_run = true;
    let path = machine.claude("s.jsonl", "u1=Hello a1=Hi");
    let imported = machine.import(&path);
    assert_eq!((imported.entries, imported.messages), (2, 2));
    assert!(machine.store.ids().unwrap().is_empty());
}

#[test]
fn an_error_leaves_nothing_half_imported() {
    let mut machine = Machine::new();
    let long = format!("{}{{\"a\":\"{}\"}}\n", lines("u1=Hello"), "x".repeat(2 << 20));
    let path = machine.write("s.jsonl", &long);
    let error = machine.try_import(&path).unwrap_err();
    assert!(matches!(error, ImportError::Native(_)), "{error}");
    assert!(error.to_string().contains("line 2 is longer"), "{error}");
    assert!(machine.store.ids().unwrap().is_empty());
    assert_eq!(machine.store.left_behind().unwrap().sessions, 0);
}

#[test]
fn what_cannot_be_read_is_reported_by_line_and_kept() {
    let mut machine = Machine::new();
    let text = format!("{}not JSON\n{}", lines("u1=Hello"), lines("a1<u1=Hi"));
    let path = machine.write("s.jsonl", &text);
    let imported = machine.import(&path);
    assert_eq!((imported.problem_count, imported.problems[0].line), (1, 2));
    assert_eq!(original_bytes(&machine.log(SESSION), "").unwrap(), text.as_bytes());
}

#[test]
fn a_cycle_of_parents_is_reported_and_cut() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1<a1=Hello a1<u1=Hi u2<u2=Well?");
    let imported = machine.import(&path);
    assert_eq!(imported.problem_count, 2);
    assert_eq!(machine.said(SESSION), "u1:Hello a1:Hi u2:Well?");
}

#[test]
fn dates_in_the_future_are_counted_and_kept() {
    let mut machine = Machine::new();
    let text = lines("u1=Hello a1=Hi").replace("2026-01-31", "2126-01-31");
    let path = machine.write("s.jsonl", &text);
    let imported = machine.import(&path);
    assert_eq!(imported.in_future, 2);
    assert!(imported.last_date.unwrap().millis() > NOW);
}

#[test]
fn a_name_that_is_taken_by_another_session_is_refused() {
    let mut machine = Machine::new();
    let first = machine.claude("s.jsonl", "u1=Hello");
    machine.id = Some("talk".parse::<SessionId>().unwrap());
    assert_eq!(machine.import(&first).session.as_str(), "talk");
    let other = machine.write("t.jsonl", &lines("u1=Hello").replace("s-1", "s-2"));
    let error = machine.try_import(&other).unwrap_err();
    assert!(matches!(error, ImportError::Taken(_)), "{error}");
    machine.id = None;
    assert_eq!(machine.import_afresh(&first).session.as_str(), "talk", "found by its link");
}

#[test]
fn the_same_id_from_another_machine_is_another_session() {
    let mut machine = Machine::new();
    let first = machine.claude("here/s.jsonl", "u1=Hello a1=Hi");
    let other = machine.claude("there/s.jsonl", "x1=Something_else a1=No");
    machine.import(&first);
    let imported = machine.import(&other);
    assert_eq!(imported.session.as_str(), "claude-s-1-2");
    assert_eq!(imported.collides_with.unwrap().as_str(), SESSION);
    assert_eq!(machine.said("claude-s-1-2"), "x1:Something else a1:No");
    let again = machine.import_afresh(&other);
    assert_eq!((again.session.as_str(), again.entries), ("claude-s-1-2", 0));
    assert_eq!(machine.import(&first).session.as_str(), SESSION);
}

#[test]
fn a_copy_of_a_session_in_another_place_is_the_same_session() {
    let mut machine = Machine::new();
    let first = machine.claude("here/s.jsonl", "u1=Hello a1=Hi");
    let copy = machine.claude("there/s.jsonl", "u1=Hello a1=Hi u2=More");
    machine.import(&first);
    let imported = machine.import(&copy);
    assert_eq!((imported.session.as_str(), imported.entries), (SESSION, 1));
}

#[test]
fn secrets_are_removed_from_texts_and_kept_records_and_stay_removed() {
    let mut machine = Machine::new();
    let key = "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ";
    let path = machine.claude("s.jsonl", &format!("u1=key:{key} a1=Thanks"));
    machine.redacts_secrets = true;
    assert_eq!(machine.import(&path).secrets, 1);
    assert!(!format!("{:?}", machine.log(SESSION)).contains("0123456789"));
    assert_eq!(machine.said(SESSION), "u1:key:[secret removed] a1:Thanks");
    // Later imports replace secrets too, so no record seems to have changed.
    machine.redacts_secrets = false;
    let more = machine.claude("s.jsonl", &format!("u1=key:{key} a1=Thanks u2=again:{key}"));
    let imported = machine.import(&more);
    assert_eq!((imported.entries, imported.changed), (1, 0));
    assert!(!format!("{:?}", machine.log(SESSION)).contains("0123456789"));
}

#[test]
fn secrets_that_were_imported_earlier_are_redacted_when_somebody_asks_for_it() {
    let key = "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ";
    let notation = format!("u1=key:{key} a1=Thanks u2=and_{key}_and_{key} a2=Fine");
    for rewritten in [false, true] {
        let mut machine = Machine::new();
        let path = machine.claude("s.jsonl", &notation);
        machine.import(&path);
        if rewritten {
            // The file does not begin with the same bytes any more.
            machine.write("s.jsonl", &("\n".to_owned() + &lines(&notation)));
        }
        machine.redacts_secrets = true;
        machine.is_dry_run = true;
        let would = machine.import(&path).stored_secrets;
        assert_eq!((would.secrets, would.entries), (3, 2));
        assert!(format!("{:?}", machine.log(SESSION)).contains("0123456789"));
        machine.is_dry_run = false;
        let imported = machine.import_afresh(&path);
        assert_eq!((imported.session.as_str(), imported.is_new), (SESSION, false));
        assert_eq!((imported.stored_secrets.secrets, imported.stored_secrets.entries), (3, 2));
        assert!(!format!("{:?}", machine.log(SESSION)).contains("0123456789"));
        assert_eq!(machine.said(SESSION), "a1:Thanks a2:Fine");
        // Later imports redact without being asked, and nothing is left to redact.
        machine.redacts_secrets = false;
        machine.claude("s.jsonl", &format!("{notation} u3=again:{key}"));
        assert_eq!(machine.import(&path).messages, 1);
        assert!(!format!("{:?}", machine.log(SESSION)).contains("0123456789"));
        machine.redacts_secrets = true;
        assert_eq!(machine.import(&path).stored_secrets.entries, 0);
    }
}

#[test]
fn imported_messages_are_found_and_belong_to_the_project() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=The_account_lock a1=Noted");
    machine.import(&path);
    let query = SearchQuery {
        text: "lock".to_owned(),
        project: ProjectScope::Project("/src".to_owned()),
        ..SearchQuery::default()
    };
    let found = machine.store.search(&query).unwrap();
    assert_eq!(found.hits[0].entry_id.as_str(), "u1");
}

#[test]
fn the_files_of_sub_agents_are_a_branch_beside_the_conversation() {
    let mut machine = Machine::new();
    let path = machine.claude("s-1.jsonl", "u1=Hello a1=Hi");
    let side = lines("x1=Look a2=Found").replace("\"isSidechain\":false", "\"isSidechain\":true");
    machine.write("s-1/subagents/agent-7.jsonl", &side);
    let imported = machine.import(&path);
    assert_eq!(imported.messages, 4);
    assert_eq!(machine.said(SESSION), "u1:Hello a1:Hi");
    let again = machine.import(&path);
    assert_eq!((again.entries, again.changed), (0, 0));
}

#[test]
fn the_index_of_links_survives_as_json_and_notices_deleted_sessions() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello");
    machine.import(&path);
    let mut index = LinkIndex::default();
    index.update(&machine.store).unwrap();
    let (id, link) = index.link_of(FORMAT, "s-1").unwrap();
    assert_eq!((id.as_str(), link.millis), (SESSION, NOW));
    assert_eq!(LinkIndex::from_json(&index.to_json()), index);
    assert_eq!(LinkIndex::from_json("{broken"), LinkIndex::default());
    machine.store.delete(&SESSION.parse::<SessionId>().unwrap()).unwrap();
    index.update(&machine.store).unwrap();
    assert!(index.link_of(FORMAT, "s-1").is_none());
}

#[test]
fn a_file_of_another_format_is_refused_if_no_record_can_be_read() {
    let mut machine = Machine::new();
    let path = machine.write("s.jsonl", "hello\nyou\n");
    let session = machine.of_claude(&path);
    let error = machine.try_import_found(&session).unwrap_err().to_string();
    assert!(error.contains("no record can be read as one of Claude Code"), "{error}");
    assert!(error.contains("Line 1: not JSON"), "{error}");
    assert!(machine.store.ids().unwrap().is_empty());
    assert_eq!(machine.store.left_behind().unwrap().sessions, 0);
}

#[test]
fn a_file_without_records_is_refused() {
    let mut machine = Machine::new();
    let path = machine.write("s.jsonl", r#"{"type":"user","uuid":"u1","sessionId":"s-1","#);
    let session = machine.of_claude(&path);
    let error = machine.try_import_found(&session).unwrap_err();
    assert!(matches!(error, ImportError::Empty { .. }), "{error}");
    assert!(machine.store.ids().unwrap().is_empty());
    let is_link = |kind: &EntryKind| matches!(kind, EntryKind::NativeSession(_));
    let path = machine.claude("t.jsonl", "u1=Hello");
    machine.import(&path);
    assert_eq!(machine.count(SESSION, is_link), 1);
}

#[test]
fn a_redaction_reaches_the_copies_that_an_agent_keeps_of_the_conversation() {
    let mut machine = Machine::new();
    let message = |id: &str, kind: &str, text: &str| {
        format!(r#"{{"id":"{id}","type":"{kind}","content":[{{"text":"{text}"}}]}}"#)
    };
    let (one, two) = (message("m1", "user", "the PIN is 4711"), message("m2", "gemini", "Noted."));
    let header = r#"{"sessionId":"g-1","projectHash":"h","kind":"main"}"#;
    let all = format!(r#"{{"$set":{{"messages":[{one},{two}]}}}}"#);
    let again = message("m1", "user", "the PIN is 4711").replace("]}", r#"],"model":"x"}"#);
    let other = r#"{"$set":{"lastUpdated":"2026-01-31T12:00:00Z"}}"#;
    let three = message("m3", "user", "Go on");
    let lines = [header, &one, &two, &all, &again, other, &three, &all].join("\n");
    let id = machine.import(&machine.write("g.jsonl", &(lines + "\n"))).session;
    machine.store.redact(&id, &"m1".into(), None).unwrap();
    let log = format!("{:?}", machine.log(id.as_str()));
    assert!(!log.contains("4711"), "{log}");
    assert!(
        log.contains("Noted.") && log.contains("Go on") && log.contains("lastUpdated"),
        "{log}"
    );
}
