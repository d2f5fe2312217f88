//! What the store does by itself: purges reach every table, the server is asked to clean up after
//! them, and the search index is filled while nobody waits.

use std::thread;
use std::time::Duration;

use tertulia_store::SessionStore;

use crate::notation::{chain, filled, link, task};
use crate::postgres_server::Database;

/// Asks until the answer is this; the server takes its time.
#[track_caller]
fn becomes(database: &Database, sql: &str, expected: &str) {
    for _ in 0..1200 {
        if database.ask(sql) == [[Some(expected.to_owned())]] {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(database.ask(sql), [[Some(expected.to_owned())]], "{sql}");
}

#[test]
fn a_redacted_text_is_in_no_table_and_its_old_rows_are_cleaned_away() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    let entries = vec![link(1, "hello"), link(2, "the zebra"), task("t", Some("e2"), "ride it")];
    let session = filled(&store, "talk", entries);
    store.catch_up(|_| {}).unwrap();
    let in_records =
        "SELECT count(*) FROM tertulia.entry WHERE position('zebra'::bytea IN record) > 0";
    let in_words = "SELECT count(*) FROM tertulia.words WHERE terms @@ 'zebra'::tsquery";
    becomes(&database, in_records, "1");
    becomes(&database, in_words, "1");
    store.redact(&session, &"e2".into(), None).unwrap();
    for sql in [in_records, in_words] {
        assert_eq!(database.ask(sql), [[Some("0".to_owned())]]);
    }
    let who = "SELECT speaker, speaker_name, tokens FROM tertulia.entry WHERE seq = 2";
    assert_eq!(database.ask(who), [[None, None, None]]);
    let cleaned = "SELECT bool_and(vacuum_count > 0) FROM pg_stat_user_tables \
                   WHERE relname IN ('entry', 'words')";
    becomes(&database, cleaned, "t");
}

#[test]
fn the_search_index_is_filled_while_nobody_waits() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    filled(&store, "talk", chain(300));
    filled(&store, "other", chain(30));
    becomes(&database, "SELECT count(*) FROM tertulia.words", "330");
    becomes(&database, "SELECT count(*) FROM tertulia.unindexed", "0");
}
