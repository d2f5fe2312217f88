//! Measures the time that Tertulia adds to a turn, with few and with many stored messages, and the start time of
//! the program. Run by `cargo xtask bench overhead`.

mod failover;
mod parallel;
mod startup;
mod streams;
mod turns;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::Scale;
use crate::report::{all_hold, table};
use crate::store::Ground;

/// The programs whose start is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) tertulia: std::path::PathBuf,
    /// A program that prints a line and does nothing else.
    pub(crate) hello: std::path::PathBuf,
}

/// Measures all figures, with files in this folder.
pub(crate) fn run(
    folder: &Path,
    programs: &Programs,
    scale: &Scale,
    writer: &mut impl Write,
) -> Result<ExitCode, Box<dyn Error>> {
    let ground = Ground::new(folder)?;
    eprintln!("measuring turns …");
    let turns = turns::measure(&ground, scale)?;
    eprintln!("measuring parallel turns …");
    let parallel = parallel::measure()?;
    eprintln!("measuring failover …");
    let failover = failover::measure(&ground)?;
    eprintln!("measuring starts …");
    let starts = startup::measure(&ground, programs, scale)?;
    eprintln!("measuring streams …");
    let streams = streams::measure()?;
    let themes = [turns, parallel, failover, starts, streams];
    writer.write_all(table(&themes).as_bytes())?;
    Ok(if all_hold(&themes) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
