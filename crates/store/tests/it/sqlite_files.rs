//! The file of a SQLite store: it is private to its owner, refused in unsafe places, migrated to this version, and
//! read carefully when it is damaged.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_store::{
    Append, Import, ListFilter, ProjectScope, Range, SearchQuery, SessionStore, StoreError,
    StoreUrl,
};

use crate::notation::{append, chain, filled, id, ids, link};

fn open(path: &Path) -> Result<SessionStore, StoreError> {
    SessionStore::open(&StoreUrl::Sqlite(path.to_owned()))
}

fn refusal(path: &Path) -> String {
    open(path).err().expect("it must be refused").to_string()
}

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    (folder, file)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn files_are_private_from_the_first_byte() {
    let (folder, _) = folder();
    let file = folder.path().join("new/deep/sessions.db");
    let store = open(&file).unwrap();
    filled(&store, "talk", chain(3));
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    assert_eq!(mode(&folder.path().join("new")), 0o700);
    for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
        assert_eq!(mode(&file.with_file_name(name)), 0o600, "{name}");
    }
    let copy = folder.path().join("new/copy.db");
    store.backup(&copy).unwrap();
    assert_eq!(mode(&copy), 0o600);
}

#[test]
fn a_file_that_others_can_read_is_refused_with_a_fix() {
    let (_folder, file) = folder();
    drop(open(&file).unwrap());
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let error = refusal(&file);
    assert!(error.contains("sessions.db can be read by others; run `chmod 600`"), "{error}");
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    let (folder, file) = folder();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(refusal(&file).contains("can be written to by others; run `chmod go-w` on it"));
    assert!(!file.exists());
    // This is like /tmp: nobody can remove the files of others, but anybody can create a journal first.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
    // The folder is shared on purpose, so the message must not suggest changing its mode.
    assert!(refusal(&file).ends_with("can be written to by others; choose another folder"));
    // For a parent folder the sticky bit is enough.
    open(&folder.path().join("own/sessions.db")).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(
        refusal(&folder.path().join("own/sessions.db")).contains("can be written to by others")
    );
}

#[test]
fn a_folder_above_the_store_that_belongs_to_another_user_is_refused() {
    let (folder, _) = folder();
    let file = folder.path().join("theirs/own/sessions.db");
    drop(open(&file).unwrap());
    let theirs = folder.path().join("theirs");
    // Only root can change the owner of a folder.
    if std::os::unix::fs::chown(&theirs, Some(65534), None).is_err() {
        return;
    }
    let error = refusal(&file);
    assert!(error.contains("theirs belongs to another user (uid 65534)"), "{error}");
}

#[test]
fn a_written_store_has_a_reserve_for_a_full_disk() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    filled(&store, "talk", chain(3));
    let reserve = file.with_file_name("sessions.db-reserve");
    assert_eq!((fs::metadata(&reserve).unwrap().len(), mode(&reserve)), (6 << 20, 0o600));
}

#[test]
fn journal_and_shared_memory_files_are_checked_too() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    filled(&store, "talk", chain(3));
    let shared = file.with_file_name("sessions.db-shm");
    fs::set_permissions(&shared, Permissions::from_mode(0o644)).unwrap();
    assert!(refusal(&file).contains("sessions.db-shm can be read by others"));
    // Such a file is left by a process that could only read.
    fs::set_permissions(&shared, Permissions::from_mode(0o400)).unwrap();
    open(&file).unwrap();
    assert_eq!(mode(&shared), 0o600);
}

#[test]
fn links_folders_and_devices_are_refused() {
    let (folder, file) = folder();
    drop(open(&file).unwrap());
    let link = folder.path().join("link.db");
    symlink(&file, &link).unwrap();
    assert!(refusal(&link).contains("is a symbolic link"));
    let nowhere = folder.path().join("nowhere.db");
    symlink(folder.path().join("made-by-attack"), &nowhere).unwrap();
    assert!(refusal(&nowhere).contains("is a symbolic link"));
    assert!(!folder.path().join("made-by-attack").exists());
    fs::create_dir(folder.path().join("inner")).unwrap();
    assert!(refusal(&folder.path().join("inner")).contains("is not a file"));
    assert!(refusal(Path::new("/dev/null")).contains("is not a file"));
    assert!(refusal(Path::new("/")).contains("names no file"));
}

