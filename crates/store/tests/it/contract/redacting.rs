//! Redacted text is hidden from every reader and erased from disk, and the chain stays intact.

use tertulia_session::{Entry, EntryId, EntryIndex, EntryKind, NewEntry, RecordHash, Salt};
use tertulia_store::{
    Append, EntryLocation, Problem, Range, SearchQuery, SessionId, SessionStore, StoreError,
    sources_meta,
};

use crate::notation::{
    append, chain, filled, id, link, recall, redaction, said, said_by, summary, task,
};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_redacted_entry_is_purged_and_its_hash_stays
    a_redaction_changes_no_link
    summaries_that_may_contain_the_text_are_purged_too
    summaries_written_later_stay
    recalled_texts_are_purged_with_their_sources
    recalled_texts_written_later_stay
    a_redacted_text_is_not_found
    appending_a_purged_entry_again_does_not_restore_it
    a_redaction_of_a_redaction_restores_nothing
    redacting_twice_is_harmless
    redacting_while_others_append_creates_no_branch
    an_entry_without_a_salt_gets_one
    a_purged_entry_confirms_no_guess_of_its_text
    an_unsalted_entry_is_reported_as_guessable
    answers_made_from_an_entry_are_redacted_with_it
    a_text_is_found_in_all_sessions
}

fn log(store: &SessionStore) -> Vec<Entry> {
    let loaded = store.load(&id("talk"), &Range::All).unwrap();
    loaded.into_iter().map(|stored| stored.entry).collect()
}

fn is_purged(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Purged(_))
}

fn a_redacted_entry_is_purged_and_its_hash_stays(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![link(1, "hello"), link(2, "the secret")]);
    let reason = Some("a password");
    let appended = fixture.store.redact(&session, &"e2".into(), reason).unwrap();
    let log = log(&fixture.reopen());
    let EntryKind::Purged(purged) = &log[1].kind else { panic!("{:?}", log[1]) };
    assert_eq!(&*purged.type_name, "message");
    assert_eq!(purged.hash, RecordHash::from(&link(2, "the secret")));
    assert_eq!(Some(&purged.by), appended.last_entry_id.as_ref());
    assert_eq!(log[1].timestamp, link(2, "").timestamp);
    let EntryKind::Redaction(redaction) = &log[2].kind else { panic!("{:?}", log[2]) };
    assert_eq!(redaction.reason.as_deref(), reason);
    assert!(!format!("{log:?}").contains("secret"));
    assert!(is_hidden(&log, 1));
}

fn is_hidden(log: &[Entry], index: usize) -> bool {
    EntryIndex::over(log).unwrap().view_entry(log, index).unwrap().hidden_by().is_some()
}

fn a_redaction_changes_no_link(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(5));
    let before = fixture.store.load(&session, &Range::All).unwrap();
    append(&fixture.store, &session, vec![redaction("r", Some("e5"), "e2")]);
    let after = fixture.reopen().load(&session, &Range::All).unwrap();
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.link, after.link);
    }
    let verified = fixture.reopen().verify(&session).unwrap();
    assert_eq!((verified.entries, verified.purged, verified.damage), (6, 1, None));
}

fn summaries_that_may_contain_the_text_are_purged_too(fixture: &TestStore) {
    let mut entries = chain(3);
    entries.push(summary("s1", "e3", ["e1", "e2"], "e3", "about the secret"));
    entries.push(said("e4", Some("s1"), "on"));
    entries.push(summary("s2", "e4", ["e3", "e3"], "e4", "carries the secret on"));
    let session = filled(&fixture.store, "talk", entries);
    append(&fixture.store, &session, vec![redaction("r", Some("s2"), "e2")]);
    let log = log(&fixture.reopen());
    let purged: Vec<_> =
        log.iter().filter(|entry| is_purged(entry)).map(|entry| entry.id.as_str()).collect();
    assert_eq!(purged, ["e2", "s1", "s2"]);
    assert!(is_hidden(&log, 3) && is_hidden(&log, 5));
}

fn summaries_written_later_stay(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    append(&fixture.store, &session, vec![redaction("r", Some("e3"), "e2")]);
    let late = summary("s", "r", ["e1", "e3"], "r", "never saw it");
    append(&fixture.store, &session, vec![late.clone()]);
    append(&fixture.store, &session, vec![redaction("r2", Some("s"), "e2")]);
    assert_eq!(log(&fixture.reopen())[4], late);
}

fn recalled_texts_are_purged_with_their_sources(fixture: &TestStore) {
    let mut entries = chain(3);
    entries.push(recall("c1", "e3", &["e1", "e2"], "the secret again"));
    entries.push(recall("c2", "c1", &["e3"], "something else"));
    let session = filled(&fixture.store, "talk", entries);
    let target = EntryLocation { session: session.clone(), entry: "e2".into() };
    let redacted = fixture.store.redact_all(&[target], None).unwrap();
    let purged: Vec<_> = redacted.purged.iter().map(|location| location.entry.as_str()).collect();
    assert_eq!(purged, ["e2", "c1"]);
    let log = log(&fixture.reopen());
    let EntryKind::Purged(left) = &log[3].kind else { panic!("{:?}", log[3]) };
    assert_eq!(
        (&*left.type_name, Some(&left.by)),
        ("recall", redacted.appended.last_entry_id.as_ref())
    );
    assert!(is_hidden(&log, 3) && !is_hidden(&log, 4));
    assert_eq!(log[4], recall("c2", "c1", &["e3"], "something else"));
    assert!(fixture.store.entries_with_text("the secret again", None).unwrap().is_empty());
}

