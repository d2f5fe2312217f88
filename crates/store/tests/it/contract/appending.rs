//! Appends are atomic, stored once, in order, and refused only for a reason.

use std::thread;

use tertulia_session::EntryId;
use tertulia_store::{
    Append, NewRecord, NewSession, Outcome, Problem, Range, StoreError, TokenCount,
};

use crate::notation::{append, chain, filled, id, link, redaction, said, task};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_session_starts_with_its_header
    an_id_is_generated_if_none_is_given
    an_id_can_be_taken_once
    appended_entries_are_visible_to_everybody
    an_empty_append_changes_nothing
    a_repeated_append_is_stored_once
    a_repeated_append_succeeds_whatever_followed_it
    the_same_id_with_other_content_is_refused
    the_same_id_twice_in_one_append_is_stored_once
    a_refused_append_stores_nothing
    an_unexpected_tail_is_a_concurrent_write
    an_unexpected_tail_is_reported_before_anything_else
    an_expected_tail_is_accepted
    a_missing_parent_is_refused_and_named
    a_redaction_of_nothing_is_refused
    a_missing_session_is_reported
    of_two_writers_with_the_same_tail_one_wins
    writers_of_one_session_get_numbers_without_gaps
    hostile_texts_are_stored_byte_for_byte
    large_entries_are_loaded_unchanged
    token_counts_are_stored_with_the_entry
    an_entry_without_a_valid_id_is_refused
}

fn a_session_starts_with_its_header(fixture: &TestStore) {
    let session = fixture.store.create(&NewSession { id: Some(id("talk")) }).unwrap();
    assert_eq!((session.id.as_str(), session.entries), ("talk", 1));
    let entries = fixture.reopen().load(&session.id, &Range::All).unwrap();
    assert_eq!(entries[0].entry.kind.type_name(), "session_header");
    assert_eq!(session.tail, Some(entries[0].entry.id.clone()));
    assert_eq!(session.chain_hash, entries[0].link);
}

fn an_id_is_generated_if_none_is_given(fixture: &TestStore) {
    let one = fixture.store.create(&NewSession::default()).unwrap();
    let other = fixture.store.create(&NewSession::default()).unwrap();
    assert_ne!(one.id, other.id);
    assert!(fixture.reopen().has(&one.id).unwrap());
}

fn an_id_can_be_taken_once(fixture: &TestStore) {
    let new = NewSession { id: Some(id("talk")) };
    fixture.store.create(&new).unwrap();
    let error = fixture.reopen().create(&new).unwrap_err();
    assert!(matches!(error, StoreError::SessionExists(_)), "{error}");
    assert_eq!(fixture.store.info(&id("talk")).unwrap().entries, 1);
}

fn appended_entries_are_visible_to_everybody(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", Vec::new());
    let appended = fixture.store.append(&session, Append::new(chain(3))).unwrap();
    assert_eq!((appended.appended_count, appended.newest), (3, 3));
    assert_eq!(appended.last_entry_id, Some(EntryId::from("e3")));
    let loaded = fixture.reopen().load(&session, &Range::All).unwrap();
    let entries: Vec<_> = loaded.iter().map(|stored| stored.entry.clone()).collect();
    assert_eq!(entries, chain(3));
    let numbers: Vec<_> = loaded.iter().map(|stored| (stored.seq, stored.parent)).collect();
    assert_eq!(numbers, [(1, None), (2, Some(1)), (3, Some(2))]);
}

fn an_empty_append_changes_nothing(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    let appended = fixture.store.append(&session, Append::default()).unwrap();
    assert_eq!((appended.appended_count, appended.last_entry_id), (0, None));
    assert_eq!(appended.newest, 2);
    let wrong = Append::default().expecting("e1".into());
    assert_eq!(fixture.store.append(&session, wrong).unwrap_err().code(), "SessionConcurrentWrite");
}

fn a_repeated_append_is_stored_once(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let append = Append::new(chain(4).split_off(1));
    let appended = fixture.reopen().append(&session, append).unwrap();
    assert_eq!((appended.appended_count, appended.newest), (1, 4));
    assert_eq!(fixture.store.load(&session, &Range::All).unwrap().len(), 4);
}

fn a_repeated_append_succeeds_whatever_followed_it(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    let batch = || Append::new([link(3, "three"), link(4, "four")]).expecting("e2".into());
    fixture.store.append(&session, batch()).unwrap();
    append(&fixture.store, &session, vec![link(5, "five")]);
    let again = fixture.reopen().append(&session, batch()).unwrap();
    assert_eq!(again.appended_count, 0);
    assert_eq!(again.last_entry_id, Some("e4".into()));
}

