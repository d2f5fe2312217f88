//! `cargo xtask fuzz`: a counted run of every fuzz target, from the seeds in the repository.
//! A count rather than a time, so that a slow machine tests as much as a fast one.

use crate::command::UsageError;
use crate::process::{self, ProcessError};
use crate::tool::{Tool, ToolError};
use crate::workspace::Workspace;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };
const RUNS_DEFAULT: u32 = 20_000;
/// libFuzzer keeps the count in an `int`, and takes a negative one for "without end".
const RUNS_MAX: u32 = i32::MAX as u32;
/// The maximum input: long enough for a line of an agent's transcript, and short enough to stay fast.
const INPUT_BYTES_MAX: u32 = 16 * 1024;
/// An input of 16 KiB that takes a gigabyte is a finding.
const MEMORY_MB_MAX: u32 = 1024;

/// The targets to fuzz, and the number of inputs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    runs: u32,
    target: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { runs: RUNS_DEFAULT, target: None }
    }
}

impl Options {
    /// Reads `[--runs N] [--target T]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--runs" => options.runs = parse_runs(value("--runs", arguments.next())?)?,
                "--target" => options.target = Some(value("--target", arguments.next())?.clone()),
                _ => {
                    let argument = argument.clone();
                    return Err(UsageError::UnexpectedArgument { command: "fuzz", argument });
                }
            }
        }
        Ok(options)
    }
}

/// A target that fails, or that could not be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FuzzError {
    #[error("there are no fuzz targets in {folder}; add one as `<name>.rs`")]
    NoTargets { folder: PathBuf },
    #[error("there is no fuzz target `{name}`; there are: {}", known.join(", "))]
    UnknownTarget { name: String, known: Vec<String> },
    #[error("{path} cannot be read or created; check its permissions")]
    Folder {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "`{target}` fails on the input shown above; write a test with this input, then fix the code"
    )]
    Finding {
        target: String,
        #[source]
        source: ProcessError,
    },
    #[error("`{target}` ended without running a single input; is it a `fuzz_target!`?")]
    NoRuns { target: String },
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// Returns the manifest of the fuzz targets, which are a workspace of their own.
pub(crate) fn manifest(workspace: &Workspace) -> PathBuf {
    workspace.root().join("fuzz/Cargo.toml")
}

/// Builds the selected targets, then runs them one after the other.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), FuzzError> {
    let targets = select(find_targets(workspace)?, options.target.as_deref())?;
    let tool = CARGO_FUZZ.find_or_install(workspace)?;
    // Built separately, so that a target that does not compile does not count as one that fails.
    process::run(cargo_fuzz(workspace, &tool, "build").args(&options.target))?;
    let scratch = ScratchFolder::create()?;
    for target in targets {
        let mut command = cargo_fuzz(workspace, &tool, "run");
        // libFuzzer writes what it discovers to the first folder, and only reads the others.
        command.arg(&target).arg(scratch.subfolder(&target)?);
        let seeds = workspace.root().join("fuzz/seeds").join(&target);
        if seeds.is_dir() {
            command.arg(seeds);
        }
        command.arg("--").args(libfuzzer_options(options.runs));
        println!("{target}: fuzzing");
        let runs = run_target(&target, &mut command)?;
        println!("{target}: {runs} runs");
    }
    Ok(())
}

fn find_targets(workspace: &Workspace) -> Result<Vec<String>, FuzzError> {
    let folder = workspace.root().join("fuzz/fuzz_targets");
    let unreadable = |source| FuzzError::Folder { path: folder.clone(), source };
    if !folder.is_dir() {
        return Err(FuzzError::NoTargets { folder });
    }
    let mut targets = Vec::new();
    for entry in folder.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension() == Some(OsStr::new("rs")) {
            targets.extend(path.file_stem().and_then(OsStr::to_str).map(str::to_owned));
        }
    }
    targets.sort();
    if targets.is_empty() { Err(FuzzError::NoTargets { folder }) } else { Ok(targets) }
}

fn select(known: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>, FuzzError> {
    match wanted {
        None => Ok(known),
        Some(name) if known.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => Err(FuzzError::UnknownTarget { name: name.to_owned(), known }),
    }
}

fn cargo_fuzz(workspace: &Workspace, tool: &Path, verb: &str) -> Command {
    let mut command = workspace.program(tool);
    // Sanitizers need nightly Rust and find errors that safe Rust excludes. Coverage alone works on stable Rust.
    command.args(["fuzz", verb, "--fuzz-dir", "fuzz", "--sanitizer", "none"]);
    if let Some(target) = workspace.target() {
        command.arg("--target-dir").arg(target.join("fuzz"));
    }
    command
}

fn libfuzzer_options(runs: u32) -> [String; 4] {
    [
        format!("-runs={runs}"),
        "-seed=1".to_owned(),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-rss_limit_mb={MEMORY_MB_MAX}"),
    ]
}

/// Runs one target, prints its important output, and returns the number of executed inputs.
fn run_target(target: &str, command: &mut Command) -> Result<u64, FuzzError> {
    let spawned = command.stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|source| process::not_started(command, source))?;
    let mut runs = None;
    if let Some(output) = child.stderr.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|source| process::unreadable(command, source))?;
            let line = String::from_utf8_lossy(&line);
            runs = parse_runs_done(&line).or(runs);
            if !is_chatter(&line) {
                eprintln!("{line}");
            }
        }
    }
    let status = child.wait().map_err(|source| process::unreadable(command, source))?;
    process::judge(command, status)
        .map_err(|source| FuzzError::Finding { target: target.to_owned(), source })?;
    runs.filter(|runs| *runs > 0).ok_or_else(|| FuzzError::NoRuns { target: target.to_owned() })
}

/// Returns the count in libFuzzer's last line, `Done 20000 runs in 3 second(s)`.
fn parse_runs_done(line: &str) -> Option<u64> {
    line.strip_prefix("Done ")?.split_once(" runs in ")?.0.parse().ok()
}

/// Returns whether a line only reports that libFuzzer is running, or that there is no sanitizer: a
/// short run has thousands of them.
fn is_chatter(line: &str) -> bool {
    let is_progress =
        line.starts_with('#') && ["\tNEW ", "\tREDUCE "].iter().any(|m| line.contains(m));
    let is_preamble =
        ["INFO:", "WARNING: Failed to find function"].iter().any(|m| line.starts_with(m));
    is_progress || is_preamble
}

fn value<'a>(option: &'static str, value: Option<&'a String>) -> Result<&'a String, UsageError> {
    value.ok_or(UsageError::MissingValue { option })
}

fn parse_runs(text: &str) -> Result<u32, UsageError> {
    let runs = text.parse().ok().filter(|runs| (1..=RUNS_MAX).contains(runs));
    runs.ok_or_else(|| UsageError::BadValue {
        option: "--runs",
        value: text.to_owned(),
        wanted: "a whole number from 1 to 2147483647",
    })
}

/// A folder for discovered inputs. It is removed when the run ends, so that each run starts from the seeds.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn create() -> Result<Self, FuzzError> {
        let path = std::env::temp_dir().join(format!("tertulia-fuzz-{}", std::process::id()));
        let scratch = Self(path);
        scratch.subfolder("")?;
        Ok(scratch)
    }

    fn subfolder(&self, name: &str) -> Result<PathBuf, FuzzError> {
        let path = self.0.join(name);
        match std::fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(FuzzError::Folder { path, source }),
        }
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // The rest is in the system's folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
