//! `cuts`: power cuts under every command that writes something as a whole. A command is traced once; from
//! the trace come the states in which its disk may be left at any moment. Each is judged as after a kill,
//! and what the command had reported by then must be there. The control is the same trace without its
//! syncs: the judge must object to it.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::chance::Chance;
use crate::error::FaultsError;
use crate::jobs::{self, How, Job, LIMIT, Place, Told, copy_folder};
use crate::options::Options;
use crate::power;
use crate::power::disk::{Disk, Image, Loss};
use crate::power::trace::{self, Step};
use crate::power::watch::Watch;
use crate::report::Report;
use crate::scratch::{Scratch, put};
use crate::tools;

/// At most so many images are tried at one moment of a trace in one pass, before equal ones are left out.
const PER_STEP_MAX: u64 = 96;
/// So many traces are made of a command whose images are few, by each judge.
const TRACES_MAX: u64 = 20;
/// How often a trace is gone through.
const PASSES_MAX: u64 = 4;
/// How many judges work at a time, each with traces of its own.
const JUDGES: u64 = 2;
/// How many images of a control are judged at most. They are judged until so many are bad.
const CONTROLS: u64 = 60;
const BAD_ENOUGH: usize = 3;

/// Carries out the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("cuts", arguments, &["images", "seed", "job"])?;
    let mut report = Report::new("cuts", &mut options)?;
    let (seed, wanted) = (options.seed()?, options.number("images", 1000)?);
    tools::need("strace")?;
    for job in Job::wanted(&options)? {
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
            let desk = Desk { job, template, before: &before, seed: seed + number * TRACES_MAX };
            scope.spawn(move || desk.work(share, number == 0))
        };
        let judges: Vec<_> = (0..JUDGES).map(begin).collect();
        let died = |_| Err(FaultsError::unfit("a judge died"));
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
    // Those after a success come first.
    bad.sort();
    for (what, place) in bad {
        report.broken_at(&format!("{name} {what}"), &place);
    }
    report.add(&format!("bad images of {name} without syncs"), control as u64);
    report.claim(control > 0, format!("{name}: no image is bad without syncs"));
    report.claim(reported > 0, format!("{name}: no image is later than its success"));
    Ok(())
}

fn is_sync(step: &Step) -> bool {
    matches!(step, Step::Sync { .. } | Step::SyncFailed { .. })
}

/// The files of a folder and of those in it.
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
    let place = Place::new(root);
    let log = place.beside("trace");
    let mut strace = Command::new(tools::find("strace").ok_or(FaultsError::Missing("strace"))?);
    strace.args(["-f", "-y", "-xx", "-s", power::STRING_BYTES, "-qq", "-e", "signal=none", "-e"]);
    strace.arg(format!("trace={}", trace::CALLS)).arg("-o").arg(&log).arg(tools::own_path()?);
    job.set_up(How::Command, root, &mut strace);
    if !tools::run_quietly(&mut strace, &place.said(), LIMIT)? {
        return Err(FaultsError::unfit(format!("{} under strace did not end well", job.name())));
    }
    let text = fs::read_to_string(&log).map_err(FaultsError::at(&log))?;
    trace::read(&text, &root.display().to_string())
}

/// What one judge works with.
struct Desk<'d> {
    job: Job,
    template: &'d Scratch,
    before: &'d Image,
    seed: u64,
}

/// A state of the disk and what had been reported by then.
struct Case {
    name: String,
    image: Image,
    told: Told,
}

/// What became of some images.
#[derive(Default)]
struct Judged {
    images: u64,
    reported: u64,
    traces: u64,
    /// What was wrong, and with which image.
    bad: Vec<(String, String)>,
    bad_controls: usize,
}

impl Desk<'_> {
    /// Judges so many images, of as many traces as that takes.
    fn work(&self, most: u64, has_control: bool) -> Result<Judged, FaultsError> {
        let scratch = Scratch::in_memory()?;
        let root = scratch.folder("run")?;
        // Images are laid out where they were recorded: files hold paths, and names are made of paths.
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

    /// Makes images of a trace, at most so many, spread over all of it, as long as somebody wants them.
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
            let mut told = Told::default();
            let missing = most.saturating_sub(made);
            for (number, step) in (0..).zip(steps) {
                disk.step(step);
                self.hear(step, &mut told);
                let mut left = share(missing, all, number, told.is_done && pass == 0);
                for try_number in 0..PER_STEP_MAX {
                    if left == 0 || made >= most {
                        break;
                    }
                    let salt = (pass << 56) ^ (trace << 48) ^ (number << 16) ^ try_number;
                    let loss = Loss::of_try(try_number);
                    let image = disk.cut(loss, &mut Chance::new(self.seed ^ salt));
                    let mut hash = DefaultHasher::new();
                    (&image, told.is_done).hash(&mut hash);
                    if !seen.insert(hash.finish()) {
                        continue;
                    }
                    (left, made) = (left - 1, made + 1);
                    let name = format!("trace {trace}, step {number} of {all}, {loss:?} lost");
                    if !want(Case { name, image, told: told.clone() })? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// What the command reports.
    fn hear(&self, step: &Step, told: &mut Told) {
        match step {
            Step::Said { text, .. } => told.said.push_str(text),
            Step::EndedWell => told.is_done = true,
            _ => {}
        }
        let words = self.job.words_at_end();
        told.is_done |= words.is_some_and(|words| told.said.contains(words));
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
        let found = watch.over(&name, || jobs::judge(self.job, How::Command, root, &case.told));
        sum.images += 1;
        sum.reported += u64::from(case.told.is_done);
        if let Err(error) = found {
            let when = if case.told.is_done { "after" } else { "before" };
            sum.bad.push((format!("{when} its success: {error}"), case.name.clone()));
        }
        Ok(())
    }

    /// Keeps a bad image, so that it can be looked at.
    fn keep(&self, case: &Case) -> Result<(), FaultsError> {
        let name = format!("tertulia-faults-cut-{}-{}", self.job.name(), self.seed);
        let folder: PathBuf = std::env::temp_dir().join(name);
        println!("a bad image of {} is kept in {}", case.name, folder.display());
        lay_out(&folder, &case.image)
    }
}

/// How many images are made at one of all steps. With fewer images than steps some steps are passed over,
/// but never those after success was reported: there is most to be kept.
fn share(missing: u64, all: u64, number: u64, is_done: bool) -> u64 {
    let until = |number: u64| missing * number / all.max(1);
    (until(number + 1) - until(number)).max(u64::from(is_done) * 2)
}

/// Puts the files of an image into a folder, in the place of what is there.
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
