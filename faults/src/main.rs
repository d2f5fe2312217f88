//! `tertulia-faults`: tests the guarantees of the store under kills, power cuts, disk errors and
//! damaged files, and those of commands and turns. One binary contains the roles that cause faults
//! and judge, and the writers that they start as separate processes. `cargo xtask faults` runs
//! everything; its tests run smaller counts.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers: it starts processes, breaks files and prints figures"
)]

mod ack_log;
mod batch;
mod error;
mod jobs;
mod judge;
mod options;
mod power;
mod report;
mod rng;
mod roles;
mod scratch;
mod tools;
mod writer;

use std::process::ExitCode;

use error::FaultsError;

fn main() -> ExitCode {
    // This program supervises the turns of `trees`.
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

/// Returns whether all guarantees held.
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
