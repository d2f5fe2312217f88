//! Data that a killed process leaves in a SQLite store, and data that accidents remove from it.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tertulia_store::{
    Append, EntryLocation, Import, LeftBehind, Remains, SearchQuery, SessionStore, StoreUrl,
};

use crate::notation::{append, chain, filled, id, link};

fn open(path: &Path) -> SessionStore {
    SessionStore::open(&StoreUrl::Sqlite(path.to_owned())).unwrap()
}

/// Leaves an import as a killed process does: nothing is cleaned up, and its lock is released.
fn abandon(file: &Path, entries: usize) {
    let store = open(file);
    let mut import = Import::begin(&store).unwrap();
    (1..=entries).for_each(|number| import.push(link(number, "left words")).unwrap());
    std::mem::forget(import);
    drop(store);
    for found in file.parent().unwrap().read_dir().unwrap() {
        let path = found.unwrap().path();
        if path.to_str().unwrap().contains("-import-") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[track_caller]
fn until(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn any_writer_deletes_leftovers_of_a_killed_import() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    filled(&open(&file), "talk", chain(2));
    abandon(&file, 5000);
    let store = open(&file);
    let left = store.left_behind().unwrap();
    assert_eq!((left.sessions, left.entries), (1, 5000));
    assert!(left.bytes > 5000 * 50, "{left:?}");
    store.append(&id("talk"), Append::new([link(3, "three")])).unwrap();
    until(|| store.left_behind().unwrap() == LeftBehind::default());
    assert_eq!(store.ids().unwrap(), [id("talk")]);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    drop(store);
    let bytes = std::fs::read(&file).unwrap();
    assert!(!bytes.windows(10).any(|window| window == b"left words"));
}

#[test]
fn a_process_that_writes_once_deletes_all_leftovers() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    filled(&open(&file), "talk", chain(2));
    abandon(&file, 8000);
    let store = open(&file);
    store.append(&id("talk"), Append::new([link(3, "three")])).unwrap();
    drop(store);
    assert_eq!(open(&file).left_behind().unwrap(), LeftBehind::default());
}

#[test]
fn an_import_first_deletes_leftovers_of_another() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    abandon(&file, 3000);
    let store = open(&file);
    assert_eq!(store.left_behind().unwrap().entries, 3000);
    filled(&store, "talk", chain(2));
    assert_eq!(store.left_behind().unwrap(), LeftBehind::default());
}

#[test]
fn imported_entries_are_found_once_they_are_visible() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("sessions.db"));
    filled(&store, "talk", vec![link(1, "a needle")]);
    let query = SearchQuery { text: "needle".to_owned(), ..SearchQuery::default() };
    assert_eq!(store.search(&query).unwrap().hits.len(), 1);
}

#[test]
fn entries_without_a_session_are_detected() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    filled(&open(&file), "talk", chain(4));
    filled(&open(&file), "other", chain(4));
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("DELETE FROM session WHERE id = 'talk'", []).unwrap();
    drop(connection);
    let lines = open(&file).check().unwrap();
    assert!(lines.len() == 1 && lines[0].contains("belong to no session"), "{lines:?}");
    let error = open(&file).backup(&folder.path().join("b.db")).unwrap_err().to_string();
    assert!(error.contains("belong to no session"), "{error}");
}

#[test]
fn a_missing_tail_is_detected() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    let store = open(&file);
    let session = filled(&store, "talk", chain(9));
    store.catch_up(|_| {}).unwrap();
    append(&store, &session, vec![link(10, "ten")]);
    assert_eq!(store.verify(&session).unwrap().damage, None);
    drop(store);
    let sound = std::fs::read(&file).unwrap();
    for lost in ["'e10', 'e9'", "'e10', 'e9', 'e8', 'e7'"] {
        std::fs::write(&file, &sound).unwrap();
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute(&format!("DELETE FROM entry WHERE id IN ({lost})"), []).unwrap();
        drop(connection);
        let store = open(&file);
        let damage = store.verify(&session).unwrap().damage.unwrap();
        assert!(damage.reason.contains("missing"), "{damage:?}");
        let lines = store.check().unwrap();
        assert!(
            lines.iter().any(|line| line.contains("session talk: entries are missing at the end")),
            "{lines:?}"
        );
        // This must also be detected if somebody appended after the cut.
        let next = store.info(&session).unwrap().entries as usize + 1;
        (next..=12).for_each(|number| append(&store, &session, vec![link(number, "other")]));
        let damage = store.verify(&session).unwrap().damage.unwrap();
        assert!(damage.seq == 9 && damage.reason.contains("another entry"), "{damage:?}");
    }
}

#[test]
fn an_interrupted_deletion_is_finished_by_the_same_call() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    filled(&open(&file), "talk", vec![link(1, "zebra4711"), link(2, "more")]);
    // This is the state after a process was killed after its first step.
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("UPDATE session SET state = 90, id = key || ':deleted:' || id", []).unwrap();
    drop(connection);
    let store = open(&file);
    assert!(!store.has(&id("talk")).unwrap() && store.is_half_deleted(&id("talk")).unwrap());
    assert!(store.delete(&id("other")).is_err());
    assert_eq!(store.delete(&id("talk")).unwrap(), []);
    assert!(!store.is_half_deleted(&id("talk")).unwrap());
    assert!(store.delete(&id("talk")).is_err());
    drop(store);
    let bytes = std::fs::read(&file).unwrap();
    assert!(!bytes.windows(9).any(|window| window == b"zebra4711"));
}

#[test]
fn what_a_reader_keeps_in_the_journal_is_reported() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    let store = open(&file);
    let session = filled(&store, "talk", chain(3));
    let other = filled(&store, "other", vec![link(1, "zebra4711")]);
    let reader = rusqlite::Connection::open(&file).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM entry").unwrap();
    let location = EntryLocation { session, entry: "e2".into() };
    assert_eq!(store.redact_all(&[location], None).unwrap().remains, [Remains::Journal]);
    drop(reader);
    assert_eq!(store.delete(&other).unwrap(), []);
    for found in folder.path().read_dir().unwrap() {
        let bytes = std::fs::read(found.unwrap().path()).unwrap();
        assert!(!bytes.windows(9).any(|window| window == b"zebra4711"));
    }
}
