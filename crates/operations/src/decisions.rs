//! The decisions about an entry, and the last unfinished turn of a session.

use tertulia_session::{Cause, Entry, EntryId, Turn, TurnState};
use tertulia_team::{Decision, Team};

/// Returns the decisions that an entry caused, with the whole history of every turn in them.
pub fn story<'d>(
    entry: &EntryId,
    why: impl Fn(&EntryId) -> Vec<&'d Decision>,
) -> Vec<&'d Decision> {
    let mut listed: Vec<&Decision> = Vec::new();
    for decision in why(entry) {
        let decisions = match decision {
            Decision::Turn { turn, .. } => why(turn),
            Decision::Note(_) | Decision::Asked { .. } => vec![decision],
        };
        for one in decisions {
            if !listed.contains(&one) {
                listed.push(one);
            }
        }
    }
    listed
}

/// Returns the last turn of an agent, if it was cancelled, interrupted or failed. Ignores a turn that a person
/// declined, because it never began.
pub fn unfinished_turn<'e>(entries: &'e [Entry], team: &Team) -> Option<(&'e Entry, &'e Turn)> {
    let is_begun = |turn: &Turn| {
        let is_declined = matches!(turn.cause, Cause::Declined { .. });
        turn.state != TurnState::Queued && !is_declined
    };
    let is_agent = |name: &str| team.member(name).is_some_and(|one| !one.is_person());
    let mut turns = entries.iter().rev().filter_map(|entry| Some((entry, entry.turn()?)));
    let last = turns.find(|(_, turn)| is_begun(turn) && is_agent(&turn.member));
    let unfinished = [TurnState::Failed, TurnState::Cancelled, TurnState::Interrupted];
    last.filter(|(_, turn)| unfinished.contains(&turn.state))
}
