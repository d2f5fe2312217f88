//! `images`: power cuts. A writer is traced once; the trace gives the possible states of its disk
//! at any moment: everything that was synced, and any part of the rest, torn between sectors. Each must
//! open and contain everything that had been acknowledged by then. The control drops the syncs that
//! `synchronous=NORMAL` would not make, and must lose something.

mod control;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tertulia_store::{Append, NewSession, SessionId, SessionStore, StoreError};

use crate::ack_log::{self, AckLog, Line};
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::judge::{Verdict, judge};
use crate::options::Options;
use crate::power;
use crate::power::disk::{Disk, Image, Loss};
use crate::power::trace::{self, Step};
use crate::power::watch::Watch;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::{Scratch, clear, database, open, put};
use crate::tools;
use crate::writer::Task;

/// Number of images per step, before removing duplicates.
const PER_STEP: u64 = 24;
/// Minimum number of traces.
const TRACES_MIN: u64 = 8;
/// Approximate number of syncs in a trace.
const SYNCS: u64 = 12;
/// Number of judging threads.
const JUDGES: usize = 2;
/// Number of judged images of the control.
const CONTROLS: u64 = 500;
/// Every n-th image is also written to, as the next process would.
const WRITTEN_EVERY: u64 = 8;

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("images", arguments, &["images", "seed", "trace"])?;
    let mut report = Report::new("images", &mut options)?;
    let (seed, wanted) = (options.seed()?, options.number("images", 20_000)?);
    tools::need("strace")?;
    if let Some(file) = options.text("trace") {
        judge_trace(&read_log(Path::new(file))?, seed, wanted, Some(file), &mut report)?;
        return Ok(report.finish());
    }
    let (mut made, mut traces) = (0, 0);
    while made < wanted {
        let scratch = Scratch::on_disk()?;
        // In every other trace a sync fails: what it should have saved stays in doubt from then on.
        let fault = (traces % 2 == 1).then(|| 1 + Rng::new(seed + traces).below(SYNCS));
        let log = record(&scratch, seed + traces, fault)?;
        let steps = read_log(&log)?;
        if traces == 0 {
            check_control(&steps, seed, wanted, &mut report)?;
        }
        traces += 1;
        let most = (wanted / TRACES_MIN).max(100).min(wanted - made);
        let kept = std::env::temp_dir().join(format!("tertulia-faults-{seed}-{traces}.trace"));
        let name = kept.display().to_string();
        let judged = judge_trace(&steps, seed + traces, most, Some(&name), &mut report)?;
        if judged.is_bad {
            std::fs::copy(&log, &kept).map_err(FaultsError::at(&kept))?;
        }
        made += judged.images;
    }
    report.add("traces", traces);
    report.claim(report.figure("failed syncs") > 0, "no sync failed");
    Ok(report.finish())
}

/// Number of images of a trace, and whether one of them was bad.
struct Outcome {
    images: u64,
    is_bad: bool,
}

/// Judges the images of a trace.
fn judge_trace(
    steps: &[Step],
    seed: u64,
    most: u64,
    name: Option<&str>,
    report: &mut Report,
) -> Result<Outcome, FaultsError> {
    let failed = steps.iter().filter(|step| matches!(step, Step::SyncFailed { .. })).count();
    report.add("failed syncs", failed as u64);
    let Judged { images, written, sum, bad } = cut_and_judge(steps, seed, most)?;
    if images == 0 {
        return Err(FaultsError::unexpected("a trace produced no image"));
    }
    report.add("images", images);
    report.add("written to", written);
    report.faults(images);
    let is_bad = !bad.is_empty();
    if is_bad {
        let name = name.unwrap_or_default();
        report.broken(format!("{} images; again: --trace {name} --seed {seed}", bad.len()));
    }
    bad.into_iter().for_each(|bad| report.broken(bad));
    report.judged(&sum, "all images of the trace");
    Ok(Outcome { images, is_bad })
}

