//! `locked`: a process stands still in the middle of a commit and holds the lock of the file, as one
//! that is debugged, frozen or swapped out. Others read on; whoever writes is told that the store is
//! busy, and gets in once the process goes on.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tertulia_store::{Append, Range, SessionId, SessionStore, StoreError};

use crate::batch::Batch;
use crate::error::FaultsError;
use crate::judge::judge;
use crate::ledger::{self, Failed, Ledger, Line};
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

const READS: u32 = 200;
const LIMIT: Duration = Duration::from_secs(60);

/// Carries out the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("locked", arguments, &["seed"])?;
    let mut report = Report::new("locked", &mut options)?;
    tools::need("strace")?;
    let scratch = Scratch::on_disk()?;
    let file = database(&scratch.folder("store")?);
    // Sessions and some entries, from a process that is left alone.
    let before = Task { batches: 20, ..Task::new(&file, "w0") };
    let said_before = scratch.file("said-before");
    tools::run_into(&mut before.command()?, &said_before, LIMIT)?;
    let frozen = Task { batches: 6, ..Task::new(&file, "w1") };
    let said = scratch.file("said");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(scratch.file("trace"));
    strace.args(["-e", "trace=pwrite64", "-e", "inject=pwrite64:signal=SIGSTOP:when=6", "-P"]);
    strace.arg(format!("{}-wal", file.display()));
    strace.arg(tools::own_path()?).arg("writer").args(frozen.arguments());
    let mut child = tools::start_into(&mut strace, &said)?;
    let pid = frozen_pid(&said);
    if pid.is_some() {
        report.faults(1);
        let store = open(&file)?;
        read_on(&store, &mut report)?;
        be_told(&store, &mut report)?;
    }
    pid.map(|pid| kill_process(pid, Signal::CONT));
    if tools::wait(&mut child, LIMIT)?.is_none() {
        tools::end(&mut child);
        report.broken("the process did not go on");
    }
    let mut ledger = Ledger::default();
    ledger.add_all(&ledger::read(&said_before)?);
    ledger.add_all(&ledger::read(&said)?);
    get_in(&file, &mut ledger, &mut report)?;
    Ok(report.finish())
}

/// Waits until the process stands still; nothing if it never does.
fn frozen_pid(said: &Path) -> Option<Pid> {
    let mut pid = None;
    let stands = tools::until(LIMIT, || {
        let lines = ledger::read(said).unwrap_or_default();
        let Some(Line::Runs(number)) = lines.first() else { return false };
        pid = Some(*number);
        is_stopped(*number)
    });
    let pid = pid.filter(|_| stands).and_then(|pid| i32::try_from(pid).ok());
    pid.and_then(Pid::from_raw)
}

/// The state stands behind the name, which is in parentheses.
fn is_stopped(pid: u32) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    about.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

fn session() -> Result<SessionId, FaultsError> {
    Ok("s0".parse::<SessionId>().map_err(StoreError::from)?)
}

fn read_on(store: &SessionStore, report: &mut Report) -> Result<(), FaultsError> {
    let session = session()?;
    let mut slowest = Duration::ZERO;
    for _ in 0..READS {
        let started = Instant::now();
        let log = store.load(&session, &Range::All)?;
        slowest = slowest.max(started.elapsed());
        report.claim(!log.is_empty(), "nothing can be read");
    }
    report.add("reads meanwhile", u64::from(READS));
    report.add("ms for the slowest", u64::try_from(slowest.as_millis()).unwrap_or(u64::MAX));
    Ok(())
}

/// A second writer is told, in time, that nothing of its append is stored.
fn be_told(store: &SessionStore, report: &mut Report) -> Result<(), FaultsError> {
    let started = Instant::now();
    let answer = store.append(&session()?, Append::new(Batch::new("w2", 0).entries()));
    let seconds = started.elapsed().as_secs();
    report.add("s until busy", seconds);
    report.claim(seconds < 30, format!("a writer was told after {seconds} s"));
    match answer {
        Ok(_) => report.broken("two processes wrote at the same time"),
        Err(error) => {
            let failed = Failed::of("append", &error);
            let is_right = failed.problem == "Busy" && failed.outcome == "not_stored";
            report.claim(is_right && error.is_retryable(), format!("{error:?}"));
        }
    }
    Ok(())
}

/// The same append, once the lock is free.
fn get_in(file: &Path, ledger: &mut Ledger, report: &mut Report) -> Result<(), FaultsError> {
    let store = open(file)?;
    let batch = Batch::new("w2", 0);
    store.append(&session()?, Append::new(batch.entries()))?;
    ledger.sessions.entry("s0".to_owned()).or_default().insert(batch);
    report.judged(&judge(&store, ledger)?, "afterwards");
    Ok(())
}