fn recalled_texts_written_later_stay(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    append(&fixture.store, &session, vec![redaction("r", Some("e3"), "e2")]);
    let late = recall("c", "r", &["e1", "e2"], "never saw it");
    append(&fixture.store, &session, vec![late.clone()]);
    append(&fixture.store, &session, vec![redaction("r2", Some("c"), "e3")]);
    assert_eq!(log(&fixture.reopen())[4], late);
}

fn a_redacted_text_is_not_found(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![link(1, "the zebra"), link(2, "a zebra")]);
    let find = |store: &SessionStore| {
        let query = SearchQuery { text: "zebra".to_owned(), ..SearchQuery::default() };
        store.search(&query).unwrap().hits.len()
    };
    assert_eq!(find(&fixture.store), 2);
    fixture.store.redact(&session, &"e1".into(), None).unwrap();
    assert_eq!(find(&fixture.reopen()), 1);
    // This entry was never in the index.
    append(&fixture.store, &session, vec![link(3, "zebra"), redaction("r", Some("e3"), "e3")]);
    assert_eq!(find(&fixture.reopen()), 1);
}

fn appending_a_purged_entry_again_does_not_restore_it(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    append(&fixture.store, &session, vec![redaction("r", Some("e2"), "e2")]);
    let again = fixture.reopen().append(&session, Append::new([link(2, "text 2")])).unwrap();
    assert_eq!(again.appended_count, 0);
    assert!(is_purged(&log(&fixture.reopen())[1]));
    // The store must not reveal whether the text is the original one, because that would be a way to guess it.
    let guess = || Entry { salt: None, ..link(2, "another text") };
    let other = fixture.reopen().append(&session, Append::new([guess()])).unwrap();
    assert_eq!(other.appended_count, 0);
    assert!(is_purged(&log(&fixture.reopen())[1]));
    let moved = Entry { parent_id: None, ..guess() };
    assert!(matches!(
        fixture.reopen().append(&session, Append::new([moved])).unwrap_err(),
        StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. }
    ));
}

fn unsalted(entry: Entry) -> Entry {
    Entry { salt: None, ..entry }
}

fn an_entry_without_a_salt_gets_one(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", Vec::new());
    let entries = vec![unsalted(link(1, "hello")), unsalted(link(2, "PIN 482913"))];
    append(&fixture.store, &session, entries.clone());
    let stored = log(&fixture.reopen());
    assert!(stored.iter().all(|entry| entry.salt.is_some()));
    assert!(stored.iter().zip(&entries).all(|(stored, sent)| stored.repeats(sent)));
    // The same entry without a salt, or with another one, counts as a repetition.
    let other = Entry { salt: Some(Salt::from_bytes([9; 16])), ..entries[1].clone() };
    for again in [entries[1].clone(), other] {
        let appended = fixture.reopen().append(&session, Append::new([again])).unwrap();
        assert_eq!(appended.appended_count, 0);
    }
    let changed = unsalted(link(2, "PIN 482914"));
    assert!(matches!(
        fixture.reopen().append(&session, Append::new([changed])).unwrap_err(),
        StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. }
    ));
    let imported = filled(&fixture.store, "import", vec![unsalted(link(1, "x"))]);
    let twice = vec![unsalted(link(2, "y")), unsalted(link(2, "y"))];
    append(&fixture.store, &imported, twice);
    assert_eq!(fixture.reopen().load(&imported, &Range::All).unwrap().len(), 2);
}

fn a_purged_entry_confirms_no_guess_of_its_text(fixture: &TestStore) {
    let pin = |pin: u32| unsalted(link(2, &format!("my PIN is {pin:06}")));
    let session = filled(&fixture.store, "talk", vec![link(1, "hello")]);
    append(&fixture.store, &session, vec![pin(482_913)]);
    let redacted = fixture.store.redact_all(&[at("talk", "e2")], None).unwrap();
    assert_eq!((redacted.purged.len(), redacted.guessable), (1, Vec::new()));
    let left = log(&fixture.reopen())[1].clone();
    let EntryKind::Purged(purged) = &left.kind else { panic!("{left:?}") };
    assert_eq!(left.salt, None, "the salt is gone with the text");
    let is_right = |guess: u32| {
        let guess = pin(guess);
        RecordHash::from(&guess) == purged.hash || guess.content_id() == left.id
    };
    assert!(!(482_000..484_000).any(is_right));
}

