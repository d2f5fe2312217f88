//! Copies of a SQLite store as files: incomplete backups are refused, and a migration never relies
//! on an incomplete copy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_store::{Range, SessionStore, StoreUrl};

use crate::notation::{append, chain, filled, id, link};

const V1: &[u8] = include_bytes!("../fixtures/sessions-v1.db");

fn open(path: &Path) -> SessionStore {
    SessionStore::open(&StoreUrl::Sqlite(path.to_owned())).unwrap()
}

fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

/// Returns a folder, a store in it with two sessions, and a backup of it.
fn backed_up() -> (TempDir, SessionStore, PathBuf) {
    let folder = TempDir::new().unwrap();
    let store = open(&folder.path().join("sessions.db"));
    filled(&store, "a", chain(300));
    filled(&store, "b", chain(2));
    let file = folder.path().join("backup.db");
    assert_eq!(store.backup(&file).unwrap(), 2);
    (folder, store, file)
}

#[track_caller]
fn refusal(file: &Path) -> String {
    let into = SessionStore::memory();
    let before = (fs::read(file).unwrap(), beside(file));
    let error = into.restore(file).unwrap_err().to_string();
    assert_eq!(into.ids().unwrap(), []);
    assert!((fs::read(file).unwrap(), beside(file)) == before, "a restore changes nothing");
    error
}

