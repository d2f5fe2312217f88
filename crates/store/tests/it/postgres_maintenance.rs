//! Maintenance: purges change every table, the server then cleans its files, and the search index is filled in the
//! background.

use std::thread;
use std::time::Duration;

use tertulia_store::{EntryLocation, Import, LeftBehind, Remains, SessionStore, StoreUrl};

use crate::notation::{chain, filled, link, task};
use crate::postgres_server::Database;

/// Repeats a query until it returns this value; the server may need a while.
#[track_caller]
fn wait_for(database: &Database, sql: &str, expected: &str) {
    for _ in 0..1200 {
        if database.query(sql) == [[Some(expected.to_owned())]] {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(database.query(sql), [[Some(expected.to_owned())]], "{sql}");
}

#[test]
fn a_redacted_text_is_in_no_table_and_its_old_rows_are_removed() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    let entries = vec![link(1, "hello"), link(2, "the zebra"), task("t", Some("e2"), "ride it")];
    let session = filled(&store, "talk", entries);
    store.catch_up(|_| {}).unwrap();
    let in_records =
        "SELECT count(*) FROM tertulia.entry WHERE position('zebra'::bytea IN record) > 0";
    let in_words = "SELECT count(*) FROM tertulia.words WHERE terms @@ 'zebra'::tsquery";
    wait_for(&database, in_records, "1");
    wait_for(&database, in_words, "1");
    store.redact(&session, &"e2".into(), None).unwrap();
    for sql in [in_records, in_words] {
        assert_eq!(database.query(sql), [[Some("0".to_owned())]]);
    }
    let who = "SELECT speaker, speaker_name, tokens FROM tertulia.entry WHERE seq = 2";
    assert_eq!(database.query(who), [[None, None, None]]);
    let cleaned = "SELECT bool_and(vacuum_count > 0) FROM pg_stat_user_tables \
                   WHERE relname IN ('entry', 'words')";
    wait_for(&database, cleaned, "t");
}

/// Returns how many files of the tables and indexes contain a text.
fn files_with(database: &Database, text: &str) -> String {
    let sql = format!(
        "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE (n.nspname = 'tertulia' OR c.oid IN (SELECT t.reltoastrelid FROM pg_class t \
         JOIN pg_namespace m ON m.oid = t.relnamespace WHERE m.nspname = 'tertulia')) \
         AND c.relkind IN ('r', 'i', 't') AND pg_relation_filepath(c.oid) IS NOT NULL \
         AND position('{text}'::bytea IN pg_read_binary_file(pg_relation_filepath(c.oid))) > 0"
    );
    let rows = database.query(&sql);
    rows.into_iter().flatten().flatten().next().unwrap_or_default()
}

#[test]
fn a_redacted_or_deleted_text_is_in_no_file_of_the_tables_when_the_call_returns() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    let entries = vec![link(1, "hello"), link(2, "zebra4711"), link(3, "bye"), link(4, "more")];
    let session = filled(&store, "talk", entries);
    let other = filled(&store, "other", vec![link(1, "gnu0815"), link(2, "herd")]);
    store.catch_up(|_| {}).unwrap();
    database.query("CHECKPOINT; SELECT 1");
    assert_ne!(files_with(&database, "zebra4711"), "0");
    assert_ne!(files_with(&database, "gnu0815"), "0");
    let location = EntryLocation { session, entry: "e2".into() };
    assert_eq!(store.redact_all(&[location], None).unwrap().remains, []);
    assert_eq!(files_with(&database, "zebra4711"), "0");
    assert_eq!(store.delete(&other).unwrap(), []);
    assert_eq!(files_with(&database, "gnu0815"), "0");
}

#[test]
fn what_the_server_cannot_clean_yet_is_reported() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    let session = filled(&store, "talk", vec![link(1, "hello"), link(2, "zebra4711")]);
    let reader =
        database.open_transaction("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    let location = EntryLocation { session, entry: "e2".into() };
    let remains = store.redact_all(&[location], None).unwrap().remains;
    assert!(remains.contains(&Remains::OldRows), "{remains:?}");
    drop(reader);
}

#[test]
fn the_search_index_is_filled_in_the_background() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    filled(&store, "talk", chain(300));
    filled(&store, "other", chain(30));
    wait_for(&database, "SELECT count(*) FROM tertulia.words", "330");
    wait_for(&database, "SELECT count(*) FROM tertulia.unindexed", "0");
}

#[test]
fn the_next_import_deletes_what_a_killed_one_left() {
    let Some(database) = Database::new() else { return };
    let killed = SessionStore::open(&database.url()).unwrap();
    let mut import = Import::begin(&killed).unwrap();
    (1..=1500).for_each(|number| import.push(link(number, "left words")).unwrap());
    let store = SessionStore::open(&database.url()).unwrap();
    // The unfinished import is kept while its process is alive.
    assert_eq!(store.left_behind().unwrap(), LeftBehind::default());
    std::mem::forget(import);
    let others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    database.query(others);
    wait_for(
        &database,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
        (SELECT oid FROM pg_database WHERE datname = current_database())",
        "0",
    );
    let left = store.left_behind().unwrap();
    assert_eq!((left.sessions, left.entries), (1, 1000));
    filled(&store, "talk", chain(2));
    assert_eq!(store.left_behind().unwrap(), LeftBehind::default());
    assert_eq!(database.query("SELECT count(*) FROM tertulia.entry"), [[Some("2".to_owned())]]);
}

#[test]
fn a_role_without_permission_to_clean_is_reported() {
    let Some(database) = Database::new() else { return };
    let owner = SessionStore::open(&database.url()).unwrap();
    let session = filled(&owner, "talk", vec![link(1, "hello"), link(2, "zebra4711")]);
    drop(owner);
    let role = format!("cleans_nothing_{}", database.name);
    database.query(&format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA tertulia TO {role}; \
         GRANT ALL ON ALL TABLES IN SCHEMA tertulia TO {role}; \
         GRANT ALL ON ALL SEQUENCES IN SCHEMA tertulia TO {role}; SELECT 1"
    ));
    let store = SessionStore::open(&StoreUrl::Postgres(database.address(&role, ""))).unwrap();
    let location = EntryLocation { session, entry: "e2".into() };
    let remains = store.redact_all(&[location], None).unwrap().remains;
    assert_eq!(remains, [Remains::NotVacuumed]);
    drop(store);
    database.query(&format!("DROP OWNED BY {role}; DROP ROLE {role}; SELECT 1"));
}
