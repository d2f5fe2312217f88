//! The turns that are active: those whose agents run or are being stopped, and the one that a person is asked to
//! take. Only recorded facts change this list, so it is part of the state that a replay computes. Whether another
//! turn may start beside the active ones depends only on the list and the roster.

use tertulia_session::EntryId;

use crate::queue::Item;
use crate::roster::{MemberIndex, Roster};

/// What happens in an active turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnPhase {
    /// Its agent runs.
    Running,
    /// A person is asked to answer.
    Asking,
    /// It was cancelled, and its agent has not ended yet.
    Stopping,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Active {
    pub(crate) item: Item,
    pub(crate) phase: TurnPhase,
}

/// The active turns, in the order in which they started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActiveTurns(Vec<Active>);

impl ActiveTurns {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Active> {
        self.0.iter()
    }

    fn in_phase(&self, phase: TurnPhase) -> impl Iterator<Item = &Item> {
        self.0.iter().filter(move |active| active.phase == phase).map(|active| &active.item)
    }

    pub(crate) fn running(&self) -> impl Iterator<Item = &Item> {
        self.in_phase(TurnPhase::Running)
    }

    /// Returns the turn for which a person is asked. There is at most one, because nothing starts beside it.
    pub(crate) fn asking(&self) -> Option<&Item> {
        self.in_phase(TurnPhase::Asking).next()
    }

    pub(crate) fn is_stopping(&self, turn: &EntryId) -> bool {
        self.in_phase(TurnPhase::Stopping).any(|item| item.turn == *turn)
    }

    /// Returns whether no agent works, except those that are being stopped, and no person is asked.
    pub(crate) fn is_none_but_stopping(&self) -> bool {
        self.0.iter().all(|active| active.phase == TurnPhase::Stopping)
    }

    /// Adds a turn that starts. No turn starts before all stopped agents have ended, so the start of one shows that
    /// they have. Without parallel turns it also shows the end of any other turn, if the log does not. Turns of one ask
    /// always run in parallel.
    pub(crate) fn start(&mut self, item: Item, phase: TurnPhase, is_alone: bool) {
        self.0.retain(|active| {
            let may_stay = !is_alone || active.item.is_of_ask_with(&item);
            may_stay && active.phase != TurnPhase::Stopping
        });
        self.0.push(Active { item, phase });
    }

    /// Marks a running turn as stopping. Returns whether it ran.
    pub(crate) fn stop(&mut self, turn: &EntryId) -> bool {
        let mut running = self.0.iter_mut().filter(|active| active.phase == TurnPhase::Running);
        let found = running.find(|active| active.item.turn == *turn);
        let is_found = found.is_some();
        if let Some(active) = found {
            active.phase = TurnPhase::Stopping;
        }
        is_found
    }

    /// Removes a turn that runs or is asked of a person. A stopping one stays until its agent has ended.
    pub(crate) fn finish(&mut self, turn: &EntryId) {
        self.0.retain(|active| active.phase == TurnPhase::Stopping || active.item.turn != *turn);
    }

    /// Removes a stopping turn, because its agent has ended.
    pub(crate) fn stopped(&mut self, turn: &EntryId) {
        self.0.retain(|active| active.phase != TurnPhase::Stopping || active.item.turn != *turn);
    }

    /// Removes all stopping turns, because their agents have ended.
    pub(crate) fn all_stopped(&mut self) {
        self.0.retain(|active| active.phase != TurnPhase::Stopping);
    }

    /// Removes all turns but the stopping ones, because a redacted entry may have ended any of them.
    pub(crate) fn lose(&mut self) {
        self.0.retain(|active| active.phase == TurnPhase::Stopping);
    }

    /// Returns whether the limit allows another turn now. While a person is asked or a stopped agent has not ended,
    /// none starts.
    pub(crate) fn has_room(&self, roster: &Roster) -> bool {
        let all_run = self.0.iter().all(|active| active.phase == TurnPhase::Running);
        self.is_empty() || (all_run && self.0.len() < roster.limits().parallel)
    }

    /// Returns whether the limit allows this turn now. Turns of one ask may exceed the limit, but only beside each other.
    pub(crate) fn has_room_for(&self, roster: &Roster, item: &Item) -> bool {
        let is_beside = |active: &Active| {
            active.phase == TurnPhase::Running && active.item.is_of_ask_with(item)
        };
        self.has_room(roster) || self.0.iter().all(is_beside)
    }

    /// Returns whether a turn of this member may run beside the active ones: it has no other active turn, and neither
    /// it nor they may write to the same files.
    pub(crate) fn allow(&self, roster: &Roster, index: MemberIndex) -> bool {
        let is_fit = |one: MemberIndex| roster.is_human(one) || roster.may_run_beside(one);
        self.is_empty()
            || (is_fit(index)
                && self
                    .iter()
                    .all(|active| active.item.index != index && is_fit(active.item.index)))
    }
}
