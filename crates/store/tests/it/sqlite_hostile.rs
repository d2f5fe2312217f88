//! Malicious files: tables that are not ours, and records that expand without limit.

use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;
use tertulia_store::{SessionStore, StoreError, StoreUrl};

use crate::notation::{chain, filled, id, link, said};

fn open(path: &Path) -> Result<SessionStore, StoreError> {
    SessionStore::open(&StoreUrl::Sqlite(path.to_owned()))
}

#[test]
fn a_file_with_other_tables_than_ours_is_refused() {
    let endless = "CREATE VIEW session AS WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 \
                   FROM n) SELECT key, 'a' || key AS id, 0 AS state, 0 AS created_at, \
                   0 AS names_parents, 0 AS indexed, 0 AS anchor_seq, NULL AS anchor_link FROM n";
    for change in [
        format!("ALTER TABLE session RENAME TO hidden; {endless}"),
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM session; END".to_owned(),
        "CREATE TABLE more (a)".to_owned(),
        "CREATE INDEX more ON entry (type)".to_owned(),
        "DROP INDEX landmark".to_owned(),
        "ALTER TABLE entry ADD COLUMN more INTEGER DEFAULT 5".to_owned(),
        "DROP TABLE unindexed; CREATE VIEW unindexed AS SELECT 1 AS session".to_owned(),
    ] {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("sessions.db");
        filled(&open(&file).unwrap(), "talk", chain(2));
        Connection::open(&file).unwrap().execute_batch(&change).unwrap();
        let error = open(&file).err().unwrap().to_string();
        assert!(error.contains("its tables are not those of a store"), "{change}: {error}");
    }
}

#[test]
fn a_small_record_that_claims_to_be_huge_is_not_decompressed() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    let session = filled(&open(&file).unwrap(), "talk", vec![link(1, &"a ".repeat(9000))]);
    let connection = Connection::open(&file).unwrap();
    connection.execute("UPDATE entry SET bytes = 268435456", []).unwrap();
    drop(connection);
    let damage = open(&file).unwrap().verify(&session).unwrap().damage.unwrap();
    assert!(damage.reason.contains("it would expand to 268435456 bytes"), "{damage:?}");
}

#[test]
fn a_large_record_of_one_letter_is_stored_so_that_it_can_be_read() {
    let store = SessionStore::memory();
    let text = "a".repeat(70 << 20);
    let session = filled(&store, "talk", vec![said("e1", None, &text)]);
    assert_eq!(store.verify(&session).unwrap().damage, None);
    assert_eq!(store.info(&id("talk")).unwrap().entries, 1);
}

#[test]
fn pages_are_limited_by_size_and_nothing_is_skipped() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sessions.db");
    let store = open(&file).unwrap();
    // Ten megabytes of incompressible text in twenty entries.
    let mut number = 1_u64;
    let mut noise = || {
        let words = (0..30_000).map(|_| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{number:x} ")
        });
        words.collect::<String>()
    };
    let entries = (1..=25).map(|number| link(number, &format!("needle{number} {}", noise())));
    let session = filled(&store, "talk", entries.collect());
    assert_eq!(store.verify(&session).unwrap().entries, 25);
    assert_eq!(store.entry_ids(&session).unwrap().len(), 25);
    let all = tertulia_store::Range::Branch { tail: None, limit: None };
    assert_eq!(store.load(&session, &all).unwrap().len(), 25);
    for number in [1, 13, 25] {
        let query = tertulia_store::SearchQuery {
            text: format!("needle{number}"),
            ..tertulia_store::SearchQuery::default()
        };
        assert_eq!(store.search(&query).unwrap().hits.len(), 1, "{number}");
    }
    store.redact(&session, &"e20".into(), None).unwrap();
    assert_eq!(store.verify(&session).unwrap().purged, 1);
    store.delete(&session).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}
