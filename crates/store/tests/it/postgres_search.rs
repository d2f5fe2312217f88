//! All stores return the same hits in the same order.

use proptest::prelude::*;
use tertulia_session::{Entry, Timestamp};
use tertulia_store::{Matching, SearchQuery, SessionStore};

use crate::notation::{append, filled, redaction, said_by};
use crate::test_stores::TestStore;

const WORDS: [&str; 20] = [
    "login",
    "Page",
    "log",
    "数据库",
    "東京タワー",
    "it's",
    "src/main.rs",
    "ÄRGER",
    "x'y",
    "a\\b",
    "!",
    "数",
    "&|",
    "1e400",
    "failing",
    "fails",
    "the",
    "getUserName",
    "user",
    "main.rs",
];

fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS.to_vec());
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

/// The texts of some sessions, with speakers and times.
type Logs = Vec<Vec<(String, bool, Option<i64>)>>;

fn logs() -> impl Strategy<Value = Logs> {
    let entry = (text(), any::<bool>(), prop::option::of(0..50_i64));
    prop::collection::vec(prop::collection::vec(entry, 1..12), 1..4)
}

fn question() -> impl Strategy<Value = SearchQuery> {
    let text = (text(), prop::sample::select(vec!["", "*", "\""]), any::<bool>());
    let text = text.prop_map(|(text, mark, first)| match first {
        true => format!("{mark}{text}"),
        false => format!("{text}{mark}"),
    });
    let speaker = prop::option::of(prop::sample::select(vec!["ann", "o'max", "nobody"]));
    let since = prop::option::of(0..50_i64);
    let matching = prop::sample::select(vec![Matching::AllWords, Matching::BestWords]);
    (text, speaker, since, matching).prop_map(|(text, speaker, since, matching)| SearchQuery {
        text,
        matching,
        speaker: speaker.map(str::to_owned),
        since: since.map(Timestamp::from_millis),
        ..SearchQuery::default()
    })
}

fn fill(store: &SessionStore, round: usize, logs: &Logs) {
    for (number, log) in logs.iter().enumerate() {
        let name = |number: usize| format!("e{number}");
        let mut parent = None;
        let mut entries = Vec::new();
        for (fixture, (text, is_ann, time)) in log.iter().enumerate() {
            let speaker = if *is_ann { "ann" } else { "o'max" };
            let entry = said_by(speaker, &name(fixture), parent.as_deref(), text);
            entries.push(Entry { timestamp: time.map(Timestamp::from_millis), ..entry });
            parent = Some(name(fixture));
        }
        let session = filled(store, &format!("s{round}-{number}"), entries);
        if log.len() > 5 {
            append(store, &session, vec![redaction("r", parent.as_deref(), "e3")]);
        }
    }
}

#[test]
fn every_store_returns_the_same_hits() {
    let Some(postgres) = TestStore::postgres() else { return };
    let fixtures = [TestStore::memory(), TestStore::sqlite(), postgres];
    let rounds = std::cell::Cell::new(0);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let cases = (logs(), prop::collection::vec(question(), 1..12));
    // The logs accumulate, so later queries also search those of earlier cases.
    let done = runner.run(&cases, |(logs, questions)| {
        let round = rounds.get();
        rounds.set(round + 1);
        fixtures.iter().for_each(|fixture| fill(&fixture.store, round, &logs));
        for question in questions {
            let [memory, sqlite, postgres] =
                fixtures.each_ref().map(|fixture| fixture.store.search(&question).unwrap());
            prop_assert_eq!(&memory, &postgres, "{:?}", &question);
            prop_assert_eq!(&memory, &sqlite, "{:?}", &question);
        }
        Ok(())
    });
    done.unwrap();
}
