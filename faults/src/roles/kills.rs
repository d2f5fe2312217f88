//! `kills`: four processes append to one file, and SIGKILL ends one or all of them at any moment,
//! including the creation of the file. After every cycle the file is opened and judged; the next
//! cycle continues with it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use crate::ack_log::{self, AckLog, Line};
use crate::error::FaultsError;
use crate::judge::judge;
use crate::options::Options;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

const PROCESSES: u64 = 4;
const THREADS: u64 = 2;
/// Number of cycles per file. Judging takes longer the more it contains.
const CYCLES_PER_FILE: u64 = 25;
/// Maximum time before a kill.
const KILL_DELAY_MILLIS: u64 = 120;
const KILL_DELAY_NEW_MILLIS: u64 = 40;

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("kills", arguments, &["kills", "seed"])?;
    let mut report = Report::new("kills", &mut options)?;
    let mut rng = Rng::new(options.seed()?);
    let cycles = options.number("kills", 500)?;
    let mut place = None;
    for cycle in 0..cycles {
        if cycle.is_multiple_of(CYCLES_PER_FILE) {
            place = Some((Scratch::on_disk()?, AckLog::default()));
        }
        let Some((scratch, acks)) = &mut place else { break };
        let file = database(scratch.path());
        let kills = kill_some(&file, cycle, &mut rng, acks, &mut report)?;
        report.faults(kills);
        report.add("cycles", 1);
        let place = format!("cycle {cycle}");
        match open(&file).and_then(|store| judge(&store, acks)) {
            // The file contains what earlier cycles wrote: only the last judgement of a file
            // counts.
            Ok(verdict) if verdict.is_clean() && !is_last(cycle, cycles) => {}
            Ok(verdict) => report.judged(&verdict, &place),
            Err(error) => report.broken(format!("{place}: {error}")),
        }
    }
    Ok(report.finish())
}

fn is_last(cycle: u64, cycles: u64) -> bool {
    cycle + 1 == cycles || (cycle + 1).is_multiple_of(CYCLES_PER_FILE)
}

/// Starts the processes, kills them, and collects their output. Returns the number of kills that
/// hit a running process.
fn kill_some(
    file: &Path,
    cycle: u64,
    rng: &mut Rng,
    acks: &mut AckLog,
    report: &mut Report,
) -> Result<u64, FaultsError> {
    let mut processes = Vec::new();
    for number in 0..PROCESSES {
        processes.push(start(file, cycle, number)?);
    }
    // A new file is also hit while it is being created.
    let is_new = cycle.is_multiple_of(CYCLES_PER_FILE);
    let delay = if is_new { KILL_DELAY_NEW_MILLIS } else { KILL_DELAY_MILLIS };
    thread::sleep(Duration::from_millis(rng.below(delay)));
    // One is killed first; the others may continue for a while, or are killed with it.
    let first = usize::try_from(rng.below(PROCESSES)).unwrap_or(0);
    processes.swap(0, first);
    let alone = Duration::from_millis(if rng.percent(50) { rng.below(40) } else { 0 });
    let mut kills = 0;
    for (index, (child, _)) in processes.iter_mut().enumerate() {
        kills += u64::from(kill(child)?);
        if index == 0 {
            thread::sleep(alone);
        }
    }
    for (_, said) in &processes {
        for line in ack_log::read(said)? {
            acks.add(&line);
            // The death of one process is not an error of another.
            if let Line::Failed(failed) = line {
                report.broken(format!("cycle {cycle}: {failed:?}"));
            }
        }
    }
    Ok(kills)
}

fn start(file: &Path, cycle: u64, number: u64) -> Result<(Child, PathBuf), FaultsError> {
    // One of the processes redacts.
    let letter = if number == 0 { 'r' } else { 'w' };
    let name = format!("{letter}{cycle}x{number}");
    let task = Task { threads: THREADS, ..Task::new(file, &name) };
    let said = file.with_file_name(format!("said-{name}"));
    Ok((tools::start_into(&mut task.command()?, &said)?, said))
}

/// Returns whether the process was still running.
fn kill(child: &mut Child) -> Result<bool, FaultsError> {
    child.kill().map_err(FaultsError::io("killing a writer"))?;
    let status = child.wait().map_err(FaultsError::io("waiting for a writer"))?;
    Ok(status.signal() == Some(9))
}
