//! The turns that wait: in order of arrival, which one is next, and what is refused. Pure rules on a short
//! list; the machine calls them and records what they decide. Time plays no part.

use tertulia_session::{EntryId, Intent, QueueRule};

use crate::table::{Limits, Seat};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// The id of its `queued` entry.
    pub(crate) turn: EntryId,
    pub(crate) seat: Seat,
    pub(crate) parent: EntryId,
    pub(crate) intent: Intent,
    pub(crate) by: Option<Seat>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Oldest first.
    pub(crate) items: Vec<Item>,
    /// So many of the oldest ones are paused: none of them starts before the person resumes them. Whatever
    /// is queued later comes behind them, so they are always the first ones.
    pub(crate) paused: usize,
    /// How many turns in a row went before the one that waits longest; P1 does not count.
    passed: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// With this intent, which may be less than what was asked for.
    As(Intent),
    Overflow,
    Duplicate(EntryId),
    Adjacent(EntryId),
}

impl Queue {
    /// Whether nothing waits, and nothing that waited before matters to what comes.
    pub(crate) fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn ready(&self) -> &[Item] {
        self.items.get(self.paused..).unwrap_or_default()
    }

    pub(crate) fn remove(&mut self, turn: &EntryId) -> Option<Item> {
        let place = self.items.iter().position(|item| item.turn == *turn)?;
        if place < self.paused {
            self.paused -= 1;
        }
        Some(self.items.remove(place))
    }

    pub(crate) fn start(&mut self, turn: &EntryId) -> Option<Item> {
        let place = self.items.iter().position(|item| item.turn == *turn)?;
        if place < self.paused {
            // Only a log of an earlier version starts one: there, a message resumed all of them.
            self.paused = 0;
        }
        let item = self.items.remove(place);
        if item.intent != Intent::Interrupt {
            let mut before = self.items.iter().take(place).skip(self.paused);
            let passes = before.any(|other| other.intent != Intent::Interrupt);
            self.passed = if passes { self.passed.saturating_add(1) } else { 0 };
        }
        Some(item)
    }

    /// Whether somebody may be queued for this message, checked in this order: the size of the queue,
    /// the size of the branch, the same again, the same member last in the queue.
    pub(crate) fn admit(
        &self,
        limits: &Limits,
        parent: &EntryId,
        seat: Seat,
        asked: Intent,
    ) -> Admission {
        if self.items.len() >= limits.queue {
            return Admission::Overflow;
        }
        let siblings = self.items.iter().filter(|item| item.parent == *parent);
        let crowded = siblings.clone().count() >= limits.branch;
        let intent = if crowded { Intent::Extend } else { asked };
        let mut same = siblings.filter(|item| item.seat == seat && item.intent == intent);
        if let Some(same) = same.next() {
            return Admission::Duplicate(same.turn.clone());
        }
        match self.ready().last() {
            // A P1 is never refused for this, and nobody loses urgency by it.
            Some(tail)
                if tail.seat == seat
                    && asked != Intent::Interrupt
                    && rank(tail.intent) <= rank(intent) =>
            {
                Admission::Adjacent(tail.turn.clone())
            }
            _ => Admission::As(intent),
        }
    }

    /// The turn that is next, and by which rule; `None` if none waits that is not paused.
    pub(crate) fn choose(
        &self,
        limits: &Limits,
        last_said: Option<&EntryId>,
    ) -> Option<(&Item, QueueRule)> {
        let ready = self.ready();
        let urgent = ready.iter().find(|item| item.intent == Intent::Interrupt);
        if let Some(urgent) = urgent {
            return Some((urgent, QueueRule::Urgent));
        }
        let longest = ready.first()?;
        let local = ready.iter().filter(|item| Some(&item.parent) == last_said);
        // The first of several least ones is taken, which is the oldest.
        let (next, rule) = match local.min_by_key(|item| rank(item.intent)) {
            Some(local) if local.turn != longest.turn => (local, QueueRule::Local),
            Some(local) => (local, QueueRule::InTurn),
            None => (ready.iter().min_by_key(|item| rank(item.intent))?, QueueRule::InTurn),
        };
        if next.turn != longest.turn && self.passed >= limits.local {
            return Some((longest, QueueRule::LongestWait));
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
