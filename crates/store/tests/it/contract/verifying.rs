//! The chain is the same in every store, and an intact session passes the check.

use tertulia_session::{ChainLink, EntryDigest};
use tertulia_store::Range;

use crate::notation::{append, chain, filled, redaction, said};
use crate::test_stores::TestStore;

super::contract_tests! {
    an_intact_session_passes_the_check
    the_chain_follows_from_the_entries_alone
    an_intact_store_passes_the_check
}

fn an_intact_session_passes_the_check(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2100));
    append(&fixture.store, &session, vec![said("side", Some("e7"), "side")]);
    append(&fixture.store, &session, vec![redaction("r", Some("side"), "e1000")]);
    let verified = fixture.reopen().verify(&session).unwrap();
    assert_eq!((verified.entries, verified.purged), (2102, 1));
    assert_eq!(verified.damage, None);
    assert_eq!(verified.chain_hash, fixture.store.info(&session).unwrap().chain_hash);
}

fn the_chain_follows_from_the_entries_alone(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(30));
    let mut link = ChainLink::START;
    for stored in fixture.reopen().load(&session, &Range::All).unwrap() {
        link = link.next(&EntryDigest::from(&stored.entry));
        assert_eq!(stored.link, link);
    }
}

fn an_intact_store_passes_the_check(fixture: &TestStore) {
    filled(&fixture.store, "a", chain(300));
    fixture.store.catch_up(|_| {}).unwrap();
    assert_eq!(fixture.reopen().check().unwrap(), Vec::<String>::new());
}
