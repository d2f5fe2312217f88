//! The commands of the table, and what they share: which team, which session. Declares only.

use std::path::PathBuf;

use clap::Args;

use super::StoreArg;

/// Who sits at the table, for commands that start nothing.
#[derive(Debug, Default, Args)]
pub(crate) struct TeamFileArg {
    /// The team file; without it, $TERTULIA_TEAM, tertulia.toml in the project, or the user's own
    #[arg(long, value_name = "FILE", display_order = 90)]
    pub(crate) team: Option<PathBuf>,
}

/// Who sits at the table.
#[derive(Debug, Default, Args)]
pub(crate) struct TeamArg {
    #[command(flatten)]
    pub(crate) file: TeamFileArg,
    /// Trust the team file as it is now: it may start the programs that it names
    #[arg(long, display_order = 91)]
    pub(crate) trust: bool,
}

/// Which conversation.
#[derive(Debug, Default, Args)]
pub(crate) struct SessionArg {
    /// The session to go on with; one of this id is begun if there is none
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Go on with the session, or with the newest table of this folder
    #[arg(long = "continue")]
    pub(crate) go_on: bool,
}

/// Ask the table once, and wait until it needs a person
///
/// Says the text, lets the agents answer and one another be asked, and stops when nothing is left to do
/// or a person is to decide. Answers go to standard output: the name and a colon on a line, then the
/// text, with a line break at its end; an empty line between two answers. Progress goes to standard
/// error.
///
/// Exit codes: 0 all is said, or it is a person's turn; 1 an agent could not answer; 2 wrong usage; 3 a
/// person is to decide, and how to go on is told; 130 interrupted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia run \"@max design the login page, then @eva reviews it\"
  git diff | tertulia run - --member eva
  tertulia run --continue
  tertulia run --continue \"@max take the second option\" --json")]
pub(crate) struct RunArgs {
    /// What to say; - for standard input. Without it, --continue lets the table go on
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Who is to answer if the text addresses nobody
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,
    /// Which person speaks, where several sit at the table
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Let a turn that failed, was cancelled or interrupted be done again; a unique beginning is enough
    #[arg(long, value_name = "TURN", conflicts_with_all = ["text", "member", "speaker"])]
    pub(crate) repeat: Option<String>,
    /// Ask a person after so many turns of agents at the latest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Print every event as one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print answers and errors, and nothing of what happens meanwhile
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) team: TeamArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Tell why: all that was decided because of a message or a turn
///
/// Of a message: whom it queued, and whom not. Of a turn: its whole story. The decisions are made again
/// from the log; nothing is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia why e-4f1c
  tertulia why e-4f1c --session login-page --json")]
pub(crate) struct WhyArgs {
    /// The entry; a unique beginning of its id is enough
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: String,
    /// The session; without it, the newest table of this folder
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Print one JSON object per decision
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

/// Decide a session again, with the recorded answers in place of the agents
///
/// Nothing is started and nothing stored. Every decision of the log is compared with what the team file
/// leads to now. Exit codes: 0 all are the same, 1 some are not.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia replay login-page
  tertulia replay login-page --team other.toml")]
pub(crate) struct ReplayArgs {
    /// The session; a unique beginning of its id is enough
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamFileArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}