fn an_unsalted_entry_is_reported_as_guessable(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![link(1, "hello")]);
    // The import keeps the entries unchanged, as older programs stored them.
    let mut old = tertulia_store::Import::begin(&fixture.store).unwrap();
    for entry in [unsalted(link(1, "hello")), unsalted(link(2, "the secret"))] {
        old.push_new(&entry.into()).unwrap();
    }
    old.finish(&tertulia_store::NewSession { id: Some(id("old")) }).unwrap();
    let redacted = fixture.store.redact_all(&[at("old", "e2")], None).unwrap();
    assert_eq!(redacted.guessable, [at("old", "e2")]);
    // An id computed from the text reveals it too, whatever the salt of the record.
    let guessable =
        NewEntry::new(link(9, "the secret").kind).with_parent("e1".into()).with_content_id();
    append(&fixture.store, &session, vec![guessable.clone()]);
    let location = EntryLocation { session, entry: guessable.id };
    let redacted = fixture.store.redact_all(std::slice::from_ref(&location), None).unwrap();
    assert_eq!(redacted.guessable, [location]);
}

fn answers_made_from_an_entry_are_redacted_with_it(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", vec![link(1, "hello"), link(2, "the secret")]);
    let answer = |entry: &str, parent: Option<&str>, sources: &[(Option<SessionId>, EntryId)]| {
        let mut answer = said_by("notary", entry, parent, "a secret, it seems");
        if let EntryKind::Message(message) = &mut answer.kind {
            message.meta = sources_meta(sources);
        }
        answer
    };
    append(&fixture.store, &session, vec![answer("a1", Some("e2"), &[(None, "e2".into())])]);
    append(&fixture.store, &session, vec![answer("a2", Some("a1"), &[(None, "e1".into())])]);
    let cited = "## Decisions\n- [e2] the secret\n";
    append(&fixture.store, &session, vec![said_by("scribe", "a3", Some("a2"), cited)]);
    let from_there = [(Some(id("talk")), "a1".into())];
    filled(&fixture.store, "other", vec![answer("b1", None, &from_there)]);
    let redacted = fixture.store.redact_all(&[at("talk", "e2")], None).unwrap();
    let expected = [at("talk", "e2"), at("talk", "a1"), at("talk", "a3"), at("other", "b1")];
    assert_eq!(redacted.purged, expected);
    let log = log(&fixture.reopen());
    assert!(is_purged(&log[2]) && !is_purged(&log[3]));
    for session in ["talk", "other"] {
        assert_eq!(fixture.store.verify(&id(session)).unwrap().damage, None);
    }
}

fn a_text_is_found_in_all_sessions(fixture: &TestStore) {
    filled(&fixture.store, "one", vec![link(1, "hello"), link(2, "a sk-123 b")]);
    filled(&fixture.store, "two", vec![task("t", None, "use sk-123")]);
    let find = |text: &str, session: Option<&SessionId>| {
        let found = fixture.reopen().entries_with_text(text, session).unwrap();
        let mut names: Vec<_> =
            found.into_iter().map(|(session, one)| (session, one.entry.id)).collect();
        names.sort();
        names
    };
    assert_eq!(find("sk-123", None), [(id("one"), "e2".into()), (id("two"), "t".into())]);
    assert_eq!(find("sk-123", Some(&id("two"))), [(id("two"), "t".into())]);
    fixture.store.redact_all(&[at("one", "e2"), at("two", "t")], None).unwrap();
    assert!(find("sk-123", None).is_empty());
}

fn at(session: &str, entry: &str) -> EntryLocation {
    EntryLocation { session: id(session), entry: entry.into() }
}

fn a_redaction_of_a_redaction_restores_nothing(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    append(&fixture.store, &session, vec![redaction("r", Some("e2"), "e1")]);
    append(&fixture.store, &session, vec![redaction("r2", Some("r"), "r")]);
    let log = log(&fixture.reopen());
    assert!(is_purged(&log[0]) && is_purged(&log[2]));
    assert!(is_hidden(&log, 0) && is_hidden(&log, 2));
    assert_eq!(fixture.store.verify(&session).unwrap().damage, None);
}

fn redacting_twice_is_harmless(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(2));
    fixture.store.redact(&session, &"e1".into(), None).unwrap();
    let first = log(&fixture.reopen())[0].clone();
    let again = fixture.store.redact(&session, &"e1".into(), Some("again")).unwrap();
    assert_eq!((again.appended_count, again.newest), (0, 3));
    assert_eq!(log(&fixture.reopen())[0], first);
    assert_eq!(fixture.store.verify(&session).unwrap().purged, 1);
}

fn redacting_while_others_append_creates_no_branch(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(40));
    let (store, other) = (fixture.reopen(), fixture.reopen());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=20 {
                let target = format!("e{number}");
                store.redact(&session, &target.as_str().into(), None).unwrap();
            }
        });
        for number in 0..20 {
            let make = |tail: Option<&EntryId>| {
                let tail = tail.map(|tail| tail.as_str());
                Append::new([said(&format!("m{number}"), tail, "on")])
            };
            other.append_to_tail(&session, make).unwrap();
        }
    });
    let branch = Range::Branch { tail: None, limit: None };
    assert_eq!(fixture.store.load(&session, &branch).unwrap().len(), 80);
    assert_eq!(fixture.store.verify(&session).unwrap().purged, 20);
}
