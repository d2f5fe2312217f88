//! `errors`: disk errors. Strace makes the n-th call of a kind fail, once or from then on, for n =
//! 1, 2, 3 … until a run has no fault. Acknowledged entries must be stored, every error must state
//! the outcome of the append, a store whose disk failed accepts nothing until it is reopened, and a
//! retry with the same ids stores everything once.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::ack_log::{self, AckLog, Failed, Line};
use crate::error::FaultsError;
use crate::judge::judge;
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

/// SQLite calls one of the two, depending on how it was built.
const SYNC: &str = "fsync,fdatasync";
/// The failing calls and their errors. A write that returns 0 has written nothing, as on a full
/// disk; a short write simulated by strace would be wrong, because nothing of it would be on disk.
const FAULTS: [(&str, &str); 8] = [
    (SYNC, "error=EIO"),
    ("pwrite64", "error=EIO"),
    ("pwrite64", "error=ENOSPC"),
    ("pwrite64", "retval=0"),
    ("ftruncate", "error=EIO"),
    ("unlink", "error=EIO"),
    ("pread64", "error=EIO"),
    (SYNC, "error=ENOSPC"),
];
/// Number of fault kinds tested in parallel.
const AT_A_TIME: usize = 2;
const BATCHES: u64 = 7;
const PHASES: u64 = 2;
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("errors", arguments, &["stride", "seed"])?;
    let report = Mutex::new(Report::new("errors", &mut options)?);
    let (seed, stride) = (options.seed()?, options.number("stride", 1)?.max(1));
    tools::need("strace")?;
    let once = FAULTS.iter().map(|fault| (*fault, ""));
    let lasting = FAULTS.iter().map(|fault| (*fault, "+"));
    let kinds: Mutex<Vec<_>> = Mutex::new(once.chain(lasting).collect());
    thread::scope(|scope| {
        let work = || {
            loop {
                let next = kinds.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let Some(((call, fault), lasting)) = next else { return Ok(()) };
                let kind = Kind { call, fault, lasting };
                every_call(&kind, seed, stride, &report)?;
            }
        };
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let died = |_| Err(FaultsError::unexpected("a thread panicked"));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(died))
    })?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner).finish())
}

/// A kind of fault.
struct Kind {
    call: &'static str,
    fault: &'static str,
    /// `+` if it persists.
    lasting: &'static str,
}

/// Makes the first call fail, then the second, and so on, until none is left.
fn every_call(
    kind: &Kind,
    seed: u64,
    stride: u64,
    report: &Mutex<Report>,
) -> Result<(), FaultsError> {
    let mut number = 1;
    loop {
        let Kind { call, fault, lasting } = kind;
        let when = format!("{call}:{fault}:when={number}{lasting}");
        let run = one_run(kind.call, &when, seed)?;
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        if run.faults == 0 {
            report.claim(number > 1, format!("{when}: no fault of this kind occurred"));
            return Ok(());
        }
        report.faults(run.faults);
        report.add("runs", 1);
        report.add("errors with outcome unknown", run.unknown);
        report.add("errors with outcome not_stored", run.not_stored);
        run.verdict.iter().for_each(|verdict| report.judged(verdict, &when));
        run.broken.into_iter().for_each(|what| report.broken(format!("{when}: {what}")));
        number += stride;
    }
}

/// Result of one run.
#[derive(Default)]
struct Run {
    faults: u64,
    unknown: u64,
    not_stored: u64,
    verdict: Option<crate::judge::Verdict>,
    broken: Vec<String>,
}

