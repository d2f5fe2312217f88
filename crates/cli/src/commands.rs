//! One file per command. This one only hands over.

mod assemble;
mod build;
mod context;
mod drawing;
mod files;
mod prompt_format;
mod rpc;
mod sessions;
mod tokens;

use crate::Streams;
use crate::args::Command;
use crate::error::CliError;

/// Runs a command.
pub(crate) fn run(command: Command, streams: &mut Streams<'_>) -> Result<(), CliError> {
    match command {
        Command::Context(args) => context::run(&args, streams),
        Command::Build(args) => build::run(&args, streams),
        Command::Assemble(args) => assemble::run(&args, streams),
        Command::Rpc(args) => rpc::run(&args, streams),
        Command::Sessions(args) => sessions::run(&args, streams),
        Command::Tokens(args) => tokens::run(&args, streams),
    }
}
