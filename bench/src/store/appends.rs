//! Durable appends by 16 and 64 writers, in turns with the yardsticks.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tertulia_store::{Append, NewSession, SessionId, SessionStore};

use super::yardsticks::{GroupedFile, insert, plain_sqlite};
use super::{Ground, lone, said};
use crate::arguments::Scale;
use crate::report::{Figure, Theme, Unit, duration, grouped};

/// The size of a stored record, in our store and in SQLite and the file that it is compared with.
pub(super) const BYTES: usize = 512;
/// The length of a message text whose record has [`BYTES`] bytes.
pub(super) const TEXT: usize = 217;
const ROUNDS: usize = 5;

/// The results of several writers.
#[derive(Clone, Debug, Default)]
struct Run {
    per_second: f64,
    /// The times of the appends, sorted.
    ns: Vec<u64>,
}

impl Run {
    fn percentile(&self, percent: usize) -> f64 {
        let at = (self.ns.len() * percent / 100).min(self.ns.len().saturating_sub(1));
        self.ns.get(at).copied().unwrap_or(0) as f64
    }
}

type Work<'w> = &'w (dyn Fn(usize) -> Result<(), String> + Sync);

pub(crate) fn measure(ground: &Ground, scale: &Scale) -> Result<Theme, Box<dyn Error>> {
    let mut figures = Vec::from(lone::measure(ground, scale)?);
    for writers in [16, 64] {
        let [ours, sqlite, raw] = in_turns(ground, writers, scale.time)?;
        let rates = |one: &Run, other: &Run| {
            let (one, other) = (one.per_second as usize, other.per_second as usize);
            format!("{} a second against {}", grouped(one), grouped(other))
        };
        let ratio = |name: String, base: &Run| {
            let value = ours.per_second / base.per_second;
            Figure::new(name, value, Unit::Times).of(rates(&ours, base))
        };
        let name = format!("{writers} writers against SQLite, one transaction each");
        figures.push(match writers {
            16 => ratio(name, &sqlite).at_least(5.0),
            _ => ratio(name, &sqlite),
        });
        let name = format!("{writers} writers against a file synced in groups");
        figures.push(match writers {
            16 => ratio(name, &raw).at_least(0.8),
            _ => ratio(name, &raw),
        });
        if writers == 64 {
            let (mine, other) = (ours.percentile(99), sqlite.percentile(99));
            let detail = format!("{} against {}", duration(mine), duration(other));
            let name = "64 writers, the 99th of 100 against SQLite";
            figures.push(Figure::new(name, mine / other, Unit::Times).at_most(0.2).of(detail));
        }
    }
    figures.push(turn(ground)?);
    Ok(Theme { title: "Durable appends of 512 bytes", figures })
}

/// Measures a turn of eight entries, which is one append and so one sync.
fn turn(ground: &Ground) -> Result<Figure, Box<dyn Error>> {
    let (store, _) = ground.store("turn")?;
    let session = begin(&store)?;
    let next = AtomicUsize::new(0);
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (place, entries) in [(0, 1), (1, 8)] {
            let start = Instant::now();
            for _ in 0..200 {
                let first = next.fetch_add(entries, Ordering::Relaxed);
                append(&store, &session, first, entries)?;
            }
            best[place] = best[place].min(start.elapsed().as_nanos() as f64 / 200.0);
        }
    }
    let detail = format!("{} against {}", duration(best[1]), duration(best[0]));
    let name = "a turn of 8 entries against 1 entry";
    Ok(Figure::new(name, best[1] / best[0], Unit::Times).at_most(2.0).of(detail))
}

/// Returns the best of several rounds of each: ours, SQLite, the file.
fn in_turns(ground: &Ground, writers: usize, time: Duration) -> Result<[Run; 3], Box<dyn Error>> {
    let (store, _) = ground.store("ours")?;
    let session = begin(&store)?;
    let next = AtomicUsize::new(0);
    let file = ground.file("plain")?;
    let connections: Vec<_> = (0..writers)
        .map(|_| plain_sqlite(&file).map(std::sync::Mutex::new))
        .collect::<Result<_, _>>()?;
    let raw = GroupedFile::new(&ground.file("raw")?)?;
    let record = vec![b'x'; BYTES];
    let ours = |_: usize| {
        let first = next.fetch_add(1, Ordering::Relaxed) + 1;
        append(&store, &session, first, 1).map_err(|error| error.to_string())
    };
    let sqlite = |writer: usize| {
        let connection = connections[writer].lock().map_err(|error| error.to_string())?;
        insert(&connection, &record).map_err(|error| error.to_string())
    };
    let raw = |_: usize| raw.append(&record).map_err(|error| error.to_string());
    let works: [Work<'_>; 3] = [&ours, &sqlite, &raw];
    let mut best: [Run; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (best, work) in best.iter_mut().zip(works) {
            let run = run(writers, time, work)?;
            if run.per_second > best.per_second {
                *best = run;
            }
        }
    }
    Ok(best)
}

fn run(writers: usize, time: Duration, work: Work<'_>) -> Result<Run, Box<dyn Error>> {
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let times: Vec<Result<Vec<u64>, String>> = thread::scope(|scope| {
        let writer = |writer: usize| {
            let stop = &stop;
            scope.spawn(move || {
                let mut times = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    work(writer)?;
                    times.push(begun.elapsed().as_nanos() as u64);
                }
                Ok(times)
            })
        };
        let writers: Vec<_> = (0..writers).map(writer).collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let gone = |_| Err("a writer is gone".to_owned());
        writers.into_iter().map(|one| one.join().unwrap_or_else(gone)).collect()
    });
    let elapsed = start.elapsed().as_secs_f64();
    let mut ns: Vec<u64> = Vec::new();
    for times in times {
        ns.extend(times?);
    }
    ns.sort_unstable();
    Ok(Run { per_second: ns.len() as f64 / elapsed, ns })
}

fn begin(store: &SessionStore) -> Result<SessionId, Box<dyn Error>> {
    let session = store.create(&NewSession { id: None })?.id;
    // Entries of many writers follow this one.
    append(store, &session, 0, 1)?;
    Ok(session)
}

fn append(
    store: &SessionStore,
    session: &SessionId,
    first: usize,
    count: usize,
) -> Result<(), Box<dyn Error>> {
    let entries = (first..first + count).map(|number| {
        let mut entry = said(number, &"x".repeat(TEXT));
        // With many writers, the previous entry may not be stored yet.
        entry.parent_id = (number > 0).then(|| super::id(0));
        entry
    });
    store.append(session, Append::new(entries))?;
    Ok(())
}
