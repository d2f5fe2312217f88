//! A follower gets every entry once, in order, whoever appends it.

use std::thread;
use std::time::Duration;

use tertulia_store::{Append, Follow};

use crate::notation::{append, chain, filled, ids, link};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_follower_gets_existing_entries_and_then_new_ones
    a_follower_gets_entries_of_others
    a_follower_gets_every_entry_once_and_in_order
    a_follower_without_new_entries_times_out
    a_follower_of_a_deleted_session_gets_an_error
}

const LONG: Duration = Duration::from_secs(120);

fn next(follow: &mut Follow) -> String {
    let entries = follow.next(LONG).unwrap();
    ids(entries.iter().map(|stored| &stored.entry))
}

fn a_follower_gets_existing_entries_and_then_new_ones(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    let mut follow = fixture.store.follow(&session, 1).unwrap();
    assert_eq!(next(&mut follow), "e2 e3");
    append(&fixture.store, &session, vec![link(4, "four")]);
    assert_eq!(next(&mut follow), "e4");
    assert_eq!(follow.seen(), 4);
}

fn a_follower_gets_entries_of_others(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let mut follow = fixture.store.follow(&session, 1).unwrap();
    let other = fixture.reopen();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || next(&mut follow));
        thread::sleep(Duration::from_millis(50));
        other.append(&session, Append::new([link(2, "two")])).unwrap();
        assert_eq!(waiting.join().unwrap(), "e2");
    });
}

fn a_follower_gets_every_entry_once_and_in_order(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", Vec::new());
    let mut follow = fixture.reopen().follow(&session, 0).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for entry in chain(400) {
                fixture.store.append(&session, Append::new([entry])).unwrap();
            }
        });
        let mut seen = Vec::new();
        while seen.len() < 400 {
            let entries = follow.next(LONG).unwrap();
            assert!(!entries.is_empty(), "nothing came after {}", seen.len());
            seen.extend(entries.into_iter().map(|stored| stored.seq));
        }
        assert_eq!(seen, (1..=400).collect::<Vec<_>>());
    });
}

fn a_follower_without_new_entries_times_out(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let mut follow = fixture.store.follow(&session, 1).unwrap();
    assert_eq!(follow.next(Duration::from_millis(60)).unwrap(), []);
    assert_eq!(follow.next(Duration::ZERO).unwrap(), []);
}

fn a_follower_of_a_deleted_session_gets_an_error(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let mut follow = fixture.store.follow(&session, 1).unwrap();
    fixture.reopen().delete(&session).unwrap();
    let error = follow.next(LONG).unwrap_err();
    assert_eq!(error.code(), "SessionNotFound", "{error}");
}
