//! `tertulia-faults`: what the store promises under kills, power cuts, broken disks and damaged files,
//! what commands and turns promise, and the proof. One binary: the roles that cause faults and judge, and
//! the writers that they start as processes of their own. `cargo xtask faults` runs it in full, its tests in small.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers: it starts processes, breaks files and prints figures"
)]

mod batch;
mod chance;
mod error;
mod jobs;
mod judge;
mod ledger;
mod options;
mod power;
mod report;
mod roles;
mod scratch;
mod tools;
mod writer;

use std::process::ExitCode;

use error::FaultsError;

fn main() -> ExitCode {
    // The turns of `trees` are supervised by this program.
    if let Some(code) = tertulia_agent::supervisor_main() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            let is_usage = matches!(error, FaultsError::Usage(_));
            ExitCode::from(if is_usage { 2 } else { 1 })
        }
    }
}

/// Whether all promises were kept.
fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    match arguments.split_first() {
        None => Err(FaultsError::Usage("name a role".to_owned())),
        Some((word, _)) if matches!(word.as_str(), "help" | "--help" | "-h") => {
            print!("{}", options::USAGE);
            Ok(true)
        }
        Some((role, rest)) => roles::run(role, rest),
    }
}
