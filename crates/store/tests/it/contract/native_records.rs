//! Redactions of entries that were imported from an agent's own session. No copy of the text stays.

use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryKind, Fields, NativeRecord};
use tertulia_store::{EntryLocation, Range, SessionStore};

use crate::notation::{entry, filled, id, said};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_redaction_of_a_record_purges_all_entries_of_it
    a_redaction_of_a_later_entry_of_a_record_purges_the_record
    entries_of_other_records_stay
    a_text_that_is_only_in_the_kept_record_is_found
}

/// Returns an entry that contains this record.
fn imported(mut entry: Entry, record: &str) -> Entry {
    let record = Json::text(record);
    let meta =
        format!(r#"{{"native":{{"agent":"claude","record":{},"line":1}}}}"#, record.as_str());
    entry.meta = Json::parse(&meta).ok();
    entry
}

fn bookkeeping(name: &str, record: &str) -> Entry {
    let (agent, record_type) = ("claude".into(), None);
    let kind = NativeRecord { agent, record_type, unknown: Fields::NONE };
    imported(entry(name, Some("u#2"), EntryKind::NativeRecord(kind)), record)
}

/// Returns a record with three entries, another one with a similar id, and one that is not a message.
fn log() -> Vec<Entry> {
    vec![
        imported(said("u", None, "the secret"), r#"{"text":"the secret","more":"kept \"word\""}"#),
        said("u#1", Some("u"), "a part of the secret"),
        said("u#2", Some("u#1"), "more"),
        bookkeeping("u#x", r#"{"pin":4711,"path":"C:\\tmp"}"#),
        said("v", Some("u#2"), "another"),
        said("v#1", Some("v"), "not imported, with a similar id"),
    ]
}

fn purged(store: &SessionStore) -> Vec<String> {
    let log = store.load(&id("talk"), &Range::All).unwrap();
    let purged = log.into_iter().filter(|stored| stored.entry.is_purged());
    purged.map(|stored| stored.entry.id.to_string()).collect()
}

fn a_redaction_of_a_record_purges_all_entries_of_it(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", log());
    let target = EntryLocation { session: session.clone(), entry: "u".into() };
    let redacted = fixture.store.redact_all(&[target], Some("a password")).unwrap();
    assert_eq!(redacted.purged.len(), 3);
    assert_eq!(purged(&fixture.reopen()), ["u", "u#1", "u#2"]);
    assert!(fixture.store.entries_with_text("secret", None).unwrap().is_empty());
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
    let last = redacted.appended.last_entry_id.unwrap();
    let EntryKind::Redaction(last) = fixture.store.entry(&session, &last).unwrap().entry.kind
    else {
        panic!("the last entry is no redaction")
    };
    assert_eq!(last.target_id.as_str(), "u");
}

fn a_redaction_of_a_later_entry_of_a_record_purges_the_record(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", log());
    fixture.store.redact(&session, &"u#2".into(), None).unwrap();
    assert_eq!(purged(&fixture.reopen()), ["u", "u#1", "u#2"]);
    let again = fixture.store.redact(&session, &"u#1".into(), None).unwrap();
    assert_eq!(again.appended_count, 0);
}

fn entries_of_other_records_stay(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", log());
    fixture.store.redact(&session, &"v#1".into(), None).unwrap();
    fixture.store.redact(&session, &"u#x".into(), None).unwrap();
    assert_eq!(purged(&fixture.reopen()), ["u#x", "v#1"]);
}

fn a_text_that_is_only_in_the_kept_record_is_found(fixture: &TestStore) {
    filled(&fixture.store, "talk", log());
    let find = |text: &str| {
        let found = fixture.store.entries_with_text(text, None).unwrap();
        found.into_iter().map(|(_, stored)| stored.entry.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(find("kept \"word\""), ["u"]);
    assert_eq!(find("4711"), ["u#x"]);
    assert_eq!(find("C:\\tmp"), ["u#x"]);
    assert_eq!(find("claude"), ["u#x"], "the agent of a record that is no message");
    assert!(find("path").is_empty(), "a name in the record is no text");
}
