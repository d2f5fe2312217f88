//! Branches: going on from any entry, in the same session or in a new one.

use tertulia_session::{Entry, EntryIndex, EntryKind};
use tertulia_store::{NewSession, Range, SessionStore, StoreError};

use crate::notation::{append, chain, filled, id, ids, redaction, said, summary, task};
use crate::places::Place;

super::promises! {
    a_branch_goes_on_from_any_entry
    a_fork_copies_the_branch_and_says_where_it_came_from
    a_fork_under_a_taken_id_leaves_nothing_behind
    a_fork_does_not_bring_redacted_text_back
    a_fork_from_before_a_redaction_verifies_and_can_be_backed_up
    the_task_of_a_branch_is_the_newest_on_its_way_back
    a_task_behind_many_branches_is_found
}

fn view(store: &SessionStore, session: &str) -> String {
    let loaded = store.load(&id(session), &Range::All).unwrap();
    let log: Vec<Entry> = loaded.into_iter().map(|stored| stored.entry).collect();
    let index = EntryIndex::over(&log).unwrap();
    let names = index.walk(&log).unwrap().map(|entry| {
        let entry = &log[entry.unwrap().place()];
        match entry.kind.shown_type_name() {
            "branch_summary" => "|".to_owned(),
            _ => entry.id.to_string(),
        }
    });
    let mut names: Vec<_> = names.collect();
    names.reverse();
    names.join(" ")
}

fn a_branch_goes_on_from_any_entry(place: &Place) {
    let session = filled(&place.store, "talk", chain(4));
    let appended = place.store.branch(&session, &"e2".into()).unwrap();
    let note = place.again().entry(&session, &appended.last_entry_id.unwrap()).unwrap();
    let EntryKind::BranchSummary(summary) = &note.entry.kind else { panic!("{note:?}") };
    assert_eq!(summary.source_session_id.as_ref(), "talk");
    assert_eq!(summary.source_entry_id.as_str(), "e4");
    append(&place.store, &session, vec![said("n", Some(note.entry.id.as_str()), "new")]);
    assert_eq!(view(&place.again(), "talk"), "e1 e2 | n");
}

fn a_fork_copies_the_branch_and_says_where_it_came_from(place: &Place) {
    let session = filled(&place.store, "talk", chain(4));
    append(&place.store, &session, vec![said("s", Some("e2"), "side")]);
    let new = NewSession { id: Some(id("copy")) };
    let fork = place.store.fork(&session, &"s".into(), &new).unwrap();
    assert_eq!(fork.id, id("copy"));
    assert_eq!(view(&place.again(), "copy"), "e1 e2 s |");
    assert_eq!(place.store.verify(&fork.id).unwrap().damage, None);
    assert_eq!(place.store.info(&session).unwrap().entries, 5);
}

fn a_fork_under_a_taken_id_leaves_nothing_behind(place: &Place) {
    let session = filled(&place.store, "talk", chain(4));
    let new = NewSession { id: Some(id("talk")) };
    let error = place.store.fork(&session, &"e2".into(), &new).unwrap_err();
    assert!(matches!(error, StoreError::SessionExists(_)), "{error}");
    assert_eq!(place.again().list(&Default::default()).unwrap().len(), 1);
    assert_eq!(place.store.info(&session).unwrap().entries, 4);
}

fn a_fork_does_not_bring_redacted_text_back(place: &Place) {
    let session = filled(&place.store, "talk", chain(3));
    append(&place.store, &session, vec![redaction("r", Some("e3"), "e2")]);
    let new = NewSession { id: Some(id("copy")) };
    place.store.fork(&session, &"e3".into(), &new).unwrap();
    let copied = place.again().load(&id("copy"), &Range::All).unwrap();
    assert_eq!(ids(copied.iter().take(3).map(|stored| &stored.entry)), "e1 e2 e3");
    assert!(matches!(copied[1].entry.kind, EntryKind::Purged(_)), "{:?}", copied[1]);
}

fn task_of(place: &Place) -> Option<String> {
    let found = place.again().team_task(&id("talk")).unwrap();
    found.map(|stored| stored.entry.id.to_string())
}

fn the_task_of_a_branch_is_the_newest_on_its_way_back(place: &Place) {
    let session = filled(&place.store, "talk", chain(3));
    assert_eq!(task_of(place), None);
    append(&place.store, &session, vec![task("t1", Some("e3"), "one")]);
    append(&place.store, &session, vec![said("a", Some("t1"), "on"), task("t2", Some("a"), "two")]);
    assert_eq!(task_of(place).as_deref(), Some("t2"));
    // On another branch the second task was never set, and before the first there was none.
    append(&place.store, &session, vec![said("b", Some("a"), "side"), said("c", Some("b"), "on")]);
    assert_eq!(task_of(place).as_deref(), Some("t1"));
    append(&place.store, &session, vec![said("d", Some("e2"), "early")]);
    assert_eq!(task_of(place), None);
    append(&place.store, &session, vec![said("f", Some("t2"), "late")]);
    assert_eq!(task_of(place).as_deref(), Some("t2"));
    place.store.redact(&session, &"t2".into(), None).unwrap();
    assert_eq!(task_of(place).as_deref(), Some("t1"));
}

fn a_task_behind_many_branches_is_found(place: &Place) {
    let mut entries = vec![said("e1", None, "one"), task("t", Some("e1"), "task")];
    let mut before = "t".to_owned();
    for number in 0..200 {
        // A step on the way, and one beside it.
        let (on, beside) = (format!("on{number}"), format!("beside{number}"));
        entries.push(said(&on, Some(&before), "on"));
        entries.push(said(&beside, Some(&before), "beside"));
        before = on;
    }
    entries.push(said("end", Some(&before), "end"));
    filled(&place.store, "talk", entries);
    assert_eq!(task_of(place).as_deref(), Some("t"));
}

fn a_fork_from_before_a_redaction_verifies_and_can_be_backed_up(place: &Place) {
    let mut log = chain(5);
    log.push(summary("s", "e5", ["e1", "e4"], "e5", "all of it"));
    let session = filled(&place.store, "talk", log);
    place.store.redact(&session, &"e2".into(), Some("a key")).unwrap();
    place.store.redact(&session, &"e3".into(), None).unwrap();
    let before = place.store.load(&session, &Range::All).unwrap();
    let new = NewSession { id: Some(id("fork")) };
    place.store.fork(&session, &"s".into(), &new).unwrap();
    let store = place.again();
    let verified = store.verify(&id("fork")).unwrap();
    assert_eq!((verified.damage, verified.purged), (None, 3));
    let forked = store.load(&id("fork"), &Range::All).unwrap();
    // What was copied has the same links: the new redactions come behind it.
    assert!(forked.iter().zip(&before).take(6).all(|(one, other)| one.link == other.link));
    let redactions: Vec<_> = forked
        .iter()
        .filter_map(|stored| match &stored.entry.kind {
            EntryKind::Redaction(redaction) => {
                Some((redaction.target_id.to_string(), redaction.reason.clone()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(redactions, [("e2".into(), Some("a key".into())), ("e3".into(), None)]);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(store.backup(&folder.path().join("backup.db")).unwrap(), 2);
    let again = NewSession { id: Some(id("second")) };
    store.fork(&id("fork"), &"e4".into(), &again).unwrap();
    assert_eq!(store.verify(&id("second")).unwrap().damage, None);
}
