//! Limits that keep agents from running forever: turns since a person spoke, turns between the same two members, and
//! cost. Checked before every start of an agent. The cost is also checked during a turn, if its agent reports it.

use std::collections::BTreeMap;
use std::fmt;

use tertulia_session::json::Json;
use tertulia_session::{SpendingLimit, Usd};

use crate::effect::{Overspent, PauseReason};
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
    /// The newest turn of every member.
    turns_of: Vec<Purse>,
    /// All sessions of the store on one day, as recorded, and what this session spent since.
    day: Purse,
    day_name: Option<Box<str>>,
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
        let limits = roster.limits();
        let members = || roster.members().iter();
        let of_turn = |own: Option<f64>| Purse::new(own.or(limits.budget_usd_turn));
        Self {
            session: Purse::new(limits.budget_usd),
            members: members().map(|member| Purse::new(member.budget_usd)).collect(),
            turns_of: members().map(|member| of_turn(member.budget_usd_turn)).collect(),
            day: Purse::new(limits.budget_usd_day),
            ..Self::default()
        }
    }

    pub(crate) fn started(&mut self, by: Option<MemberIndex>, index: MemberIndex) {
        if let Some(purse) = self.turns_of.get_mut(index.0) {
            purse.spent = Dollars::default();
        }
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

    /// Resets the turn counts, and adds the same amount to every budget that is used up.
    pub(crate) fn continue_turns(&mut self) {
        self.person_said();
        for purse in self.members.iter_mut().chain([&mut self.session, &mut self.day]) {
            // A limit of nothing stays: only a change of the team file lets an agent start.
            if purse.is_empty() && purse.limit != Some(Dollars::default()) {
                purse.granted = purse.spent;
            }
        }
    }

    /// Adds a cost; `None` for somebody who is not in the team.
    pub(crate) fn paid(&mut self, index: Option<MemberIndex>, price: Dollars) {
        let of_member = |purses: &'_ mut Vec<Purse>| {
            if let Some(purse) = index.and_then(|index| purses.get_mut(index.0)) {
                purse.spent = purse.spent.plus(price);
            }
        };
        of_member(&mut self.members);
        of_member(&mut self.turns_of);
        for purse in [&mut self.session, &mut self.day] {
            purse.spent = purse.spent.plus(price);
        }
    }

    /// Sets what all sessions have spent on a day. Another day begins with the limit of the team again.
    pub(crate) fn day_spent(&mut self, day: &str, spent: Dollars) {
        if self.day_name.as_deref() != Some(day) {
            self.day_name = Some(day.into());
            self.day.granted = Dollars::default();
        }
        self.day.spent = spent;
    }

    /// Returns the day, and what all sessions have spent on it as far as this session knows.
    pub(crate) fn day(&self) -> Option<(&str, Dollars)> {
        Some((self.day_name.as_deref()?, self.day.spent))
    }

    /// Returns whether a limit applies to costs.
    pub(crate) fn limits_costs(&self) -> bool {
        let purses = self.members.iter().chain(&self.turns_of).chain([&self.session, &self.day]);
        purses.into_iter().any(|purse| purse.limit.is_some())
    }

    /// Returns the limit that a running turn of this member has reached. `running` has the costs so far of all running
    /// turns, which are not recorded yet.
    pub(crate) fn overspent(
        &self,
        index: MemberIndex,
        running: &[(MemberIndex, Dollars)],
    ) -> Option<Overspent> {
        let sum = |costs: &mut dyn Iterator<Item = &(MemberIndex, Dollars)>| {
            costs.fold(Dollars::default(), |sum, (_, cost)| sum.plus(*cost))
        };
        let own = sum(&mut running.iter().filter(|(member, _)| *member == index));
        let all = sum(&mut running.iter());
        let purses = [
            (SpendingLimit::Turn, self.turns_of.get(index.0), own),
            (SpendingLimit::Member, self.members.get(index.0), own),
            (SpendingLimit::Session, Some(&self.session), all),
            (SpendingLimit::Day, Some(&self.day), all),
        ];
        purses.into_iter().find_map(|(limit, purse, more)| {
            let (spent, allowed) = (purse?.spent.plus(more), purse?.allowed()?);
            (spent >= allowed).then_some(Overspent { limit, spent, allowed })
        })
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
        let member = || Some(roster.name(index).into());
        let of_turn = self.turns_of.get(index.0).filter(|purse| purse.allows_nothing());
        let own = self.members.get(index.0).filter(|purse| purse.is_empty());
        let of_turn = of_turn.map(|purse| purse.why(SpendingLimit::Turn, member()));
        let own = own.map(|purse| purse.why(SpendingLimit::Member, member()));
        let shared = [(SpendingLimit::Session, &self.session), (SpendingLimit::Day, &self.day)];
        let shared = shared.into_iter().find(|(_, purse)| purse.is_empty());
        of_turn.or(own).or_else(|| shared.map(|(limit, purse)| purse.why(limit, None)))
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

    fn allows_nothing(&self) -> bool {
        self.allowed() == Some(Dollars::default())
    }

    fn why(&self, limit: SpendingLimit, member: Option<Box<str>>) -> PauseReason {
        let allowed = self.allowed().unwrap_or_default();
        PauseReason::Spending { limit, member, spent: self.spent, allowed, stopped: None }
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

    /// Returns the amount for an entry.
    pub fn to_usd(self) -> Usd {
        Json::parse(&self.to_string()).ok().and_then(Usd::from_json).unwrap_or_default()
    }

    pub(crate) fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    pub(crate) fn millionths(self) -> u64 {
        self.0
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