fn beside(file: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        file.parent().unwrap().read_dir().unwrap().map(|one| one.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_truncated_backup_is_not_restored() {
    let (_folder, _store, file) = backed_up();
    let whole = fs::read(&file).unwrap();
    for kept in
        [0, 1, 100, 4096, 12_288, 36_864, whole.len() / 2, whole.len() - 4096, whole.len() - 1]
    {
        put(&file, &whole[..kept]);
        refusal(&file);
    }
    for cut in [100, 4096] {
        put(&file, &whole[..whole.len() - cut]);
        let error = refusal(&file);
        let damaged = format!("cannot read: {} is damaged or incomplete (", file.display());
        assert!(error.starts_with(&damaged), "{error}");
        assert!(error.ends_with("); use another backup"), "{error}");
    }
    put(&file, b"");
    assert!(refusal(&file).contains("is not a backup: it is empty, or was cut short"));
    put(&file, &whole);
    assert_eq!(SessionStore::memory().restore(&file).unwrap(), 2);
}

#[test]
fn damage_in_a_backup_is_reported_for_the_backup() {
    let (_folder, store, file) = backed_up();
    filled(&store, "c", vec![link(1, "a needle in the file")]);
    let file = file.with_file_name("second.db");
    store.backup(&file).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(8).position(|window| window == b"a needle").unwrap();
    bytes[at] ^= 1;
    put(&file, &bytes);
    let error = refusal(&file);
    let damaged = format!("{} is damaged or incomplete (entry 1 of session c: ", file.display());
    assert!(error.contains(&damaged) && error.ends_with("; use another backup"), "{error}");
    assert!(!error.contains("restore a backup"), "{error}");
}

#[test]
fn a_backup_that_cannot_be_written_is_reported_once_with_its_name() {
    let (folder, store, _) = backed_up();
    let file = folder.path().join("no/such.db");
    let error = store.backup(&file).unwrap_err().to_string();
    assert_eq!(error.matches("cannot write").count(), 1, "{error}");
    assert!(
        error.starts_with(&format!("cannot write {}: No such file", file.display())),
        "{error}"
    );
}

#[test]
fn a_backup_that_lost_a_session_is_refused() {
    let (_folder, _store, file) = backed_up();
    let whole = fs::read(&file).unwrap();
    for change in [
        "DELETE FROM session WHERE id = 'b'; DELETE FROM entry WHERE place >> 32 = 2;",
        "DELETE FROM entry WHERE id = 'e300'; DELETE FROM entry_id WHERE seq = 300",
        "DELETE FROM backup_session WHERE id = 'b'",
        "UPDATE backup SET sessions = 1",
        "DELETE FROM backup",
        "DROP TABLE backup",
        "UPDATE session SET id = 'c' WHERE id = 'b'",
    ] {
        put(&file, &whole);
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(change).unwrap();
        drop(connection);
        let error = refusal(&file);
        assert!(error.contains("manifest") || error.contains("no session"), "{change}: {error}");
    }
}

#[test]
fn a_store_is_not_a_backup_and_the_error_says_what_to_do() {
    let (folder, store, _) = backed_up();
    drop(store);
    let error = refusal(&folder.path().join("sessions.db"));
    assert!(error.contains("has no manifest"), "{error}");
    assert!(error.contains("run `tertulia sessions backup NEW --store sqlite:FILE`"), "{error}");
}

#[test]
fn a_modified_backup_is_refused_until_it_is_backed_up() {
    let (folder, _store, file) = backed_up();
    let used = open(&file);
    append(&used, &id("b"), vec![link(3, "later")]);
    let again = folder.path().join("again.db");
    used.backup(&again).unwrap();
    drop(used);
    assert!(refusal(&file).contains("its sessions differ from its manifest"));
    let into = SessionStore::memory();
    assert_eq!(into.restore(&again).unwrap(), 2);
    assert_eq!(into.load(&id("b"), &Range::All).unwrap().len(), 3);
}

#[test]
fn a_backup_of_an_earlier_version_is_restored_and_stays_unchanged() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("backup.db");
    put(&file, V1);
    let (_other, _store, made) = backed_up();
    let connection = rusqlite::Connection::open(&file).unwrap();
    // The manifest that a backup of that version would have.
    let statements = rusqlite::Connection::open(&made).unwrap();
    let mut tables = statements
        .prepare("SELECT sql FROM sqlite_schema WHERE name IN ('backup', 'backup_session')")
        .unwrap();
    for sql in tables.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        connection.execute_batch(&sql.unwrap()).unwrap();
    }
    let into = SessionStore::memory();
    let (head, digest) = {
        let copy = folder.path().join("copy.db");
        put(&copy, V1);
        let head = open(&copy).info(&id("talk")).unwrap().chain_hash;
        let line = format!("talk 3 {head}\n");
        (head, tertulia_session::RecordHash::new(line.as_bytes()))
    };
    let insert = "INSERT INTO backup_session VALUES ('talk', 3, ?1)";
    connection.execute(insert, [head.as_bytes()]).unwrap();
    connection.execute("INSERT INTO backup VALUES (1, 1, 3, ?1)", [digest.as_bytes()]).unwrap();
    drop(connection);
    let before = fs::read(&file).unwrap();
    assert_eq!(into.restore(&file).unwrap(), 1);
    assert_eq!(into.load(&id("talk"), &Range::All).unwrap().len(), 3);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn an_incomplete_migration_copy_is_never_used() {
    for half in [0, 1000, 4096, V1.len() - 4096] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("sessions.db");
        let copy = folder.path().join("sessions.db.v1.bak");
        put(&file, V1);
        put(&copy, &V1[..half]);
        let store = open(&file);
        assert_eq!(store.load(&id("talk"), &Range::All).unwrap().len(), 3);
        assert_eq!(fs::read(&copy).unwrap().len(), half, "what others made is not touched");
        let second = folder.path().join("sessions.db.v1.2.bak");
        assert_eq!(fs::read(&second).unwrap()[60..64], 1_u32.to_be_bytes());
        assert_eq!(open(&second).load(&id("talk"), &Range::All).unwrap().len(), 3);
    }
}

#[test]
fn a_complete_migration_copy_is_reused_but_not_one_of_another_store() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    for _ in 0..2 {
        put(&file, V1);
        drop(open(&file));
        fs::remove_file(&file).unwrap();
    }
    assert!(folder.path().join("sessions.db.v1.bak").exists());
    assert!(!folder.path().join("sessions.db.v1.2.bak").exists());
    // This file has the same version but other content.
    put(&file, V1);
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute("UPDATE session SET id = 'other'", []).unwrap();
    drop(connection);
    drop(open(&file));
    assert!(folder.path().join("sessions.db.v1.2.bak").exists());
}
