//! The right to run a session on a server is a lease. It ends at once with the connection of its holder, and otherwise
//! by the clock of the server. A holder that lost it cannot write.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tertulia_session::Entry;
use tertulia_store::{
    Append, Outcome, Problem, Range, SessionId, SessionLock, SessionStore, StoreError, StoreUrl,
};

use crate::notation::{chain, filled, link, said};
use crate::postgres_proxy::Proxy;
use crate::postgres_server::{Database, Server};

/// Makes all leases end, as if nobody had renewed them for a while.
const EXPIRE: &str = "UPDATE tertulia.session SET lease_ends = clock_timestamp() - interval '1 s'";
/// Ends the connections of all leases, as when their processes are killed.
const KILL_HOLDERS: &str = "SELECT pg_terminate_backend(l.pid) FROM pg_locks l, pg_database d \
    WHERE l.locktype = 'advisory' AND l.database = d.oid AND d.datname = current_database()";
const HOLDERS: &str = "SELECT l.pid FROM pg_locks l, pg_database d \
    WHERE l.locktype = 'advisory' AND l.database = d.oid AND d.datname = current_database()";
const LONG: Duration = Duration::from_secs(180);

fn open(database: &Database) -> SessionStore {
    SessionStore::open(&database.url()).unwrap()
}

fn lock(store: &SessionStore, session: &SessionId) -> SessionLock {
    store.lock_session(session).unwrap().expect("it is free")
}

fn append(
    store: &SessionStore,
    session: &SessionId,
    lock: &SessionLock,
    entry: Entry,
) -> Result<(), StoreError> {
    let append = Append { fence: lock.fence(), ..Append::new([entry]) };
    store.append(session, append).map(|_| ())
}

#[track_caller]
fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_true() {
        assert!(begun.elapsed() < LONG, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn assert_lost(refused: Result<(), StoreError>) {
    let error = refused.unwrap_err();
    assert!(matches!(error, StoreError::SessionLeaseLost { .. }), "{error:?}");
    assert_eq!((error.code(), error.outcome()), ("SessionLeaseLost", Outcome::NotStored));
    assert!(!error.is_retryable());
}

#[test]
fn the_holder_of_a_lease_is_named() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    let session = filled(&one, "talk", chain(1));
    assert_eq!(other.holder(&session).unwrap(), None);
    let held = lock(&one, &session);
    let holder = other.holder(&session).unwrap().unwrap();
    assert_eq!(holder.process, std::process::id());
    assert!(holder.is_here() && !holder.has_ended() && !holder.ends_in.is_zero(), "{holder:?}");
    assert!(holder.to_string().starts_with(&format!("process {} on ", holder.process)));
    drop(held);
    assert_eq!(other.holder(&session).unwrap(), None);
}

#[test]
fn a_holder_that_was_taken_over_cannot_write_and_is_told() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    let session = filled(&one, "talk", chain(1));
    let first = lock(&one, &session);
    append(&one, &session, &first, link(2, "two")).unwrap();
    database.query(EXPIRE);
    let second = lock(&other, &session);
    assert!(second.is_taken_over() && !first.is_taken_over());
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    first.when_lost(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    assert_lost(append(&one, &session, &first, link(3, "three")));
    append(&other, &session, &second, link(3, "by the other")).unwrap();
    wait_until("the first holder gets the message", || told.load(Ordering::SeqCst) == 1);
    assert!(first.is_lost() && !second.is_lost());
    // The end of the first holder does not end the lease of the second.
    drop(first);
    assert!(open(&database).lock_session(&session).unwrap().is_none());
    append(&other, &session, &second, link(4, "four")).unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 1, "once");
}

#[test]
fn who_asks_after_the_loss_is_told_at_once() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    let session = filled(&one, "talk", chain(1));
    let first = lock(&one, &session);
    database.query(EXPIRE);
    let _second = lock(&other, &session);
    wait_until("it is lost", || first.is_lost());
    let (sender, told) = std::sync::mpsc::channel();
    first.when_lost(move || sender.send(()).unwrap());
    told.try_recv().unwrap();
}

#[test]
fn a_repeated_append_from_before_the_take_over_is_no_new_one() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    let session = filled(&one, "talk", chain(1));
    let first = lock(&one, &session);
    append(&one, &session, &first, link(2, "two")).unwrap();
    database.query(EXPIRE);
    let second = lock(&other, &session);
    append(&one, &session, &first, link(2, "two")).unwrap();
    append(&other, &session, &second, link(3, "three")).unwrap();
    append(&one, &session, &first, link(2, "two")).unwrap();
    assert_lost(append(&one, &session, &first, said("e9", Some("e2"), "new")));
    assert_eq!(one.load(&session, &Range::All).unwrap().len(), 3);
}

#[test]
fn a_lease_ends_at_once_with_the_connection_of_its_holder() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    let session = filled(&one, "talk", chain(1));
    let proxy = Proxy::start(&database);
    let holder = SessionStore::open(&StoreUrl::Postgres(proxy.address(&database.name))).unwrap();
    let held = lock(&holder, &session);
    assert!(other.lock_session(&session).unwrap().is_none());
    // As when the process is killed: its connections end, and it does not come back.
    proxy.refuse_from_now_on();
    database.query(KILL_HOLDERS);
    wait_until("it is disconnected", || {
        other.holder(&session).unwrap().is_some_and(|holder| holder.is_disconnected)
    });
    let found = other.holder(&session).unwrap().unwrap();
    assert!(!found.ends_in.is_zero() && found.has_ended(), "{found:?}");
    assert!(lock(&other, &session).is_taken_over());
    drop(held);
}

