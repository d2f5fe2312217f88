//! Titles are set by a person, are part of the log, and are found without reading the whole log.

use tertulia_store::{NewSession, StoreError};

use crate::notation::{append, chain, filled, id, said};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_title_replaces_the_first_message_until_it_is_removed
    a_fork_keeps_the_title
    a_redacted_title_is_removed
    an_entry_with_only_a_title_id_sets_no_title
    all_ids_are_listed
}

fn title(fixture: &TestStore, session: &str) -> (Option<String>, bool) {
    let info = fixture.reopen().info(&id(session)).unwrap();
    (info.title, info.has_own_title)
}

fn a_title_replaces_the_first_message_until_it_is_removed(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![said("a", None, "first words")]);
    assert_eq!(title(fixture, "talk"), (Some("first words".to_owned()), false));
    for given in ["One", "  Two  ", "Two"] {
        fixture.store.rename(&session, given).unwrap();
        assert_eq!(title(fixture, "talk"), (Some(given.trim().to_owned()), true));
    }
    // Setting the same title again stores nothing.
    assert_eq!(fixture.store.info(&session).unwrap().entries, 3);
    append(&fixture.store, &session, vec![said("b", Some("title-2"), "on")]);
    fixture.store.rename(&session, "").unwrap();
    assert_eq!(title(fixture, "talk"), (Some("first words".to_owned()), false));
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
    let error = fixture.store.rename(&session, "a\nb").unwrap_err();
    assert!(matches!(error, StoreError::InvalidTitle(_)), "{error}");
    let error = fixture.store.rename(&id("none"), "x").unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound(_)), "{error}");
}

fn a_fork_keeps_the_title(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    fixture.store.rename(&session, "One").unwrap();
    let tail = fixture.store.info(&session).unwrap().tail.unwrap();
    let new = NewSession { id: Some(id("copy")) };
    fixture.store.fork(&session, &tail, &new).unwrap();
    assert_eq!(title(fixture, "copy"), (Some("One".to_owned()), true));
}

fn a_redacted_title_is_removed(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![said("a", None, "first words")]);
    fixture.store.rename(&session, "Secret").unwrap();
    fixture.store.redact(&session, &"title-1".into(), None).unwrap();
    assert_eq!(title(fixture, "talk"), (Some("first words".to_owned()), false));
    fixture.store.rename(&session, "Open").unwrap();
    assert_eq!(title(fixture, "talk"), (Some("Open".to_owned()), true));
}

fn an_entry_with_only_a_title_id_sets_no_title(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![said("title-1", None, "first words")]);
    assert_eq!(title(fixture, "talk"), (Some("first words".to_owned()), false));
    fixture.store.rename(&session, "One").unwrap();
    assert_eq!(title(fixture, "talk"), (Some("One".to_owned()), true));
}

fn all_ids_are_listed(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(700));
    let ids = fixture.reopen().entry_ids(&session).unwrap();
    assert_eq!(ids.len(), 700);
    assert_eq!((ids[0].as_str(), ids[699].as_str()), ("e1", "e700"));
    filled(&fixture.store, "newer", chain(1));
    assert_eq!(fixture.reopen().ids().unwrap(), [id("newer"), id("talk")]);
}
