//! `cuts`: power cuts under every command that writes atomically. A command is traced once; the trace gives the
//! possible states of its disk at any moment. Each is judged as after a kill, and the results that the command had
//! reported by then must exist. The control is the same trace without its syncs: the judge must reject it.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::error::FaultsError;
use crate::jobs::{self, Executor, Job, LIMIT, Reported, RunFolder, copy_folder};
use crate::options::Options;
use crate::power;
use crate::power::disk::{Disk, Image, Loss};
use crate::power::trace::{self, Step};
use crate::power::watch::Watch;
use crate::report::Report;
use crate::rng::Rng;
use crate::scratch::{Scratch, put};
use crate::tools;

/// Maximum number of images per step and pass, before removing duplicates.
const PER_STEP_MAX: u64 = 96;
/// Maximum number of traces per judge, for commands with few images.
const TRACES_MAX: u64 = 20;
/// Maximum number of passes over a trace.
const PASSES_MAX: u64 = 4;
/// Number of judges in parallel, each with its own traces.
const JUDGES: u64 = 2;
/// Maximum number of judged images of a control. Judging stops after `BAD_ENOUGH` bad ones.
const CONTROLS: u64 = 60;
const BAD_ENOUGH: usize = 3;

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("cuts", arguments, &["images", "seed", "job"])?;
    let mut report = Report::new("cuts", &mut options)?;
    let (seed, wanted) = (options.seed()?, options.number("images", 1000)?);
    tools::need("strace")?;
    for job in Job::selected(&options)? {
        let template = Scratch::in_memory()?;
        jobs::prepare(job, template.path())?;
        check_job(job, &template, seed, wanted, &mut report)?;
    }
    Ok(report.finish())
}

fn check_job(
    job: Job,
    template: &Scratch,
    seed: u64,
    wanted: u64,
    report: &mut Report,
) -> Result<(), FaultsError> {
    let before = image_of(template.path())?;
    let share = wanted.div_ceil(JUDGES);
    let judged: Vec<Result<Judged, FaultsError>> = thread::scope(|scope| {
        let begin = |number| {
            let input =
                JudgeInput { job, template, before: &before, seed: seed + number * TRACES_MAX };
            scope.spawn(move || input.work(share, number == 0))
        };
        let judges: Vec<_> = (0..JUDGES).map(begin).collect();
        let died = |_| Err(FaultsError::unexpected("a judge panicked"));
        judges.into_iter().map(|judge| judge.join().unwrap_or_else(died)).collect()
    });
    let name = job.name();
    let (mut reported, mut control, mut bad) = (0, 0, Vec::new());
    for judged in judged {
        let judged = judged?;
        report.faults(judged.images);
        report.add(&format!("images of {name}"), judged.images);
        report.add("after success was reported", judged.reported);
        report.add("traces", judged.traces);
        reported += judged.reported;
        control += judged.bad_controls;
        bad.extend(judged.bad);
    }
    // Images after a success come first.
    bad.sort();
    for (what, run) in bad {
        report.broken_at(&format!("{name} {what}"), &run);
    }
    report.add(&format!("bad images of {name} without syncs"), control as u64);
    report.claim(control > 0, format!("{name}: no image of the control is bad"));
    report.claim(
        reported > 0,
        format!("{name}: no image was made after the command reported success"),
    );
    Ok(())
}

fn is_sync(step: &Step) -> bool {
    matches!(step, Step::Sync { .. } | Step::SyncFailed { .. })
}

/// Reads a folder tree into an image.
fn image_of(folder: &Path) -> Result<Image, FaultsError> {
    let mut image = Image::default();
    add_to_image(folder, "", &mut image)?;
    Ok(image)
}

