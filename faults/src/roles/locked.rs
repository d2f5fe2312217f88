//! `locked`: a process hangs in the middle of a commit and holds the lock of the file, as if it
//! were debugged, frozen or swapped out. Others can read; a writer gets the error that the store is
//! busy, and succeeds once the process continues.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tertulia_store::{Append, Range, SessionId, SessionStore, StoreError};

use crate::ack_log::{self, AckLog, Failed, Line};
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::judge::judge;
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

const READS: u32 = 200;
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("locked", arguments, &["seed"])?;
    let mut report = Report::new("locked", &mut options)?;
    tools::need("strace")?;
    let scratch = Scratch::on_disk()?;
    let file = database(&scratch.folder("store")?);
    // Creates sessions and some entries in an undisturbed process.
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
        check_reads(&store, &mut report)?;
        check_busy(&store, &mut report)?;
    }
    pid.map(|pid| kill_process(pid, Signal::CONT));
    if tools::wait(&mut child, LIMIT)?.is_none() {
        tools::end(&mut child);
        report.broken("the process did not continue");
    }
    let mut acks = AckLog::default();
    acks.add_all(&ack_log::read(&said_before)?);
    acks.add_all(&ack_log::read(&said)?);
    check_append_after_release(&file, &mut acks, &mut report)?;
    Ok(report.finish())
}

/// Waits until the process is stopped; `None` if that never happens.
fn frozen_pid(said: &Path) -> Option<Pid> {
    let mut pid = None;
    let is_stopped_now = tools::until(LIMIT, || {
        let lines = ack_log::read(said).unwrap_or_default();
        let Some(Line::Started(number)) = lines.first() else { return false };
        pid = Some(*number);
        is_stopped(*number)
    });
    let pid = pid.filter(|_| is_stopped_now).and_then(|pid| i32::try_from(pid).ok());
    pid.and_then(Pid::from_raw)
}

/// The state follows the name, which is in parentheses.
fn is_stopped(pid: u32) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    about.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

fn session() -> Result<SessionId, FaultsError> {
    Ok("s0".parse::<SessionId>().map_err(StoreError::from)?)
}

fn check_reads(store: &SessionStore, report: &mut Report) -> Result<(), FaultsError> {
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

/// Checks that a second writer gets an error in time, and nothing of its append is stored.
fn check_busy(store: &SessionStore, report: &mut Report) -> Result<(), FaultsError> {
    let started = Instant::now();
    let answer = store.append(&session()?, Append::new(Batch::new("w2", 0).entries()));
    let seconds = started.elapsed().as_secs();
    report.add("s until busy", seconds);
    report.claim(seconds < 30, format!("a writer got an error after {seconds} s"));
    match answer {
        Ok(_) => report.broken("two processes wrote at the same time"),
        Err(error) => {
            let failed = Failed::from_error("append", &error);
            let is_right = failed.problem == "Busy" && failed.outcome == "not_stored";
            report.claim(is_right && error.is_retryable(), format!("{error:?}"));
        }
    }
    Ok(())
}

/// Retries the append once the lock is free.
fn check_append_after_release(
    file: &Path,
    acks: &mut AckLog,
    report: &mut Report,
) -> Result<(), FaultsError> {
    let store = open(file)?;
    let batch = Batch::new("w2", 0);
    store.append(&session()?, Append::new(batch.entries()))?;
    acks.sessions.entry("s0".to_owned()).or_default().insert(batch);
    report.judged(&judge(&store, acks)?, "afterwards");
    Ok(())
}
