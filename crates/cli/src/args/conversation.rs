//! The arguments of `chat`, `run`, `why` and `replay`, and the team and session options they share.

use std::path::PathBuf;

use clap::Args;

use super::StoreArg;

/// The team option of commands that start no agents.
#[derive(Debug, Default, Args)]
pub(crate) struct TeamFileArg {
    /// Team file [default: $TERTULIA_TEAM, tertulia.toml in the project, or your own]
    #[arg(long, value_name = "FILE", display_order = 90)]
    pub(crate) team: Option<PathBuf>,
}

/// The team options of commands that start agents.
#[derive(Debug, Default, Args)]
pub(crate) struct TeamArg {
    #[command(flatten)]
    pub(crate) file: TeamFileArg,
    /// Trust the team file in its current form, so that it may start programs
    #[arg(long, display_order = 91)]
    pub(crate) trust: bool,
}

/// The session options.
#[derive(Debug, Default, Args)]
pub(crate) struct SessionArg {
    /// Resume this session: latest, an ID, a unique part of it, or a title
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Create a session with this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["session", "resume"])]
    pub(crate) new: Option<String>,
    /// Resume the newest session of this folder, or the one given by --session
    #[arg(long = "continue")]
    pub(crate) resume: bool,
}

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
    /// Person who types, if the team has several
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    #[command(flatten)]
    pub(crate) team: TeamArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Send one message and run until a human is needed
///
/// Sends the text, lets agents answer and hand over to each other, and stops when they are done or need
/// you. On a terminal answers stream in as they are written. In a pipe an answer is a line with the name
/// and a colon, then the text; an empty line separates answers. Progress goes to standard error; --quiet
/// turns it off.
///
/// Exit codes: 0 done, or it is your turn to answer; 1 an agent could not answer; 2 wrong usage or an
/// unusable team file; 3 you need to decide something; 130 interrupted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia run \"@max design the login page, then @eva reviews it\"
  git diff | tertulia run - --member eva
  tertulia run --continue
  tertulia run --continue \"@max take the second option\" --json")]
pub(crate) struct RunArgs {
    /// Message to send, or - for standard input. With --continue and no text, the agents continue
    pub(crate) text: Option<String>,
    /// Member who answers if the text addresses nobody
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    /// Person who speaks, if the team has several
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Retry a failed, cancelled or interrupted turn (a unique prefix is enough)
    #[arg(long, value_name = "TURN", conflicts_with_all = ["text", "member", "speaker", "new"])]
    pub(crate) repeat: Option<String>,
    /// Pause and ask a person after this many turns of agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Print every event as one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Explain why an agent was (or wasn't) asked
///
/// For a turn: its full history. For a message: who was queued and who wasn't, with the full history
/// of the turns that it ended or led to. The decisions are derived from the log; nothing is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia why
  tertulia why e-4f1c
  tertulia why e-4f1c --session login-page --json")]
pub(crate) struct WhyArgs {
    /// The entry (a unique prefix is enough) [default: the newest message]
    pub(crate) entry: Option<String>,
    /// The session: latest, an ID, a unique part of it, or a title [default: the newest of this folder]
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print one JSON object per decision
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Re-run the routing of a recorded session and compare
///
/// Compares every decision in the log with the decision that the current team file leads to. Nothing is
/// started or stored. Exit codes: 0 all are the same, 1 some differ.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia replay
  tertulia replay login-page
  tertulia replay login-page --team other.toml")]
pub(crate) struct ReplayArgs {
    /// The session: latest, an ID, a unique part of it, or a title [default: the newest of this folder]
    pub(crate) session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}
