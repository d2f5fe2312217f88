//! What stops agents from going on for ever: turns since a person spoke, turns between the same two, and
//! money. Checked before every start of an agent, never in the middle of a turn.

use std::collections::BTreeMap;

use crate::effect::Why;
use crate::money::Dollars;
use crate::table::{Seat, Table};

/// What was used since a person last had a say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    turns: u32,
    /// What the person allows, if less than the team does.
    pub(crate) turns_max: Option<u32>,
    /// Turns by pair of seats, the smaller seat first.
    pairs: BTreeMap<(Seat, Seat), u32>,
    session: Purse,
    members: Vec<Purse>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Purse {
    spent: Dollars,
    limit: Option<Dollars>,
    /// What the person has added to the limit by saying "go on".
    granted: Dollars,
}

impl Guard {
    pub(crate) fn new(table: &Table) -> Self {
        Self {
            session: Purse::new(table.limits().budget_usd),
            members: table.members().iter().map(|member| Purse::new(member.budget_usd)).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn started(&mut self, by: Option<Seat>, seat: Seat) {
        self.turns = self.turns.saturating_add(1);
        if let Some(by) = by {
            let count = self.pairs.entry((by.min(seat), by.max(seat))).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Turns count anew. Money does not: only "go on" allows more of it.
    pub(crate) fn person_said(&mut self) {
        self.turns = 0;
        self.pairs.clear();
    }

    /// Turns count anew, and whoever has spent all may spend as much again.
    pub(crate) fn go_on(&mut self) {
        self.person_said();
        for purse in self.members.iter_mut().chain([&mut self.session]) {
            if purse.is_empty() {
                purse.granted = purse.spent;
            }
        }
    }

    /// Something was paid; `None` for somebody who does not sit at the table.
    pub(crate) fn paid(&mut self, seat: Option<Seat>, price: Dollars) {
        self.session.spent = self.session.spent.plus(price);
        if let Some(purse) = seat.and_then(|seat| self.members.get_mut(seat.0)) {
            purse.spent = purse.spent.plus(price);
        }
    }

    /// Why this agent may not start now, asked for by somebody.
    pub(crate) fn stops(&self, table: &Table, by: Option<Seat>, seat: Seat) -> Option<Why> {
        let limits = table.limits();
        if self.turns >= self.turns_max.unwrap_or(u32::MAX).min(limits.turns) {
            return Some(Why::LoopGuard { turns: self.turns });
        }
        // A person and an agent may talk as long as they like.
        if let Some(by) = by.filter(|by| !table.is_human(*by)) {
            let turns = self.pairs.get(&(by.min(seat), by.max(seat))).copied().unwrap_or_default();
            if turns >= limits.pair {
                let pair = [table.name(by).into(), table.name(seat).into()];
                return Some(Why::PairLoop { pair, turns });
            }
        }
        let own = self.members.get(seat.0).filter(|purse| purse.is_empty());
        let own = own.map(|purse| purse.why(Some(table.name(seat).into())));
        own.or_else(|| self.session.is_empty().then(|| self.session.why(None)))
    }
}

impl Purse {
    fn new(limit_usd: Option<f64>) -> Self {
        Self { limit: limit_usd.map(Dollars::from_usd), ..Self::default() }
    }

    fn allowed(&self) -> Option<Dollars> {
        self.limit.map(|limit| limit.plus(self.granted))
    }

    fn is_empty(&self) -> bool {
        self.allowed().is_some_and(|allowed| self.spent >= allowed)
    }

    fn why(&self, member: Option<Box<str>>) -> Why {
        let allowed = self.allowed().unwrap_or_default();
        Why::Spending { member, spent: self.spent, allowed }
    }
}
