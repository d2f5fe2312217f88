//! What stops agents from going on for ever: turns since a person spoke, turns between the same two, and
//! money. Checked before every start of an agent, never in the middle of a turn.

use std::collections::BTreeMap;
use std::fmt;

use crate::effect::Why;
use crate::table::{Seat, Table};

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

/// An amount of dollars in whole millionths, so that sums are exact and equal on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(u64);

impl Dollars {
    /// An amount; less than nothing, and what is no number, counts as nothing.
    pub fn from_usd(usd: f64) -> Self {
        // A float beyond the range becomes the largest number, and NaN becomes 0.
        Self((usd * 1e6).round() as u64)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, millionths) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let mut digits = format!("{millionths:06}");
        while digits.len() > 2 && digits.ends_with('0') {
            digits.pop();
        }
        write!(f, "{whole}.{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_nonsense_is_nothing() {
        let tenth = Dollars::from_usd(0.1);
        assert_eq!(tenth.plus(tenth).plus(tenth), Dollars::from_usd(0.3));
        for nonsense in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Dollars::from_usd(nonsense), Dollars::default());
        }
        assert_eq!(Dollars::from_usd(f64::INFINITY).plus(tenth), Dollars(u64::MAX));
    }

    #[test]
    fn amounts_are_written_as_people_do() {
        assert_eq!(Dollars::from_usd(5.0).to_string(), "5.00");
        assert_eq!(Dollars::from_usd(0.25).to_string(), "0.25");
        assert_eq!(Dollars::from_usd(0.0125).to_string(), "0.0125");
        assert_eq!(Dollars::from_usd(1.000_001).to_string(), "1.000001");
    }
}
