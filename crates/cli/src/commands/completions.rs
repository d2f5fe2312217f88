//! `tertulia completions` and `tertulia man`: what the declaration of the arguments says, for shells and
//! for `man`.

use clap::CommandFactory;

use crate::Streams;
use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::error::CliError;
use crate::terminal::visible;

const NAME: &str = "tertulia";

pub(crate) fn completions(
    args: &CompletionsArgs,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    // Into memory first: a reader that has enough is no failure.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    streams.stdout.write_all(&script).map_err(CliError::output)
}

pub(crate) fn man(args: &ManArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(CliError::output)?;
        return streams.stdout.write_all(&page).map_err(CliError::output);
    };
    let failed = |source| CliError::WriteFile { path: folder.clone(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    let line = format!("the pages are in {}", folder.display());
    let _ = writeln!(streams.stderr, "tertulia: {}", visible(&line));
    Ok(())
}
