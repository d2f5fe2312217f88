//! `damage`: changed bits and truncated files. Opening, listing, reading and checking a damaged
//! file must return; a returned entry is the one that was written; and missing or changed entries
//! are detected by an error, by `verify` or by `check`. Damaged files are read in separate
//! processes, so that crashes and hangs are noticed.

mod inspect;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tertulia_store::{Append, NewSession, SessionId, StoreError};

use crate::batch::Batch;
use crate::error::FaultsError;
use crate::options::Options;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::{Scratch, database, open, put};
use crate::tools;
use crate::writer::session_name;
pub(crate) use inspect::inside;

const SESSIONS: u64 = 3;
/// Batches that make a file of about 150 KB.
const BATCHES: u64 = 32;
/// Number of reading processes in parallel.
const AT_A_TIME: usize = 2;
/// Number of damaged files per process.
const CHUNK: u64 = 400;
/// Time limit of a process.
const LIMIT: Duration = Duration::from_secs(240);

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A bit of the file is changed.
    Bit,
    /// A bit of the journal is changed, which then ends before it.
    JournalBit,
    /// The file is truncated.
    Cut,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Bit => "bits",
            Self::JournalBit => "journal-bits",
            Self::Cut => "cuts",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Bit, Self::JournalBit, Self::Cut].into_iter().find(|kind| kind.name() == name)
    }

    /// Damages the bytes at a position: the number of a bit, or a length.
    fn apply(self, bytes: &mut Vec<u8>, position: u64) {
        match self {
            Self::Bit | Self::JournalBit => {
                let byte = usize::try_from(position / 8).unwrap_or(usize::MAX);
                if let Some(byte) = bytes.get_mut(byte) {
                    *byte ^= 1 << (position % 8);
                }
            }
            Self::Cut => bytes.truncate(usize::try_from(position).unwrap_or(usize::MAX)),
        }
    }
}

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("damage", arguments, &["stride", "cuts", "seed"])?;
    let mut report = Report::new("damage", &mut options)?;
    let seed = options.seed()?;
    let (stride, cuts) = (options.number("stride", 61)?.max(1), options.number("cuts", 500)?);
    let scratch = Scratch::in_memory()?;
    let (closed, left) = (scratch.folder("closed")?, scratch.folder("left")?);
    make(&closed, &left, seed)?;
    let length = length_of(&database(&closed))?;
    report.add("bytes of the file", length);
    let journal = length_of(&journal_of(&left))?;
    let first = seed % stride;
    let every = (first..length * 8).step_by(usize::try_from(stride).unwrap_or(usize::MAX));
    let mut jobs = chunks(Kind::Bit, every, &closed);
    let mut rng = Rng::new(seed);
    let bits: Vec<u64> = (0..cuts).map(|_| rng.below(journal * 8)).collect();
    jobs.extend(chunks(Kind::JournalBit, bits.into_iter(), &left));
    // An empty file is a new store, and a complete one is not truncated.
    let lengths = (0..cuts).map(|_| rng.between(1, length - 1));
    jobs.extend(chunks(Kind::Cut, lengths, &closed));
    let (report, jobs) = (Mutex::new(report), Mutex::new(jobs));
    thread::scope(|scope| {
        let work = || {
            while let Some(job) = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop() {
                look_at(&job, &scratch, &report)?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let died = |_| Err(FaultsError::unexpected("a thread panicked"));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(died))
    })?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner).finish())
}

/// Positions that one process damages, one after the other.
struct Job {
    number: usize,
    kind: Kind,
    positions: Vec<u64>,
    folder: PathBuf,
}

fn chunks(kind: Kind, positions: impl Iterator<Item = u64>, folder: &Path) -> Vec<Job> {
    let positions: Vec<u64> = positions.collect();
    let chunks = positions.chunks(usize::try_from(CHUNK).unwrap_or(usize::MAX)).enumerate();
    let job = |(number, positions): (usize, &[u64])| Job {
        number,
        kind,
        positions: positions.to_vec(),
        folder: folder.to_owned(),
    };
    chunks.map(job).collect()
}

/// Creates the same store twice: closed properly, and as a kill leaves it, with everything in the
/// journal.
fn make(closed: &Path, left: &Path, seed: u64) -> Result<(), FaultsError> {
    let file = database(closed);
    let store = open(&file)?;
    for number in 0..SESSIONS {
        let id = session_name(number).parse::<SessionId>().map_err(StoreError::from)?;
        store.create(&NewSession { id: Some(id) })?;
    }
    for number in 0..BATCHES {
        // The last batches redact nothing, because a redaction empties the journal.
        let letter = if number < BATCHES / 2 { 'r' } else { 'w' };
        let batch = Batch::new(&format!("{letter}{seed}"), number);
        let id = session_name(batch.session(SESSIONS)).parse::<SessionId>();
        store.append(&id.map_err(StoreError::from)?, Append::new(batch.entries()))?;
    }
    for (from, to) in [(&file, database(left)), (&journal_of(closed), journal_of(left))] {
        put(&to, &std::fs::read(from).map_err(FaultsError::at(from))?)?;
    }
    Ok(())
}

fn journal_of(folder: &Path) -> PathBuf {
    folder.join("sessions.db-wal")
}

fn length_of(file: &Path) -> Result<u64, FaultsError> {
    Ok(std::fs::metadata(file).map_err(FaultsError::at(file))?.len())
}

/// Runs a process for a job, and adds its figures.
fn look_at(job: &Job, scratch: &Scratch, report: &Mutex<Report>) -> Result<(), FaultsError> {
    let Job { number, kind, positions, folder } = job;
    let said = scratch.file(&format!("said-{}-{number}", kind.name()));
    let list = scratch.file(&format!("positions-{}-{number}", kind.name()));
    let text: Vec<String> = positions.iter().map(u64::to_string).collect();
    put(&list, text.join("\n").as_bytes())?;
    let mut command = tools::own("damage-inside")?;
    command.args(["--kind", kind.name(), "--folder"]).arg(folder).arg("--positions").arg(&list);
    let ended = tools::run_into(&mut command, &said, LIMIT);
    let said = std::fs::read_to_string(&said).map_err(FaultsError::at(&said))?;
    let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
    report.faults(positions.len() as u64);
    if !matches!(ended, Ok(true)) {
        let range = (positions.first(), positions.last());
        report.broken(format!(
            "{} {range:?}: the reading process crashed or hung: {ended:?}",
            kind.name()
        ));
    }
    for line in said.lines() {
        match line.split_once('\t') {
            Some(("broken", what)) => report.broken(what),
            Some((name, count)) => report.add(name, count.parse().unwrap_or(0)),
            None => report.broken(line),
        }
    }
    Ok(())
}
