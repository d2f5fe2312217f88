//! Compares reading the tail of a long session with that of a short one, including opening.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use tertulia_store::{Range, SessionId, SessionStore, StoreUrl};

use super::Ground;
use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, duration, grouped};

const TAIL: usize = 50;
const ROUNDS: usize = 200;

pub(crate) fn measure(
    ground: &Ground,
    filled: &Path,
    scale: &Scale,
) -> Result<Theme, Box<dyn Error>> {
    let few = ground.filled("few", 1000)?;
    let (mut long, mut short) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        short.push(open_and_load(&few, "small")?);
        long.push(open_and_load(filled, "large")?);
    }
    let (long, short) = (median(long), median(short));
    let name = format!("{} entries against 1,000", grouped(scale.stored_messages));
    let detail = format!("{} against {}", duration(long), duration(short));
    let figure = Figure::new(name, long / short, Unit::Times).at_most(2.0).of(detail);
    Ok(Theme { title: "Opening a store and loading the last 50 entries", figures: vec![figure] })
}

/// Returns the time of reading the last 50 of 6,400 entries in an open store, in microseconds.
pub(crate) fn tail_alone(ground: &Ground) -> Result<f64, Box<dyn Error>> {
    let file = ground.filled("tail", 6400)?;
    let store = SessionStore::open(&StoreUrl::Sqlite(file))?;
    let session = "large".parse::<SessionId>()?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        load(&store, &session)?;
        times.push(start.elapsed().as_nanos() as f64);
    }
    Ok(median(times) / 1000.0)
}

fn open_and_load(file: &Path, session: &str) -> Result<f64, Box<dyn Error>> {
    let session = session.parse::<SessionId>()?;
    let start = Instant::now();
    let store = SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))?;
    load(&store, &session)?;
    Ok(start.elapsed().as_nanos() as f64)
}

fn load(store: &SessionStore, session: &SessionId) -> Result<(), Box<dyn Error>> {
    let loaded = store.load(session, &Range::Tail(TAIL))?;
    if loaded.len() == TAIL { Ok(()) } else { Err("the tail is not whole".into()) }
}

pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
