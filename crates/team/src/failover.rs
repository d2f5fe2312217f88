//! Failover: another member takes over the turns of a member that has reached its usage limit. Only members with a
//! `fallback` in the team file are replaced, and only by a member that has not reached its own limit and has not tried
//! the same turn. So a turn never returns to a member while its limit lasts.

use tertulia_session::{Cause, EntryId, QueueRule, Timestamp};

use crate::effect::PauseReason;
use crate::queue::Item;
use crate::roster::{MemberIndex, Roster};
use crate::state::{Hold, State, TurnChange, TurnRecord};

/// A usage limit that a member has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberLimit {
    /// The turn that reached it.
    pub(crate) turn: EntryId,
    pub(crate) resets_at: Option<Timestamp>,
}

/// Whether the member of a turn can work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    Available,
    TakenOverBy(MemberIndex),
    /// Its limit and those of all its fallbacks last.
    Waits,
}

impl State {
    /// Returns whether the member of this turn can work on it, or who takes over.
    pub(crate) fn availability(&self, roster: &Roster, item: &Item) -> Availability {
        // An ask wants to hear this member. If its limit still lasts, it is named in the result.
        if item.round.is_some() || !self.limits.contains_key(&item.index) {
            return Availability::Available;
        }
        let (first, tried) = self.tried(&item.turn, item.index);
        let mut fallbacks = roster.fallbacks(first).peekable();
        if fallbacks.peek().is_none() {
            return Availability::Available;
        }
        fallbacks
            .find(|index| !tried.contains(index) && !self.limits.contains_key(index))
            .map_or(Availability::Waits, Availability::TakenOverBy)
    }

    /// Chooses the next turn that can start or that another member can take over, regardless of the active turns.
    pub(crate) fn choose(&self, roster: &Roster) -> Option<(&Item, QueueRule)> {
        let may_start = |item: &Item| self.availability(roster, item) != Availability::Waits;
        self.queue.choose(roster.limits(), self.last_said.as_ref(), may_start)
    }

    /// Same as [`Self::choose`], but only among the turns that may run beside the active ones.
    pub(crate) fn choose_beside(&self, roster: &Roster) -> Option<(&Item, QueueRule)> {
        let may_start = |item: &Item| self.availability(roster, item) != Availability::Waits;
        let has_room = |item: &Item| self.active.has_room_for(roster, item);
        let may_run_beside = |item: &Item| match self.availability(roster, item) {
            _ if !has_room(item) => false,
            Availability::Available => self.active.allow(roster, item.index),
            Availability::TakenOverBy(to) => self.active.allow(roster, to),
            Availability::Waits => false,
        };
        let last_said = self.last_said.as_ref();
        self.queue.choose_beside(roster.limits(), last_said, may_start, may_run_beside)
    }

    /// Returns the member that was asked first for a turn that was taken over, and all members that tried it.
    pub(crate) fn tried(
        &self,
        turn: &EntryId,
        index: MemberIndex,
    ) -> (MemberIndex, Vec<MemberIndex>) {
        let (mut first, mut tried) = (index, vec![index]);
        let mut record = self.turns.get(turn);
        while let Some(earlier) =
            record.and_then(|record| self.turns.get(record.takes_over.as_ref()?))
        {
            first = earlier.item.index;
            tried.push(first);
            record = Some(earlier);
        }
        (first, tried)
    }

    /// Returns whether another turn took this one over.
    pub(crate) fn is_taken_over(&self, record: &TurnRecord) -> bool {
        let next = record.repeated_by.as_ref().and_then(|next| self.turns.get(next));
        next.is_some_and(|next| next.takes_over.is_some())
    }

    /// Applies the end of a turn at a usage limit. A team without fallbacks keeps no limits: there, a person decides.
    pub(crate) fn limit_reached(&mut self, roster: &Roster, change: &TurnChange) {
        let Cause::Failed { limit: Some(_), resets_at, tools, .. } = &change.cause else { return };
        if !roster.has_fallbacks() {
            return;
        }
        let limit = MemberLimit { turn: change.turn.clone(), resets_at: resets_at.clone() };
        self.limits.insert(change.index, limit);
        if self.round_of(&change.turn).is_some() {
            return;
        }
        let (first, _) = self.tried(&change.turn, change.index);
        if let (Some(tools), Some(_)) = (tools, roster.fallbacks(first).next()) {
            let limited = (change.turn.clone(), tools.clone());
            match &mut self.hold {
                // The person is asked about one after the other.
                Some(Hold::LimitedAfterTools(turns)) => turns.push(limited),
                hold => *hold = Some(Hold::LimitedAfterTools(vec![limited])),
            }
        }
    }

    /// Returns whether queued turns wait for nothing but the end of a usage limit.
    pub(crate) fn waits_for_limit(&self, roster: &Roster) -> bool {
        self.active.is_none_but_stopping()
            && matches!(self.pause(roster), Some(PauseReason::Limited { .. }))
    }

    /// Returns the question when no ready turn can start before a limit ends.
    pub(crate) fn all_limited(&self, roster: &Roster) -> PauseReason {
        let member = self.queue.ready().first().map_or("", |item| roster.name(item.index));
        PauseReason::Limited { member: member.into(), resets_at: self.first_reset() }
    }

    /// Returns when the first of the usage limits ends, if that is known.
    pub(crate) fn first_reset(&self) -> Option<Timestamp> {
        let ends = self.limits.values().filter_map(|limit| limit.resets_at.as_ref());
        ends.min_by_key(|at| at.millis()).cloned()
    }

    pub(crate) fn limited_after_tools(
        &self,
        roster: &Roster,
        turn: &EntryId,
        tools: &str,
    ) -> PauseReason {
        let record = self.turns.get(turn);
        let name_of = |turn: &EntryId| Some(roster.name(self.turns.get(turn)?.item.index).into());
        let member: Box<str> = name_of(turn).unwrap_or_default();
        let next = record.and_then(|record| name_of(record.repeated_by.as_ref()?));
        let next = next.filter(|next| *next != member);
        PauseReason::LimitedAfterTools { turn: turn.clone(), member, tools: tools.into(), next }
    }
}
