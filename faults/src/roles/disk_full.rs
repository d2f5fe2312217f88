//! `disk-full`: no space left, and space again. Runs on a file system of 1 MB in its own namespace
//! where possible, and with a limit on the size of files, which works everywhere. No acknowledged
//! entry is lost, everything stays readable, and once there is space the same process continues.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tertulia_store::{Append, NewSession, SessionId, SessionStore, StoreError};

use crate::ack_log::{self, AckLog, Failed, Line};
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::judge::judge;
use crate::options::Options;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::{Scratch, database, open, put};
use crate::tools;
use crate::writer::Task;

const LIMIT: Duration = Duration::from_secs(120);
/// Mounts a small file system for this process alone, and runs the rest there.
const IN_SMALL: &str = "mount -t tmpfs -o size=1m,mode=700 none \"$1\" && shift && exec \"$@\"";
/// A write beyond the limit is then an error, not the end of the process.
const WITH_LIMIT: &str = "trap '' XFSZ; ulimit -f 400; exec \"$@\"";

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("disk-full", arguments, &["rounds", "seed"])?;
    let mut report = Report::new("disk-full", &mut options)?;
    let (seed, rounds) = (options.seed()?, options.number("rounds", 20)?);
    for round in 0..rounds {
        small_files(seed + round, &mut report)?;
    }
    let kept = report.finish();
    Ok(small_disk(seed, rounds)? && super::reserve::run(seed)? && kept)
}

/// A writer whose files cannot grow stops. A process without the limit continues.
fn small_files(seed: u64, report: &mut Report) -> Result<(), FaultsError> {
    let scratch = Scratch::on_disk()?;
    let file = database(&scratch.folder("store")?);
    let name = format!("r{seed}");
    let task = Task { batches: 150, ..Task::new(&file, &name) };
    let said = scratch.file("said");
    let mut shell = Command::new("bash");
    shell.args(["-c", WITH_LIMIT, "bash"]).arg(tools::own_path()?).arg("writer");
    tools::run_into(shell.args(task.arguments()), &said, LIMIT)?;
    let lines = ack_log::read(&said)?;
    let failed = lines.iter().filter(|line| matches!(line, Line::Failed(_))).count() as u64;
    report.faults(failed);
    let mut acks = AckLog::default();
    acks.add_all(&lines);
    let place = format!("files of 400 KiB, seed {seed}");
    report.judged(&judge(&open(&file)?, &acks)?, &place);
    let again = scratch.file("said-again");
    tools::run_into(&mut task.command()?, &again, LIMIT)?;
    let mut acks = AckLog::default();
    acks.add_all(&ack_log::read(&again)?);
    let stored: usize = acks.sessions.values().map(|batches| batches.len()).sum();
    report.claim(stored == 150, format!("{place}: only {stored} of 150 were stored afterwards"));
    let verdict = judge(&open(&file)?, &acks)?;
    report.claim(verdict.is_clean() && verdict.unknown == 0, format!("{place}: {verdict:?}"));
    Ok(())
}

/// Runs this program again on a small file system.
fn small_disk(seed: u64, rounds: u64) -> Result<bool, FaultsError> {
    let scratch = Scratch::on_disk()?;
    let folder = scratch.folder("small")?;
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", IN_SMALL, "sh"]).arg(&folder);
    let said = scratch.file("said");
    let (seed, rounds) = (seed.to_string(), rounds.to_string());
    unshare.arg(tools::own_path()?).args(["disk-full-inside", "--folder"]).arg(&folder);
    let kept = tools::run_into(
        unshare.args(["--seed", &seed, "--rounds", &rounds]),
        &said,
        Duration::from_secs(300),
    )?;
    let said = std::fs::read_to_string(&said).map_err(FaultsError::at(&said))?;
    print!("{said}");
    if said.is_empty() {
        println!("  a small file system cannot be mounted here; run it as root");
        return Ok(!tools::is_root());
    }
    Ok(kept)
}

/// The part that runs on the small file system.
pub(crate) fn inside(arguments: &[String]) -> Result<bool, FaultsError> {
    let names = ["folder", "rounds", "seed"];
    let mut options = Options::parse("disk-full-inside", arguments, &names)?;
    let mut report = Report::new("disk-full on 1 MB", &mut options)?;
    let folder = PathBuf::from(options.needed("folder")?);
    let mut rng = Rng::new(options.seed()?);
    for round in 0..options.number("rounds", 20)? {
        let inner = folder.join("store");
        std::fs::create_dir_all(&inner).map_err(FaultsError::at(&inner))?;
        let outcome = fill(&database(&inner), &folder, round, &mut rng, &mut report);
        if let Err(error) = outcome {
            report.broken(format!("round {round}: {error}"));
        }
        std::fs::remove_dir_all(&inner).map_err(FaultsError::at(&inner))?;
    }
    Ok(report.finish())
}

/// Fills the disk, reads, frees space and continues, all with one store.
fn fill(
    file: &Path,
    folder: &Path,
    round: u64,
    rng: &mut Rng,
    report: &mut Report,
) -> Result<(), FaultsError> {
    let ballast = folder.join("ballast");
    let room = rng.between(150, 700) << 10;
    put(&ballast, &vec![0; usize::try_from((1 << 20) - room).unwrap_or(0)])?;
    let mut filling = Filling::begin(file, round)?;
    let mut full = 0;
    for _ in 0..2000 {
        match filling.append()? {
            None => {}
            Some(failed) => {
                let is_right = failed.problem == "DiskFull" && failed.outcome == "not_stored";
                report.claim(is_right, format!("round {round}: {failed:?}"));
                full += 1;
            }
        }
        if full == 5 {
            break;
        }
    }
    report.faults(full);
    report.claim(full > 0, format!("round {round}: the disk was never full"));
    report.judged(&judge(&filling.store, &filling.acks)?, "while full");
    std::fs::remove_file(&ballast).map_err(FaultsError::at(&ballast))?;
    for _ in 0..10 {
        if let Some(failed) = filling.append()? {
            report.broken(format!("round {round}: with room again: {failed:?}"));
        }
    }
    let Filling { store, acks, .. } = filling;
    drop(store);
    let verdict = judge(&open(file)?, &acks)?;
    report.claim(verdict.is_clean(), format!("round {round}: afterwards: {verdict:?}"));
    Ok(())
}

/// A store being filled.
struct Filling {
    store: SessionStore,
    session: SessionId,
    acks: AckLog,
    thread: String,
    number: u64,
}

impl Filling {
    fn begin(file: &Path, round: u64) -> Result<Self, FaultsError> {
        let store = open(file)?;
        let session = "s0".parse::<SessionId>().map_err(StoreError::from)?;
        store.create(&NewSession { id: Some(session.clone()) })?;
        let thread = format!("w{round}");
        Ok(Self { store, session, acks: AckLog::default(), thread, number: 0 })
    }

    /// Appends the next batch; returns the error if it failed. The same batch is then retried.
    fn append(&mut self) -> Result<Option<Failed>, FaultsError> {
        let batch = Batch::new(&self.thread, self.number);
        match self.store.append(&self.session, Append::new(batch.entries())) {
            Ok(_) => {
                self.number += 1;
                self.acks.add(&Line::Stored { session: self.session.to_string(), batch });
                Ok(None)
            }
            Err(error) => Ok(Some(Failed::from_error("append", &error))),
        }
    }
}
