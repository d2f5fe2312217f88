//! Durable appends by one writer, against plain SQLite and a plain file.

use std::error::Error;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tertulia_store::{Append, NewSession, SessionId, SessionStore};

use super::appends::{BYTES, TEXT};
use super::yardsticks::{GroupedFile, insert, plain_sqlite};
use super::{Ground, said};
use crate::arguments::Scale;
use crate::report::{Figure, Unit, grouped};

/// The length of the message text in the comparison with other programs (`bench/peers/sessions.py`).
const PEER_TEXT: usize = 312;
/// The number of appends in a turn. The sides alternate, so that a slow moment of the disk affects both.
const TURN: usize = 10;
/// The number of turns in a round: more appends than between two checkpoints of either side.
const TURNS: usize = 80;
/// The number of turns in a round with new files: as many appends as a process makes before its first checkpoint.
const FIRST_TURNS: usize = 50;
/// The time of a comparison for which one round is made.
const ROUND: Duration = Duration::from_millis(25);

/// A session of our store, and the number of its next entry.
struct Lone {
    store: SessionStore,
    session: SessionId,
    next: usize,
}

impl Lone {
    fn new(ground: &Ground) -> Result<Self, Box<dyn Error>> {
        let (store, _) = ground.store("lone")?;
        let session = store.create(&NewSession { id: None })?.id;
        Ok(Self { store, session, next: 0 })
    }

    /// Appends an entry after the previous one. Returns the time, without that of creating the entry.
    fn append(&mut self, text: usize) -> Result<Duration, Box<dyn Error>> {
        let append = Append::new([said(self.next, &"x".repeat(text))]);
        self.next += 1;
        timed(|| Ok(self.store.append(&self.session, append).map(drop)?))
    }
}

fn timed(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

/// Our store and plain SQLite, each with its own file.
struct Sides {
    ours: Lone,
    sqlite: Connection,
    record: Vec<u8>,
}

impl Sides {
    fn new(ground: &Ground) -> Result<Self, Box<dyn Error>> {
        let (mut ours, sqlite) = (Lone::new(ground)?, plain_sqlite(&ground.file("plain")?)?);
        // The first entry has no parent.
        ours.append(TEXT)?;
        ours.append(TEXT)?;
        if ours.store.entry(&ours.session, &super::id(1))?.bytes != BYTES as u64 {
            let reason =
                format!("a text of {TEXT} bytes has a record of another size than {BYTES}");
            return Err(reason.into());
        }
        Ok(Self { ours, sqlite, record: vec![b'x'; BYTES] })
    }

    /// Returns the time that each side takes for this number of turns.
    fn round(&mut self, turns: usize) -> Result<[Duration; 2], Box<dyn Error>> {
        let mut times = [Duration::ZERO; 2];
        for turn in 0..2 * turns {
            // Ours, SQLite, SQLite, ours.
            let side = turn.div_ceil(2) % 2;
            for _ in 0..TURN {
                times[side] += match side {
                    0 => self.ours.append(TEXT)?,
                    _ => timed(|| insert(&self.sqlite, &self.record))?,
                };
            }
        }
        Ok(times)
    }
}

/// Compares our store with SQLite and with a file.
pub(super) fn measure(ground: &Ground, scale: &Scale) -> Result<[Figure; 3], Box<dyn Error>> {
    let count = scale.time.div_duration_f64(ROUND) as usize;
    let mut sides = Sides::new(ground)?;
    // In this round, the files grow to their final length.
    sides.round(TURNS)?;
    let rounds: Vec<_> = (0..count).map(|_| sides.round(TURNS)).collect::<Result<_, _>>()?;
    let first = (0..count).map(|_| Sides::new(ground)?.round(FIRST_TURNS));
    let first: Vec<_> = first.collect::<Result<_, _>>()?;
    let raw = GroupedFile::new(&ground.file("raw")?)?;
    let raw_time = timed(|| (0..TURNS * TURN).try_for_each(|_| raw.append(&sides.record)))?;
    let ours = middle(rounds.iter().map(|[ours, _]| ours.as_secs_f64()));
    let name = "1 writer against a file synced in groups";
    let raw = Figure::new(name, raw_time.as_secs_f64() / ours, Unit::Times);
    let first_name = "1 writer against plain SQLite, new files";
    Ok([
        against("1 writer against plain SQLite", &rounds, TURNS).at_least(0.85),
        against(first_name, &first, FIRST_TURNS).at_least(1.0),
        raw.of(rates([ours, raw_time.as_secs_f64()], TURNS)),
    ])
}

/// Returns the median of the rounds.
fn against(name: &str, rounds: &[[Duration; 2]], turns: usize) -> Figure {
    let ratio = middle(rounds.iter().map(|[ours, other]| other.div_duration_f64(*ours)));
    let times = [0, 1].map(|side| middle(rounds.iter().map(|times| times[side].as_secs_f64())));
    Figure::new(name, ratio, Unit::Times).of(rates(times, turns))
}

fn rates(seconds: [f64; 2], turns: usize) -> String {
    let [ours, other] = seconds.map(|time| grouped(((turns * TURN) as f64 / time) as usize));
    format!("{ours} a second against {other}")
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Measures appends by one writer: the number per second, and the median time in microseconds.
pub(super) fn alone(ground: &Ground) -> Result<(f64, f64), Box<dyn Error>> {
    let mut lone = Lone::new(ground)?;
    let (mut times, mut spent) = (Vec::new(), Duration::ZERO);
    while spent < Duration::from_secs(2) {
        let time = lone.append(PEER_TEXT)?;
        times.push(time);
        spent += time;
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((times.len() as f64 / spent.as_secs_f64(), median.as_secs_f64() * 1e6))
}
