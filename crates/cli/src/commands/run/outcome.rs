//! How a run ended, as an exit code and a sentence that says how to go on.

use tertulia_store::SessionId;
use tertulia_team::{Pause, Question, Why};

use crate::error::CliError;

/// The end of a run.
pub(super) fn of(pause: &Pause, is_interrupted: bool, session: &SessionId) -> Result<(), CliError> {
    let go_on = format!("`tertulia run --session {session} --continue`");
    if is_interrupted {
        return Err(CliError::Interrupted(format!(
            "interrupted; what was said is kept, {go_on} goes on"
        )));
    }
    match pause {
        Pause::Rested | Pause::Closed => Ok(()),
        Pause::PermissionNeeded { member, title } => Err(CliError::NeedsPerson(format!(
            "{member} wants to be allowed: {title}. Nobody can be asked here; allow it in the team \
             file (permissions = \"edit\"), or open the table with \
             `tertulia chat --session {session}`"
        ))),
        Pause::Asked(Question { why, .. }) => of_question(why, session, &go_on),
    }
}

fn of_question(why: &Why, session: &SessionId, go_on: &str) -> Result<(), CliError> {
    let say = format!("`tertulia run --session {session} \"…\"`");
    let repeat = |turn: &dyn std::fmt::Display| {
        format!("`tertulia run --session {session} --repeat {turn}` does it again")
    };
    let cure = match why {
        // The progress has told whose turn it is.
        Why::Answer { .. } => return Ok(()),
        Why::Failed { turn, member, class } => {
            let again = repeat(turn);
            return Err(CliError::AgentFailed(format!(
                "{member} could not answer ({class}); {again}"
            )));
        }
        Why::LoopGuard { .. } | Why::PairLoop { .. } | Why::Spending { .. } => {
            format!("{go_on} lets them go on, {say} says something first")
        }
        Why::Cancelled { .. } => format!("{go_on} lets them go on"),
        Why::Resumed { interrupted: Some(turn), .. } => {
            format!("{}, {go_on} goes on without", repeat(turn))
        }
        Why::Resumed { interrupted: None, .. } => format!("{go_on} lets them go on"),
        Why::Unresolved { .. } => format!("{say} says it to somebody who is there"),
        Why::NobodyToAnswer { .. } => {
            "seat an agent in the team file; `tertulia init` writes one".to_owned()
        }
        Why::WhoSpeaks { .. } => "say who speaks with --as".to_owned(),
    };
    Err(CliError::NeedsPerson(format!("{why}\n{cure}")))
}
