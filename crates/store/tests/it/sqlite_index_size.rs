//! The size of the search index.

use rusqlite::Connection;
use tertulia_session::search::terms::terms;
use tertulia_store::{SessionStore, StoreUrl};

use crate::notation::{filled, link};

/// Returns a text of common and rare words, with frequencies as in natural languages, and some names.
fn text(number: u64) -> String {
    let mut state = number * 2_654_435_761 + 1;
    let mut word = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (state >> 40) as f64 / (1_u64 << 24) as f64;
        format!("w{}", (20_000_f64.powf(share)) as u64)
    };
    let mut text: Vec<String> = (0..120).map(|_| word()).collect();
    text.push(format!("src/{}/{}.rs", word(), word()));
    text.push(format!("{}_{}", word(), word()));
    text.join(" ")
}

#[test]
fn an_occurrence_of_a_term_takes_at_most_60_bytes_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let store = SessionStore::open(&StoreUrl::Sqlite(file.clone())).unwrap();
    let texts: Vec<String> = (1..=1_000).map(text).collect();
    let entries = (1..).zip(&texts).map(|(number, text)| link(number, text)).collect();
    filled(&store, "talk", entries);
    store.catch_up(|_| {}).unwrap();
    let mut occurrences = 0_i64;
    texts.iter().for_each(|text| terms(text, &mut |_, _| occurrences += 1));
    let connection = Connection::open(&file).unwrap();
    let sql = "SELECT sum(length(block)) FROM words_data";
    let bytes: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    println!("{bytes} bytes for {occurrences} occurrences");
    assert!(bytes <= 60 * occurrences, "{bytes} bytes for {occurrences} occurrences");
}
