//! `cargo xtask test`: all checks in a fixed order; cheap ones and those that often fail come first. `.ci/run` calls it,
//! so a change that passes on a developer's machine passes in CI.

use crate::command::Error;
use crate::process;
use crate::provide::Provided;
use crate::workspace::Workspace;
use crate::{agents, deny, dist, fuzz, package, tidy};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The step that stopped the run.
#[derive(Debug, thiserror::Error)]
#[error("stopped at step {number} of {total}, {name}")]
pub(crate) struct TestError {
    pub(crate) number: usize,
    pub(crate) total: usize,
    pub(crate) name: &'static str,
    #[source]
    pub(crate) source: Box<Error>,
}

type Check = fn(&Workspace) -> Result<(), Error>;

/// One of the checks.
struct Step {
    name: &'static str,
    /// A description for the person who waits.
    what: &'static str,
    check: Check,
}

const fn step(name: &'static str, what: &'static str, check: Check) -> Step {
    Step { name, what, check }
}

const STEPS: [Step; 11] = [
    step("format", "cargo fmt --check", format),
    step("clippy", "cargo clippy on all targets; compiles everything the first time", clippy),
    step("features", "cargo clippy on crates without their default features", features),
    step("tests", "cargo test, with the programs and the server that some tests need", tests),
    step("docs", "cargo doc without warnings", docs),
    step("deny", "licences, sources and advisories; installs cargo-deny the first time", deny),
    step("tidy", "headers, lengths, leftovers, links", tidy),
    step("package", "every published crate as a package, without compiling it", package),
    step("dist", "archive, wheel, npm and Debian packages: installed, run, removed", dist),
    step("agents", "the real agent programs, installed once (some 900 MB)", agents),
    step("fuzz", "a short run of every fuzz target", fuzz),
];

/// Runs all steps, stops at the first that fails, and prints the time of each.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TestError> {
    let total = STEPS.len();
    let mut times = Vec::with_capacity(total);
    let mut failure = None;
    println!("{total} steps: {}", STEPS.map(|step| step.name).join(", "));
    for (number, Step { name, what, check }) in (1..).zip(STEPS) {
        println!("\n== {number}/{total} {name}: {what}");
        let started = Instant::now();
        let result = check(workspace);
        let time = started.elapsed();
        times.push((name, time));
        let verdict = if result.is_ok() { "passed" } else { "failed" };
        println!("-- {number}/{total} {name} {verdict}, {:.1} s", time.as_secs_f64());
        if let Err(source) = result {
            failure = Some(TestError { number, total, name, source: Box::new(source) });
            break;
        }
    }
    let passed = times.len() - usize::from(failure.is_some());
    print!("\n{}", summary(&times, passed, total));
    failure.map_or(Ok(()), Err)
}

fn format(workspace: &Workspace) -> Result<(), Error> {
    process::run(&mut workspace.cargo(["fmt", "--all", "--check"]))?;
    // fuzz/ is a workspace of its own. If it is missing, the fuzz step reports it.
    let fuzz = fuzz::manifest(workspace);
    if fuzz.exists() {
        let mut command = workspace.cargo(["fmt", "--check", "--manifest-path"]);
        process::run(command.arg(fuzz))?;
    }
    Ok(())
}

fn clippy(workspace: &Workspace) -> Result<(), Error> {
    let mut command = workspace.cargo(["clippy", "--workspace", "--all-targets", "--locked"]);
    process::run(command.args(["--", "-D", "warnings"]))?;
    Ok(())
}

/// Packages with features, each with the sets of features that must compile besides the default.
const FEATURES: [(&str, &[&str]); 2] = [
    ("tertulia-store", &["", "sqlite", "postgres"]),
    ("tertulia-context", &["", "openai-tokens", "gemma-tokens"]),
];

fn features(workspace: &Workspace) -> Result<(), Error> {
    for (package, sets) in FEATURES {
        for set in sets {
            let mut command = workspace.cargo(["clippy", "--lib", "--locked", "-p", package]);
            command.args(["--no-default-features", "--features", set, "--", "-D", "warnings"]);
            process::run(&mut command)?;
        }
    }
    Ok(())
}

fn tests(workspace: &Workspace) -> Result<(), Error> {
    let provided = Provided::start()?;
    let mut command = workspace.cargo(["test", "--workspace", "--locked"]);
    provided.tell(&mut command);
    process::run(&mut command)?;
    println!("stopping the programs that were started for the tests");
    Ok(())
}

fn docs(workspace: &Workspace) -> Result<(), Error> {
    let mut command = workspace.cargo(["doc", "--workspace", "--no-deps", "--locked"]);
    command.arg("--document-private-items").env("RUSTDOCFLAGS", "-D warnings");
    process::run(&mut command)?;
    Ok(())
}

fn deny(workspace: &Workspace) -> Result<(), Error> {
    Ok(deny::run(workspace, deny::Advisories::IfReachable)?)
}

fn tidy(workspace: &Workspace) -> Result<(), Error> {
    Ok(tidy::run(workspace)?)
}

fn package(workspace: &Workspace) -> Result<(), Error> {
    Ok(package::run(workspace, package::Depth::Made)?)
}

fn dist(workspace: &Workspace) -> Result<(), Error> {
    Ok(dist::run(workspace, &dist::Options::of_tests())?)
}

fn agents(workspace: &Workspace) -> Result<(), Error> {
    Ok(agents::run(workspace, agents::Order::Test)?)
}

fn fuzz(workspace: &Workspace) -> Result<(), Error> {
    Ok(fuzz::run(workspace, &fuzz::Options::default())?)
}

fn summary(times: &[(&str, Duration)], passed: usize, total: usize) -> String {
    let whole: Duration = times.iter().map(|(_, time)| *time).sum();
    let mut text = String::new();
    for (name, time) in times.iter().chain([&("together", whole)]) {
        let _ = writeln!(text, "{name:<10}{:>8.1} s", time.as_secs_f64());
    }
    let _ = writeln!(text, "{passed} of {total} steps passed");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_gives_each_step_its_time_and_adds_them_up() {
        let times = [("format", Duration::from_millis(400)), ("clippy", Duration::from_secs(61))];
        let expected = "\
format         0.4 s
clippy        61.0 s
together      61.4 s
1 of 7 steps passed
";
        assert_eq!(summary(&times, 1, 7), expected);
    }

    #[test]
    fn a_failed_step_is_named_with_its_number() {
        let source = Box::new(Error::Tidy(tidy::TidyError::Violations { count: 1 }));
        let error = TestError { number: 6, total: 7, name: "tidy", source };
        assert_eq!(error.to_string(), "stopped at step 6 of 7, tidy");
    }
}
