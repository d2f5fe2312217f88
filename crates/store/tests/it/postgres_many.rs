//! Several stores on one server, as on several machines. They are notified of each other's appends, and of two
//! conflicting changes only one succeeds.

use std::thread;
use std::time::Duration;

use tertulia_session::record::read_entry_line;
use tertulia_store::{Append, Import, NewSession, Range, SessionStore};

use crate::notation::{append, chain, filled, id, ids, link};
use crate::postgres_server::Database;

const ROUNDS: usize = 20;

#[test]
fn followers_are_notified_of_appends_by_another_store() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two_stores(&database);
    let session = filled(&one, "talk", chain(1));
    let mut follow = other.follow(&session, 1).unwrap();
    for number in 2..2 + ROUNDS {
        let entries = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(30));
                append(&one, &session, vec![link(number, "new")]);
            });
            follow.next(Duration::from_secs(120)).unwrap()
        });
        assert_eq!(ids(entries.iter().map(|stored| &stored.entry)), format!("e{number}"));
    }
    // The server notifies the store. Polling is only for lost notifications.
    let listening = database.query(
        "SELECT count(*) FROM pg_stat_activity \
         WHERE datname = current_database() AND query = 'LISTEN tertulia'",
    );
    assert_eq!(listening, [[Some("1".to_owned())]]);
}

#[test]
fn a_follower_survives_killed_connections() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two_stores(&database);
    let session = filled(&one, "talk", chain(1));
    let mut follow = other.follow(&session, 1).unwrap();
    assert_eq!(follow.next(Duration::from_millis(50)).unwrap(), []);
    for number in 2..12 {
        database.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
        append(&one, &session, vec![link(number, "new")]);
        let entries = follow.next(Duration::from_secs(120)).unwrap();
        assert_eq!(ids(entries.iter().map(|stored| &stored.entry)), format!("e{number}"));
    }
}

fn two_stores(database: &Database) -> (SessionStore, SessionStore) {
    let open = || SessionStore::open(&database.url()).unwrap();
    (open(), open())
}

