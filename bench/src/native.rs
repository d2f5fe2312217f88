//! Sessions of agents: how fast they are read, listed, handed over and imported. Run by `cargo xtask bench native`.

mod handing_over;
mod importing;
mod listing;
mod reading;
mod sessions;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::arguments::Scale;
use crate::report::{all_hold, table};
use crate::store::Ground;

/// The size of the session that is imported, unless another one is given.
pub(crate) const IMPORT_MEGABYTES: usize = 100;

/// Measures all of it, with files in this folder.
pub(crate) fn run(
    folder: &Path,
    import_megabytes: usize,
    scale: &Scale,
    writer: &mut impl Write,
) -> Result<ExitCode, Box<dyn Error>> {
    let ground = Ground::new(folder)?;
    eprintln!("measuring readers …");
    let reading = reading::measure(&ground, scale)?;
    eprintln!("measuring the list of sessions …");
    let listing = listing::measure(&ground, scale)?;
    eprintln!("measuring handovers …");
    let handing_over = handing_over::measure(scale)?;
    eprintln!("measuring imports …");
    let importing = importing::measure(&ground, import_megabytes)?;
    let themes = [reading, listing, handing_over, importing];
    writer.write_all(table(&themes).as_bytes())?;
    Ok(if all_hold(&themes) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
