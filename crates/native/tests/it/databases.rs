//! Databases of agents: rows become records, and the agent's folder does not change.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tertulia_dialect::native::{NativeFormat, NativeOrigin};
use tertulia_native::{Cause, FoundSession, SessionReader, list, locate};
use tertulia_session::{Entry, EntryKind};

use crate::Home;

const OPENCODE: &str = "
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,
        cost REAL, time_created INTEGER, time_updated INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
    INSERT INTO session VALUES ('ses_1', NULL, '/src', 'Login page', 0.5, 1000, 2000),
        ('ses_2', 'ses_1', '/src', 'A sub-agent', 0, 1500, 1600),
        ('ses_3', NULL, '/other', '', 0, 1, 3000);
    INSERT INTO message VALUES ('msg_2', 'ses_1', 20, '{\"role\":\"assistant\"}'),
        ('msg_1', 'ses_1', 10, '{\"role\":\"user\"}'), ('msg_3', 'ses_2', 15, '{}');
    INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_1', '{\"text\":\"b\"}'),
        ('prt_1', 'msg_1', 'ses_1', '{\"text\":\"a\"}');";

const GOOSE: &str = "
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT,
        created_at TIMESTAMP, updated_at TIMESTAMP);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT);
    INSERT INTO sessions VALUES ('20260131_1', NULL, 'Build it', '/src', '2026-01-31 12:00:00',
        '2026-01-31 12:30:00');
    INSERT INTO messages VALUES (10, '20260131_1', 'assistant', '[]'), (9, '20260131_1', 'user', '[]');";

const OPENCODE_PLACE: &str = ".local/share/opencode/opencode.db";

/// Creates a database in the home folder, and closes it.
fn database(home: &Home, name: &str, statements: &str) -> PathBuf {
    let path = home.file(name, "");
    Connection::open(&path).unwrap().execute_batch(statements).unwrap();
    path
}

