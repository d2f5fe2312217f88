//! Backups and restored backups: the same chain, checked, and never half.

use std::fs;
use std::thread;

use tertulia_store::{Append, ListFilter, Range, SessionStore, StoreError, StoreUrl};

use crate::notation::{append, chain, filled, id, link, redaction};
use crate::places::Place;

super::promises! {
    a_backup_holds_every_session
    a_backup_is_made_while_others_write
    a_restored_backup_has_the_same_chain
    a_backup_does_not_overwrite
    a_damaged_backup_is_not_restored
    a_session_that_is_there_is_not_restored_over
    of_backups_to_one_name_exactly_one_succeeds
    a_backup_is_one_file_with_nothing_beside_it
    a_restore_is_all_or_nothing
    an_import_that_goes_on_is_not_swept_and_not_backed_up
}

fn open(file: &std::path::Path) -> SessionStore {
    SessionStore::open(&StoreUrl::Sqlite(file.to_owned())).unwrap()
}

fn a_backup_holds_every_session(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let session = filled(&place.store, "a", chain(20));
    filled(&place.store, "b", chain(3));
    append(&place.store, &session, vec![redaction("r", Some("e20"), "e2")]);
    assert_eq!(place.store.backup(&file).unwrap(), 2);
    let copy = open(&file);
    for name in ["a", "b"] {
        let (copied, original) = (copy.info(&id(name)), place.store.info(&id(name)));
        let (copied, original) = (copied.unwrap(), original.unwrap());
        assert_eq!((copied.entries, copied.head), (original.entries, original.head));
    }
    assert_eq!(copy.verify(&session).unwrap().purged, 1);
}

fn a_backup_is_made_while_others_write(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let session = filled(&place.store, "a", chain(1));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2..200 {
                place.store.append(&session, Append::new([link(number, "on and on")])).unwrap();
            }
        });
        for number in 0..5 {
            let file = folder.path().join(format!("backup-{number}.db"));
            place.again().backup(&file).unwrap();
            let verified = open(&file).verify(&session).unwrap();
            assert_eq!(verified.damage, None);
            assert!(verified.entries >= 1);
        }
    });
}

fn a_restored_backup_has_the_same_chain(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let session = filled(&place.store, "a", chain(1200));
    let before = place.store.load(&session, &Range::All).unwrap();
    place.store.backup(&file).unwrap();
    place.store.delete(&session).unwrap();
    assert_eq!(place.store.restore(&file).unwrap(), 1);
    let after = place.again().load(&session, &Range::All).unwrap();
    let links = |entries: &[tertulia_store::StoredEntry]| {
        entries.iter().map(|stored| (stored.link, stored.entry.clone())).collect::<Vec<_>>()
    };
    assert_eq!(links(&after), links(&before));
}

fn a_backup_does_not_overwrite(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    fs::write(&file, "precious").unwrap();
    let error = place.store.backup(&file).unwrap_err().to_string();
    assert!(error.contains("already exists and was not changed"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

fn a_damaged_backup_is_not_restored(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let session = filled(&place.store, "a", vec![link(1, "a needle in the file")]);
    place.store.backup(&file).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(8).position(|window| window == b"a needle").unwrap();
    bytes[at] = b'A';
    fs::write(&file, bytes).unwrap();
    place.store.delete(&session).unwrap();
    let error = place.store.restore(&file).unwrap_err().to_string();
    assert!(error.contains("is damaged"), "{error}");
    assert_eq!(place.again().list(&ListFilter::default()).unwrap(), []);
}

fn a_session_that_is_there_is_not_restored_over(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    filled(&place.store, "a", chain(3));
    filled(&place.store, "b", chain(3));
    place.store.backup(&file).unwrap();
    place.store.delete(&id("a")).unwrap();
    let error = place.store.restore(&file).unwrap_err();
    assert_eq!(error.code(), "SessionExists", "{error}");
    assert!(!place.again().has(&id("a")).unwrap());
}

fn of_backups_to_one_name_exactly_one_succeeds(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    filled(&place.store, "a", chain(3));
    for round in 0..6 {
        let file = folder.path().join(format!("backup-{round}.db"));
        let made: Vec<_> = thread::scope(|scope| {
            let make = || place.store.backup(&file);
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

fn a_backup_is_one_file_with_nothing_beside_it(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    filled(&place.store, "a", chain(3));
    let file = folder.path().join("backup.db");
    let names = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name());
        names.collect::<Vec<_>>()
    };
    place.store.backup(&file).unwrap();
    assert_eq!(names(), ["backup.db"]);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(SessionStore::memory().restore(&file).unwrap(), 1);
    assert_eq!(names(), ["backup.db"]);
    assert_eq!(fs::read(&file).unwrap(), bytes, "a restore changes nothing");
}

fn a_restore_is_all_or_nothing(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    for name in ["a", "b", "c"] {
        filled(&place.store, name, chain(4));
    }
    place.store.backup(&file).unwrap();
    ["a", "b", "c"].iter().for_each(|name| drop(place.store.delete(&id(name)).unwrap()));
    // Two at once: what one of them shows, the other must not show half.
    let restored: Vec<_> = thread::scope(|scope| {
        let restore = || place.again().restore(&file);
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(restore)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let codes: Vec<_> = restored.iter().map(|one| one.as_ref().map_err(StoreError::code)).collect();
    assert!(codes.contains(&Ok(&3)) && codes.contains(&Err("SessionExists")), "{codes:?}");
    let mut names = place.again().ids().unwrap();
    names.sort();
    assert_eq!(names, [id("a"), id("b"), id("c")]);
    assert_eq!(place.store.left_behind().unwrap().sessions, 0);
}

fn an_import_that_goes_on_is_not_swept_and_not_backed_up(place: &Place) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let mut import = tertulia_store::Import::begin(&place.store).unwrap();
    (1..=1500).for_each(|number| import.push(link(number, "a needle in the hay")).unwrap());
    // Another one begins, and others write meanwhile.
    let other = place.again();
    filled(&other, "other", chain(2));
    append(&other, &id("other"), vec![link(3, "three")]);
    assert_eq!(other.left_behind().unwrap().sessions, 0);
    assert_eq!(other.backup(&file).unwrap(), 1);
    let bytes = fs::read(&file).unwrap();
    assert!(!bytes.windows(8).any(|window| window == b"a needle"));
    import.finish(&tertulia_store::NewSession { id: Some(id("whole")) }).unwrap();
    assert_eq!(place.again().load(&id("whole"), &Range::All).unwrap().len(), 1500);
}