#[test]
fn stores_that_open_an_empty_database_together_all_find_the_tables() {
    let Some(database) = Database::new() else { return };
    let sessions = thread::scope(|scope| {
        let begin = |_| {
            scope.spawn(|| {
                let store = SessionStore::open(&database.url()).unwrap();
                store.create(&NewSession::default()).unwrap().id
            })
        };
        let stores: Vec<_> = (0..8).map(begin).collect();
        stores.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    let store = SessionStore::open(&database.url()).unwrap();
    assert_eq!(store.list(&tertulia_store::ListFilter::default()).unwrap().len(), sessions.len());
}

#[test]
fn only_one_of_several_stores_gets_the_same_id() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two_stores(&database);
    for round in 0..20 {
        let new = NewSession { id: Some(id(&format!("talk-{round}"))) };
        let take = |store: &SessionStore| match round % 2 {
            0 => store.create(&new),
            _ => {
                let mut import = Import::begin(store).unwrap();
                import.push(link(1, "imported")).unwrap();
                import.finish(&new)
            }
        };
        let (mine, theirs) = thread::scope(|scope| {
            let theirs = scope.spawn(|| take(&other));
            (take(&one), theirs.join().unwrap())
        });
        let refused = match (mine, theirs) {
            (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused,
            both => panic!("{both:?}"),
        };
        assert_eq!(refused.code(), "SessionExists");
    }
    // Nothing remains of the imports that failed.
    assert_eq!(database.query("SELECT id FROM tertulia.session WHERE state <> 0").len(), 0);
}

#[test]
fn stores_that_fill_the_search_index_together_fill_it_once() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two_stores(&database);
    let session = filled(&one, "talk", chain(1));
    thread::scope(|scope| {
        for (store, name) in [(&one, "a"), (&other, "b")] {
            let session = &session;
            scope.spawn(move || {
                for number in 0..30 {
                    let text = format!("word {name}{number}");
                    let entry = crate::notation::said(&text, Some("e1"), &text);
                    append(store, session, vec![entry]);
                    let query = tertulia_store::SearchQuery { text, ..Default::default() };
                    assert_eq!(store.search(&query).unwrap().hits.len(), 1);
                }
            });
        }
    });
    one.catch_up(|_| {}).unwrap();
    let count = database.query("SELECT count(*) FROM tertulia.words");
    assert_eq!(count[0][0].as_deref(), Some("61"));
    assert_eq!(database.query("SELECT FROM tertulia.unindexed").len(), 0);
}

#[test]
fn a_search_waits_longer_than_the_lock_timeout_for_the_index() {
    let Some(database) = Database::new() else { return };
    let holder = database.open_transaction("SELECT pg_advisory_xact_lock(6081392716379288164)");
    let store = SessionStore::open(&database.url()).unwrap();
    filled(&store, "talk", chain(1));
    let waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
        AND datname = current_database() AND now() - query_start > interval '11 seconds'";
    thread::scope(|scope| {
        let caught_up = scope.spawn(|| store.catch_up(|_| {}));
        while database.query(waiting).is_empty() && !caught_up.is_finished() {
            thread::sleep(Duration::from_millis(50));
        }
        drop(holder);
        caught_up.join().unwrap().unwrap();
    });
    assert_eq!(database.query("SELECT FROM tertulia.unindexed").len(), 0);
}

#[test]
fn texts_that_the_server_cannot_represent_are_stored() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two_stores(&database);
    let lines = [
        r#"{"id":"a","type":"message","payload":{"role":"user","parts":[{"kind":"text","payload":{"text":"x\u0000y \uffff"}}]}}"#,
        r#"{"id":"b","parentId":"a","type":"custom","payload":{"lone":"\ud800","twice":1,"twice":2,"big":1e400}}"#,
        r#"{"id":"c","parentId":"b","type":"we\u0000ird","payload":"\udfff"}"#,
        "{\"id\":\"\u{ff}\u{fffd}\u{10ffff}\",\"parentId\":\"c\",\"type\":\"message\",\"payload\":{\"speaker\":{\"roleId\":\"a\\u0000b\",\"roleName\":\"n\\u0000\",\"roleType\":\"human\"},\"parts\":[{\"kind\":\"text\",\"payload\":{\"text\":\"z\"}}]}}",
    ];
    let entries: Vec<_> = lines.iter().filter_map(|line| read_entry_line(1, line).ok()).collect();
    assert!(entries.len() >= 3, "{}", entries.len());
    let session = filled(&one, "talk", entries.clone());
    let loaded = other.load(&session, &Range::All).unwrap();
    let loaded: Vec<_> = loaded.into_iter().map(|stored| stored.entry).collect();
    assert_eq!(loaded.len(), entries.len());
    assert!(loaded.iter().zip(&entries).all(|(loaded, sent)| loaded.repeats(sent)), "{loaded:?}");
    assert_eq!(other.verify(&session).unwrap().damage, None);
    other.catch_up(|_| {}).unwrap();
}

#[test]
fn a_batch_of_many_megabytes_is_stored_completely() {
    let Some(database) = Database::new() else { return };
    let (one, other) = two_stores(&database);
    let session = filled(&one, "talk", Vec::new());
    // These bytes do not compress well, so that one statement is not enough.
    let noise = |seed: u64| -> String {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from_u32(0x4e00 + (state % 0x5000) as u32).unwrap()
        };
        (0..400_000).map(|_| next()).collect()
    };
    let entries: Vec<_> = (1..=12).map(|number| link(number, &noise(number as u64))).collect();
    assert_eq!(one.append(&session, Append::new(entries.clone())).unwrap().appended_count, 12);
    let loaded = other.load(&session, &Range::All).unwrap();
    assert!(loaded.iter().map(|stored| &stored.entry).eq(entries.iter()));
    // An entry has at most half a megabyte of terms, which the server accepts.
    other.catch_up(|_| {}).unwrap();
}