fn the_same_id_with_other_content_is_refused(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let error = fixture.reopen().append(&session, Append::new([link(2, "other")])).unwrap_err();
    let StoreError::SessionWriteFailed { problem, outcome, .. } = &error else { panic!("{error}") };
    assert_eq!(*problem, Problem::OtherContent("e2".into()));
    assert_eq!(*outcome, Outcome::NotStored);
    assert_eq!(fixture.store.entry(&session, &"e2".into()).unwrap().entry, link(2, "text 2"));
}

fn the_same_id_twice_in_one_append_is_stored_once(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", Vec::new());
    let twice = vec![link(1, "a"), link(1, "a"), link(2, "b")];
    assert_eq!(fixture.store.append(&session, Append::new(twice)).unwrap().appended_count, 2);
    let error = fixture.store.append(&session, Append::new([link(3, "a"), link(3, "b")]));
    assert!(matches!(
        error.unwrap_err(),
        StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. }
    ));
    assert_eq!(fixture.store.info(&session).unwrap().entries, 2);
}

fn a_refused_append_stores_nothing(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    let before = fixture.store.info(&session).unwrap();
    let batch = vec![link(3, "fine"), said("x", Some("nowhere"), "not fine")];
    fixture.store.append(&session, Append::new(batch)).unwrap_err();
    assert_eq!(fixture.reopen().info(&session).unwrap(), before);
    append(&fixture.store, &session, vec![link(3, "fine")]);
    assert_eq!(fixture.reopen().info(&session).unwrap().entries, 3);
}

fn an_unexpected_tail_is_a_concurrent_write(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let late = Append::new([said("late", Some("e2"), "late")]).expecting("e2".into());
    let error = fixture.reopen().append(&session, late).unwrap_err();
    let StoreError::SessionConcurrentWrite { expected, actual, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((expected.as_str(), actual.as_ref().unwrap().as_str()), ("e2", "e3"));
    assert_eq!(error.code(), "SessionConcurrentWrite");
    assert_eq!(error.outcome(), Outcome::NotStored);
    assert_eq!(fixture.store.info(&session).unwrap().entries, 3);
}

fn an_unexpected_tail_is_reported_before_anything_else(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let lost = Append::new([said("x", Some("zz"), "after what never was")]).expecting("zz".into());
    let error = fixture.store.append(&session, lost).unwrap_err();
    assert_eq!(error.code(), "SessionConcurrentWrite", "{error}");
}

fn an_expected_tail_is_accepted(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let append = Append::new([link(4, "four")]).expecting("e3".into());
    assert_eq!(fixture.reopen().append(&session, append).unwrap().newest, 4);
}

fn a_missing_parent_is_refused_and_named(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let error = fixture.store.append(&session, Append::new([said("x", Some("gone"), "")]));
    let StoreError::SessionWriteFailed { problem, .. } = error.unwrap_err() else { panic!() };
    assert_eq!(problem, Problem::MissingParent { entry: "x".into(), parent: "gone".into() });
    // The parent may precede its child in the same append.
    append(&fixture.store, &session, vec![task("p", None, "t"), said("c", Some("p"), "")]);
}

fn a_redaction_of_nothing_is_refused(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let error = fixture.store.append(&session, Append::new([redaction("r", Some("e1"), "gone")]));
    let StoreError::SessionWriteFailed { problem, .. } = error.unwrap_err() else { panic!() };
    assert_eq!(problem, Problem::MissingTarget { entry: "r".into(), target: "gone".into() });
}

fn a_missing_session_is_reported(fixture: &TestStore) {
    let nowhere = id("nowhere");
    let store = &fixture.store;
    let errors = [
        store.append(&nowhere, Append::new(chain(1))).unwrap_err(),
        store.load(&nowhere, &Range::All).unwrap_err(),
        store.info(&nowhere).unwrap_err(),
        store.verify(&nowhere).unwrap_err(),
        store.delete(&nowhere).unwrap_err(),
        store.redact(&nowhere, &"e1".into(), None).unwrap_err(),
        store.branch(&nowhere, &"e1".into()).unwrap_err(),
        store.follow(&nowhere, 0).err().unwrap(),
    ];
    for error in errors {
        assert_eq!(error.code(), "SessionNotFound", "{error}");
    }
    assert!(!store.has(&nowhere).unwrap());
}

fn of_two_writers_with_the_same_tail_one_wins(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let mut tail = EntryId::from("e1");
    for round in 0..50 {
        let write = |writer: &str| {
            let entry = said(&format!("{writer}{round}"), Some(tail.as_str()), writer);
            fixture.reopen().append(&session, Append::new([entry]).expecting(tail.clone()))
        };
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(|| write("a"));
            let other = write("b");
            (one.join().unwrap(), other)
        });
        let won = match (one, other) {
            (Ok(won), Err(StoreError::SessionConcurrentWrite { .. }))
            | (Err(StoreError::SessionConcurrentWrite { .. }), Ok(won)) => won,
            both => panic!("{both:?}"),
        };
        tail = won.last_entry_id.unwrap();
    }
    assert_eq!(fixture.store.info(&session).unwrap().entries, 51);
}

