//! The turn that a session was left with, if it did not come to its end.

use tertulia_session::{Cause, Entry, EntryKind, Turn, TurnState};
use tertulia_team::Team;

/// The last turn of an agent, if it was cancelled, interrupted or failed. One that a person declined was never begun.
pub fn unfinished_turn<'e>(entries: &'e [Entry], team: &Team) -> Option<(&'e Entry, &'e Turn)> {
    let is_begun = |turn: &Turn| {
        let is_declined = matches!(turn.cause, Cause::Declined { .. });
        turn.state != TurnState::Queued && !is_declined
    };
    let is_agent = |name: &str| team.member(name).is_some_and(|one| !one.is_person());
    let last = entries.iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Turn(turn) if is_begun(turn) && is_agent(&turn.member) => Some((entry, &**turn)),
        _ => None,
    });
    let unfinished = [TurnState::Failed, TurnState::Cancelled, TurnState::Interrupted];
    last.filter(|(_, turn)| unfinished.contains(&turn.state))
}
