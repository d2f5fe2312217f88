//! The end of every step: the next turn starts, or a person is asked first, or there is nothing to do.

use tertulia_session::TurnState;

use super::Step;
use crate::cause::{Cause, Rule};
use crate::effect::{Effect, Why};
use crate::queue::Item;
use crate::state::{Hold, Slot, State};
use crate::table::Table;

/// What can be done when nothing runs.
pub(super) enum Next<'s> {
    Start(&'s Item, Rule),
    Pause(Why),
    Nothing,
}

/// What can be done now; nothing while a turn runs.
pub(super) fn next<'s>(table: &Table, state: &'s State) -> Next<'s> {
    let chosen = state.queue.choose(table.limits(), state.last_said.as_ref());
    let (Slot::Free, Some((item, rule))) = (&state.slot, chosen) else { return Next::Nothing };
    let waiting = state.queue.len();
    match &state.hold {
        Some(Hold::Cancelled(turn)) => Next::Pause(Why::Cancelled { turn: turn.clone(), waiting }),
        Some(Hold::Resumed(interrupted)) => {
            Next::Pause(Why::Resumed { interrupted: interrupted.clone(), waiting })
        }
        None if table.is_human(item.seat) => Next::Start(item, rule),
        None => match state.guard.stops(table, item.by, item.seat) {
            Some(why) => Next::Pause(why),
            None => Next::Start(item, rule),
        },
    }
}

impl Step<'_> {
    /// Starts the next turn, or asks.
    pub(super) fn advance(&mut self) {
        match next(self.table, self.state) {
            Next::Nothing => {}
            Next::Pause(why) => self.ask(None, why),
            Next::Start(item, rule) => {
                let item = item.clone();
                self.start(item, rule);
            }
        }
    }

    fn start(&mut self, item: Item, rule: Rule) {
        let cause = Cause::Chosen { turn: item.turn.clone(), rule };
        self.record(&item.turn, item.seat, TurnState::Started, cause);
        let Item { turn, seat, parent, trigger, intent, .. } = item;
        if self.table.is_human(seat) {
            self.ask(Some(seat), Why::Answer { turn, entry: parent });
        } else {
            let member = self.table.name(seat).into();
            self.effects.push(Effect::StartTurn { turn, member, parent, trigger, intent });
        }
    }
}
