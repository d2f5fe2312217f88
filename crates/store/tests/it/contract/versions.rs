//! Both record versions in one session. Stored entries do not change, the chain covers both versions, and redactions
//! work for turn events in either form.

use tertulia_session::record::{EntryRecord, read_entry_line};
use tertulia_session::{Entry, EntryKind, Setting};
use tertulia_store::{EntryLocation, Range, SessionStore};

use crate::notation::{append, filled, id};
use crate::test_stores::TestStore;

const VERSION_1: &str = include_str!("../../../../session/tests/fixtures/team-v1.jsonl");
const CONTINUED: &str = r#"{"id":"v1","type":"turn","payload":{"member":"max","state":"started","turnId":"t03","cause":{"kind":"chosen","rule":"local"}}}
{"id":"v2","type":"turn_event","payload":{"turnId":"t03","member":"max","kind":"tool_finished","toolCallId":"c","output":"the PIN is 482913","isError":false}}
{"id":"v3","type":"session_setting","payload":{"kind":"folder","path":"/src/482913"}}"#;

super::contract_tests! {
    a_session_of_version_1_is_continued_and_nothing_in_it_changes
    turn_events_are_redacted_in_both_versions
}

fn entries(lines: &str) -> Vec<Entry> {
    lines.lines().map(|line| read_entry_line(1, line).unwrap()).collect()
}

fn stored(store: &SessionStore) -> Vec<Entry> {
    let loaded = store.load(&id("talk"), &Range::All).unwrap();
    loaded.into_iter().map(|stored| stored.entry).collect()
}

fn a_session_of_version_1_is_continued_and_nothing_in_it_changes(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", entries(VERSION_1));
    let before = fixture.store.info(&session).unwrap();
    assert_eq!(before.title.as_deref(), Some("Login page"));
    append(&fixture.store, &session, entries(CONTINUED));
    fixture.store.rename(&session, "Two").unwrap();
    let again = fixture.reopen();
    let entries = stored(&again);
    let lines = VERSION_1.lines().chain(CONTINUED.lines());
    for (entry, line) in entries.iter().zip(lines) {
        let unsalted = Entry { salt: None, ..entry.clone() };
        assert_eq!(EntryRecord::new(&unsalted).to_json(), line);
    }
    assert_eq!(again.info(&session).unwrap().title.as_deref(), Some("Two"));
    let title = entries.last().and_then(|entry| entry.kind.setting());
    assert_eq!(title, Some(&Setting::Title { title: "Two".into() }));
    assert_eq!(again.verify(&session).unwrap().damage, None);
    // A program that reads and rewrites everything gets the same chain.
    let copied = filled(&fixture.store, "copy", entries);
    assert_eq!(again.info(&copied).unwrap().chain_hash, again.info(&session).unwrap().chain_hash);
}

fn turn_events_are_redacted_in_both_versions(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", entries(VERSION_1));
    append(&fixture.store, &session, entries(CONTINUED));
    for (text, types) in [
        ("Look first.", vec!["custom"]),
        ("482913", vec!["turn_event", "session_setting"]),
        ("/src/app", vec!["custom"]),
    ] {
        let found = fixture.store.entries_with_text(text, None).unwrap();
        let shown: Vec<&str> =
            found.iter().map(|(_, stored)| stored.entry.kind.type_name()).collect();
        assert_eq!(shown, types, "{text}");
        let targets: Vec<EntryLocation> = found
            .into_iter()
            .map(|(session, stored)| EntryLocation { session, entry: stored.entry.id })
            .collect();
        fixture.store.redact_all(&targets, None).unwrap();
        let log = stored(&fixture.reopen());
        assert!(!format!("{log:?}").contains(text), "{text}");
        let purged = |entry: &&Entry| targets.iter().any(|target| target.entry == entry.id);
        for entry in log.iter().filter(purged) {
            assert!(matches!(entry.kind, EntryKind::Purged(_)), "{entry:?}");
            assert!(types.contains(&entry.kind.shown_type_name()));
        }
    }
    // The id of a turn, its cause and the hash of a prompt are not text.
    for none in ["t03", "in_turn", "tool_finished"] {
        let found = fixture.store.entries_with_text(none, None).unwrap();
        let of_version_2 = |id: &str| id.starts_with('v');
        assert!(!found.iter().any(|(_, stored)| of_version_2(stored.entry.id.as_str())), "{none}");
    }
    let verified = fixture.reopen().verify(&session).unwrap();
    assert_eq!((verified.purged, verified.damage), (4, None));
}
