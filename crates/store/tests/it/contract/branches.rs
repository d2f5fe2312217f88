//! Branches continue from any entry, in the same session or in a new one.

use tertulia_session::{Entry, EntryIndex, EntryKind};
use tertulia_store::{NewSession, Range, SessionStore, StoreError};

use crate::notation::{append, chain, filled, id, ids, redaction, said, summary, task};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_branch_continues_from_any_entry
    a_fork_copies_the_branch_and_names_its_origin
    a_fork_under_a_taken_id_leaves_nothing
    a_fork_does_not_restore_redacted_text
    a_fork_from_before_a_redaction_verifies_and_can_be_backed_up
    the_task_of_a_branch_is_the_newest_one_on_it
    a_task_behind_many_branches_is_found
}

fn view(store: &SessionStore, session: &str) -> String {
    let loaded = store.load(&id(session), &Range::All).unwrap();
    let log: Vec<Entry> = loaded.into_iter().map(|stored| stored.entry).collect();
    let index = EntryIndex::over(&log).unwrap();
    let names = index.walk(&log).unwrap().map(|entry| {
        let entry = &log[entry.unwrap().position()];
        match entry.kind.shown_type_name() {
            "branch_summary" => "|".to_owned(),
            _ => entry.id.to_string(),
        }
    });
    let mut names: Vec<_> = names.collect();
    names.reverse();
    names.join(" ")
}

fn a_branch_continues_from_any_entry(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(4));
    let appended = fixture.store.branch(&session, &"e2".into()).unwrap();
    let note = fixture.reopen().entry(&session, &appended.last_entry_id.unwrap()).unwrap();
    let EntryKind::BranchSummary(summary) = &note.entry.kind else { panic!("{note:?}") };
    assert_eq!(summary.source_session_id.as_ref(), "talk");
    assert_eq!(summary.source_entry_id.as_str(), "e4");
    append(&fixture.store, &session, vec![said("n", Some(note.entry.id.as_str()), "new")]);
    assert_eq!(view(&fixture.reopen(), "talk"), "e1 e2 | n");
}

fn a_fork_copies_the_branch_and_names_its_origin(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(4));
    append(&fixture.store, &session, vec![said("s", Some("e2"), "side")]);
    let new = NewSession { id: Some(id("copy")) };
    let fork = fixture.store.fork(&session, &"s".into(), &new).unwrap();
    assert_eq!(fork.id, id("copy"));
    assert_eq!(view(&fixture.reopen(), "copy"), "e1 e2 s |");
    assert_eq!(fixture.store.verify(&fork.id).unwrap().damage, None);
    assert_eq!(fixture.store.info(&session).unwrap().entries, 5);
}

fn a_fork_under_a_taken_id_leaves_nothing(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(4));
    let new = NewSession { id: Some(id("talk")) };
    let error = fixture.store.fork(&session, &"e2".into(), &new).unwrap_err();
    assert!(matches!(error, StoreError::SessionExists(_)), "{error}");
    assert_eq!(fixture.reopen().list(&Default::default()).unwrap().len(), 1);
    assert_eq!(fixture.store.info(&session).unwrap().entries, 4);
}

fn a_fork_does_not_restore_redacted_text(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    append(&fixture.store, &session, vec![redaction("r", Some("e3"), "e2")]);
    let new = NewSession { id: Some(id("copy")) };
    fixture.store.fork(&session, &"e3".into(), &new).unwrap();
    let copied = fixture.reopen().load(&id("copy"), &Range::All).unwrap();
    assert_eq!(ids(copied.iter().take(3).map(|stored| &stored.entry)), "e1 e2 e3");
    assert!(matches!(copied[1].entry.kind, EntryKind::Purged(_)), "{:?}", copied[1]);
}

fn task_of(fixture: &TestStore) -> Option<String> {
    let found = fixture.reopen().team_task(&id("talk")).unwrap();
    found.map(|stored| stored.entry.id.to_string())
}

fn the_task_of_a_branch_is_the_newest_one_on_it(fixture: &TestStore) {
    let session = filled(&fixture.store, "talk", chain(3));
    assert_eq!(task_of(fixture), None);
    append(&fixture.store, &session, vec![task("t1", Some("e3"), "one")]);
    append(
        &fixture.store,
        &session,
        vec![said("a", Some("t1"), "on"), task("t2", Some("a"), "two")],
    );
    assert_eq!(task_of(fixture).as_deref(), Some("t2"));
    // On the other branch there is no second task, and before the first task there is none.
    append(
        &fixture.store,
        &session,
        vec![said("b", Some("a"), "side"), said("c", Some("b"), "on")],
    );
    assert_eq!(task_of(fixture).as_deref(), Some("t1"));
    append(&fixture.store, &session, vec![said("d", Some("e2"), "early")]);
    assert_eq!(task_of(fixture), None);
    append(&fixture.store, &session, vec![said("f", Some("t2"), "late")]);
    assert_eq!(task_of(fixture).as_deref(), Some("t2"));
    fixture.store.redact(&session, &"t2".into(), None).unwrap();
    assert_eq!(task_of(fixture).as_deref(), Some("t1"));
}

fn a_task_behind_many_branches_is_found(fixture: &TestStore) {
    let mut entries = vec![said("e1", None, "one"), task("t", Some("e1"), "task")];
    let mut before = "t".to_owned();
    for number in 0..200 {
        // One step is on the branch, and one is on a side branch.
        let (on, beside) = (format!("on{number}"), format!("beside{number}"));
        entries.push(said(&on, Some(&before), "on"));
        entries.push(said(&beside, Some(&before), "beside"));
        before = on;
    }
    entries.push(said("end", Some(&before), "end"));
    filled(&fixture.store, "talk", entries);
    assert_eq!(task_of(fixture).as_deref(), Some("t"));
}

fn a_fork_from_before_a_redaction_verifies_and_can_be_backed_up(fixture: &TestStore) {
    let mut log = chain(5);
    log.push(summary("s", "e5", ["e1", "e4"], "e5", "all of it"));
    let session = filled(&fixture.store, "talk", log);
    fixture.store.redact(&session, &"e2".into(), Some("a key")).unwrap();
    fixture.store.redact(&session, &"e3".into(), None).unwrap();
    let before = fixture.store.load(&session, &Range::All).unwrap();
    let new = NewSession { id: Some(id("fork")) };
    fixture.store.fork(&session, &"s".into(), &new).unwrap();
    let store = fixture.reopen();
    let verified = store.verify(&id("fork")).unwrap();
    assert_eq!((verified.damage, verified.purged), (None, 3));
    let forked = store.load(&id("fork"), &Range::All).unwrap();
    // The copied entries have the same links, because the new redactions come after them.
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
