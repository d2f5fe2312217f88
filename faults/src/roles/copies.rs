//! `copies`: kills every command that writes atomically, or lets the disk fail, at each of its
//! calls that change the disk. Afterwards its result is complete or absent, earlier data is
//! unharmed, a retry works, and nothing is left over. The control of each command does the same
//! without protection: the judge must reject it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::FaultsError;
use crate::jobs::{self, Executor, Job, LIMIT, Reported, RunFolder, copy_folder};
use crate::options::Options;
use crate::report::Report;
use crate::scratch::Scratch;
use crate::tools;

/// All calls that change the disk. The command is killed at each of them.
const CHANGES: [&str; 15] = [
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "ftruncate",
    "fallocate",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
];
/// Calls that need disk space. A full disk stays full.
const NEED_ROOM: [&str; 4] = ["pwrite64", "write", "fallocate", "mkdir"];
const KILL: &str = "signal=SIGKILL";
/// Number of fault kinds tested in parallel.
const AT_A_TIME: usize = 2;
/// Maximum number of passes over all calls if a command was not killed at all of them.
const ROUNDS_MAX: u32 = 4;
/// Number of killed runs per control and call name.
const CONTROLS: usize = 6;

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("copies", arguments, &["stride", "seed", "job"])?;
    let mut report = Report::new("copies", &mut options)?;
    let stride = usize::try_from(options.number("stride", 1)?.max(1)).unwrap_or(1);
    tools::need("strace")?;
    for job in Job::selected(&options)? {
        let template = Scratch::in_memory()?;
        jobs::prepare(job, template.path())?;
        check_job(job, &template, stride, &mut report)?;
        check_control(job, &template, &mut report)?;
    }
    Ok(report.finish())
}

/// A fault: at which call of which kind, and whether it persists.
#[derive(Clone, Debug)]
struct Fault {
    call: &'static str,
    what: &'static str,
    number: u64,
    stays: &'static str,
}

impl Fault {
    fn shown(&self) -> String {
        let Self { call, what, number, stays } = self;
        format!("{call}:{what}:when={number}{stays}")
    }

    fn kills(&self) -> bool {
        self.what == KILL
    }
}

/// Returns every fault at every n-th call of a run. Strace counts calls per name and thread, so
/// each name is handled separately.
fn faults(calls: &BTreeMap<&'static str, u64>, stride: usize) -> Vec<Fault> {
    let at_all = |what: &'static str, stays: &'static str| {
        let needs_room = move |call: &str| stays.is_empty() || NEED_ROOM.contains(&call);
        let calls = calls.iter().filter(move |(call, _)| needs_room(call));
        let each = calls.flat_map(|(call, count)| (1..=*count).map(move |number| (*call, number)));
        each.step_by(stride).map(move |(call, number)| Fault { call, what, number, stays })
    };
    let errors = at_all("error=EIO", "").chain(at_all("error=ENOSPC", "+"));
    at_all(KILL, "").chain(errors).collect()
}

/// Result of one run.
struct One {
    reported: Reported,
    /// Number of calls before the fault, and whether it occurred.
    calls: usize,
    has_fault: bool,
    log: String,
}

fn one_run(
    job: Job,
    executor: Executor,
    scratch: &Scratch,
    fault: Option<&Fault>,
) -> Result<One, FaultsError> {
    let root = scratch.file("run");
    let run = RunFolder::new(&root);
    let log = run.sibling("trace");
    let mut strace = Command::new(tools::find("strace").ok_or(FaultsError::Missing("strace"))?);
    let calls = format!("trace={}", CHANGES.join(","));
    strace.args(["-f", "-qq", "-e", "signal=none", "-e", &calls]).arg("-o").arg(&log);
    if let Some(fault) = fault {
        strace.arg("-e").arg(format!("inject={}", fault.shown()));
    }
    strace.arg(tools::own_path()?);
    job.set_up(executor, &root, &mut strace);
    let is_done = tools::run_quietly(&mut strace, &run.said(), LIMIT)?;
    let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (log, said) = (read(&log).map_err(FaultsError::at(&log))?, read(&run.said()));
    let is_injected = log.contains("(INJECTED)");
    // A killed process did not succeed, and its trace does not say why.
    let is_killed = fault.is_some_and(Fault::kills) && !is_done;
    let reported = Reported { is_done, said: said.unwrap_or_default() };
    Ok(One { reported, calls: log.lines().count(), has_fault: is_injected || is_killed, log })
}

/// Copies the input of the job.
fn fresh(template: &Scratch) -> Result<Scratch, FaultsError> {
    let scratch = Scratch::in_memory()?;
    copy_folder(template.path(), &scratch.file("run"))?;
    Ok(scratch)
}

