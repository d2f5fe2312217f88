//! The newest entries of a session are not in the id index of a SQLite file. This must not affect anybody who
//! appends: a lone writer, several stores in turn, or a later one.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;
use tertulia_store::{
    Append, NewSession, Problem, Range, SearchQuery, SessionId, SessionStore, StoreError, StoreUrl,
    TokenCount,
};

use crate::notation::{append, chain, filled, id, link, said};

fn open(path: &Path) -> SessionStore {
    SessionStore::open(&StoreUrl::Sqlite(path.to_owned())).unwrap()
}

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    (folder, file)
}

fn count(file: &Path, sql: &str) -> i64 {
    Connection::open(file).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn is_refused_for_its_content(store: &SessionStore, session: &SessionId, number: usize) -> bool {
    let other = said(&format!("e{number}"), None, "something else");
    let refused = store.append(session, Append::new([other]));
    matches!(refused, Err(StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. }))
}

#[derive(Clone, Debug)]
enum Step {
    /// Append this many entries, one by one or together.
    OneByOne(usize),
    Together(usize),
    /// Append a stored entry again, counted from the newest one, with the same or another text.
    Again(usize),
    /// Fill the search index, which removes the session's mark.
    CatchUp,
    /// Close and reopen the store.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..40_usize).prop_map(Step::OneByOne),
        3 => (1..200_usize).prop_map(Step::Together),
        4 => (0..700_usize).prop_map(Step::Again),
        1 => Just(Step::CatchUp),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn an_id_is_known_to_every_writer_however_long_the_session(
        steps in proptest::collection::vec((0..2_usize, step()), 1..24),
    ) {
        let (_folder, file) = folder();
        let mut stores = [open(&file), open(&file)];
        let session = filled(&stores[0], "talk", chain(1));
        let mut last = 1;
        for (writer, step) in steps {
            let store = &stores[writer];
            match step {
                Step::OneByOne(more) => {
                    for number in last + 1..=last + more {
                        append(store, &session, vec![link(number, "word")]);
                    }
                    last += more;
                }
                Step::Together(more) => {
                    let new = (last + 1..=last + more).map(|number| link(number, "word"));
                    append(store, &session, new.collect());
                    last += more;
                }
                Step::Again(back) => {
                    let number = last.saturating_sub(back).max(1);
                    let text = if number == 1 { "text 1" } else { "word" };
                    let again = Append::new([link(number, text)]);
                    prop_assert_eq!(store.append(&session, again).unwrap().appended_count, 0);
                    prop_assert!(is_refused_for_its_content(store, &session, number));
                }
                Step::CatchUp => store.catch_up(|_| {}).unwrap(),
                Step::Reopen => stores[writer] = open(&file),
            }
        }
        let reader = open(&file);
        prop_assert_eq!(reader.verify(&session).unwrap().entries, last as u64);
        prop_assert_eq!(reader.check().unwrap(), Vec::<String>::new());
        for number in [1, last / 2, last.saturating_sub(1), last].map(|number| number.max(1)) {
            let entry = format!("e{number}").as_str().into();
            prop_assert_eq!(reader.entry(&session, &entry).unwrap().seq, number as u64);
        }
        let missing = reader.entry(&session, &"e0".into()).unwrap_err();
        prop_assert_eq!(missing.code(), "EntryNotFound");
    }
}

#[test]
fn most_appends_do_not_touch_the_index_and_it_is_never_far_behind() {
    let (_folder, file) = folder();
    let store = open(&file);
    let session = filled(&store, "talk", chain(1));
    let mut sizes = BTreeMap::new();
    for number in 2..=600 {
        append(&store, &session, vec![link(number, "word")]);
        if number % 20 == 0 {
            let size = count(&file, "SELECT count(*) FROM entry_id");
            *sizes.entry(size).or_insert(0) += 1;
            assert!(number as i64 - size <= 256, "{number}: {size}");
        }
    }
    assert!(sizes.len() <= 4, "{sizes:?}");
}