fn add_to_image(folder: &Path, prefix: &str, image: &mut Image) -> Result<(), FaultsError> {
    for found in fs::read_dir(folder).map_err(FaultsError::at(folder))? {
        let path = found.map_err(FaultsError::at(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let inner = format!("{prefix}{name}");
        if path.is_dir() {
            add_to_image(&path, &format!("{inner}/"), image)?;
            image.folders.insert(inner);
        } else if !inner.ends_with("-shm") {
            image.files.insert(inner, fs::read(&path).map_err(FaultsError::at(&path))?);
        }
    }
    Ok(())
}

/// Runs the command under strace in this folder, without a fault.
fn record(job: Job, template: &Scratch, root: &Path) -> Result<Vec<Step>, FaultsError> {
    lay_out(root, &Image::default())?;
    copy_folder(template.path(), root)?;
    let run = RunFolder::new(root);
    let log = run.sibling("trace");
    let mut strace = Command::new(tools::find("strace").ok_or(FaultsError::Missing("strace"))?);
    strace.args(["-f", "-y", "-xx", "-s", power::STRING_BYTES, "-qq", "-e", "signal=none", "-e"]);
    strace.arg(format!("trace={}", trace::CALLS)).arg("-o").arg(&log).arg(tools::own_path()?);
    job.set_up(Executor::Command, root, &mut strace);
    if !tools::run_quietly(&mut strace, &run.said(), LIMIT)? {
        return Err(FaultsError::unexpected(format!("{} under strace failed", job.name())));
    }
    let text = fs::read_to_string(&log).map_err(FaultsError::at(&log))?;
    trace::read(&text, &root.display().to_string())
}

/// The input of one judge.
struct JudgeInput<'d> {
    job: Job,
    template: &'d Scratch,
    before: &'d Image,
    seed: u64,
}

/// A state of the disk and what had been reported by then.
struct Case {
    name: String,
    image: Image,
    reported: Reported,
}

/// Results for some images.
#[derive(Default)]
struct Judged {
    images: u64,
    reported: u64,
    traces: u64,
    /// Problems, and the image of each.
    bad: Vec<(String, String)>,
    bad_controls: usize,
}

impl JudgeInput<'_> {
    /// Judges this many images, of as many traces as necessary.
    fn work(&self, most: u64, has_control: bool) -> Result<Judged, FaultsError> {
        let scratch = Scratch::in_memory()?;
        let root = scratch.folder("run")?;
        // Images are restored at the recorded path: files contain paths, and names are derived from
        // paths.
        let root = root.canonicalize().map_err(FaultsError::at(&root))?;
        let watch = Watch::begin();
        let mut sum = Judged::default();
        while sum.images < most && sum.traces < TRACES_MAX {
            let steps = record(self.job, self.template, &root)?;
            if has_control && sum.traces == 0 {
                let steps: Vec<Step> =
                    steps.iter().filter(|step| !is_sync(step)).cloned().collect();
                let mut control = Judged::default();
                self.cut_all(&steps, 0, CONTROLS, |case| {
                    self.judge(&root, &case, &watch, &mut control)?;
                    Ok(control.bad.len() < BAD_ENOUGH)
                })?;
                sum.bad_controls = control.bad.len();
            }
            self.cut_all(&steps, sum.traces, most - sum.images, |case| {
                let found = sum.bad.len();
                self.judge(&root, &case, &watch, &mut sum)?;
                if found == 0 && !sum.bad.is_empty() {
                    self.keep(&case)?;
                }
                Ok(true)
            })?;
            sum.traces += 1;
        }
        Ok(sum)
    }

    /// Creates at most this many images, spread over the whole trace, while the receiver wants
    /// them.
    fn cut_all(
        &self,
        steps: &[Step],
        trace: u64,
        most: u64,
        mut want: impl FnMut(Case) -> Result<bool, FaultsError>,
    ) -> Result<(), FaultsError> {
        let (mut seen, mut made) = (HashSet::new(), 0);
        let all = steps.len() as u64;
        for pass in 0..PASSES_MAX {
            let mut disk = Disk::holding(self.before);
            let mut reported = Reported::default();
            let missing = most.saturating_sub(made);
            for (number, step) in (0..).zip(steps) {
                disk.step(step);
                self.record_report(step, &mut reported);
                let mut left = share(missing, all, number, reported.is_done && pass == 0);
                for try_number in 0..PER_STEP_MAX {
                    if left == 0 || made >= most {
                        break;
                    }
                    let salt = (pass << 56) ^ (trace << 48) ^ (number << 16) ^ try_number;
                    let loss = Loss::for_attempt(try_number);
                    let image = disk.cut(loss, &mut Rng::new(self.seed ^ salt));
                    let mut hash = DefaultHasher::new();
                    (&image, reported.is_done).hash(&mut hash);
                    if !seen.insert(hash.finish()) {
                        continue;
                    }
                    (left, made) = (left - 1, made + 1);
                    let name = format!("trace {trace}, step {number} of {all}, {loss:?} lost");
                    if !want(Case { name, image, reported: reported.clone() })? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Records what the command reports.
    fn record_report(&self, step: &Step, reported: &mut Reported) {
        match step {
            Step::Said { text, .. } => reported.said.push_str(text),
            Step::EndedWell => reported.is_done = true,
            _ => {}
        }
        let words = self.job.success_text();
        reported.is_done |= words.is_some_and(|words| reported.said.contains(words));
    }

    fn judge(
        &self,
        root: &Path,
        case: &Case,
        watch: &Watch,
        sum: &mut Judged,
    ) -> Result<(), FaultsError> {
        lay_out(root, &case.image)?;
        let name = format!("{} {}", self.job.name(), case.name);
        let found =
            watch.over(&name, || jobs::judge(self.job, Executor::Command, root, &case.reported));
        sum.images += 1;
        sum.reported += u64::from(case.reported.is_done);
        if let Err(error) = found {
            let when = if case.reported.is_done { "after" } else { "before" };
            sum.bad.push((format!("{when} its success: {error}"), case.name.clone()));
        }
        Ok(())
    }

    /// Keeps a bad image for inspection.
    fn keep(&self, case: &Case) -> Result<(), FaultsError> {
        let name = format!("tertulia-faults-cut-{}-{}", self.job.name(), self.seed);
        let folder: PathBuf = std::env::temp_dir().join(name);
        println!("a bad image of {} is kept in {}", case.name, folder.display());
        lay_out(&folder, &case.image)
    }
}

/// Returns the number of images for one of all steps. With fewer images than steps some steps are
/// skipped, but never those after success was reported: they have most to lose.
fn share(missing: u64, all: u64, number: u64, is_done: bool) -> u64 {
    let until = |number: u64| missing * number / all.max(1);
    (until(number + 1) - until(number)).max(u64::from(is_done) * 2)
}

/// Replaces the content of a folder by an image.
fn lay_out(root: &Path, image: &Image) -> Result<(), FaultsError> {
    if root.exists() {
        fs::remove_dir_all(root).map_err(FaultsError::at(root))?;
    }
    let make = |folder: &Path| fs::create_dir_all(folder).map_err(FaultsError::at(folder));
    make(root)?;
    image.folders.iter().try_for_each(|folder| make(&root.join(folder)))?;
    image.files.iter().try_for_each(|(name, bytes)| put(&root.join(name), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_spread_over_all_steps() {
        let sum =
            |missing, all| (0..all).map(|number| share(missing, all, number, false)).sum::<u64>();
        assert_eq!((sum(40, 600), sum(1000, 33), sum(1, 7)), (40, 1000, 1));
        assert_eq!(share(1, 600, 3, true), 2);
    }
}
