//! `kills`: four processes append to one file, and SIGKILL takes one or all of them at any moment, the
//! making of the file included. After every cycle the file is opened and judged; then the next cycle
//! goes on with it.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::Duration;

use crate::chance::Chance;
use crate::error::FaultsError;
use crate::judge::judge;
use crate::ledger::{self, Ledger, Line};
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

const PROCESSES: u64 = 4;
const THREADS: u64 = 2;
/// So many cycles use one file. Judging takes longer the more there is in it.
const CYCLES_PER_FILE: u64 = 25;
/// The longest time that the processes are left alone.
const PEACE_MILLIS: u64 = 120;
const PEACE_NEW_MILLIS: u64 = 40;

/// Carries out the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("kills", arguments, &["kills", "seed"])?;
    let mut report = Report::new("kills", &mut options)?;
    let mut chance = Chance::new(options.seed()?);
    let cycles = options.number("kills", 500)?;
    let mut place = None;
    for cycle in 0..cycles {
        if cycle.is_multiple_of(CYCLES_PER_FILE) {
            place = Some((Scratch::on_disk()?, Ledger::default()));
        }
        let Some((scratch, ledger)) = &mut place else { break };
        let file = database(scratch.path());
        let kills = kill_some(&file, cycle, &mut chance, ledger, &mut report)?;
        report.faults(kills);
        report.add("cycles", 1);
        let place = format!("cycle {cycle}");
        match open(&file).and_then(|store| judge(&store, ledger)) {
            // The file holds what earlier cycles wrote: its figures count when it is left.
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

/// Starts the processes, kills them, and takes in what they said. Gives the number of kills that met a
/// living process.
fn kill_some(
    file: &Path,
    cycle: u64,
    chance: &mut Chance,
    ledger: &mut Ledger,
    report: &mut Report,
) -> Result<u64, FaultsError> {
    let mut processes = Vec::new();
    for number in 0..PROCESSES {
        processes.push(start(file, cycle, number)?);
    }
    // A new file is also met while it is being made.
    let is_new = cycle.is_multiple_of(CYCLES_PER_FILE);
    let peace = if is_new { PEACE_NEW_MILLIS } else { PEACE_MILLIS };
    thread::sleep(Duration::from_millis(chance.below(peace)));
    // One goes first; the others may go on for a while, or go with it.
    let first = usize::try_from(chance.below(PROCESSES)).unwrap_or(0);
    processes.swap(0, first);
    let alone = Duration::from_millis(if chance.percent(50) { chance.below(40) } else { 0 });
    let mut kills = 0;
    for (index, (child, _)) in processes.iter_mut().enumerate() {
        kills += u64::from(kill(child)?);
        if index == 0 {
            thread::sleep(alone);
        }
    }
    for (_, said) in &processes {
        for line in ledger::read(said)? {
            ledger.add(&line);
            // The death of one process is no error of another one.
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

/// Whether the process lived until then.
fn kill(child: &mut Child) -> Result<bool, FaultsError> {
    child.kill().map_err(FaultsError::io("killing a writer"))?;
    let status = child.wait().map_err(FaultsError::io("waiting for a writer"))?;
    Ok(status.signal() == Some(9))
}