#[test]
fn a_holder_whose_connection_ends_keeps_the_lease_if_nobody_takes_it() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    let session = filled(&one, "talk", chain(1));
    let held = lock(&one, &session);
    for number in 2..5 {
        let before = database.query(HOLDERS);
        database.query(KILL_HOLDERS);
        // With another connection: the one that is killed may end a moment later.
        wait_until("the holder is back", || {
            let now = database.query(HOLDERS);
            !now.is_empty() && now.iter().all(|connection| !before.contains(connection))
        });
        assert!(other.lock_session(&session).unwrap().is_none());
        append(&one, &session, &held, link(number, "more")).unwrap();
    }
    assert!(!held.is_lost());
}

#[test]
fn a_lease_survives_a_crash_of_the_server() {
    let Some(server) = Server::start() else { return };
    let one = SessionStore::open(&server.url()).unwrap();
    let session = filled(&one, "talk", chain(1));
    let held = lock(&one, &session);
    server.crash();
    let other = SessionStore::open(&server.url()).unwrap();
    wait_until("the holder is back", || {
        other.holder(&session).unwrap().is_some_and(|holder| !holder.has_ended())
    });
    assert!(other.lock_session(&session).unwrap().is_none());
    append(&one, &session, &held, link(2, "two")).unwrap();
    assert!(!held.is_lost());
}

#[test]
fn an_interrupted_network_blocks_nobody_for_ever_and_the_holder_gives_up_first() {
    let Some(database) = Database::new() else { return };
    let other = open(&database);
    let session = filled(&other, "talk", chain(1));
    let proxy = Proxy::start(&database);
    let one = SessionStore::open(&StoreUrl::Postgres(proxy.address(&database.name))).unwrap();
    let held = lock(&one, &session);
    proxy.freeze();
    assert!(other.lock_session(&session).unwrap().is_none(), "it has not ended yet");
    wait_until("the lease ends", || other.holder(&session).unwrap().unwrap().has_ended());
    let holder = other.holder(&session).unwrap().unwrap();
    assert!(!holder.is_disconnected, "the server has not noticed the interruption: {holder:?}");
    assert!(held.is_lost(), "so that its agents have ended before somebody else takes over");
    let second = lock(&other, &session);
    proxy.thaw();
    assert_lost(append(&one, &session, &held, link(2, "late")));
    append(&other, &session, &second, link(2, "two")).unwrap();
}

#[test]
fn of_many_programs_one_gets_the_lease_and_only_it_can_write() {
    let Some(database) = Database::new() else { return };
    let store = open(&database);
    let session = filled(&store, "talk", chain(1));
    let mut losers = Vec::new();
    for round in 0..5 {
        let stores: Vec<SessionStore> = (0..8).map(|_| open(&database)).collect();
        let mut locks: Vec<(SessionStore, SessionLock)> = thread::scope(|scope| {
            let asked: Vec<_> = stores
                .into_iter()
                .map(|store| {
                    let session = &session;
                    scope.spawn(move || Some((store.lock_session(session).unwrap()?, store)))
                })
                .collect();
            let got = asked.into_iter().filter_map(|one| one.join().unwrap());
            got.map(|(lock, store)| (store, lock)).collect()
        });
        assert_eq!(locks.len(), 1, "in round {round}");
        let (store, lock) = locks.pop().unwrap();
        let entry = said(&format!("winner-{round}"), Some("e1"), "mine");
        append(&store, &session, &lock, entry).unwrap();
        for (old, (store, lock)) in losers.iter().enumerate() {
            let entry = said(&format!("late-{round}-{old}"), Some("e1"), "late");
            assert_lost(append(store, &session, lock, entry));
        }
        losers.push((store, lock));
        database.query(EXPIRE);
    }
    assert_eq!(store.load(&session, &Range::All).unwrap().len(), 6);
}

#[test]
fn an_append_and_a_take_over_at_the_same_time_never_both_succeed_in_the_wrong_order() {
    let Some(database) = Database::new() else { return };
    let (one, other) = (open(&database), open(&database));
    for round in 0..20 {
        let session = filled(&one, &format!("talk-{round}"), chain(1));
        let first = lock(&one, &session);
        database.query(EXPIRE);
        let (appended, second) = thread::scope(|scope| {
            let appends = scope.spawn(|| append(&one, &session, &first, link(2, "two")));
            let second = lock(&other, &session);
            let before = other.info(&session).unwrap().entries;
            (appends.join().unwrap(), (second, before))
        });
        let (second, seen) = second;
        let entries = other.info(&session).unwrap().entries;
        // After the take-over, no entry of the first holder appears.
        assert_eq!(entries, seen, "in round {round}: {appended:?}");
        append(&other, &session, &second, said("e3", Some("e1"), "three")).unwrap();
    }
}

#[test]
fn a_session_that_somebody_writes_to_for_long_is_busy_and_not_taken() {
    let Some(database) = Database::new() else { return };
    let store = open(&database);
    let session = filled(&store, "talk", chain(1));
    let writer =
        database.open_transaction("SELECT FROM tertulia.session WHERE id = 'talk' FOR UPDATE");
    let error = store.lock_session(&session).unwrap_err();
    let StoreError::SessionWriteFailed { problem, .. } = &error else { panic!("{error}") };
    assert!(matches!(problem, Problem::Busy { .. }), "{error}");
    drop(writer);
    assert!(store.lock_session(&session).unwrap().is_some());
}
