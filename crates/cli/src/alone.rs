//! `tertulia` without a command: on a terminal the chat opens, and where there is no team file yet one is offered
//! first; elsewhere the help is printed.

use std::ffi::OsString;

use crate::Streams;
use crate::args::{Cli, Command, InitArgs, TeamFileArg};
use crate::commands;
use crate::error::CliError;
use crate::team_place;

const QUESTION: &str = "There is no team file here yet. Create tertulia.toml with the agents found on this machine? \
                        [y/N] ";

pub(crate) fn run(streams: &mut Streams<'_>) -> Result<(), CliError> {
    if !streams.stdin_is_terminal || !streams.stdout_is_terminal {
        let help = Cli::declared().render_help();
        let written = match streams.stdout_has_colour {
            true => write!(streams.stdout, "{}", help.ansi()),
            false => write!(streams.stdout, "{help}"),
        };
        return written.map_err(CliError::output);
    }
    if team_place::find(&TeamFileArg::default())?.is_none() && streams.agree(QUESTION)? {
        commands::run(Command::Init(InitArgs::default()), streams)?;
    }
    // The store may be named by a variable: the arguments are read as if they had been typed.
    match Cli::read(["tertulia", "chat"].map(OsString::from)).map(|cli| cli.command) {
        Ok(Some(chat)) => commands::run(chat, streams),
        _ => Err(CliError::Usage("the chat cannot be opened; try `tertulia chat`")),
    }
}
