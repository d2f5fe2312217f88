//! Redactions: hidden for every reader, gone from the disk, and the chain stays whole.

use tertulia_session::{BranchView, Entry, EntryKind, RecordHash};
use tertulia_store::{Append, Problem, Range, SearchQuery, SessionStore, StoreError};

use crate::notation::{append, chain, filled, id, link, redaction, said, summary};
use crate::places::Place;

super::promises! {
    a_redacted_entry_is_purged_and_its_hash_stays
    a_redaction_changes_no_link
    summaries_that_may_hold_the_text_are_purged_too
    summaries_written_later_stay
    a_redacted_text_is_not_found
    a_purged_entry_may_be_appended_again_without_coming_back
    a_redaction_of_a_redaction_brings_nothing_back
    redacting_twice_is_harmless
    redacting_while_others_append_puts_nobody_on_a_branch
}

fn log(store: &SessionStore) -> Vec<Entry> {
    let loaded = store.load(&id("talk"), &Range::All).unwrap();
    loaded.into_iter().map(|stored| stored.entry).collect()
}

fn is_purged(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Purged(_))
}

fn a_redacted_entry_is_purged_and_its_hash_stays(place: &Place) {
    let session = filled(&place.store, "talk", vec![link(1, "hello"), link(2, "the secret")]);
    let reason = Some("a password");
    let appended = place.store.redact(&session, &"e2".into(), reason).unwrap();
    let log = log(&place.again());
    let EntryKind::Purged(purged) = &log[1].kind else { panic!("{:?}", log[1]) };
    assert_eq!(&*purged.type_name, "message");
    assert_eq!(purged.hash, RecordHash::of(&link(2, "the secret")));
    assert_eq!(Some(&purged.by), appended.last_entry_id.as_ref());
    assert_eq!(log[1].timestamp, link(2, "").timestamp);
    let EntryKind::Redaction(redaction) = &log[2].kind else { panic!("{:?}", log[2]) };
    assert_eq!(redaction.reason.as_deref(), reason);
    assert!(!format!("{log:?}").contains("secret"));
    assert!(BranchView::of(&log).unwrap().get(1).unwrap().is_redacted());
}

fn a_redaction_changes_no_link(place: &Place) {
    let session = filled(&place.store, "talk", chain(5));
    let before = place.store.load(&session, &Range::All).unwrap();
    append(&place.store, &session, vec![redaction("r", Some("e5"), "e2")]);
    let after = place.again().load(&session, &Range::All).unwrap();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.link, after.link);
    }
    let verified = place.again().verify(&session).unwrap();
    assert_eq!((verified.entries, verified.purged, verified.damage), (6, 1, None));
}

fn summaries_that_may_hold_the_text_are_purged_too(place: &Place) {
    let mut entries = chain(3);
    entries.push(summary("s1", "e3", ["e1", "e2"], "e3", "about the secret"));
    entries.push(said("e4", Some("s1"), "on"));
    entries.push(summary("s2", "e4", ["e3", "e3"], "e4", "carries the secret on"));
    let session = filled(&place.store, "talk", entries);
    append(&place.store, &session, vec![redaction("r", Some("s2"), "e2")]);
    let log = log(&place.again());
    let purged: Vec<_> =
        log.iter().filter(|entry| is_purged(entry)).map(|entry| entry.id.as_str()).collect();
    assert_eq!(purged, ["e2", "s1", "s2"]);
    let view = BranchView::of(&log).unwrap();
    assert!(view.get(3).unwrap().is_void() && view.get(5).unwrap().is_void());
}

fn summaries_written_later_stay(place: &Place) {
    let session = filled(&place.store, "talk", chain(3));
    append(&place.store, &session, vec![redaction("r", Some("e3"), "e2")]);
    let late = summary("s", "r", ["e1", "e3"], "r", "never saw it");
    append(&place.store, &session, vec![late.clone()]);
    append(&place.store, &session, vec![redaction("r2", Some("s"), "e2")]);
    assert_eq!(log(&place.again())[4], late);
}

fn a_redacted_text_is_not_found(place: &Place) {
    let session = filled(&place.store, "talk", vec![link(1, "the zebra"), link(2, "a zebra")]);
    let find = |store: &SessionStore| {
        let query = SearchQuery { text: "zebra".to_owned(), ..SearchQuery::default() };
        store.search(&query).unwrap().hits.len()
    };
    assert_eq!(find(&place.store), 2);
    place.store.redact(&session, &"e1".into(), None).unwrap();
    assert_eq!(find(&place.again()), 1);
    // One that was never in the index.
    append(&place.store, &session, vec![link(3, "zebra"), redaction("r", Some("e3"), "e3")]);
    assert_eq!(find(&place.again()), 1);
}

fn a_purged_entry_may_be_appended_again_without_coming_back(place: &Place) {
    let session = filled(&place.store, "talk", chain(2));
    append(&place.store, &session, vec![redaction("r", Some("e2"), "e2")]);
    let again = place.again().append(&session, Append::of([link(2, "text 2")])).unwrap();
    assert_eq!(again.appended_count, 0);
    assert!(is_purged(&log(&place.again())[1]));
    let other = place.again().append(&session, Append::of([link(2, "another text")]));
    assert!(matches!(
        other.unwrap_err(),
        StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. }
    ));
}

fn a_redaction_of_a_redaction_brings_nothing_back(place: &Place) {
    let session = filled(&place.store, "talk", chain(2));
    append(&place.store, &session, vec![redaction("r", Some("e2"), "e1")]);
    append(&place.store, &session, vec![redaction("r2", Some("r"), "r")]);
    let log = log(&place.again());
    assert!(is_purged(&log[0]) && is_purged(&log[2]));
    let view = BranchView::of(&log).unwrap();
    assert!(view.get(0).unwrap().is_redacted() && view.get(2).unwrap().is_redacted());
    assert_eq!(place.store.verify(&session).unwrap().damage, None);
}

fn redacting_twice_is_harmless(place: &Place) {
    let session = filled(&place.store, "talk", chain(2));
    place.store.redact(&session, &"e1".into(), None).unwrap();
    let first = log(&place.again())[0].clone();
    let again = place.store.redact(&session, &"e1".into(), Some("again")).unwrap();
    assert_eq!((again.appended_count, again.newest), (0, 3));
    assert_eq!(log(&place.again())[0], first);
    assert_eq!(place.store.verify(&session).unwrap().purged, 1);
}

fn redacting_while_others_append_puts_nobody_on_a_branch(place: &Place) {
    let session = filled(&place.store, "talk", chain(40));
    let (store, other) = (place.again(), place.again());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=20 {
                let target = format!("e{number}");
                store.redact(&session, &target.as_str().into(), None).unwrap();
            }
        });
        for number in 0..20 {
            let make = |tail: Option<&tertulia_session::EntryId>| {
                let tail = tail.map(|tail| tail.as_str());
                Append::of([said(&format!("m{number}"), tail, "on")])
            };
            other.append_to_tail(&session, make).unwrap();
        }
    });
    let branch = Range::Branch { tail: None, limit: None };
    assert_eq!(place.store.load(&session, &branch).unwrap().len(), 80);
    assert_eq!(place.store.verify(&session).unwrap().purged, 20);
}