#[test]
fn the_index_of_a_long_session_gets_a_sixteenth_of_it_at_a_time() {
    let (_folder, file) = folder();
    let store = open(&file);
    let session = filled(&store, "talk", chain(8000));
    let size = || count(&file, "SELECT count(*) FROM entry_id");
    let first = size();
    let counts: Vec<_> = (8001..=8499)
        .map(|number| {
            append(&store, &session, vec![link(number, "word")]);
            let counted = TokenCount { tokenizer: "o200k".into(), tokens: number as u64 };
            (format!("e{number}").as_str().into(), counted)
        })
        .collect();
    assert_eq!((first, size()), (8000, 8000));
    // Entries that are missing in the index must still be found.
    store.store_token_counts(&session, &counts).unwrap();
    let stored = store.load(&session, &Range::All).unwrap();
    assert!(stored[8000..].iter().all(|entry| entry.count.is_some()));
    append(&store, &session, vec![link(8500, "word")]);
    assert_eq!(size(), 8500);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_lone_writer_continues_after_appends_of_another_store() {
    let (_folder, file) = folder();
    let (one, other) = (open(&file), open(&file));
    let session = filled(&one, "talk", chain(1));
    append(&one, &session, vec![link(2, "two")]);
    append(&one, &session, vec![link(3, "three")]);
    append(&other, &session, vec![link(4, "four")]);
    // This store still considers the third entry the newest one.
    append(&one, &session, vec![said("branch", Some("e3"), "not four")]);
    let branch = one.entry(&session, &"branch".into()).unwrap();
    assert_eq!((branch.seq, branch.parent), (5, Some(3)));
    append(&other, &session, vec![said("e6", Some("branch"), "six")]);
    assert!(is_refused_for_its_content(&one, &session, 6));
    append(&other, &session, vec![said("e7", Some("e6"), "seven")]);
    let eight = said("e8", Some("e6"), "eight");
    let expects = Append { expected_tail: Some("e6".into()), ..Append::new([eight]) };
    let refused = one.append(&session, expects).unwrap_err();
    assert!(matches!(refused, StoreError::SessionConcurrentWrite { .. }), "{refused}");
    assert_eq!(one.verify(&session).unwrap().entries, 7);
}

#[test]
fn a_lone_writer_gets_an_error_if_another_store_deleted_the_session() {
    let (_folder, file) = folder();
    let (one, other) = (open(&file), open(&file));
    let session = filled(&one, "talk", chain(1));
    append(&one, &session, vec![link(2, "two")]);
    other.delete(&session).unwrap();
    let refused = one.append(&session, Append::new([link(3, "three")])).unwrap_err();
    assert!(matches!(refused, StoreError::SessionNotFound(_)), "{refused}");
    one.create(&NewSession { id: Some(session.clone()) }).unwrap();
    assert_eq!(one.info(&session).unwrap().entries, 1);
    assert_eq!(one.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_lone_writer_does_not_prevent_another_store_from_emptying_the_journal() {
    let (_folder, file) = folder();
    let (one, other) = (open(&file), open(&file));
    let session = filled(&one, "talk", chain(1));
    append(&one, &session, vec![link(2, "a secret")]);
    append(&one, &session, vec![link(3, "three")]);
    other.redact(&session, &"e2".into(), None).unwrap();
    let journal = fs::read(file.with_extension("db-wal")).unwrap();
    assert!(!String::from_utf8_lossy(&journal).contains("a secret"));
    append(&one, &session, vec![said("e5", Some("e3"), "five")]);
    assert_eq!(one.verify(&session).unwrap().entries, 5);
}

#[test]
fn an_entry_is_found_by_a_search_after_another_store_filled_the_index() {
    let (_folder, file) = folder();
    let (one, other) = (open(&file), open(&file));
    let session = filled(&one, "talk", chain(1));
    append(&one, &session, vec![link(2, "two")]);
    other.catch_up(|_| {}).unwrap();
    append(&one, &session, vec![link(3, "needle")]);
    let query = SearchQuery { text: "needle".to_owned(), ..SearchQuery::default() };
    assert_eq!(other.search(&query).unwrap().hits.len(), 1);
}

#[test]
fn ids_of_a_deleted_session_are_in_no_index() {
    let (_folder, file) = folder();
    let store = open(&file);
    let session = filled(&store, "talk", chain(700));
    filled(&store, "kept", chain(300));
    append(&store, &session, vec![link(701, "word")]);
    store.delete(&session).unwrap();
    assert_eq!(count(&file, "SELECT count(*) FROM entry_id"), 300);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_check_finds_errors_in_the_id_index() {
    for (change, found) in [
        (
            "DELETE FROM entry_id WHERE seq = 7",
            "1 entries cannot be found by their ids; the first is e7",
        ),
        (
            "UPDATE session SET ids_until = 302",
            "2 entries cannot be found by their ids; the first is e301",
        ),
        ("UPDATE entry SET id_hash = id_hash + 1 WHERE id = 'e302'", "the first is e302"),
        ("INSERT INTO entry_id VALUES (77, 3)", "1 ids of entries that do not exist"),
    ] {
        let (_folder, file) = folder();
        let store = open(&file);
        let session = filled(&store, "talk", chain(300));
        append(&store, &session, vec![link(301, "word"), link(302, "word")]);
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        drop(store);
        Connection::open(&file).unwrap().execute_batch(change).unwrap();
        let lines = open(&file).check().unwrap();
        assert!(lines.iter().any(|line| line.contains(found)), "{change}: {lines:?}");
    }
}

#[test]
fn an_understated_index_is_harmless() {
    let (_folder, file) = folder();
    let store = open(&file);
    let session = filled(&store, "talk", chain(300));
    drop(store);
    Connection::open(&file).unwrap().execute_batch("UPDATE session SET ids_until = 0").unwrap();
    let store = open(&file);
    assert!(is_refused_for_its_content(&store, &session, 5));
    append(&store, &session, vec![link(301, "word")]);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert_eq!(count(&file, "SELECT ids_until FROM session"), 301);
}

#[test]
fn ids_of_an_earlier_version_are_known() {
    let (_folder, file) = folder();
    fs::write(&file, include_bytes!("../fixtures/sessions-v6.db")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let store = open(&file);
    let (talk, long) = (id("talk"), id("long"));
    assert_eq!(store.entry(&talk, &"e4".into()).unwrap().parent, Some(2));
    assert_eq!(store.entry(&long, &"m17".into()).unwrap().seq, 18);
    assert!(is_refused_for_its_content(&store, &talk, 2));
    append(&store, &talk, vec![link(5, "five")]);
    assert_eq!(store.verify(&talk).unwrap().entries, 6);
    assert_eq!(store.verify(&long).unwrap().entries, 31);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert_eq!(store.project(&talk).unwrap().as_deref(), Some("/projects/a"));
    let copy = file.with_file_name("sessions.db.v6.bak");
    assert_eq!(fs::read(&copy).unwrap()[60..64], 6_u32.to_be_bytes());
}
