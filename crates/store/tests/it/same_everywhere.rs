//! Every store returns the same results: the same outcomes, entries, links and hits.

use proptest::prelude::*;
use proptest::sample::select;
use tertulia_session::{Entry, EntryId};
use tertulia_store::{Append, NewSession, Range, SearchQuery, SessionStore, StoreError};

use crate::notation::{id, redaction, said_by, summary, task};
use crate::test_stores::TestStore;

/// An operation on a store. There are few entries and sessions, so that operations collide.
#[derive(Clone, Debug)]
enum Step {
    Create(&'static str),
    Append { session: &'static str, entries: Vec<Entry>, expected: Option<&'static str> },
    Redact { session: &'static str, target: &'static str },
    Branch { session: &'static str, from: &'static str },
    Fork { session: &'static str, from: &'static str, into: &'static str },
    Delete(&'static str),
    Load { session: &'static str, range: Range },
    Search(SearchQuery),
}

const SESSIONS: [&str; 3] = ["a", "b", "c"];
const IDS: [&str; 6] = ["m1", "m2", "m3", "m4", "m5", "m6"];
const TEXTS: [&str; 6] =
    ["hello world", "the cache is cold", "数据库 is cold", "", "world of world", "src/main.rs"];

fn entry() -> impl Strategy<Value = Entry> {
    let parent = prop_oneof![2 => select(&IDS[..]).prop_map(Some), 1 => Just(None)];
    let of = (select(&IDS[..]), parent, select(&TEXTS[..]), select(&["ann", "max"][..]), 0..8_u8);
    of.prop_map(|(id, parent, text, speaker, kind)| match kind {
        0 => task(id, parent, text),
        1 => redaction(id, parent, IDS[text.len() % IDS.len()]),
        2 => summary(id, parent.unwrap_or("m1"), ["m1", "m2"], "m3", text),
        _ => said_by(speaker, id, parent, text),
    })
}

fn range() -> impl Strategy<Value = Range> {
    prop_oneof![
        Just(Range::All),
        (0..8_usize).prop_map(Range::Tail),
        select(&IDS[..]).prop_map(|entry| Range::From(entry.into())),
        (proptest::option::of(select(&IDS[..])), proptest::option::of(0..4_usize))
            .prop_map(|(tail, limit)| Range::Branch { tail: tail.map(EntryId::from), limit }),
    ]
}

fn query() -> impl Strategy<Value = SearchQuery> {
    let texts = [
        "world",
        "cold cache",
        "数据",
        "wor*",
        "\"world of\"",
        "main.rs",
        "库",
        "x",
        "worlds",
        "cold zebra",
        "the",
    ];
    let speaker = proptest::option::of(select(&["ann", "max"][..]));
    (select(texts.to_vec()), speaker, proptest::option::of(select(&SESSIONS[..]))).prop_map(
        |(text, speaker, session)| SearchQuery {
            text: text.to_owned(),
            speaker: speaker.map(str::to_owned),
            session: session.map(id),
            ..SearchQuery::default()
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let session = || select(&SESSIONS[..]);
    let one = || select(&IDS[..]);
    let entries = proptest::collection::vec(entry(), 0..4);
    let append = (session(), entries, proptest::option::weighted(0.3, one()));
    prop_oneof![
        2 => session().prop_map(Step::Create),
        8 => append.prop_map(|(session, entries, expected)| Step::Append { session, entries, expected }),
        1 => (session(), one()).prop_map(|(session, target)| Step::Redact { session, target }),
        1 => (session(), one()).prop_map(|(session, from)| Step::Branch { session, from }),
        1 => (session(), one(), session())
            .prop_map(|(session, from, into)| Step::Fork { session, from, into }),
        1 => session().prop_map(Step::Delete),
        2 => (session(), range()).prop_map(|(session, range)| Step::Load { session, range }),
        2 => query().prop_map(Step::Search),
    ]
}

/// Runs an operation and formats its result without random values and times.
fn answer(store: &SessionStore, step: &Step) -> Result<String, StoreError> {
    Ok(match step {
        Step::Create(session) => {
            let info = store.create(&NewSession { id: Some(id(session)) })?;
            format!("{} {}", info.id, info.entries)
        }
        Step::Append { session, entries, expected } => {
            let expected_tail = expected.map(EntryId::from);
            let append = Append { expected_tail, ..Append::new(entries.clone()) };
            let appended = store.append(&id(session), append)?;
            format!("{} of {}", appended.appended_count, appended.newest)
        }
        Step::Redact { session, target } => {
            store.redact(&id(session), &EntryId::from(*target), None)?.newest.to_string()
        }
        Step::Branch { session, from } => {
            store.branch(&id(session), &EntryId::from(*from))?.newest.to_string()
        }
        Step::Fork { session, from, into } => {
            let new = NewSession { id: Some(id(into)) };
            store.fork(&id(session), &EntryId::from(*from), &new)?.entries.to_string()
        }
        Step::Delete(session) => {
            store.delete(&id(session))?;
            "gone".to_owned()
        }
        Step::Load { session, range } => {
            let loaded = store.load(&id(session), range)?;
            let shown = loaded.iter().map(|stored| {
                let kind = stored.entry.kind.type_name();
                format!("{} {kind} after {:?}", stored.seq, stored.parent)
            });
            shown.collect::<Vec<_>>().join(", ")
        }
        Step::Search(query) => {
            let hits = store.search(query)?.hits.into_iter();
            let shown = hits.map(|hit| {
                format!("{} {} {} {}", hit.session, hit.seq, hit.score, hit.snippet.text)
            });
            shown.collect::<Vec<_>>().join("; ")
        }
    })
}

/// Returns the result, or the kind of the refusal.
fn outcome(store: &SessionStore, step: &Step) -> String {
    answer(store, step).unwrap_or_else(|error| {
        let text = error.to_string();
        // Entries that the store creates itself have ids that depend on the clock.
        if text.contains("e-") { error.code().to_owned() } else { text }
    })
}

fn check_same(fixtures: &[TestStore], steps: &[Step]) -> Result<(), TestCaseError> {
    for step in steps {
        let answers: Vec<_> =
            fixtures.iter().map(|fixture| outcome(&fixture.store, step)).collect();
        for other in &answers[1..] {
            prop_assert_eq!(&answers[0], other, "{:?}", step);
        }
    }
    for session in SESSIONS.map(id) {
        for fixture in
            fixtures.iter().filter(|fixture| fixture.store.has(&session).unwrap_or(false))
        {
            let verified = fixture
                .reopen()
                .verify(&session)
                .map_err(|error| TestCaseError::fail(format!("{error}")))?;
            prop_assert_eq!(verified.damage, None);
        }
    }
    for fixture in fixtures {
        prop_assert_eq!(fixture.store.check().ok(), Some(Vec::new()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sqlite_behaves_like_memory(steps in proptest::collection::vec(step(), 1..40)) {
        check_same(&[TestStore::memory(), TestStore::sqlite()], &steps)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn postgres_behaves_like_memory(steps in proptest::collection::vec(step(), 1..40)) {
        if let Some(postgres) = TestStore::postgres() {
            check_same(&[TestStore::memory(), postgres], &steps)?;
        }
    }
}