/// Returns how often a run without faults makes each call, in the thread that makes it most often.
fn count_calls(
    job: Job,
    executor: Executor,
    template: &Scratch,
) -> Result<(BTreeMap<&'static str, u64>, usize), FaultsError> {
    let scratch = fresh(template)?;
    let one = one_run(job, executor, &scratch, None)?;
    if !one.reported.is_done {
        let what = format!("{} fails without a fault: {}", job.name(), one.reported.said);
        return Err(FaultsError::unexpected(what));
    }
    jobs::judge(job, executor, &scratch.file("run"), &one.reported)?;
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in one.log.lines() {
        let mut words = line.splitn(2, ' ');
        let (Some(thread), Some(rest)) = (words.next(), words.next()) else { continue };
        if let Some((call, _)) = rest.trim_start().split_once('(') {
            *counts.entry((thread, call)).or_default() += 1;
        }
    }
    let mut calls = BTreeMap::new();
    for ((_, name), count) in counts {
        if let Some(call) = CHANGES.iter().find(|call| **call == name) {
            let most = calls.entry(*call).or_insert(0);
            *most = count.max(*most);
        }
    }
    Ok((calls, one.calls))
}

/// Counts for a job.
#[derive(Default)]
struct Counted {
    kills: u64,
    errors: u64,
    /// Number of positions in the order of all calls at which it was killed.
    places: BTreeSet<usize>,
    there: u64,
    /// Problems, and the fault of each.
    broken: Vec<(String, String)>,
}

fn check_job(
    job: Job,
    template: &Scratch,
    stride: usize,
    report: &mut Report,
) -> Result<(), FaultsError> {
    let (calls, all) = count_calls(job, Executor::Command, template)?;
    let counted = Mutex::new(Counted::default());
    let faults = faults(&calls, stride);
    check_faults(job, template, &faults, &counted)?;
    if stride == 1 {
        // The threads of a command interleave differently each time, and strace counts each
        // separately.
        let kills: Vec<Fault> = faults.into_iter().filter(Fault::kills).collect();
        for _ in 1..ROUNDS_MAX {
            if lock(&counted).places.len() < all {
                check_faults(job, template, &kills, &counted)?;
            }
        }
    }
    let counted = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
    let Counted { kills, errors, places, there, broken } = counted;
    let name = job.name();
    report.faults(kills + errors);
    report.add(&format!("kills of {name}"), kills);
    report.add(&format!("errors of {name}"), errors);
    report.add("calls that change the disk", all as u64);
    report.add("of them killed at", places.len() as u64);
    report.add("complete results", there);
    report.claim(kills > 0 && errors > 0, format!("{name}: {kills} kills and {errors} errors"));
    for (what, run) in broken {
        report.broken_at(&format!("{name}: {what}"), &run);
    }
    Ok(())
}

/// Tries each of these faults.
fn check_faults(
    job: Job,
    template: &Scratch,
    faults: &[Fault],
    counted: &Mutex<Counted>,
) -> Result<(), FaultsError> {
    let faults = Mutex::new(faults.iter());
    thread::scope(|scope| {
        let work = || {
            loop {
                let next = lock(&faults).next();
                let Some(fault) = next else { return Ok(()) };
                check_fault(job, template, fault, counted)?;
            }
        };
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let died = |_| Err(FaultsError::unexpected("a thread panicked"));
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(died))
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn check_fault(
    job: Job,
    template: &Scratch,
    fault: &Fault,
    counted: &Mutex<Counted>,
) -> Result<(), FaultsError> {
    let scratch = fresh(template)?;
    let one = one_run(job, Executor::Command, &scratch, Some(fault))?;
    let judged = jobs::judge(job, Executor::Command, &scratch.file("run"), &one.reported);
    let mut counted = lock(counted);
    if one.has_fault && fault.kills() {
        counted.kills += 1;
        counted.places.insert(one.calls);
    } else {
        counted.errors += u64::from(one.has_fault);
    }
    match judged {
        Ok(is_there) => counted.there += u64::from(is_there && one.has_fault),
        Err(error) => counted.broken.push((error.to_string(), fault.shown())),
    }
    Ok(())
}

/// Kills the control; the judge must reject it at least once.
fn check_control(job: Job, template: &Scratch, report: &mut Report) -> Result<(), FaultsError> {
    let (calls, _) = count_calls(job, Executor::Naive, template)?;
    let mut objections = 0;
    let spread = |(call, count): (&&'static str, &u64)| {
        let (call, count) = (*call, *count);
        let stride = usize::try_from(count).unwrap_or(1).div_ceil(CONTROLS);
        let kill = move |number| Fault { call, what: KILL, number, stays: "" };
        (1..=count).step_by(stride).map(kill)
    };
    for fault in &calls.iter().flat_map(spread).collect::<Vec<_>>() {
        let scratch = fresh(template)?;
        let one = one_run(job, Executor::Naive, &scratch, Some(fault))?;
        let judged = jobs::judge(job, Executor::Naive, &scratch.file("run"), &one.reported);
        objections += u64::from(one.has_fault && judged.is_err());
    }
    let name = job.name();
    report.add(&format!("rejections of the control of {name}"), objections);
    report.claim(objections > 0, format!("the judge does not reject the control of {name}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_fault_is_at_every_call_and_with_a_stride_at_some() {
        let calls = BTreeMap::from([("fsync", 2), ("write", 3)]);
        assert_eq!(faults(&calls, 1).len(), 5 + 5 + 3);
        let kinds: BTreeSet<&str> = faults(&calls, 60).iter().map(|fault| fault.what).collect();
        assert_eq!(kinds.len(), 3);
    }
}
