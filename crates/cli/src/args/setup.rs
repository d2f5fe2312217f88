//! The arguments of `init`, `demo`, `doctor`, `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::{StoreArg, TeamFileArg};

/// Create a team file with the agents found on this machine
///
/// Writes tertulia.toml to the working folder, with a role for each agent and comments that explain what you
/// can change. Agents may only read files until you allow more.
#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:
  tertulia init
  tertulia init --print")]
pub(crate) struct InitArgs {
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the file instead of writing it
    #[arg(long)]
    pub(crate) print: bool,
}

/// Show a sample conversation; needs no key, network or files
///
/// Scripted agents and the built-in members answer. Shows what each of them received. Stores nothing.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {}

/// Check that everything is ready: team file, agents, store, terminal
///
/// Sends nothing and reads no credentials. The last line names the next step. Exit codes: 0 `tertulia run`
/// would work, 1 it would not.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  tertulia doctor")]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Generate shell completions
///
/// The scripts for bash, zsh and fish also complete members, sessions, entries, models and formats. Completion
/// starts no agents and writes no files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia completions bash > ~/.local/share/bash-completion/completions/tertulia
  echo 'source <(tertulia completions zsh)' >> ~/.zshrc
  tertulia completions fish > ~/.config/fish/completions/tertulia.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// Print the manual page, or write the pages of all commands to a folder
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Output folder (created if missing)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
