//! The usage entries of all sessions are found by their time, without reading other entries.

use tertulia_session::{Entry, EntryKind, NewEntry, Timestamp, Usage};
use tertulia_store::{Import, NewSession, SessionStore, StoredUsage};

use crate::notation::{append, filled, id, link};
use crate::test_stores::TestStore;

super::contract_tests! {
    the_usage_of_all_sessions_is_in_the_order_of_time
    an_entry_without_a_time_has_the_time_when_it_was_stored
    the_entries_of_a_fork_are_counted_once
    deleted_and_half_imported_sessions_have_no_usage
    many_entries_are_found_page_by_page
}

fn usage(name: &str, parent: &str, millis: Option<i64>) -> Entry {
    let usage = Usage { member: "max".into(), output_tokens: 7, ..Usage::default() };
    let mut entry = NewEntry::new(EntryKind::Usage(usage)).with_parent(parent.into());
    if let Some(millis) = millis {
        entry = entry.at(Timestamp::from_millis(millis));
    }
    entry.with_id(name.into())
}

fn found(store: &SessionStore, since: Option<i64>) -> Vec<StoredUsage> {
    let found = store.usage(since.map(Timestamp::from_millis).as_ref()).unwrap();
    assert!(found.damaged.is_empty());
    found.entries
}

fn names(store: &SessionStore, since: Option<i64>) -> String {
    let found = found(store, since);
    let names = found.iter().map(|one| format!("{}/{}", one.session, one.entry_id));
    names.collect::<Vec<_>>().join(" ")
}

fn the_usage_of_all_sessions_is_in_the_order_of_time(fixture: &TestStore) {
    let store = &fixture.store;
    store.create_in(&NewSession { id: Some(id("a")) }, Some("/a")).unwrap();
    append(store, &id("a"), vec![link(1, "one")]);
    append(store, &id("a"), vec![usage("u3", "e1", Some(3_000)), usage("u1", "u3", Some(1_000))]);
    filled(store, "b", vec![link(1, "one"), usage("u2", "e1", Some(2_000))]);
    let again = fixture.reopen();
    assert_eq!(names(&again, None), "a/u1 b/u2 a/u3");
    assert_eq!(names(&again, Some(2_000)), "b/u2 a/u3");
    assert_eq!(names(&again, Some(3_001)), "");
    let first = &found(&again, None)[0];
    assert_eq!((first.project.as_deref(), first.usage.output_tokens), (Some("/a"), 7));
    assert_eq!(first.time.millis(), 1_000);
}

fn an_entry_without_a_time_has_the_time_when_it_was_stored(fixture: &TestStore) {
    let before = tertulia_store::now_millis();
    filled(&fixture.store, "a", vec![link(1, "one"), usage("u1", "e1", None)]);
    assert_eq!(names(&fixture.store, Some(before)), "a/u1");
    assert!(found(&fixture.store, None)[0].time.millis() >= before);
}

fn the_entries_of_a_fork_are_counted_once(fixture: &TestStore) {
    let store = &fixture.store;
    let log = vec![link(1, "one"), usage("u1", "e1", Some(1_000)), usage("u2", "u1", Some(2_000))];
    filled(store, "a", log);
    store.fork(&id("a"), &"u2".into(), &NewSession { id: Some(id("0")) }).unwrap();
    append(store, &id("0"), vec![usage("u3", "u2", Some(3_000))]);
    assert_eq!(names(store, None), "a/u1 a/u2 0/u3");
}

fn deleted_and_half_imported_sessions_have_no_usage(fixture: &TestStore) {
    let store = &fixture.store;
    filled(store, "a", vec![link(1, "one"), usage("u1", "e1", Some(1_000))]);
    store.delete(&id("a")).unwrap();
    let mut import = Import::begin(store).unwrap();
    import.push(link(1, "one")).unwrap();
    import.push(usage("u2", "e1", Some(2_000))).unwrap();
    assert_eq!(names(store, None), "");
    import.finish(&NewSession { id: Some(id("b")) }).unwrap();
    assert_eq!(names(store, None), "b/u2");
}

fn many_entries_are_found_page_by_page(fixture: &TestStore) {
    const COUNT: i64 = 5_000;
    let mut log = vec![link(1, "one")];
    // Several entries have the same time.
    log.extend((0..COUNT).map(|at| usage(&format!("u{at}"), "e1", Some(1_000 + at / 3))));
    filled(&fixture.store, "a", log);
    let found = found(&fixture.store, None);
    assert_eq!(found.len(), 5_000);
    assert!(found.is_sorted_by_key(|one| one.time.millis()));
}
