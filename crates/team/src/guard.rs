//! Limits that keep agents from running forever: turns since a person spoke, turns between the same two members, and
//! cost. Checked before every start of an agent, never during a turn.

use std::collections::BTreeMap;
use std::fmt;

use crate::effect::PauseReason;
use crate::roster::{MemberIndex, Roster};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guard {
    turns: u32,
    /// Limit that a person set. It applies if it is lower than the limit of the team.
    pub(crate) turns_max: Option<u32>,
    /// Turns by pair of members, the smaller index first.
    pairs: BTreeMap<(MemberIndex, MemberIndex), u32>,
    session: Purse,
    members: Vec<Purse>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Purse {
    spent: Dollars,
    limit: Option<Dollars>,
    /// Amount that a person added to the limit by continuing.
    granted: Dollars,
}

impl Guard {
    pub(crate) fn new(roster: &Roster) -> Self {
        Self {
            session: Purse::new(roster.limits().budget_usd),
            members: roster.members().iter().map(|member| Purse::new(member.budget_usd)).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn started(&mut self, by: Option<MemberIndex>, index: MemberIndex) {
        self.turns = self.turns.saturating_add(1);
        if let Some(by) = by {
            let count = self.pairs.entry((by.min(index), by.max(index))).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Resets the turn counts. Does not reset costs; only continuing raises their limit.
    pub(crate) fn person_said(&mut self) {
        self.turns = 0;
        self.pairs.clear();
    }

    /// Resets the turn counts, and doubles the budget of every member that has used it up.
    pub(crate) fn continue_turns(&mut self) {
        self.person_said();
        for purse in self.members.iter_mut().chain([&mut self.session]) {
            if purse.is_empty() {
                purse.granted = purse.spent;
            }
        }
    }

    /// Adds a cost; `None` for somebody who is not in the team.
    pub(crate) fn paid(&mut self, index: Option<MemberIndex>, price: Dollars) {
        self.session.spent = self.session.spent.plus(price);
        if let Some(purse) = index.and_then(|index| self.members.get_mut(index.0)) {
            purse.spent = purse.spent.plus(price);
        }
    }

    pub(crate) fn stops(
        &self,
        roster: &Roster,
        by: Option<MemberIndex>,
        index: MemberIndex,
    ) -> Option<PauseReason> {
        let limits = roster.limits();
        if self.turns >= self.turns_max.unwrap_or(u32::MAX).min(limits.turns) {
            return Some(PauseReason::LoopGuard { turns: self.turns });
        }
        // The pair limit does not apply to a person and an agent.
        if let Some(by) = by.filter(|by| !roster.is_human(*by)) {
            let turns =
                self.pairs.get(&(by.min(index), by.max(index))).copied().unwrap_or_default();
            if turns >= limits.pair {
                let pair = [roster.name(by).into(), roster.name(index).into()];
                return Some(PauseReason::PairLoop { pair, turns });
            }
        }
        let own = self.members.get(index.0).filter(|purse| purse.is_empty());
        let own = own.map(|purse| purse.why(Some(roster.name(index).into())));
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

    fn why(&self, member: Option<Box<str>>) -> PauseReason {
        let allowed = self.allowed().unwrap_or_default();
        PauseReason::Spending { member, spent: self.spent, allowed }
    }
}

/// An amount of dollars in whole millionths, so that sums are exact and equal on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(u64);

impl Dollars {
    /// Converts an amount; negative amounts and NaN become 0.
    pub fn from_usd(usd: f64) -> Self {
        // A float beyond the range becomes the largest number, and NaN becomes 0.
        Self((usd * 1e6).round() as u64)
    }

    /// Returns the sum, saturating at the maximum.
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
