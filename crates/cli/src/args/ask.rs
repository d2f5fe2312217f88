//! The arguments of `ask`, and how they become those of a run.

use clap::Args;
use tertulia_team::AskRequest;

use super::{RunArgs, SessionArg, StoreArg, TeamArg};

/// Ask several members the same question and compare their answers
///
/// Each member answers alone: its prompt ends at the question, and contains nothing of another answer. The members work at
/// the same time. Then they compare the answers once, or a judge does, who sees labels instead of names. Prints the answers
/// as they arrive, then the result: what is agreed, what only one answer says, what is contradicted, who gave no answer, and
/// the cost. docs/ask.md describes the details.
///
/// Exit codes: 0 done; 1 fewer than two members answered, fewer than the quorum, or nobody could compare the answers; 2
/// wrong usage or an unusable team file; 3 you need to decide something; 130 interrupted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tertulia ask \"Which cache do we need?\" --members max,eva,leo
  tertulia ask \"Which cache do we need?\" --members all --judge leo
  git diff | tertulia ask - --members max,eva --no-reactions
  tertulia ask \"Is this safe?\" --members max,eva,leo --quorum 2 --grace 30 --json")]
pub(crate) struct AskArgs {
    /// Question to send, or - for standard input
    pub(crate) question: String,
    /// Members to ask, separated by commas; all: all agents of the team
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub(crate) members: Vec<String>,
    /// Member who compares the answers, without seeing who wrote them [default: those who answered compare them]
    #[arg(long, value_name = "NAME")]
    pub(crate) judge: Option<String>,
    /// Only collect the answers; nobody compares them
    #[arg(long, conflicts_with = "judge")]
    pub(crate) no_reactions: bool,
    /// Go on when this many members have answered and the grace time is over
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) quorum: Option<u32>,
    /// Time that the others have after the quorum is reached, in seconds [default: 30]
    #[arg(long, value_name = "SECONDS", requires = "quorum")]
    pub(crate) grace: Option<u32>,
    /// Person who asks, if the team has several people
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) speaker: Option<String>,
    #[command(flatten)]
    pub(crate) session: SessionArg,
    /// Pause and ask a person after this many turns of agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Print every event as one JSON object per line, and the result before the last one
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamArg,
    #[command(flatten)]
    pub(crate) store: StoreArg,
}

impl AskArgs {
    /// Returns the arguments of the run that asks the question, and whom it asks.
    pub(crate) fn into_run(self) -> (RunArgs, AskRequest) {
        let names = self.members.iter().map(|name| name.trim().to_owned());
        let request = AskRequest {
            members: names.filter(|name| !name.is_empty()).collect(),
            judge: self.judge,
            answers_only: self.no_reactions,
            quorum: self.quorum,
            grace_seconds: self.grace,
        };
        let run = RunArgs {
            text: Some(self.question),
            member: None,
            speaker: self.speaker,
            session: self.session,
            repeat: None,
            max_turns: self.max_turns,
            json: self.json,
            team: self.team,
            store: self.store,
        };
        (run, request)
    }
}
