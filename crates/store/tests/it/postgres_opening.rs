//! Opening a store on a server: refusals and their messages.

use std::thread;

use tertulia_store::{
    Append, NewSession, Problem, SearchQuery, SessionStore, StoreError, StoreUrl,
};

use crate::notation::{append, chain, filled, id, link, redaction};
use crate::postgres_server::Database;

fn open(url: String) -> Result<SessionStore, StoreError> {
    SessionStore::open(&StoreUrl::Postgres(url))
}

#[track_caller]
fn refused(url: String) -> String {
    let Err(error) = open(url) else { panic!("it was opened") };
    let StoreError::SessionReadFailed { problem: Problem::Connection { .. }, .. } = &error else {
        panic!("{error:?}")
    };
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
    error.to_string()
}

#[test]
fn a_wrong_password_is_reported_but_not_shown() {
    let Some(database) = Database::new() else { return };
    database.query(
        "DO $$ BEGIN CREATE ROLE locked LOGIN PASSWORD 'right'; \
         EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$",
    );
    let error = refused(database.address("locked:s3cret", ""));
    assert!(error.contains("password authentication failed for user \"locked\""), "{error}");
    assert!(error.contains("postgres://locked@"), "{error}");
}

#[test]
fn an_unreachable_server_is_reported() {
    let error = refused("postgres://ann:s3cret@127.0.0.1:9/talks".to_owned());
    assert!(error.contains("no connection to postgres://ann@127.0.0.1:9/talks"), "{error}");
    let error = refused("postgres://ann:s3cret@%2Fnowhere/talks".to_owned());
    assert!(error.contains("/nowhere"), "{error}");
    let error = refused("postgres://ann:s3cret@%2Fnowhere/talks?sslmode=maybe".to_owned());
    assert!(error.contains("address cannot be read"), "{error}");
}

#[test]
fn a_missing_database_is_reported() {
    let Some(database) = Database::new() else { return };
    let address = database.address("tertulia", "").replace("/test_", "/no_test_");
    let error = refused(address);
    assert!(error.contains("does not exist"), "{error}");
}

#[test]
fn a_server_without_required_tls_is_refused() {
    let Some(database) = Database::new() else { return };
    let error = refused(database.address("tertulia", "?sslmode=verify-full"));
    assert!(error.contains("TLS"), "{error}");
}

#[test]
fn tables_of_a_later_version_are_refused() {
    let Some(database) = Database::new() else { return };
    drop(open(database.address("tertulia", "")).unwrap());
    database.query("UPDATE tertulia.version SET version = 99");
    let Err(error) = open(database.address("tertulia", "")) else { panic!("it was opened") };
    assert_eq!(error.code(), "SessionMigrationFailed");
    assert!(error.to_string().contains("version 99"), "{error}");
    assert!(error.to_string().contains("use a newer version of Tertulia"), "{error}");
}

#[test]
fn tables_of_another_program_are_not_touched() {
    let Some(database) = Database::new() else { return };
    database.query("CREATE SCHEMA tertulia; CREATE TABLE tertulia.session (theirs text)");
    let Err(error) = open(database.address("tertulia", "")) else { panic!("it was opened") };
    assert_eq!(error.code(), "SessionMigrationFailed", "{error}");
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'tertulia'";
    assert_eq!(database.query(tables), [[Some("session".to_owned())]]);
}

#[test]
fn a_role_that_cannot_create_tables_can_use_existing_ones() {
    let Some(database) = Database::new() else { return };
    drop(open(database.address("tertulia", "")).unwrap());
    database.query(
        "DO $$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$; \
         GRANT USAGE ON SCHEMA tertulia TO app; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tertulia TO app; \
         REVOKE INSERT, UPDATE, DELETE ON tertulia.version FROM app;",
    );
    let store = open(database.address("app", "")).unwrap();
    let session = filled(&store, "talk", chain(3));
    append(&store, &session, vec![redaction("r", Some("e3"), "e1")]);
    let query = SearchQuery { text: "text".to_owned(), ..SearchQuery::default() };
    assert_eq!(store.search(&query).unwrap().hits.len(), 2);
    store.delete(&session).unwrap();
    database.query("REVOKE INSERT ON tertulia.entry FROM app");
    let error = store.create(&NewSession { id: Some(id("late")) }).unwrap_err();
    assert!(error.to_string().contains("permission denied"), "{error}");
}

#[test]
fn a_store_can_be_used_inside_an_async_runtime() {
    let Some(database) = Database::new() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(database.address("tertulia", "")).unwrap();
        let session = filled(&store, "talk", chain(2));
        store.append(&session, Append::new([link(3, "three")])).unwrap();
        assert_eq!(store.info(&session).unwrap().entries, 3);
    });
}

#[test]
fn a_check_finds_inconsistencies() {
    let Some(database) = Database::new() else { return };
    let store = open(database.address("tertulia", "")).unwrap();
    let session = filled(&store, "talk", chain(3));
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    database.query("DELETE FROM tertulia.entry WHERE seq = 3");
    let found = store.check().unwrap();
    assert!(
        found.len() == 1 && found[0].contains("the newest is entry 2, expected is entry 3"),
        "{found:?}"
    );
    assert_eq!(store.verify(&session).unwrap().damage.unwrap().seq, 3);
    // A search must still end.
    store.catch_up(|_| {}).unwrap();
    database.query("UPDATE tertulia.entry SET record = '{}' WHERE seq = 2");
    assert_eq!(store.verify(&session).unwrap().damage.unwrap().seq, 2);
    database.query("DELETE FROM tertulia.session");
    assert!(store.check().unwrap()[0].contains("belong to no session"));
}

#[test]
fn a_store_that_is_dropped_leaves_no_connection() {
    let Some(database) = Database::new() else { return };
    thread::scope(|scope| {
        for number in 0..4 {
            let address = database.address("tertulia", "");
            scope.spawn(move || {
                let store = open(address).unwrap();
                let session = filled(&store, &format!("talk-{number}"), chain(1));
                let mut follow = store.follow(&session, 1).unwrap();
                follow.next(std::time::Duration::from_millis(20)).unwrap();
            });
        }
    });
    let others = "SELECT pid FROM pg_stat_activity \
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    // The server needs a moment to notice.
    for _ in 0..2400 {
        if database.query(others).is_empty() {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{:?}", database.query(others));
}
