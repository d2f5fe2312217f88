//! How a run ended, as an exit code and a sentence that says how to go on.

use std::fmt::Display;

use tertulia_session::EntryId;
use tertulia_store::SessionId;
use tertulia_team::{Pause, Question, Why};

use crate::args::RunArgs;
use crate::error::CliError;

/// What is known at the end of a run.
pub(super) struct End<'a> {
    pub(super) session: &'a SessionId,
    /// The command that opens this table again: `tertulia run --session …` with its team.
    pub(super) again: String,
    pub(super) is_interrupted: bool,
    /// Whether the table was only asked to go on.
    pub(super) only_goes_on: bool,
    /// The last turn, if it was cancelled, interrupted or failed.
    pub(super) unfinished: Option<&'a EntryId>,
    /// Whose turns wait, each once.
    pub(super) waiting: Vec<&'a str>,
}

/// The end of a run.
pub(super) fn of(pause: &Pause, end: &End<'_>) -> Result<(), CliError> {
    let (again, session) = (&end.again, end.session);
    let go_on = format!("`{again} --continue`");
    let repeat = end.unfinished.map(|turn| format!("`{again} --repeat {turn}` does it again"));
    let others = match end.waiting.as_slice() {
        [] => None,
        names => Some(format!("{go_on} goes on with {}", names.join(", "))),
    };
    if end.is_interrupted {
        let cures: Vec<String> = repeat.into_iter().chain(others).collect();
        let cure = match cures.as_slice() {
            [] => format!("{go_on} goes on"),
            some => some.join(", "),
        };
        return Err(CliError::Interrupted(format!("interrupted; what was said is kept, {cure}")));
    }
    match (pause, repeat) {
        (Pause::Rested, Some(repeat)) if end.only_goes_on => {
            return Err(CliError::NeedsPerson(format!(
                "nothing waits, and the last turn did not come to its end; {repeat}"
            )));
        }
        _ => {}
    }
    match pause {
        Pause::Rested | Pause::Closed => Ok(()),
        Pause::Elsewhere => Err(CliError::NeedsPerson(format!(
            "another program is at this table; what was said is stored and waits there. `tertulia \
             sessions show {session}` shows what becomes of it"
        ))),
        Pause::PermissionNeeded { member, title } => Err(CliError::NeedsPerson(format!(
            "{member} wants to be allowed: {title}. Nobody can be asked here; allow it in the team \
             file (permissions = \"full\"), or open the table with \
             `tertulia chat --session {session}`{}",
            others.map(|others| format!("; {others}")).unwrap_or_default()
        ))),
        Pause::Asked(Question { why, .. }) => of_question(why, again, &go_on),
    }
}

fn of_question(why: &Why, again: &str, go_on: &str) -> Result<(), CliError> {
    let say = format!("`{again} \"…\"`");
    let repeat = |turn: &dyn Display| format!("`{again} --repeat {turn}` does it again");
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

/// The command that opens this table again.
pub(super) fn again(args: &RunArgs, session: &SessionId) -> String {
    format!("tertulia run{} --session {session}", same_place(args))
}

/// The flags that lead to the same team and the same store. A variable is still set the next time, and an
/// address may hold a password.
pub(super) fn same_place(args: &RunArgs) -> String {
    let mut flags = String::new();
    if let Some(team) = &args.team.file.team {
        flags.push_str(&format!(" --team {}", as_word(&team.display().to_string())));
    }
    let is_set = |store: &str| std::env::var("TERTULIA_STORE").is_ok_and(|set| set == store);
    if let Some(store) = args.store.store.as_deref()
        && store.starts_with("sqlite:")
        && !is_set(store)
    {
        flags.push_str(&format!(" --store {}", as_word(store)));
    }
    flags
}

/// A word that a shell takes as one.
fn as_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