#[test]
fn files_of_another_program_are_not_changed() {
    let (_folder, file) = folder();
    let make = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    };
    make(b"a letter to ann, not a database at all, but long enough to look like one");
    let error = refusal(&file);
    assert!(error.contains("is damaged or not a session store"), "{error}");
    // This is a database of another program: the header of an empty one with another application id.
    let (_other, other) = folder();
    drop(open(&other).unwrap());
    let mut bytes = fs::read(&other).unwrap();
    bytes[68..72].copy_from_slice(b"Game");
    make(&bytes);
    assert!(refusal(&file).contains("it was created by another program"));
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn a_file_of_a_later_version_is_refused() {
    let (_folder, file) = folder();
    drop(open(&file).unwrap());
    let mut bytes = fs::read(&file).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&file, bytes).unwrap();
    let error = open(&file).err().unwrap();
    assert_eq!(error.code(), "SessionMigrationFailed");
    assert!(error.to_string().contains("version 99"), "{error}");
}

#[test]
fn purged_bytes_are_nowhere_in_the_files() {
    let (folder, file) = folder();
    let store = open(&file).unwrap();
    let secret = "sesame-4711-opens";
    let long = format!("{secret} {}", "padding that fills pages ".repeat(900));
    let entries = vec![link(1, "first"), link(2, secret), link(3, &long), link(4, "last")];
    let session = filled(&store, "talk", entries);
    let query = SearchQuery { text: secret.to_owned(), ..SearchQuery::default() };
    assert_eq!(store.search(&query).unwrap().hits.len(), 2);
    store.redact(&session, &"e2".into(), None).unwrap();
    store.redact(&session, &"e3".into(), None).unwrap();
    check_absent(folder.path(), &["sesame", "4711"]);
    drop(store);
    check_absent(folder.path(), &["sesame", "4711"]);
}

#[track_caller]
fn check_absent(folder: &Path, words: &[&str]) {
    for about in fs::read_dir(folder).unwrap() {
        let path = about.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for word in words {
            let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(!found, "{word} in {}", path.display());
        }
    }
}

