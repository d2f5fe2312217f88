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
/// Shows answers while agents write them; meanwhile you can type the next message. /help lists the
/// commands. If another process runs the session, the chat joins it. Without a terminal, reads one message per line, prints answers as plain text, ends with the
/// input, and exits with the codes of `tertulia run`. docs/chat.md describes the details.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia chat
  tertulia chat --continue
  tertulia chat --continue --as ann
  echo '@scribe what did we decide?' | tertulia chat --session login-page")]
pub(crate) struct ChatArgs {
    /// Person who writes the messages, if the team has several people
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    /// Run the session here, without a question, when the process that runs it has ended
    #[arg(long)]
    pub(crate) take_over: bool,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    #[command(flatten)]
    pub(crate) team: TeamArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Send one message and run agents until they are done or need you
///
/// Agents answer and can hand over to each other. On a terminal, shows answers while agents write them. In
/// a pipe, prints each answer as a line with the member's name and a colon, then the text; an empty line
/// separates answers. Progress goes to standard error; --quiet turns it off.
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
    /// Message to send, or - for standard input. Without a message, --continue runs the queued turns
    pub(crate) text: Option<String>,
    /// Member who answers if the message addresses nobody
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    /// Person who sends the message, if the team has several people
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Retry a failed, cancelled or interrupted turn: its ID, or a unique prefix of it
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
/// For a turn, prints its full history. For a message, prints who was queued and who wasn't, and the full
/// history of the turns that the message ended or caused. Derives all this from the log and stores nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia why
  tertulia why e-4f1c
  tertulia why e-4f1c --session login-page --json")]
pub(crate) struct WhyArgs {
    /// The entry: its ID, or a unique prefix of it [default: the newest message]
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

/// Compare the routing of a stored session with that of the current team file
///
/// Compares every decision in the log with the decision that the current team file leads to. Starts no
/// agents and stores nothing. Exit codes: 0 all decisions are the same, 1 some differ.
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
