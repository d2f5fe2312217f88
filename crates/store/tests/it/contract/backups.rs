//! Backups and restored backups have the same chain, are checked, and are never partial.

use std::fs;
use std::thread;

use tertulia_store::{Append, ListFilter, Range, SessionStore, StoreError, StoreUrl};

use crate::notation::{append, chain, filled, id, link, redaction};
use crate::test_stores::TestStore;

super::contract_tests! {
    a_backup_contains_every_session
    a_backup_is_made_while_others_write
    a_restored_backup_has_the_same_chain
    a_backup_does_not_overwrite
    a_damaged_backup_is_not_restored
    an_existing_session_is_not_overwritten_by_a_restore
    of_backups_to_one_name_exactly_one_succeeds
    a_backup_is_a_single_file
    a_restore_is_all_or_nothing
    an_import_in_progress_is_neither_deleted_nor_backed_up
}

fn open(file: &std::path::Path) -> SessionStore {
    SessionStore::open(&StoreUrl::Sqlite(file.to_owned())).unwrap()
}

fn a_backup_contains_every_session(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let session = filled(&fixture.store, "a", chain(20));
    filled(&fixture.store, "b", chain(3));
    append(&fixture.store, &session, vec![redaction("r", Some("e20"), "e2")]);
    assert_eq!(fixture.store.backup(&file).unwrap(), 2);
    let copy = open(&file);
    for name in ["a", "b"] {
        let (copied, original) = (copy.info(&id(name)), fixture.store.info(&id(name)));
        let (copied, original) = (copied.unwrap(), original.unwrap());
        assert_eq!((copied.entries, copied.chain_hash), (original.entries, original.chain_hash));
    }
    assert_eq!(copy.verify(&session).unwrap().purged, 1);
}

fn a_backup_is_made_while_others_write(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let session = filled(&fixture.store, "a", chain(1));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2..200 {
                fixture.store.append(&session, Append::new([link(number, "on and on")])).unwrap();
            }
        });
        for number in 0..5 {
            let file = folder.path().join(format!("backup-{number}.db"));
            fixture.reopen().backup(&file).unwrap();
            let verified = open(&file).verify(&session).unwrap();
            assert_eq!(verified.damage, None);
            assert!(verified.entries >= 1);
        }
    });
}

fn a_restored_backup_has_the_same_chain(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let session = filled(&fixture.store, "a", chain(1200));
    let before = fixture.store.load(&session, &Range::All).unwrap();
    fixture.store.backup(&file).unwrap();
    fixture.store.delete(&session).unwrap();
    assert_eq!(fixture.store.restore(&file).unwrap(), 1);
    let after = fixture.reopen().load(&session, &Range::All).unwrap();
    let links = |entries: &[tertulia_store::StoredEntry]| {
        entries.iter().map(|stored| (stored.link, stored.entry.clone())).collect::<Vec<_>>()
    };
    assert_eq!(links(&after), links(&before));
}

fn a_backup_does_not_overwrite(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    fs::write(&file, "precious").unwrap();
    let error = fixture.store.backup(&file).unwrap_err().to_string();
    assert!(error.contains("already exists and was not changed"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

fn a_damaged_backup_is_not_restored(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let session = filled(&fixture.store, "a", vec![link(1, "a needle in the file")]);
    fixture.store.backup(&file).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(8).position(|window| window == b"a needle").unwrap();
    bytes[at] = b'A';
    fs::write(&file, bytes).unwrap();
    fixture.store.delete(&session).unwrap();
    let error = fixture.store.restore(&file).unwrap_err().to_string();
    assert!(error.contains("is damaged"), "{error}");
    assert_eq!(fixture.reopen().list(&ListFilter::default()).unwrap(), []);
}

fn an_existing_session_is_not_overwritten_by_a_restore(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    filled(&fixture.store, "a", chain(3));
    filled(&fixture.store, "b", chain(3));
    fixture.store.backup(&file).unwrap();
    fixture.store.delete(&id("a")).unwrap();
    let error = fixture.store.restore(&file).unwrap_err();
    assert_eq!(error.code(), "SessionExists", "{error}");
    assert!(!fixture.reopen().has(&id("a")).unwrap());
}

fn of_backups_to_one_name_exactly_one_succeeds(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    filled(&fixture.store, "a", chain(3));
    for round in 0..6 {
        let file = folder.path().join(format!("backup-{round}.db"));
        let made: Vec<_> = thread::scope(|scope| {
            let make = || fixture.store.backup(&file);
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (whole, failed): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
        assert_eq!(whole.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [1]);
        for error in failed {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("already exists and was not changed"), "{error}");
        }
        assert_eq!(SessionStore::memory().restore(&file).unwrap(), 1);
    }
}

fn a_backup_is_a_single_file(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    filled(&fixture.store, "a", chain(3));
    let file = folder.path().join("backup.db");
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name());
        names.collect::<Vec<_>>()
    };
    fixture.store.backup(&file).unwrap();
    assert_eq!(names(), ["backup.db"]);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(SessionStore::memory().restore(&file).unwrap(), 1);
    assert_eq!(names(), ["backup.db"]);
    assert_eq!(fs::read(&file).unwrap(), bytes, "a restore changes nothing");
}

fn a_restore_is_all_or_nothing(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    for name in ["a", "b", "c"] {
        filled(&fixture.store, name, chain(4));
    }
    fixture.store.backup(&file).unwrap();
    ["a", "b", "c"].iter().for_each(|name| drop(fixture.store.delete(&id(name)).unwrap()));
    // Two restores at once must not show half of each other's sessions.
    let restored: Vec<_> = thread::scope(|scope| {
        let restore = || fixture.reopen().restore(&file);
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(restore)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let codes: Vec<_> = restored.iter().map(|one| one.as_ref().map_err(StoreError::code)).collect();
    assert!(codes.contains(&Ok(&3)) && codes.contains(&Err("SessionExists")), "{codes:?}");
    let mut names = fixture.reopen().ids().unwrap();
    names.sort();
    assert_eq!(names, [id("a"), id("b"), id("c")]);
    assert_eq!(fixture.store.left_behind().unwrap().sessions, 0);
}

fn an_import_in_progress_is_neither_deleted_nor_backed_up(fixture: &TestStore) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let mut import = tertulia_store::Import::begin(&fixture.store).unwrap();
    (1..=1500).for_each(|number| import.push(link(number, "a needle in the hay")).unwrap());
    // Another import begins, and others write meanwhile.
    let other = fixture.reopen();
    filled(&other, "other", chain(2));
    append(&other, &id("other"), vec![link(3, "three")]);
    assert_eq!(other.left_behind().unwrap().sessions, 0);
    assert_eq!(other.backup(&file).unwrap(), 1);
    let bytes = fs::read(&file).unwrap();
    assert!(!bytes.windows(8).any(|window| window == b"a needle"));
    import.finish(&tertulia_store::NewSession { id: Some(id("whole")) }).unwrap();
    assert_eq!(fixture.reopen().load(&id("whole"), &Range::All).unwrap().len(), 1500);
}
