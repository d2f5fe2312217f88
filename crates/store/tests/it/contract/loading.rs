//! Entries can be loaded as a whole, as a tail, from an entry on, or along one branch.

use tertulia_store::{Append, Outline, OutlineEntry, Range, SessionStore, StoreError, StoredEntry};

use crate::notation::{append, chain, filled, id, ids, link, said};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_session_of_many_pages_is_loaded_completely
    the_tail_is_loaded_without_the_rest
    a_session_is_loaded_starting_at_an_entry
    a_branch_is_walked_back_to_its_root
    a_branch_is_cut_to_its_newest_entries
    an_outline_names_the_entries_of_a_branch_and_each_is_loaded_by_its_number
    a_missing_entry_is_reported
    logs_without_parents_are_one_chain
    entries_appended_while_reading_are_not_returned
}

fn load(store: &SessionStore, range: &Range) -> String {
    let loaded: Vec<StoredEntry> = store.load(&id("talk"), range).unwrap();
    ids(loaded.iter().map(|stored| &stored.entry))
}

fn branch(tail: Option<&str>, limit: Option<usize>) -> Range {
    Range::Branch { tail: tail.map(Into::into), limit }
}

fn a_session_of_many_pages_is_loaded_completely(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2345));
    let loaded = fixture.reopen().load(&session, &Range::All).unwrap();
    let entries: Vec<_> = loaded.into_iter().map(|stored| stored.entry).collect();
    assert_eq!(entries, chain(2345));
}

fn the_tail_is_loaded_without_the_rest(fixture: &TestStore) {
    filled(&fixture.store, "talk", chain(700));
    let store = fixture.reopen();
    assert_eq!(load(&store, &Range::Tail(3)), "e698 e699 e700");
    assert_eq!(load(&store, &Range::Tail(0)), "");
    assert_eq!(store.load(&id("talk"), &Range::Tail(1000)).unwrap().len(), 700);
}

fn a_session_is_loaded_starting_at_an_entry(fixture: &TestStore) {
    filled(&fixture.store, "talk", chain(5));
    let store = fixture.reopen();
    assert_eq!(load(&store, &Range::From("e4".into())), "e4 e5");
    assert_eq!(load(&store, &Range::From("e1".into())), "e1 e2 e3 e4 e5");
}

fn a_branch_is_walked_back_to_its_root(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(600));
    let side = vec![said("s1", Some("e300"), "side"), said("s2", Some("s1"), "side")];
    append(&fixture.store, &session, side);
    append(&fixture.store, &session, vec![said("e601", Some("e600"), "main")]);
    let store = fixture.reopen();
    assert_eq!(store.load(&session, &branch(None, None)).unwrap().len(), 601);
    let side = store.load(&session, &branch(Some("s2"), None)).unwrap();
    assert_eq!(side.len(), 302);
    assert_eq!(ids(side[299..].iter().map(|stored| &stored.entry)), "e300 s1 s2");
}

fn a_branch_is_cut_to_its_newest_entries(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(600));
    append(&fixture.store, &session, vec![said("s1", Some("e2"), "side")]);
    let store = fixture.reopen();
    assert_eq!(load(&store, &branch(None, Some(2))), "e2 s1");
    assert_eq!(load(&store, &branch(Some("e600"), Some(3))), "e598 e599 e600");
    assert_eq!(load(&store, &branch(None, Some(0))), "");
}

fn an_outline_names_the_entries_of_a_branch_and_each_is_loaded_by_its_number(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(700));
    fixture.store.branch(&session, &"e300".into()).unwrap();
    let store = fixture.reopen();
    let outline = Outline::read(&store, &session).unwrap().entries;
    let whole = store.load(&session, &branch(None, None)).unwrap();
    let named = |stored: &StoredEntry| OutlineEntry {
        number: stored.seq,
        id: stored.entry.id.clone(),
        type_name: stored.entry.kind.shown_type_name().into(),
    };
    assert_eq!(outline, whole.iter().map(named).collect::<Vec<_>>());
    assert_eq!(outline.len(), 301);
    let some = |index: &usize| matches!(index, 0 | 7..=290 | 300);
    let numbers = (0..outline.len()).filter(some).map(|index| outline[index].number).collect();
    let picked = store.load(&session, &Range::Numbers(numbers)).unwrap();
    let wanted: Vec<_> = (0..whole.len()).filter(some).map(|index| whole[index].clone()).collect();
    assert_eq!(picked, wanted);
    let missing = store.load(&session, &Range::Numbers(vec![9_999]));
    assert!(matches!(missing, Err(StoreError::SessionReadFailed { .. })), "{missing:?}");
}

fn a_missing_entry_is_reported(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    let store = fixture.reopen();
    let errors = [
        store.load(&session, &Range::From("gone".into())).unwrap_err(),
        store.load(&session, &branch(Some("gone"), None)).unwrap_err(),
        store.entry(&session, &"gone".into()).unwrap_err(),
        store.branch(&session, &"gone".into()).unwrap_err(),
        store.redact(&session, &"gone".into(), None).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, StoreError::EntryNotFound { .. }), "{error}");
    }
}

fn logs_without_parents_are_one_chain(fixture: &TestStore) {
    let entries: Vec<_> = (1..=4).map(|number| said(&format!("m{number}"), None, "text")).collect();
    let session = filled(&fixture.store, "talk", entries);
    assert_eq!(load(&fixture.reopen(), &branch(None, None)), "m1 m2 m3 m4");
    // Once an entry has named a parent, an entry without one starts a branch.
    append(&fixture.store, &session, vec![said("m5", Some("m2"), ""), said("m6", None, "")]);
    assert_eq!(load(&fixture.reopen(), &branch(Some("m5"), None)), "m1 m2 m5");
    assert_eq!(load(&fixture.reopen(), &branch(None, None)), "m6");
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
}

fn entries_appended_while_reading_are_not_returned(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(300));
    let store = fixture.reopen();
    let mut entries = store.entries(&session, &Range::All).unwrap();
    entries.next().unwrap().unwrap();
    fixture.store.append(&session, Append::new([link(301, "late")])).unwrap();
    assert_eq!(entries.count(), 299);
}