/// Checks that the harness can detect a loss.
fn check_control(
    steps: &[Step],
    seed: u64,
    wanted: u64,
    report: &mut Report,
) -> Result<(), FaultsError> {
    let steps = control::without_commit_syncs(steps);
    let control = cut_and_judge(&steps, seed, wanted.min(CONTROLS))?;
    report.add("images of the control", control.images);
    report.add("entries lost by the control", control.sum.lost);
    report.claim(
        control.sum.lost > 0,
        "the control lost nothing, so the harness cannot detect a loss",
    );
    Ok(())
}

/// Reads a recorded trace. The folder is that of the store that was opened in it.
fn read_log(log: &Path) -> Result<Vec<Step>, FaultsError> {
    let text = std::fs::read_to_string(log).map_err(FaultsError::at(log))?;
    let folder = trace::folder_of(&text, "/sessions.db");
    let folder = folder.ok_or_else(|| FaultsError::unexpected("the trace opens no store"))?;
    let steps = trace::read(&text, &folder)?;
    for step in &steps {
        if let Step::Said { stream: 1, text } = step
            && text.lines().any(|line| Line::parse(line).is_none())
        {
            return Err(FaultsError::unexpected(format!("the writer said {text:?}")));
        }
    }
    Ok(steps)
}

/// Results for some images.
#[derive(Default)]
struct Judged {
    images: u64,
    written: u64,
    sum: Verdict,
    bad: Vec<String>,
}

/// Runs a writer under strace, with an error at this sync of each of its threads: two threads,
/// redactions, and a store that is closed and reopened.
fn record(scratch: &Scratch, seed: u64, fault: Option<u64>) -> Result<PathBuf, FaultsError> {
    let folder = scratch.folder("store")?;
    let folder = folder.canonicalize().map_err(FaultsError::at(&folder))?;
    let task = Task { threads: 2, batches: 9, phases: 3, ..Task::new(&database(&folder), "r") };
    let task = Task { name: format!("r{seed}"), ..task };
    let (log, said) = (scratch.file("trace"), scratch.file("said"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "-s", power::STRING_BYTES, "-qq", "-e", "signal=none", "-e"]);
    strace.arg(format!("trace={}", trace::CALLS)).arg("-o").arg(&log);
    if let Some(number) = fault {
        strace.arg("-e").arg(format!("inject=fsync,fdatasync:error=EIO:when={number}"));
    }
    strace.arg(tools::own_path()?).arg("writer").args(task.arguments());
    if !tools::run_into(&mut strace, &said, Duration::from_secs(120))? {
        return Err(FaultsError::unexpected("the writer under strace failed"));
    }
    let lines = ack_log::read(&said)?;
    let stored = lines.iter().filter(|line| matches!(line, Line::Stored { .. })).count();
    match (stored, fault) {
        (54, None) | (5.., Some(_)) => Ok(log),
        _ => Err(FaultsError::unexpected(format!("the writer stored {stored} of 54 batches"))),
    }
}

/// A state of the disk and what had been acknowledged by then.
struct Case {
    name: String,
    image: Image,
    acks: AckLog,
    is_written: bool,
}

