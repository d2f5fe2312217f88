//! The arguments of `tertulia chat`. Declares only.

use clap::Args;

use super::{SessionArg, StoreArg, TeamArg};

/// Chat with your team of agents
///
/// Answers stream in as they are written; you can edit the line below them meanwhile. Type /help for the
/// commands. Without a terminal it reads one message per line, answers in plain text and ends with the
/// input, with the exit code of `tertulia run`. docs/chat.md has more.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia chat
  tertulia chat --continue
  tertulia chat --continue --as ann
  echo '@scribe what did we decide?' | tertulia chat --session login-page")]
pub(crate) struct ChatArgs {
    /// Which person types, if the team has several
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    #[command(flatten)]
    pub(crate) team: TeamArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}
