//! Titles: given by a person, part of the log, found without reading it.

use tertulia_store::{NewSession, StoreError};

use crate::notation::{append, chain, filled, id, said};
use crate::places::Place;

super::promises! {
    a_title_takes_the_place_of_the_first_words_until_it_is_removed
    a_title_goes_with_a_fork
    a_title_that_was_redacted_is_gone
    an_entry_that_only_has_such_an_id_gives_no_title
    all_ids_are_listed
}

fn title(place: &Place, session: &str) -> (Option<String>, bool) {
    let info = place.again().info(&id(session)).unwrap();
    (info.title, info.has_own_title)
}

fn a_title_takes_the_place_of_the_first_words_until_it_is_removed(place: &Place) {
    let session = filled(&place.store, "talk", vec![said("a", None, "first words")]);
    assert_eq!(title(place, "talk"), (Some("first words".to_owned()), false));
    for given in ["One", "  Two  ", "Two"] {
        place.store.rename(&session, given).unwrap();
        assert_eq!(title(place, "talk"), (Some(given.trim().to_owned()), true));
    }
    // The same title again stores nothing.
    assert_eq!(place.store.info(&session).unwrap().entries, 3);
    append(&place.store, &session, vec![said("b", Some("title-2"), "on")]);
    place.store.rename(&session, "").unwrap();
    assert_eq!(title(place, "talk"), (Some("first words".to_owned()), false));
    assert_eq!(place.store.verify(&session).unwrap().damage, None);
    let error = place.store.rename(&session, "a\nb").unwrap_err();
    assert!(matches!(error, StoreError::InvalidTitle(_)), "{error}");
    let error = place.store.rename(&id("none"), "x").unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound(_)), "{error}");
}

fn a_title_goes_with_a_fork(place: &Place) {
    let session = filled(&place.store, "talk", chain(2));
    place.store.rename(&session, "One").unwrap();
    let tail = place.store.info(&session).unwrap().tail.unwrap();
    let new = NewSession { id: Some(id("copy")) };
    place.store.fork(&session, &tail, &new).unwrap();
    assert_eq!(title(place, "copy"), (Some("One".to_owned()), true));
}

fn a_title_that_was_redacted_is_gone(place: &Place) {
    let session = filled(&place.store, "talk", vec![said("a", None, "first words")]);
    place.store.rename(&session, "Secret").unwrap();
    place.store.redact(&session, &"title-1".into(), None).unwrap();
    assert_eq!(title(place, "talk"), (Some("first words".to_owned()), false));
    place.store.rename(&session, "Open").unwrap();
    assert_eq!(title(place, "talk"), (Some("Open".to_owned()), true));
}

fn an_entry_that_only_has_such_an_id_gives_no_title(place: &Place) {
    let session = filled(&place.store, "talk", vec![said("title-1", None, "first words")]);
    assert_eq!(title(place, "talk"), (Some("first words".to_owned()), false));
    place.store.rename(&session, "One").unwrap();
    assert_eq!(title(place, "talk"), (Some("One".to_owned()), true));
}

fn all_ids_are_listed(place: &Place) {
    let session = filled(&place.store, "talk", chain(700));
    let ids = place.again().entry_ids(&session).unwrap();
    assert_eq!(ids.len(), 700);
    assert_eq!((ids[0].as_str(), ids[699].as_str()), ("e1", "e700"));
    filled(&place.store, "newer", chain(1));
    assert_eq!(place.again().ids().unwrap(), [id("newer"), id("talk")]);
}
