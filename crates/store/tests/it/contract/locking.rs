//! Only one program at a time has the right to run a session.

use tertulia_store::{Append, StoreError};

use crate::notation::{chain, filled, id, link};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_session_is_locked_for_one_program_and_free_after_it
    an_append_with_the_lock_is_stored
    each_session_has_its_own_lock
    a_missing_session_cannot_be_locked
    a_deleted_session_that_is_created_again_is_free
}

fn a_session_is_locked_for_one_program_and_free_after_it(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let other = fixture.reopen();
    for _ in 0..3 {
        let lock = fixture.store.lock_session(&session).unwrap().unwrap();
        assert!(!lock.is_lost() && !lock.is_taken_over());
        if fixture.is_shared() {
            assert!(other.lock_session(&session).unwrap().is_none(), "one program locked it");
            assert!(fixture.store.lock_session(&session).unwrap().is_none(), "even in one process");
        }
        drop(lock);
        let lock = other.lock_session(&session).unwrap().unwrap();
        assert!(!lock.is_taken_over(), "it was released");
    }
}

fn an_append_with_the_lock_is_stored(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let lock = fixture.store.lock_session(&session).unwrap().unwrap();
    let append = Append { fence: lock.fence(), ..Append::new([link(2, "two")]) };
    assert_eq!(fixture.store.append(&session, append).unwrap().newest, 2);
    // Commands that need no lock can write, too.
    fixture.reopen().append(&session, Append::new([link(3, "three")])).unwrap();
    let append = Append { fence: lock.fence(), ..Append::new([link(4, "four")]) };
    assert_eq!(fixture.store.append(&session, append).unwrap().newest, 4);
}

fn each_session_has_its_own_lock(fixture: &TestStore) {
    let sessions = ["one", "two"].map(|name| filled(&fixture.store, name, chain(1)));
    let locks = sessions.each_ref().map(|one| fixture.store.lock_session(one).unwrap());
    assert!(locks.iter().all(Option::is_some));
}

fn a_missing_session_cannot_be_locked(fixture: &TestStore) {
    if fixture.is_shared() {
        let error = fixture.store.lock_session(&id("nowhere")).unwrap_err();
        assert!(matches!(error, StoreError::SessionNotFound(_)), "{error}");
    }
}

fn a_deleted_session_that_is_created_again_is_free(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(1));
    let lock = fixture.store.lock_session(&session).unwrap().unwrap();
    fixture.store.delete(&session).unwrap();
    let again = filled(&fixture.store, "talk", chain(2));
    let new = fixture.store.lock_session(&again).unwrap();
    assert!(new.is_some());
    drop(lock);
    if fixture.is_shared() {
        assert!(
            fixture.store.lock_session(&again).unwrap().is_none(),
            "the new lock is still held"
        );
    }
}
