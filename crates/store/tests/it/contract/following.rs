//! Following: every entry once, in order, whoever appends it.

use std::thread;
use std::time::Duration;

use tertulia_store::{Append, Follow};

use crate::notation::{append, chain, filled, ids, link};
use crate::places::Place;

super::promises! {
    a_follower_gets_what_is_there_and_then_what_lands
    a_follower_gets_what_others_store
    a_follower_gets_every_entry_once_and_in_order
    a_follower_of_nothing_new_comes_back_after_its_time
    a_follower_of_a_deleted_session_is_told
}

const LONG: Duration = Duration::from_secs(120);

fn next(follow: &mut Follow) -> String {
    let entries = follow.next(LONG).unwrap();
    ids(entries.iter().map(|stored| &stored.entry))
}

fn a_follower_gets_what_is_there_and_then_what_lands(place: &Place) {
    let session = filled(&place.store, "talk", chain(3));
    let mut follow = place.store.follow(&session, 1).unwrap();
    assert_eq!(next(&mut follow), "e2 e3");
    append(&place.store, &session, vec![link(4, "four")]);
    assert_eq!(next(&mut follow), "e4");
    assert_eq!(follow.seen(), 4);
}

fn a_follower_gets_what_others_store(place: &Place) {
    let session = filled(&place.store, "talk", chain(1));
    let mut follow = place.store.follow(&session, 1).unwrap();
    let other = place.again();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || next(&mut follow));
        thread::sleep(Duration::from_millis(50));
        other.append(&session, Append::new([link(2, "two")])).unwrap();
        assert_eq!(waiting.join().unwrap(), "e2");
    });
}

fn a_follower_gets_every_entry_once_and_in_order(place: &Place) {
    let session = filled(&place.store, "talk", Vec::new());
    let mut follow = place.again().follow(&session, 0).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for entry in chain(400) {
                place.store.append(&session, Append::new([entry])).unwrap();
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

fn a_follower_of_nothing_new_comes_back_after_its_time(place: &Place) {
    let session = filled(&place.store, "talk", chain(1));
    let mut follow = place.store.follow(&session, 1).unwrap();
    assert_eq!(follow.next(Duration::from_millis(60)).unwrap(), []);
    assert_eq!(follow.next(Duration::ZERO).unwrap(), []);
}

fn a_follower_of_a_deleted_session_is_told(place: &Place) {
    let session = filled(&place.store, "talk", chain(1));
    let mut follow = place.store.follow(&session, 1).unwrap();
    place.again().delete(&session).unwrap();
    let error = follow.next(LONG).unwrap_err();
    assert_eq!(error.code(), "SessionNotFound", "{error}");
}
