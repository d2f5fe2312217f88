//! Measures searches over a large store: rare words, common words, phrases and prefixes. The times have no limits.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use tertulia_store::{SearchQuery, SessionStore, StoreUrl};

use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, duration, grouped};

const ROUNDS: usize = 20;
/// Ranks of words, from rare to common, in the language of the bench.
const QUESTIONS: [(&str, &str); 6] = [
    ("a rare word", "w19997"),
    ("a word of every tenth entry", "w120"),
    ("a word of nearly all", "w1"),
    ("two words", "w1 w5000"),
    ("a beginning", "w1999*"),
    ("a phrase", "\"w2 w3\""),
];

pub(crate) fn measure(filled: &Path, scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let store = SessionStore::open(&StoreUrl::Sqlite(filled.to_owned()))?;
    let mut figures = Vec::new();
    let mut all = Vec::new();
    for (name, text) in QUESTIONS {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        let mut times = Vec::new();
        let mut hits = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            hits = store.search(&query)?.hits.len();
            times.push(start.elapsed().as_nanos() as f64);
        }
        times.sort_by(f64::total_cmp);
        let detail = format!("median, {hits} hits, at most {}", duration(times[ROUNDS - 1]));
        let value = times[ROUNDS / 2] / 1e6;
        figures.push(Figure::new(name, value, Unit::Milliseconds).of(detail));
        all.extend(times);
    }
    all.sort_by(f64::total_cmp);
    let at = |percent: usize| all[all.len() * percent / 100];
    let name = format!("all of them over {} entries, p99", grouped(scale.stored_messages + 1000));
    let detail = format!("p50 {}", duration(at(50)));
    figures.push(Figure::new(name, at(99) / 1e6, Unit::Milliseconds).of(detail));
    Ok(Theme { title: "Searches", figures })
}
