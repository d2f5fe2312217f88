//! `cargo xtask soak`: runs the whole test suite many times on a busy machine, to find tests that fail sometimes.
//! The runs, the load and the time have limits; the output of a failed run is kept.

mod load;
mod outcome;

use crate::command::UsageError;
use crate::process::{self, ProcessError};
use crate::provide::{ProvideError, Provided};
use crate::workspace::Workspace;
use load::Load;
use outcome::Outcome;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const RUNS_DEFAULT: u32 = 30;
const MINUTES_DEFAULT: u32 = 240;

/// The number of runs, and the load of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    runs: u32,
    /// Number of busy loops; the default is twice the number of cores.
    load: Option<u32>,
    /// No run starts after this time.
    minutes: u32,
    /// The packages whose tests are run; all if empty.
    packages: Vec<String>,
}

impl Options {
    /// Reads `[--runs N] [--load N] [--minutes N] [--package P]...`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut options =
            Self { runs: RUNS_DEFAULT, load: None, minutes: MINUTES_DEFAULT, packages: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--runs" => options.runs = number("--runs", arguments.next(), 1)?,
                "--load" => options.load = Some(number("--load", arguments.next(), 0)?),
                "--minutes" => options.minutes = number("--minutes", arguments.next(), 1)?,
                "--package" | "-p" => {
                    let missing = UsageError::MissingValue { option: "--package" };
                    options.packages.push(arguments.next().ok_or(missing)?.clone());
                }
                _ => {
                    let argument = argument.clone();
                    return Err(UsageError::UnexpectedArgument { command: "soak", argument });
                }
            }
        }
        Ok(options)
    }

    fn scope(&self) -> Vec<String> {
        match self.packages.is_empty() {
            true => vec!["--workspace".to_owned()],
            false => self.packages.iter().flat_map(|it| ["-p".to_owned(), it.clone()]).collect(),
        }
    }
}

fn number(option: &'static str, value: Option<&String>, min: u32) -> Result<u32, UsageError> {
    let value = value.ok_or(UsageError::MissingValue { option })?;
    let parsed = value.parse().ok().filter(|number| *number >= min);
    let wanted = "a whole number";
    parsed.ok_or_else(|| UsageError::BadValue { option, value: value.clone(), wanted })
}

/// An error of the runs, or a list of those that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SoakError {
    #[error(transparent)]
    Provide(#[from] ProvideError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("{path} cannot be written or read; check its permissions and the free disk space")]
    Files {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{failures} of {runs} runs failed; their output is in {folder}")]
    Failures { failures: u32, runs: u32, folder: PathBuf },
    #[error("the time is up after {runs} of {wanted} runs; allow more with --minutes")]
    TimeUp { runs: u32, wanted: u32 },
}

/// Builds once, then runs the tests the given number of times.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), SoakError> {
    let provided = Provided::start()?;
    println!("building the tests");
    let mut build = workspace.cargo(["test", "--locked", "--no-run"]);
    process::run(build.args(options.scope()))?;
    let folder = workspace.target().map_or_else(|| workspace.root().join("target"), Into::into);
    let folder = folder.join("soak");
    std::fs::create_dir_all(&folder).map_err(files(&folder))?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let load = Load::start(options.load.unwrap_or(u32::try_from(cores * 2).unwrap_or(2)));
    println!("{} runs on {cores} cores, with {} busy loops", options.runs, load.count());
    let began = Instant::now();
    let limit = Duration::from_secs(60 * u64::from(options.minutes));
    let (mut done, mut failures) = (0, 0);
    while done < options.runs && began.elapsed() < limit {
        done += 1;
        let log = folder.join(format!("run-{done}.log"));
        let outcome = run_once(workspace, options, &provided, &log)?;
        println!("run {done} of {}: {outcome}", options.runs);
        if outcome.is_good() {
            std::fs::remove_file(&log).map_err(files(&log))?;
        } else {
            failures += 1;
            println!("  its output is in {}", log.display());
        }
    }
    drop(load);
    println!("{done} runs, {failures} failures, {:.0} s", began.elapsed().as_secs_f64());
    match (failures, done == options.runs) {
        (0, true) => Ok(()),
        (0, false) => Err(SoakError::TimeUp { runs: done, wanted: options.runs }),
        _ => Err(SoakError::Failures { failures, runs: done, folder }),
    }
}

/// Runs all tests, and writes their output to a file.
fn run_once(
    workspace: &Workspace,
    options: &Options,
    provided: &Provided,
    log: &Path,
) -> Result<Outcome, SoakError> {
    let mut command = workspace.cargo(["test", "--locked", "--no-fail-fast"]);
    command.args(options.scope());
    provided.tell(&mut command);
    let output = File::create(log).map_err(files(log))?;
    command.stdout(output.try_clone().map_err(files(log))?).stderr(output);
    let began = Instant::now();
    let status = command.status().map_err(|source| process::not_started(&command, source))?;
    let said = std::fs::read(log).map_err(files(log))?;
    Ok(Outcome::read(&String::from_utf8_lossy(&said), status.success(), began.elapsed()))
}

fn files(path: &Path) -> impl FnOnce(std::io::Error) -> SoakError {
    let path = path.to_owned();
    move |source| SoakError::Files { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Options, UsageError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn thirty_runs_are_usual() {
        let options = check("").unwrap();
        assert_eq!((options.runs, options.load), (30, None));
        assert_eq!(options.scope(), ["--workspace"]);
    }

    #[test]
    fn runs_load_time_and_packages_may_be_chosen() {
        let options = check("--runs 3 --load 0 --minutes 5 -p a --package b").unwrap();
        assert_eq!((options.runs, options.load, options.minutes), (3, Some(0), 5));
        assert_eq!(options.scope(), ["-p", "a", "-p", "b"]);
    }

    #[test]
    fn odd_arguments_are_refused() {
        for line in ["--runs", "--runs 0", "--runs many", "--minutes 0", "--fast", "-p"] {
            assert!(check(line).is_err(), "{line}");
        }
    }
}
