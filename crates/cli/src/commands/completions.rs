//! `tertulia completions`, whose scripts for bash, zsh and fish ask [`crate::tab_completion`], and `tertulia man`.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::Streams;
use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::error::{CliError, Result};

const NAME: &str = "tertulia";

pub(crate) fn completions(args: &CompletionsArgs, streams: &mut Streams<'_>) -> Result {
    let script = match args.shell {
        Shell::Bash => Cow::Borrowed(include_bytes!("completions/tertulia.bash").as_slice()),
        Shell::Zsh => Cow::Borrowed(include_bytes!("completions/tertulia.zsh").as_slice()),
        Shell::Fish => Cow::Borrowed(include_bytes!("completions/tertulia.fish").as_slice()),
        // These scripts complete only commands and flags.
        shell => {
            // Written to memory first, because the generator panics if the reader closes the pipe.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::declared(), NAME, &mut script);
            Cow::Owned(script)
        }
    };
    streams.stdout.write_all(&script).map_err(CliError::output)
}

pub(crate) fn man(args: &ManArgs, streams: &mut Streams<'_>) -> Result {
    let Some(folder) = &args.out else {
        let page = page(&built()).map_err(CliError::output)?;
        return streams.stdout.write_all(page.as_bytes()).map_err(CliError::output);
    };
    let failed = |source| CliError::WriteFile { path: folder.clone(), source };
    std::fs::create_dir_all(folder).map_err(failed)?;
    write_pages(&built(), folder).map_err(failed)?;
    streams.note(&format!("wrote the manual pages to {}", folder.display()));
    Ok(())
}

fn built() -> Command {
    let mut command = Cli::declared().disable_help_subcommand(true);
    command.build();
    command
}

/// Writes the pages of a command and its subcommands.
fn write_pages(command: &Command, folder: &Path) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, folder)?;
    }
    let name = Man::new(command.clone()).get_filename();
    std::fs::write(folder.join(name), page(command)?)
}

/// Returns the page of a command, with an examples section and option values, which the generator lacks.
fn page(command: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8(page).map_err(io::Error::other)?;
    let page = ["Examples:\n", "Example:\n"].iter().fold(page, |page, heading| {
        page.replace(&format!(".SH EXTRA\n{heading}"), ".SH EXAMPLES\n")
    });
    let page = with_lines_kept(page);
    Ok(match page.split_once("\n.SH DESCRIPTION\n") {
        Some((head, rest)) => {
            format!("{}\n.SH DESCRIPTION\n{rest}", with_values(head.to_owned(), command))
        }
        None => page,
    })
}

/// Keeps the lines of the examples as they are.
fn with_lines_kept(page: String) -> String {
    const HEADING: &str = ".SH EXAMPLES\n";
    let Some((before, rest)) = page.split_once(HEADING) else { return page };
    let (examples, behind) = match rest.split_once("\n.SH ") {
        Some((examples, behind)) => (examples, format!("\n.SH {behind}")),
        None => (rest.trim_end(), "\n".to_owned()),
    };
    format!("{before}{HEADING}.nf\n{examples}\n.fi{behind}")
}

/// Adds the value names of options to the synopsis.
fn with_values(synopsis: String, command: &Command) -> String {
    let options = command.get_arguments().filter(|one| one.get_action().takes_values());
    options.fold(synopsis, |synopsis, option| {
        let (Some(long), Some(values)) = (option.get_long(), option.get_value_names()) else {
            return synopsis;
        };
        // The generator's format: escaped minus signs, bold up to the bracket.
        let bare = format!("\\-\\-{}\\fR", long.replace('-', "\\-"));
        let values = values.join(" ").replace('-', "\\-");
        ["]", ">"].iter().fold(synopsis, |synopsis, bracket| {
            synopsis
                .replace(&format!("{bare}{bracket}"), &format!("{bare} \\fI{values}\\fR{bracket}"))
        })
    })
}
