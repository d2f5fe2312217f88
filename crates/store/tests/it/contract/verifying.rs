//! Checking: the chain is the same in every store, and a sound session is found sound.

use tertulia_session::{ChainLink, EntryDigest};
use tertulia_store::Range;

use crate::notation::{append, chain, filled, redaction, said};
use crate::places::Place;

super::promises! {
    a_sound_session_is_found_sound
    the_chain_follows_from_the_entries_alone
    a_sound_store_is_found_sound
}

fn a_sound_session_is_found_sound(place: &Place) {
    let session = filled(&place.store, "talk", chain(2100));
    append(&place.store, &session, vec![said("side", Some("e7"), "side")]);
    append(&place.store, &session, vec![redaction("r", Some("side"), "e1000")]);
    let verified = place.again().verify(&session).unwrap();
    assert_eq!((verified.entries, verified.purged), (2102, 1));
    assert_eq!(verified.damage, None);
    assert_eq!(verified.head, place.store.info(&session).unwrap().head);
}

fn the_chain_follows_from_the_entries_alone(place: &Place) {
    let session = filled(&place.store, "talk", chain(30));
    let mut link = ChainLink::START;
    for stored in place.again().load(&session, &Range::All).unwrap() {
        link = link.next(&EntryDigest::from(&stored.entry));
        assert_eq!(stored.link, link);
    }
}

fn a_sound_store_is_found_sound(place: &Place) {
    filled(&place.store, "a", chain(300));
    place.store.catch_up(|_| {}).unwrap();
    assert_eq!(place.again().check().unwrap(), Vec::<String>::new());
}