/// Judges at most this many images of a trace, spread over the whole of it.
fn cut_and_judge(steps: &[Step], seed: u64, most: u64) -> Result<Judged, FaultsError> {
    let sum = Mutex::new(Judged::default());
    let (send, cases) = sync_channel::<Case>(JUDGES);
    let cases = Mutex::new(cases);
    let watch = Watch::begin();
    thread::scope(|scope| {
        let judge = || scope.spawn(|| judge_all(&cases, &sum, &watch));
        let judges: Vec<_> = (0..JUDGES).map(|_| judge()).collect();
        cut_all(steps, seed, most, &send);
        drop(send);
        let died = |_| Err(FaultsError::unexpected("a judge panicked"));
        judges.into_iter().try_for_each(|judge| judge.join().unwrap_or_else(died))
    })?;
    Ok(sum.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn cut_all(steps: &[Step], seed: u64, most: u64, send: &SyncSender<Case>) {
    let (mut disk, mut acks) = (Disk::default(), AckLog::default());
    let (mut seen, mut made) = (HashSet::new(), 0);
    // If few images are requested, fewer are made of each step, and some steps are skipped.
    let all = steps.len() as u64 * PER_STEP;
    for (number, step) in (0..).zip(steps) {
        disk.step(step);
        if let Step::Said { stream: 1, text } = step {
            // The trace was already checked for readability.
            text.lines().filter_map(Line::parse).for_each(|line| acks.add(&line));
        }
        for try_number in 0..PER_STEP {
            let mut rng = Rng::new(seed ^ (number << 16) ^ try_number);
            if most < all / 4 && rng.below(all) >= most * 4 {
                continue;
            }
            let loss = Loss::for_attempt(try_number);
            let image = disk.cut(loss, &mut rng);
            let mut hash = DefaultHasher::new();
            (&image, acks.entries(), acks.made.len()).hash(&mut hash);
            if made >= most || !seen.insert(hash.finish()) {
                continue;
            }
            made += 1;
            let name = format!("step {number}, try {try_number} ({loss:?})");
            let is_written = made % WRITTEN_EVERY == 0;
            if send.send(Case { name, image, acks: acks.clone(), is_written }).is_err() {
                return;
            }
        }
    }
}

fn judge_all(
    cases: &Mutex<Receiver<Case>>,
    sum: &Mutex<Judged>,
    watch: &Watch,
) -> Result<(), FaultsError> {
    let scratch = Scratch::in_memory()?;
    loop {
        let next = cases.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(case) = next else { return Ok(()) };
        lay_out(scratch.path(), &case)?;
        let found = watch.over(&case.name, || judge_one(scratch.path(), &case));
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        sum.images += 1;
        sum.written += u64::from(case.is_written);
        match found {
            Ok(verdict) => {
                sum.sum.entries += verdict.entries;
                sum.sum.acknowledged += verdict.acknowledged;
                sum.sum.lost += verdict.lost;
                sum.sum.half += verdict.half;
                sum.sum.unknown += verdict.unknown;
                if !verdict.is_clean() {
                    sum.bad.push(format!("{}: {verdict:?}", case.name));
                }
            }
            Err(error) => sum.bad.push(format!("{}: {error}", case.name)),
        }
    }
}

/// Writes the files of an image into an empty folder. Shared memory is not on a disk; a leftover
/// file under its name must not matter.
fn lay_out(folder: &Path, case: &Case) -> Result<(), FaultsError> {
    clear(folder)?;
    for (name, bytes) in &case.image.files {
        put(&folder.join(name), bytes)?;
    }
    if case.is_written {
        put(&folder.join("sessions.db-shm"), &[0xa5; 32 << 10])?;
    }
    Ok(())
}

fn judge_one(folder: &Path, case: &Case) -> Result<Verdict, StoreError> {
    let file = database(folder);
    let store = open(&file)?;
    let verdict = judge(&store, &case.acks)?;
    if !case.is_written {
        return Ok(verdict);
    }
    let mut acks = case.acks.clone();
    append_more(&store, &mut acks)?;
    drop(store);
    let after = judge(&open(&file)?, &acks)?;
    Ok(if after.is_clean() { verdict } else { after })
}

/// Appends as the next process would.
fn append_more(store: &SessionStore, acks: &mut AckLog) -> Result<(), StoreError> {
    let id = "next".parse::<SessionId>()?;
    store.create(&NewSession { id: Some(id.clone()) })?;
    for number in 0..3 {
        let batch = Batch::new("next", number);
        store.append(&id, Append::new(batch.entries()))?;
        acks.sessions.entry(id.to_string()).or_default().insert(batch);
    }
    Ok(())
}