fn writers_of_one_session_get_numbers_without_gaps(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    thread::scope(|scope| {
        for writer in 0..8 {
            let (session, store) = (&session, fixture.reopen());
            scope.spawn(move || {
                for number in 0..10 {
                    let entries = (0..3).map(|part| {
                        said(&format!("w{writer}-{number}-{part}"), Some("e1"), "text")
                    });
                    store.append(session, Append::new(entries)).unwrap();
                }
            });
        }
    });
    let loaded = fixture.reopen().load(&session, &Range::All).unwrap();
    let numbers: Vec<_> = loaded.iter().map(|stored| stored.seq).collect();
    assert_eq!(numbers, (1..=241).collect::<Vec<_>>());
    // Entries of one append stay together.
    for batch in loaded[1..].chunks(3) {
        let prefix = batch[0].entry.id.as_str().rsplit_once('-').unwrap().0;
        assert!(batch.iter().all(|stored| stored.entry.id.as_str().starts_with(prefix)));
    }
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
}

fn hostile_texts_are_stored_byte_for_byte(fixture: &TestStore) {
    let texts = [
        "'; DROP TABLE entry; --",
        "\" OR 1=1 --",
        "a\0b",
        "\u{feff}\u{202e}\u{e0041}",
        "$1 ?1 :x @y %s {}",
        "\\x00\\u0000",
        "😀 \u{10ffff}",
    ];
    let entries: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            let parent = (number > 0).then(|| format!("{}{}", texts[number - 1], number - 1));
            let id = format!("{text}{number}").replace('\0', "");
            let parent = parent.map(|parent| parent.replace('\0', ""));
            crate::notation::said_by(&format!("s{text}"), &id, parent.as_deref(), text)
        })
        .collect();
    let session = filled(&fixture.store, "talk", entries.clone());
    let loaded = fixture.reopen().load(&session, &Range::All).unwrap();
    assert_eq!(loaded.into_iter().map(|stored| stored.entry).collect::<Vec<_>>(), entries);
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
}

fn large_entries_are_loaded_unchanged(fixture: &TestStore) {
    let long = "a line of text\n".repeat(200_000);
    let noise: String = (0..100_000_u32)
        .map(|n| char::from(b'!' + (n.wrapping_mul(2_654_435_761) >> 26) as u8))
        .collect();
    let entries = vec![link(1, &long), link(2, &noise), link(3, &"x".repeat(4096))];
    let session = filled(&fixture.store, "talk", entries.clone());
    let loaded = fixture.reopen().load(&session, &Range::All).unwrap();
    for (stored, entry) in loaded.iter().zip(&entries) {
        assert_eq!(stored.entry, *entry);
        let json = tertulia_session::record::EntryRecord::new(entry).to_json();
        assert_eq!(stored.bytes, json.len() as u64);
    }
}

fn token_counts_are_stored_with_the_entry(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", Vec::new());
    let count = |tokens| Some(TokenCount { tokenizer: "o200k".into(), tokens });
    let entries = vec![
        NewRecord { entry: link(1, "one"), count: count(7) },
        NewRecord { entry: link(2, "two"), count: None },
    ];
    fixture.store.append(&session, Append { entries, ..Append::default() }).unwrap();
    let known = [
        ("e2".into(), TokenCount { tokenizer: "claude".into(), tokens: 9 }),
        ("gone".into(), TokenCount { tokenizer: "claude".into(), tokens: 1 }),
    ];
    fixture.store.store_token_counts(&session, &known).unwrap();
    let loaded = fixture.reopen().load(&session, &Range::All).unwrap();
    assert_eq!(loaded[0].count, count(7));
    assert_eq!(loaded[1].count, Some(known[0].1.clone()));
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
}

fn an_entry_without_a_valid_id_is_refused(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    for wrong in [String::new(), "x".repeat(2000), "a\0b".to_owned()] {
        let error = fixture.store.append(&session, Append::new([said(&wrong, None, "")]));
        let StoreError::SessionWriteFailed { problem, .. } = error.unwrap_err() else { panic!() };
        assert!(matches!(problem, Problem::BadEntry { .. }), "{problem}");
    }
    assert_eq!(fixture.store.info(&session).unwrap().entries, 1);
}
