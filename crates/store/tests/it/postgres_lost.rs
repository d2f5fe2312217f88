//! Connections are lost in the middle of appends. An append that returned is stored once, a failed append reports
//! its outcome, and a retry is harmless.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tertulia_store::{
    Append, Outcome, Problem, Range, SessionId, SessionStore, StoreError, StoreUrl,
};

use crate::notation::{chain, filled, link, said};
use crate::postgres_proxy::{Fault, Proxy};
use crate::postgres_server::{Database, Server};

const KILL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// The number of appends that must succeed before the server crashes again.
const BETWEEN_CRASHES: usize = 12;

fn is_lost(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::SessionWriteFailed {
            problem: Problem::Connection { .. } | Problem::Busy { .. },
            ..
        }
    )
}

#[test]
fn appends_on_killed_connections_are_stored_once_or_not_at_all() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    let session = filled(&store, "talk", chain(1));
    let (is_over, acknowledged) = (AtomicBool::new(false), AtomicUsize::new(0));
    let kept: Vec<Vec<String>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (store, session, count) = (store.clone(), session.clone(), &acknowledged);
                scope.spawn(move || append_until_stopped(&store, &session, writer, count))
            })
            .collect();
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let before = acknowledged.load(Ordering::Relaxed);
                database.query(KILL);
                while acknowledged.load(Ordering::Relaxed) == before
                    && !is_over.load(Ordering::Relaxed)
                {
                    thread::sleep(Duration::from_millis(2));
                }
            }
        });
        let kept = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        kept
    });
    check_all_stored_once(&store, &session, &kept);
}

#[test]
fn acknowledged_entries_survive_server_crashes() {
    let Some(server) = Server::start() else { return };
    let acknowledged = AtomicUsize::new(0);
    let store = SessionStore::open(&server.url()).unwrap();
    let session = filled(&store, "talk", chain(1));
    let kept: Vec<Vec<String>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (store, session, count) = (store.clone(), session.clone(), &acknowledged);
                scope.spawn(move || append_until_stopped(&store, &session, writer, count))
            })
            .collect();
        let is_over = || writers.iter().all(|writer| writer.is_finished());
        while !is_over() {
            let before = acknowledged.load(Ordering::Relaxed);
            server.crash();
            // The server must do some work before it crashes again.
            while !is_over() && acknowledged.load(Ordering::Relaxed) < before + BETWEEN_CRASHES {
                thread::sleep(Duration::from_millis(5));
            }
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    check_all_stored_once(&store, &session, &kept);
}

fn check_all_stored_once(store: &SessionStore, session: &SessionId, kept: &[Vec<String>]) {
    let loaded = store.load(session, &Range::All).unwrap();
    let there: BTreeSet<_> = loaded.iter().map(|stored| stored.entry.id.as_str()).collect();
    assert_eq!(there.len(), loaded.len(), "an entry is there twice");
    assert!(kept.iter().any(|kept| !kept.is_empty()), "nothing was acknowledged");
    for id in kept.iter().flatten() {
        assert!(there.contains(id.as_str()), "{id} was acknowledged and is gone");
    }
    assert_eq!(store.verify(session).unwrap().damage, None);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

/// Appends many times while connections are lost. Returns the ids that were acknowledged.
fn append_until_stopped(
    store: &SessionStore,
    session: &SessionId,
    writer: usize,
    acknowledged: &AtomicUsize,
) -> Vec<String> {
    let mut kept = Vec::new();
    for number in 0..40 {
        let ids = [format!("w{writer}-{number}-a"), format!("w{writer}-{number}-b")];
        let batch = || Append::new(ids.iter().map(|id| said(id, Some("e1"), "text")));
        match store.append(session, batch()) {
            Ok(appended) => {
                acknowledged.fetch_add(1, Ordering::Relaxed);
                assert_eq!(appended.appended_count, 2);
            }
            Err(error) => {
                assert!(is_lost(&error), "{error}");
                continue;
            }
        }
        kept.extend(ids.clone());
        if number % 8 == 0 {
            match store.append(session, batch()) {
                Ok(again) => assert_eq!(again.appended_count, 0, "{again:?}"),
                Err(error) => assert!(is_lost(&error), "{error}"),
            }
        }
    }
    kept
}

fn open_through(proxy: &Proxy, database: &Database) -> SessionStore {
    SessionStore::open(&StoreUrl::Postgres(proxy.address(&database.name))).unwrap()
}

#[test]
fn a_commit_with_a_lost_answer_is_recognised_as_stored() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::start(&database);
    let store = open_through(&proxy, &database);
    let session = filled(&store, "talk", chain(2));
    proxy.next(Fault::LoseAnswer);
    let append = Append::new([link(3, "three"), link(4, "four")]).expecting("e2".into());
    let appended = store.append(&session, append).unwrap();
    assert_eq!(proxy.faults(), 1);
    assert_eq!((appended.appended_count, appended.newest), (2, 4));
    assert_eq!(appended.last_entry_id, Some("e4".into()));
    assert_eq!(store.info(&session).unwrap().entries, 4);
    assert_eq!(store.verify(&session).unwrap().damage, None);
}