#[test]
fn an_earlier_version_is_migrated_after_making_a_copy() {
    let (_folder, file) = folder();
    fs::write(&file, include_bytes!("../fixtures/sessions-v1.db")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let store = open(&file).unwrap();
    let loaded = store.load(&id("talk"), &Range::All).unwrap();
    assert_eq!(ids(loaded.iter().map(|stored| &stored.entry)), "e1 e2 e3");
    assert_eq!(store.verify(&id("talk")).unwrap().damage, None);
    let query = SearchQuery { text: "needle".to_owned(), ..SearchQuery::default() };
    assert_eq!(store.search(&query).unwrap().hits.len(), 1);
    assert_eq!(store.entry(&id("talk"), &"e2".into()).unwrap().seq, 2);
    append(&store, &id("talk"), vec![link(4, "four")]);
    let copy = file.with_file_name("sessions.db.v1.bak");
    assert_eq!(fs::read(&copy).unwrap()[60..64], 1_u32.to_be_bytes());
    assert_eq!(mode(&copy), 0o600);
}

#[test]
fn sessions_hidden_by_an_earlier_version_stay_hidden() {
    let (_folder, file) = folder();
    fs::write(&file, include_bytes!("../fixtures/sessions-v3.db")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let store = open(&file).unwrap();
    let listed = store.list(&ListFilter::default()).unwrap();
    assert_eq!(listed.iter().map(|about| about.id.as_str()).collect::<Vec<_>>(), ["talk"]);
    assert_eq!(store.load(&id("talk"), &Range::All).unwrap().len(), 3);
    let query = SearchQuery { text: "needle".to_owned(), ..SearchQuery::default() };
    assert_eq!(store.search(&query).unwrap().hits.len(), 1);
    assert!(store.load(&id("gone"), &Range::All).is_err());
    let copy = file.with_file_name("sessions.db.v3.bak");
    assert_eq!(fs::read(&copy).unwrap()[60..64], 3_u32.to_be_bytes());
}

#[test]
fn the_search_index_of_an_earlier_version_is_rebuilt() {
    let (_folder, file) = folder();
    fs::write(&file, include_bytes!("../fixtures/sessions-v7.db")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let store = open(&file).unwrap();
    let find = |text: &str| {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        let hits = store.search(&query).unwrap().hits;
        let mut found: Vec<String> = hits.iter().map(|hit| hit.entry_id.to_string()).collect();
        found.sort();
        found.join(" ")
    };
    assert_eq!(find("fail"), "e1 e3", "in all its forms");
    assert_eq!((find("user"), find("src/main.rs")), ("e2".to_owned(), "e1".to_owned()));
    store.redact(&id("talk"), &"e2".into(), None).unwrap();
    assert_eq!((find("user"), find("needle")), (String::new(), String::new()));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    assert_eq!(store.verify(&id("talk")).unwrap().damage, None);
    let copy = file.with_file_name("sessions.db.v7.bak");
    assert_eq!(fs::read(&copy).unwrap()[60..64], 7_u32.to_be_bytes());
}

#[test]
fn the_usage_in_an_earlier_version_is_found() {
    let (_folder, file) = folder();
    fs::write(&file, include_bytes!("../fixtures/sessions-v8.db")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let store = open(&file).unwrap();
    let found = store.usage(None).unwrap();
    assert_eq!(
        found.entries.iter().map(|one| one.entry_id.as_str()).collect::<Vec<_>>(),
        ["e2", "e3"]
    );
    assert_eq!(store.verify(&id("talk")).unwrap().damage, None);
    let copy = file.with_file_name("sessions.db.v8.bak");
    assert_eq!(fs::read(&copy).unwrap()[60..64], 8_u32.to_be_bytes());
}

#[test]
fn sessions_of_an_earlier_version_have_no_project_until_it_is_set() {
    let (_folder, file) = folder();
    fs::write(&file, include_bytes!("../fixtures/sessions-v4.db")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let store = open(&file).unwrap();
    assert_eq!(store.info(&id("talk")).unwrap().project, None);
    store.set_project(&id("talk"), Some("/projects/a")).unwrap();
    let query = |project: &str| SearchQuery {
        text: "needle".to_owned(),
        project: ProjectScope::Project(project.to_owned()),
        ..SearchQuery::default()
    };
    assert_eq!(store.search(&query("/projects/a")).unwrap().hits.len(), 1);
    assert_eq!(store.search(&query("/projects/b")).unwrap().hits.len(), 0);
    assert_eq!(store.verify(&id("talk")).unwrap().damage, None);
    let copy = file.with_file_name("sessions.db.v4.bak");
    assert_eq!(fs::read(&copy).unwrap()[60..64], 4_u32.to_be_bytes());
}

#[test]
fn a_changed_bit_neither_hides_nor_deletes_a_session() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    let session = filled(&store, "talk", vec![link(1, "needle")]);
    let query = SearchQuery { text: "needle".to_owned(), ..SearchQuery::default() };
    for bit in [0, 1, 2, 4, 5, 7, 31, 62] {
        let connection = rusqlite::Connection::open(&file).unwrap();
        // The time is long ago, so that a new import treats it as abandoned.
        let change = "UPDATE session SET state = ?1, created_at = 0";
        connection.execute(change, [1_i64 << bit]).unwrap();
        connection.execute("UPDATE entry SET stored_at = 0", []).unwrap();
        drop(connection);
        drop(Import::begin(&store).unwrap());
        assert_eq!(store.list(&ListFilter::default()).unwrap().len(), 1, "bit {bit}");
        assert_eq!(store.search(&query).unwrap().hits.len(), 1, "bit {bit}");
        assert_eq!(store.load(&session, &Range::All).unwrap().len(), 1, "bit {bit}");
    }
}

#[test]
fn a_flipped_byte_is_detected_and_its_entry_named() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    let entries = (1..=40).map(|number| link(number, &format!("marker-{number:03}!")));
    let session = filled(&store, "talk", entries.collect());
    drop(store);
    let sound = fs::read(&file).unwrap();
    for number in [1_usize, 17, 40] {
        let mut bytes = sound.clone();
        let text = format!("marker-{number:03}!");
        let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
        bytes[at] ^= 0x01;
        fs::write(&file, bytes).unwrap();
        let store = open(&file).unwrap();
        let verified = store.verify(&session).unwrap();
        let damage = verified.damage.unwrap();
        assert_eq!((damage.seq, verified.entries), (number as u64, number as u64 - 1));
        assert_eq!(damage.entry.unwrap().as_str(), format!("e{number}"));
        // The entries before the damaged one can be read. The damaged one is never returned.
        let read: Vec<_> = store.entries(&session, &Range::All).unwrap().collect();
        assert_eq!(read.iter().filter(|one| one.is_ok()).count(), number - 1);
        let error = read.last().unwrap().as_ref().unwrap_err().to_string();
        assert!(error.contains(&format!("entry {number} (e{number}) is damaged")), "{error}");
    }
}

#[test]
fn a_damaged_entry_can_still_be_redacted() {
    let (folder, file) = folder();
    let store = open(&file).unwrap();
    let session =
        filled(&store, "talk", vec![link(1, "one"), link(2, "sesame-4711"), link(3, "x")]);
    drop(store);
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(6).position(|window| window == b"sesame").unwrap();
    bytes[at] = b'S';
    fs::write(&file, bytes).unwrap();
    let store = open(&file).unwrap();
    store.load(&session, &Range::All).unwrap_err();
    store.redact(&session, &"e2".into(), None).unwrap();
    drop(store);
    check_absent(folder.path(), &["esame", "4711"]);
    let loaded = open(&file).unwrap().load(&session, &Range::All).unwrap();
    assert!(matches!(loaded[1].entry.kind, tertulia_session::EntryKind::Purged(_)));
}

#[test]
fn readers_detect_a_missing_entry() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    let session = filled(&store, "talk", chain(9));
    drop(store);
    let connection = rusqlite::Connection::open(&file).unwrap();
    let gone = connection.execute("DELETE FROM entry WHERE id IN ('e5', 'e6')", []).unwrap();
    assert_eq!(gone, 2);
    drop(connection);
    let store = open(&file).unwrap();
    let read: Vec<_> = store.entries(&session, &Range::All).unwrap().collect();
    assert_eq!(read.iter().filter(|one| one.is_ok()).count(), 4);
    let error = read.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(error.contains("entry 5 is damaged: it is missing"), "{error}");
    let branch = Range::Branch { tail: None, limit: None };
    assert!(store.load(&session, &branch).is_err());
    assert_eq!(store.load(&session, &Range::Tail(3)).unwrap().len(), 3);
}

#[test]
fn a_truncated_file_is_a_typed_error() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    let session = filled(&store, "talk", chain(3000));
    drop(store);
    let sound = fs::read(&file).unwrap();
    for kept in [0, 1, 50, 100, 4096, sound.len() / 3, sound.len() - 4096] {
        fs::write(&file, &sound[..kept]).unwrap();
        let outcome = open(&file).and_then(|store| {
            let lines = store.check()?;
            let loaded = store.load(&session, &Range::All)?;
            assert!(loaded.len() < 3000 || !lines.is_empty(), "{kept}");
            Ok(())
        });
        if let Err(error) = outcome {
            let code = error.code();
            let expected = ["SessionReadFailed", "SessionMigrationFailed", "SessionNotFound"];
            assert!(expected.contains(&code), "{kept}: {error}");
        }
    }
}

#[test]
fn the_file_survives_opening_and_closing_a_second_store() {
    let (_folder, file) = folder();
    let store = open(&file).unwrap();
    let session = filled(&store, "talk", chain(1));
    for number in 2..40 {
        let other = open(&file).unwrap();
        let writer = if number % 2 == 0 { &store } else { &other };
        writer.append(&session, Append::new([link(number, "text")])).unwrap();
    }
    assert_eq!(store.verify(&session).unwrap().entries, 39);
}

#[test]
fn the_journal_gets_its_full_length_once() {
    let (_folder, file) = folder();
    let journal = file.with_file_name("sessions.db-wal");
    let store = open(&file).unwrap();
    let session = filled(&store, "talk", chain(1));
    let mut lengths = Vec::new();
    for round in 0..12 {
        for number in 2 + round * 200..202 + round * 200 {
            append(&store, &session, vec![link(number, "a few words")]);
        }
        lengths.push(fs::metadata(&journal).unwrap().len());
    }
    assert!(lengths[0] > 4 << 20, "it grows at once: {lengths:?}");
    assert!(lengths.iter().all(|length| *length == lengths[0]), "and not again: {lengths:?}");
    // The zeros after the end are not entries, for another process either.
    let other = open(&file).unwrap();
    assert_eq!(other.load(&session, &Range::All).unwrap().len(), 2401);
}

#[test]
fn a_deleted_session_is_nowhere_in_the_files_while_others_have_the_store_open() {
    let (folder, file) = folder();
    let secret = "sesame-4711-opens";
    let other = open(&file).unwrap();
    filled(&other, "kept", chain(3));
    let store = open(&file).unwrap();
    let long = format!("{secret} {}", "padding that fills pages ".repeat(900));
    let session = filled(&store, "talk", vec![link(1, secret), link(2, &long)]);
    store.catch_up(|_| {}).unwrap();
    assert_eq!(other.load(&session, &Range::All).unwrap().len(), 2);
    assert_eq!(store.delete(&session).unwrap(), []);
    // Both stores are still open.
    check_absent(folder.path(), &["sesame", "4711"]);
    assert_eq!(other.load(&id("kept"), &Range::All).unwrap().len(), 3);
}

#[test]
fn migration_copies_are_removed_once_the_store_passes_its_check() {
    let (folder, file) = folder();
    let store = open(&file).unwrap();
    filled(&store, "talk", chain(3));
    let names = ["sessions.db.v3.bak", "sessions.db.v12.bak"];
    let others = ["sessions.db.vx.bak", "sessions.db.bak", "photos.db.v3.bak", "sessions.db.v3"];
    for name in names.iter().chain(&others) {
        fs::write(folder.path().join(name), "the secret").unwrap();
    }
    let copies = store.remove_old_copies().unwrap();
    assert_eq!((copies.removed.len(), copies.kept.len()), (2, 0));
    assert!(names.iter().all(|name| !folder.path().join(name).exists()));
    assert!(others.iter().all(|name| folder.path().join(name).exists()));
}