/// Returns the records of a session with their files.
fn records(home: &Home, session: &FoundSession) -> Vec<(String, String)> {
    let mut reader = SessionReader::open(&home.environment(), session, 1 << 20).unwrap();
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap().is_some() {}
    let origins = entries.iter().map(|entry| NativeOrigin::of(entry).unwrap());
    origins.map(|origin| (origin.file.into(), String::from_utf8(origin.bytes).unwrap())).collect()
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_sessions_of_opencode_are_listed_without_those_of_sub_agents() {
    let home = Home::new();
    database(&home, OPENCODE_PLACE, OPENCODE);
    let listing = list(&home.environment(), &NativeFormat::ALL);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    let ids: Vec<_> = listing.sessions.iter().map(|found| &*found.native_id).collect();
    assert_eq!(ids, ["ses_3", "ses_1"], "newest first");
    let first = &listing.sessions[1];
    assert_eq!(first.title.as_deref(), Some("Login page"));
    assert_eq!(first.folder.as_deref(), Some("/src"));
    assert_eq!(first.updated.as_ref().unwrap().millis(), 2000);
    assert_eq!(listing.sessions[0].title, None);
}

#[test]
fn the_rows_of_a_session_are_records_in_the_order_of_the_conversation() {
    let home = Home::new();
    database(&home, OPENCODE_PLACE, OPENCODE);
    let listing = list(&home.environment(), &[NativeFormat::Opencode]);
    let records = records(&home, &listing.sessions[1]);
    let brief: Vec<String> = records
        .iter()
        .map(|(file, record)| format!("{file} {}", &record[..record.find("_").unwrap() + 2]))
        .collect();
    assert_eq!(brief[0], r#" {"table":"session","row":{"id":"ses_1"#);
    assert_eq!(brief[1], r#" {"table":"message","row":{"id":"msg_1"#);
    assert_eq!(brief[2], r#" {"table":"part","row":{"id":"prt_1"#);
    assert_eq!(brief[3], r#" {"table":"part","row":{"id":"prt_2"#);
    assert_eq!(brief[4], r#" {"table":"message","row":{"id":"msg_2"#);
    assert_eq!(brief[5], r#"session/ses_2 {"table":"session","row":{"id":"ses_2"#);
    assert_eq!(brief[6], r#"session/ses_2 {"table":"message","row":{"id":"msg_3"#);
    assert!(records[0].1.ends_with(
        r#""parent_id":null,"directory":"/src","title":"Login page","time_created":1000}}"#
    ));
    assert!(records[2].1.contains(r#""data":"{\"text\":\"a\"}""#), "{}", records[2].1);
}

#[test]
fn the_rows_of_goose_are_records_in_the_order_of_their_numbers() {
    let home = Home::new();
    database(&home, ".local/share/goose/sessions/sessions.db", GOOSE);
    let listing = list(&home.environment(), &NativeFormat::ALL);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    let session = &listing.sessions[0];
    assert_eq!((session.format, session.title.as_deref()), (NativeFormat::Goose, Some("Build it")));
    assert_eq!(session.started.as_ref().unwrap().to_iso(), "2026-01-31T12:00:00.000Z");
    let records = records(&home, session);
    assert!(records[1].1.starts_with(r#"{"table":"messages","row":{"id":9,"#), "{records:?}");
    assert!(records[2].1.starts_with(r#"{"table":"messages","row":{"id":10,"#), "{records:?}");
}

#[test]
fn a_database_in_use_is_read_with_its_journal_and_without_a_trace() {
    let home = Home::new();
    let path = database(&home, OPENCODE_PLACE, OPENCODE);
    let folder = path.parent().unwrap();
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;").unwrap();
    agent.execute_batch("UPDATE session SET title = 'Newer' WHERE id = 'ses_1'").unwrap();
    // Simulate an agent that was killed: there is a journal but no shared memory.
    let copy = home.file("killed/opencode.db", fs::read(&path).unwrap());
    home.file("killed/opencode.db-wal", fs::read(folder.join("opencode.db-wal")).unwrap());
    for path in [&path, &copy] {
        let folder = path.parent().unwrap();
        let before = (names_in(folder), fs::read(path).unwrap());
        let found = locate(&home.environment(), path, None).unwrap();
        assert!(found.iter().any(|found| found.title.as_deref() == Some("Newer")));
        records(&home, &found[0]);
        assert_eq!((names_in(folder), fs::read(path).unwrap()), before);
    }
    assert!(names_in(&home.path().join("tmp")).is_empty(), "the copies were removed");
    drop(agent);
}

#[test]
fn the_copy_of_a_database_in_use_has_no_name_while_it_is_read() {
    let home = Home::new();
    let path = database(&home, OPENCODE_PLACE, OPENCODE);
    let agent = Connection::open(&path).unwrap();
    agent.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;").unwrap();
    agent.execute_batch("UPDATE session SET title = 'Newer' WHERE id = 'ses_1'").unwrap();
    let found = locate(&home.environment(), &path, None).unwrap().remove(1);
    let mut reader = SessionReader::open(&home.environment(), &found, 1 << 20).unwrap();
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap().is_some() {
        assert_eq!(names_in(&home.path().join("tmp")), [""; 0]);
    }
    assert_eq!(entries.len(), 7);
    assert!(format!("{:?}", entries[0]).contains("Newer"));
}

#[test]
fn the_copy_that_a_killed_process_left_is_removed_and_no_other() {
    let home = Home::new();
    let temporary = home.path().join("tmp");
    let folder = |name: &str| {
        let folder = temporary.join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    };
    home.environment();
    fs::write(folder("tertulia-native-1-0").join("lock"), "").unwrap();
    fs::write(folder("tertulia-native-1-0").join("copy.db"), "half of a database").unwrap();
    folder("tertulia-native-1-1");
    fs::write(folder("tertulia-native-1-2").join("somebody's"), "").unwrap();
    fs::write(folder("other").join("lock"), "").unwrap();
    let lock = fs::File::create_new(folder("tertulia-native-1-3").join("lock")).unwrap();
    lock.lock().unwrap();
    list(&home.environment(), &[NativeFormat::Claude]);
    let left = ["other", "tertulia-native-1-2", "tertulia-native-1-3"];
    assert_eq!(names_in(&temporary), left);
    drop(lock);
    list(&home.environment(), &[NativeFormat::Claude]);
    assert_eq!(names_in(&temporary), left[..2]);
}

#[test]
fn a_database_that_nobody_uses_is_read_in_a_folder_that_cannot_be_written() {
    let home = Home::new();
    let path = database(&home, "odd name?#%/opencode.db", OPENCODE);
    let before = names_in(path.parent().unwrap());
    assert_eq!(locate(&home.environment(), &path, None).unwrap().len(), 2);
    assert_eq!(names_in(path.parent().unwrap()), before);
}

#[test]
fn a_foreign_schema_is_a_clear_error() {
    let home = Home::new();
    let path = database(&home, OPENCODE_PLACE, "CREATE TABLE session (id TEXT, title TEXT);");
    let error = locate(&home.environment(), &path, None).unwrap_err();
    assert!(matches!(error.cause, Cause::ForeignSchema { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("table session has no column directory"), "{text}");
    assert_eq!(list(&home.environment(), &NativeFormat::ALL).problems.len(), 1);
    let other = database(&home, "other.db", "CREATE TABLE note (id TEXT);");
    let error = locate(&home.environment(), &other, None).unwrap_err();
    assert!(matches!(error.cause, Cause::ForeignDatabase), "{error}");
    let broken = home.file("broken.db", b"SQLite format 3\0 and nothing else");
    let error = locate(&home.environment(), &broken, None).unwrap_err();
    assert!(matches!(error.cause, Cause::Database(_)), "{error}");
}

#[test]
fn a_sub_agent_whose_session_was_deleted_is_listed() {
    let home = Home::new();
    database(&home, OPENCODE_PLACE, &format!("{OPENCODE} DELETE FROM session WHERE id = 'ses_1';"));
    let listing = list(&home.environment(), &[NativeFormat::Opencode]);
    let ids: Vec<_> = listing.sessions.iter().map(|found| &*found.native_id).collect();
    assert_eq!(ids, ["ses_3", "ses_2"]);
}

#[test]
fn an_answer_that_is_not_complete_is_left_for_later_if_a_session_is_followed() {
    let home = Home::new();
    database(&home, OPENCODE_PLACE, OPENCODE);
    let listing = list(&home.environment(), &[NativeFormat::Opencode]);
    let read = || {
        let environment = home.environment();
        let mut reader = SessionReader::open(&environment, &listing.sessions[1], 1 << 20).unwrap();
        reader.skip_unfinished_answer();
        let mut entries = Vec::new();
        while reader.next(&mut entries).unwrap().is_some() {}
        reader.records()
    };
    assert_eq!(read(), 4, "the session, a message and two parts");
    let complete = r#"UPDATE message SET data = '{"role":"assistant","time":{"completed":1}}'
        WHERE id = 'msg_2'"#;
    Connection::open(home.path().join("home").join(OPENCODE_PLACE))
        .unwrap()
        .execute_batch(complete)
        .unwrap();
    assert_eq!(read(), 5);
}

#[test]
fn the_usage_of_goose_has_numbers_of_its_own() {
    let home = Home::new();
    let usage = "CREATE TABLE usage_log (session_id TEXT, tokens INTEGER);
        INSERT INTO usage_log VALUES ('20260131_1', 7), ('other', 8);";
    database(&home, ".local/share/goose/sessions/sessions.db", &format!("{GOOSE}{usage}"));
    let listing = list(&home.environment(), &[NativeFormat::Goose]);
    let records = records(&home, &listing.sessions[0]);
    let (file, last) = records.last().unwrap();
    assert_eq!((records.len(), &**file), (4, "usage"));
    assert!(last.contains(r#""tokens":7"#), "{last}");
}

/// Returns the ID of an entry, its parent, and its tokens and cost.
fn with_usage(entry: &Entry) -> String {
    let parent = entry.parent_id.as_ref().map_or("-", |parent| parent.as_str());
    let usage = match &entry.kind {
        EntryKind::Usage(usage) => format!(
            " {} {} {:?}",
            usage.input_tokens,
            usage.output_tokens,
            usage.cost_usd.as_ref().map(|cost| cost.amount())
        ),
        _ => String::new(),
    };
    format!("{} {parent}{usage}", entry.id)
}

#[test]
fn the_usage_of_goose_follows_its_answer_and_the_messages_are_in_the_order_of_goose() {
    let home = Home::new();
    let statements = "
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, working_dir TEXT, created_at TIMESTAMP,
            updated_at TIMESTAMP, total_tokens INTEGER, input_tokens INTEGER, parent_session_id TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT,
            role TEXT, content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
        CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT,
            created_timestamp INTEGER, model TEXT, input_tokens INTEGER, output_tokens INTEGER,
            cache_read_tokens INTEGER, cost REAL, is_compaction INTEGER);
        INSERT INTO sessions VALUES ('g', 'Build', '/src', '2026-01-31 12:00:00', '2026-01-31 12:30:00', 7, 5, NULL),
            ('sub', 'Search', '/src', '2026-01-31 12:00:00', '2026-01-31 12:00:00', 0, 0, 'g');
        INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES
            ('m-5', 'g', 'user', '[{\"type\":\"text\",\"text\":\"And?\"}]', 30),
            ('m-1', 'g', 'user', '[{\"type\":\"text\",\"text\":\"Hi\"}]', 10),
            ('m-2', 'g', 'assistant', '[{\"type\":\"text\",\"text\":\"A\"}]', 12),
            ('m-3', 'g', 'user', '[{\"type\":\"text\",\"text\":\"result\"}]', 14),
            ('m-4', 'g', 'assistant', '[{\"type\":\"text\",\"text\":\"B\"}]', 15),
            ('s-1', 'sub', 'user', '[{\"type\":\"text\",\"text\":\"Find\"}]', 13);
        INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, cost) VALUES
            ('g', 15, 'm', 200, 20, 0.5), ('g', 14, 'm', 100, 10, 0.25), ('sub', 13, 'm', 1, 1, 0),
            ('g', 16, 'm', NULL, NULL, NULL);";
    database(&home, ".local/share/goose/sessions/sessions.db", statements);
    let listing = list(&home.environment(), &[NativeFormat::Goose]);
    let ids: Vec<_> = listing.sessions.iter().map(|found| &*found.native_id).collect();
    assert_eq!(ids, ["g"], "{:?}", listing.problems);
    let mut reader =
        SessionReader::open(&home.environment(), &listing.sessions[0], 1 << 20).unwrap();
    let mut entries = Vec::new();
    while reader.next(&mut entries).unwrap().is_some() {}
    assert_eq!(reader.take_problems(), []);
    let shown: Vec<String> = entries.iter().map(with_usage).collect();
    assert_eq!(
        shown,
        [
            "line-1 -",
            "m-1 -",
            "m-2 m-1",
            "usage-2 m-2",
            "usage-2#1 usage-2 100 10 Some(0.25)",
            "m-3 usage-2#1",
            "m-4 m-3",
            "usage-1 m-4",
            "usage-1#1 usage-1 200 20 Some(0.5)",
            "usage-4 usage-1#1",
            "m-5 usage-1#1",
            "session/sub/line-1 m-5",
            "s-1 -",
            "usage-3 s-1",
            "usage-3#1 usage-3 1 1 Some(0.0)",
        ]
    );
    assert!(
        !format!("{:?}", entries[0].meta).contains("total_tokens"),
        "it changes with every turn"
    );
}
