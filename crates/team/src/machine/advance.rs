//! The end of every step: the next turn starts, or a person is asked first, or there is nothing to do.

use tertulia_session::{Cause, QueueRule, TurnState};

use super::Step;
use crate::effect::{Effect, Why};
use crate::queue::Item;
use crate::state::{Slot, State};
use crate::table::Table;

/// What can be done when nothing runs.
pub(super) enum Next<'s> {
    Start(&'s Item, QueueRule),
    Pause(Why),
    Nothing,
}

/// What can be done now; nothing while a turn runs.
pub(super) fn next<'s>(table: &Table, state: &'s State) -> Next<'s> {
    if state.slot != Slot::Free {
        return Next::Nothing;
    }
    if let Some(why) = state.pause(table) {
        return Next::Pause(why);
    }
    match state.queue.choose(table.limits(), state.last_said.as_ref()) {
        Some((item, rule)) => Next::Start(item, rule),
        None => Next::Nothing,
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

    fn start(&mut self, item: Item, rule: QueueRule) {
        self.record(&item.turn, item.seat, TurnState::Started, Cause::Chosen { rule });
        if self.table.is_human(item.seat) {
            return self.ask_for_answer(item);
        }
        let Item { turn, seat, parent, trigger, intent, .. } = item;
        let member = self.table.name(seat).into();
        self.effects.push(Effect::StartTurn { turn, member, parent, trigger, intent });
    }

    /// It is this person's turn.
    pub(super) fn ask_for_answer(&mut self, item: Item) {
        let Item { turn, seat, parent: entry, by, .. } = item;
        let by = by.map(|by| self.table.name(by).into());
        self.ask(Some(seat), Why::Answer { turn, entry, by });
    }
}
