//! The queue of turns: the order, the choice of the next turn, and what is refused. Pure rules on a short list,
//! independent of time; the machine calls them and records the results.

use tertulia_session::{AskRound, EntryId, Intent, QueueRule};

use crate::roster::{Limits, MemberIndex};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The id of its `queued` entry.
    pub(crate) turn: EntryId,
    pub(crate) index: MemberIndex,
    pub(crate) parent: EntryId,
    pub(crate) intent: Intent,
    pub(crate) by: Option<MemberIndex>,
    /// The round of the ask that the turn belongs to. `parent` is the question then.
    pub(crate) round: Option<AskRound>,
}

impl Item {
    /// Returns whether both turns belong to the same ask.
    pub(crate) fn is_of_ask_with(&self, other: &Self) -> bool {
        self.round.is_some() && other.round.is_some() && self.parent == other.parent
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Oldest first.
    pub(crate) items: Vec<Item>,
    /// Number of paused items, which are always the oldest. None of them starts before a person resumes them.
    pub(crate) paused: usize,
    /// Number of consecutive turns that overtook the oldest item. P1 turns do not count.
    passed: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Admitted with this intent, which may be lower than requested.
    As(Intent),
    Overflow,
    Duplicate(EntryId),
    Adjacent(EntryId),
}

impl Queue {
    /// Returns whether the queue is empty and earlier items do not affect later choices.
    pub(crate) fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn ready(&self) -> &[Item] {
        self.items.get(self.paused..).unwrap_or_default()
    }

    pub(crate) fn remove(&mut self, turn: &EntryId) -> Option<Item> {
        let index = self.items.iter().position(|item| item.turn == *turn)?;
        if index < self.paused {
            self.paused -= 1;
        }
        Some(self.items.remove(index))
    }

    pub(crate) fn start(&mut self, turn: &EntryId) -> Option<Item> {
        let index = self.items.iter().position(|item| item.turn == *turn)?;
        if index < self.paused {
            // Only logs of an earlier version contain the start of a paused turn: in that version a message resumed
            // all turns.
            self.paused = 0;
        }
        let item = self.items.remove(index);
        if item.intent != Intent::Interrupt {
            let mut before = self.items.iter().take(index).skip(self.paused);
            let passes = before.any(|other| other.intent != Intent::Interrupt);
            self.passed = if passes { self.passed.saturating_add(1) } else { 0 };
        }
        Some(item)
    }

    /// Decides whether a member may be queued for this message. Checks in this order: the size of the queue, the
    /// number of turns of the message, duplicates, and whether the member is already last in the queue.
    pub(crate) fn admit(
        &self,
        limits: &Limits,
        parent: &EntryId,
        index: MemberIndex,
        asked: Intent,
    ) -> Admission {
        if self.items.len() >= limits.queue {
            return Admission::Overflow;
        }
        let siblings = self.items.iter().filter(|item| item.parent == *parent);
        let crowded = siblings.clone().count() >= limits.branch;
        let intent = if crowded { Intent::Extend } else { asked };
        let mut same = siblings.filter(|item| item.index == index && item.intent == intent);
        if let Some(same) = same.next() {
            return Admission::Duplicate(same.turn.clone());
        }
        match self.ready().last() {
            // A P1 request is never refused for this reason, and no request gets a lower intent.
            Some(tail)
                if tail.index == index
                    && asked != Intent::Interrupt
                    && rank(tail.intent) <= rank(intent) =>
            {
                Admission::Adjacent(tail.turn.clone())
            }
            _ => Admission::As(intent),
        }
    }

    /// Chooses the next turn among those that may start. `None` if all of them are paused, or none waits.
    pub(crate) fn choose(
        &self,
        limits: &Limits,
        last_said: Option<&EntryId>,
        may_start: impl Fn(&Item) -> bool,
    ) -> Option<(&Item, QueueRule)> {
        self.choose_beside(limits, last_said, may_start, |_| true)
    }

    /// Same as [`Self::choose`] while turns are active. A turn that may not run beside them waits. Others overtake it,
    /// but not more often than any other turn, and no turn overtakes a P1.
    pub(crate) fn choose_beside(
        &self,
        limits: &Limits,
        last_said: Option<&EntryId>,
        may_start: impl Fn(&Item) -> bool,
        may_run_beside: impl Fn(&Item) -> bool,
    ) -> Option<(&Item, QueueRule)> {
        let all = || self.ready().iter().filter(|item| may_start(item));
        let urgent = all().find(|item| item.intent == Intent::Interrupt);
        if let Some(urgent) = urgent {
            return may_run_beside(urgent).then_some((urgent, QueueRule::Urgent));
        }
        let longest = all().next()?;
        let ready = || all().filter(|item| may_run_beside(item));
        let local = ready().filter(|item| Some(&item.parent) == last_said);
        // `min_by_key` takes the first of equal items, which is the oldest.
        let (next, rule) = match local.min_by_key(|item| rank(item.intent)) {
            Some(local) if local.turn != longest.turn => (local, QueueRule::Local),
            Some(local) => (local, QueueRule::InTurn),
            None => (ready().min_by_key(|item| rank(item.intent))?, QueueRule::InTurn),
        };
        if next.turn != longest.turn && self.passed >= limits.local {
            return may_run_beside(longest).then_some((longest, QueueRule::LongestWait));
        }
        Some((next, rule))
    }
}

fn rank(intent: Intent) -> u8 {
    match intent {
        Intent::Interrupt => 0,
        Intent::Reply => 1,
        Intent::Extend => 2,
    }
}

#[cfg(test)]
mod tests;