fn one_run(call: &str, when: &str, seed: u64) -> Result<Run, FaultsError> {
    let scratch = Scratch::on_disk()?;
    let file = database(&scratch.folder("store")?);
    let name = format!("r{seed}");
    let task = Task { batches: BATCHES, phases: PHASES, ..Task::new(&file, &name) };
    let (log, said) = (scratch.file("trace"), scratch.file("said"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "signal=none", "-e", &format!("trace={call}"), "-e"]);
    strace.arg(format!("inject={when}")).arg("-o").arg(&log);
    // Only calls on the store fail, not the start of the program.
    for suffix in ["", "-wal", "-shm", "-journal"] {
        strace.arg("-P").arg(format!("{}{suffix}", file.display()));
    }
    strace.arg("-P").arg(file.parent().unwrap_or(&file));
    strace.arg(tools::own_path()?).arg("writer").args(task.arguments());
    let mut run = Run::default();
    if !tools::run_into(&mut strace, &said, LIMIT)? {
        run.broken.push("the writer did not finish".to_owned());
    }
    let log = std::fs::read_to_string(&log).map_err(FaultsError::at(&log))?;
    run.faults = log.lines().filter(|line| line.contains("(INJECTED)")).count() as u64;
    if run.faults == 0 {
        return Ok(run);
    }
    let lines = ack_log::read(&said)?;
    check_lines(&lines, &mut run);
    let mut acks = AckLog::default();
    acks.add_all(&lines);
    match open(&file).and_then(|store| judge(&store, &acks)) {
        Ok(verdict) => run.verdict = Some(verdict),
        Err(error) => run.broken.push(format!("it cannot be opened afterwards: {error}")),
    }
    try_again(&task, &file, &scratch, &mut run)?;
    Ok(run)
}

/// Checks that every error is typed and names a fix, and that a stopped store stays stopped until
/// it is reopened.
fn check_lines(lines: &[Line], run: &mut Run) {
    let mut is_stopped = false;
    for line in lines {
        match line {
            Line::Stored { batch, .. } if is_stopped => {
                run.broken.push(format!("{batch:?} was accepted by a store that had stopped"));
            }
            Line::Phase | Line::Reopened => is_stopped = false,
            Line::Failed(failed) => {
                is_stopped |= failed.is_stopped() && failed.call == "append";
                run.unknown += u64::from(failed.outcome == "unknown");
                run.not_stored += u64::from(failed.outcome == "not_stored");
                run.broken.extend(complaint(failed));
            }
            Line::Started(_) | Line::Created(_) | Line::Stored { .. } | Line::Done => {}
        }
    }
}

/// Returns the problem of an error.
fn complaint(failed: &Failed) -> Option<String> {
    let Failed { call, code, problem, message, .. } = failed;
    let is_known = match code.as_str() {
        "SessionWriteFailed" | "SessionReadFailed" => problem != "Database",
        // For a session that could not be created.
        "SessionNotFound" => call == "append",
        "SessionMigrationFailed" => true,
        _ => false,
    };
    (!is_known).then(|| format!("{call}: {code}, {problem}: {message}"))
}

/// Retries the same batches in a process without faults: all of them are then stored once.
fn try_again(
    task: &Task,
    file: &Path,
    scratch: &Scratch,
    run: &mut Run,
) -> Result<(), FaultsError> {
    let said = scratch.file("said-again");
    let ended = tools::run_into(&mut task.command()?, &said, LIMIT)?;
    let lines = ack_log::read(&said)?;
    let mut acks = AckLog::default();
    acks.add_all(&lines);
    let stored = acks.sessions.values().map(|batches| batches.len() as u64).sum::<u64>();
    if !ended || stored != BATCHES * PHASES {
        let failed: Vec<_> = lines.iter().filter(|line| matches!(line, Line::Failed(_))).collect();
        run.broken
            .push(format!("only {stored} of {} batches were stored: {failed:?}", BATCHES * PHASES));
    }
    match open(file).and_then(|store| judge(&store, &acks)) {
        Ok(verdict) if verdict.is_clean() && verdict.unknown == 0 => {}
        Ok(verdict) => run.broken.push(format!("after trying again: {verdict:?}")),
        Err(error) => run.broken.push(format!("after trying again: {error}")),
    }
    Ok(())
}
