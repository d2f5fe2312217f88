//! The commands around the table: how it is set up, shown and looked after. Declares only.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::{StoreArg, TeamFileArg};

/// Write a team file with the agents found on this machine
///
/// The file is tertulia.toml in the working folder, with a word on what can be changed. Agents may read
/// and nothing else until the file says otherwise.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Replace the file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the file instead of writing it
    #[arg(long)]
    pub(crate) print: bool,
}

/// See it work: a bundled conversation, without key, network or files
///
/// The house members answer in a conversation that comes with the program, and what each of them received
/// is shown. All of it is in memory and gone afterwards.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {}

/// Check what is needed: agents, team file, store, terminal
///
/// Nothing is sent and no credential is read. Exit codes: 0 all is well enough for run, 1 something would
/// stop it.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Print what a shell needs to complete this command
#[derive(Debug, Args)]
#[command(after_help = "Example:
  tertulia completions bash > ~/.local/share/bash-completion/completions/tertulia")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write those of all commands into a folder
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