#[test]
fn a_commit_that_never_arrives_is_retried() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::start(&database);
    let store = open_through(&proxy, &database);
    let session = filled(&store, "talk", chain(2));
    proxy.next(Fault::LoseCommit);
    let append = Append::new([link(3, "three")]).expecting("e2".into());
    assert_eq!(store.append(&session, append).unwrap().appended_count, 1);
    assert_eq!(proxy.faults(), 1);
    assert_eq!(store.info(&session).unwrap().entries, 3);
    assert_eq!(store.verify(&session).unwrap().damage, None);
}

#[test]
fn a_commit_before_the_server_vanishes_is_unknown_and_can_be_retried() {
    let Some(database) = Database::new() else { return };
    for (fault, stored) in [(Fault::LoseAnswer, 0), (Fault::LoseCommit, 1)] {
        let proxy = Proxy::start(&database);
        let store = open_through(&proxy, &database);
        let name = format!("talk{stored}");
        let session = filled(&store, &name, chain(2));
        proxy.next(fault);
        proxy.refuse_from_now_on();
        let error = store.append(&session, Append::new([link(3, "three")])).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
        assert!(is_lost(&error) && error.is_retryable(), "{error}");
        let direct = SessionStore::open(&database.url()).unwrap();
        let again = direct.append(&session, Append::new([link(3, "three")])).unwrap();
        assert_eq!((again.appended_count, again.newest), (stored, 3));
    }
}

#[test]
fn an_append_that_was_never_sent_is_not_stored() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::start(&database);
    let store = open_through(&proxy, &database);
    let session = filled(&store, "talk", chain(2));
    proxy.refuse_from_now_on();
    database.query(KILL);
    let error = store.append(&session, Append::new([link(3, "three")])).unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotStored, "{error}");
    assert!(is_lost(&error) && error.is_retryable(), "{error}");
}

#[test]
fn a_locked_session_is_busy() {
    let Some(database) = Database::new() else { return };
    let store = SessionStore::open(&database.url()).unwrap();
    let session = filled(&store, "talk", chain(1));
    let holder =
        database.open_transaction("SELECT FROM tertulia.session WHERE id = 'talk' FOR UPDATE");
    let error = store.append(&session, Append::new([link(2, "two")])).unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotStored);
    let StoreError::SessionWriteFailed { problem, .. } = &error else { panic!("{error}") };
    assert_eq!(*problem, Problem::Busy { seconds: 10 });
    // Readers are not blocked.
    assert_eq!(store.load(&session, &Range::All).unwrap().len(), 1);
    drop(holder);
    store.append(&session, Append::new([link(2, "two")])).unwrap();
}
