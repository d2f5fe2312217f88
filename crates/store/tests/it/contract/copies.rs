//! Backups and restored backups: the same chain, checked, and never half.

use std::fs;
use std::thread;

use tertulia_store::{Append, ListFilter, Range, SessionStore, StoreUrl};

use crate::notation::{append, chain, filled, id, link, redaction};
use crate::places::Place;

super::promises! {
    a_backup_holds_every_session
    a_backup_is_made_while_others_write
    a_restored_backup_has_the_same_chain
    a_backup_does_not_overwrite
    a_damaged_backup_is_not_restored
    a_session_that_is_there_is_not_restored_over
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
                place.store.append(&session, Append::of([link(number, "on and on")])).unwrap();
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
    assert!(error.contains("is there already"), "{error}");
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
