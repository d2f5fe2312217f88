//! Measures imports of 1 KB entries, compared with inserts into SQLite: the same number of entries per transaction,
//! the same durability, and a full-text index of the same texts.

use std::error::Error;
use std::time::Instant;

use rusqlite::{Connection, params};
use tertulia_session::record::EntryRecord;
use tertulia_store::{Import, NewSession};

use super::{Ground, prose, said};
use crate::arguments::Scale;
use crate::memory::resident_bytes;
use crate::report::{Figure, Theme, Unit, grouped};

const BYTES: usize = 1000;

pub(crate) fn measure(ground: &Ground, scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let count = scale.stored_messages / 20;
    let (mut ours, mut plain) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..2 {
        ours = ours.min(import(ground, count)?);
        plain = plain.min(by_hand(ground, count)?);
    }
    let rate = |seconds: f64| grouped((count as f64 / seconds) as usize);
    let detail = format!("{} a second against {}", rate(ours), rate(plain));
    let name = format!("{} entries, indexed, against plain SQLite", grouped(count));
    let speed = Figure::new(name, plain / ours, Unit::Times).at_least(0.5).of(detail);
    Ok(Theme { title: "Imports of 1 KB entries", figures: vec![speed, memory(ground, count)?] })
}

fn import(ground: &Ground, count: usize) -> Result<f64, Box<dyn Error>> {
    let (store, _) = ground.store("import")?;
    let start = Instant::now();
    let mut import = Import::begin(&store)?;
    for number in 0..count {
        import.push(said(number, &prose(number, BYTES)))?;
    }
    import.finish(&NewSession { id: None })?;
    store.catch_up(|_| {})?;
    Ok(start.elapsed().as_secs_f64())
}

/// Checks that four times the entries do not need more memory.
fn memory(ground: &Ground, count: usize) -> Result<Figure, Box<dyn Error>> {
    import(ground, count)?;
    let before = resident_bytes().unwrap_or(0);
    import(ground, 4 * count)?;
    let grown = resident_bytes().unwrap_or(0).saturating_sub(before) as f64;
    let name =
        format!("memory that {} entries need more than {}", grouped(4 * count), grouped(count));
    Ok(Figure::new(name, grown, Unit::Bytes).at_most(32.0 * 1024.0 * 1024.0))
}

fn by_hand(ground: &Ground, count: usize) -> Result<f64, Box<dyn Error>> {
    let mut connection = Connection::open(ground.file("by-hand")?)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE entry (number INTEGER PRIMARY KEY, session TEXT, id TEXT, record BLOB);
         CREATE UNIQUE INDEX entry_id ON entry (session, id);
         CREATE VIRTUAL TABLE words USING fts5(text, content = '');",
    )?;
    let start = Instant::now();
    let numbers: Vec<usize> = (0..count).collect();
    for group in numbers.chunks(1000) {
        let transaction = connection.transaction()?;
        for number in group {
            let text = prose(*number, BYTES);
            let entry = said(*number, &text);
            let record = EntryRecord::new(&entry).to_json();
            let sql = "INSERT INTO entry VALUES (?1, 'talk', ?2, ?3)";
            let row = params![*number as i64 + 1, entry.id.as_str(), record.as_bytes()];
            transaction.prepare_cached(sql)?.execute(row)?;
            let sql = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
            transaction.prepare_cached(sql)?.execute(params![*number as i64 + 1, text])?;
        }
        transaction.commit()?;
    }
    Ok(start.elapsed().as_secs_f64())
}
