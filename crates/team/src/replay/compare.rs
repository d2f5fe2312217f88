//! Compares a decision of the machine with a recorded one, and describes both. Only replay uses it.

use tertulia_session::{Turn, TurnState};

use crate::effect::Effect;
use crate::state::TurnChange;

/// Returns whether the machine decided what the log records.
pub(super) fn says(effect: &Effect, turn: &Turn, change: &TurnChange) -> bool {
    let Effect::Append { id, .. } = effect else { return false };
    let Some(decided) = effect.as_turn() else { return false };
    let same_turn = match turn.state {
        TurnState::Queued => *id == change.turn,
        _ => decided.turn_id == turn.turn_id,
    };
    let same = decided.member == turn.member && decided.state == turn.state && same_turn;
    same && decided.cause == change.cause
}

/// Describes a recorded decision for people.
pub(super) fn described(turn: &Turn) -> Box<str> {
    let Turn { member, state, cause, .. } = turn;
    format!("{member}'s turn is {} ({})", state.as_str(), cause.sentence(member)).into()
}
