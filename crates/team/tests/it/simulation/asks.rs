//! Checks the promises about asks: no second round begins before the first one has ended, no round begins twice, and the
//! turns of an ask are those that the log records.

use std::collections::{BTreeMap, BTreeSet};

use tertulia_session::{AskRound, Cause, EntryId};

#[derive(Default)]
pub(crate) struct AskChecks {
    /// The question and the round of every turn of an ask.
    turns: BTreeMap<EntryId, (EntryId, AskRound)>,
    /// The turns that have not ended.
    open: BTreeSet<EntryId>,
    /// The questions of asks whose second round has begun.
    compared: BTreeSet<EntryId>,
    /// Turns that were stopped, because the grace time was over.
    pub(crate) graces: usize,
}

impl AskChecks {
    pub(crate) fn contains(&self, turn: &EntryId) -> bool {
        self.turns.contains_key(turn)
    }

    pub(crate) fn compared(&self) -> usize {
        self.compared.len()
    }

    pub(crate) fn are_of_one(&self, one: &EntryId, other: &EntryId) -> bool {
        let question = |turn| self.turns.get(turn).map(|(question, _)| question);
        question(one).is_some() && question(one) == question(other)
    }

    /// Returns how many turns of asks may wait although the queue is full: those of second rounds, and those that a
    /// crash interrupted.
    pub(crate) fn beyond_queue(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn queued(&mut self, id: &EntryId, cause: &Cause) {
        let (question, round) = match cause {
            Cause::Consulted { entry, round, .. } => (entry.clone(), *round),
            Cause::Repeated { turn, .. } => match self.turns.get(turn) {
                Some((question, round)) => (question.clone(), *round),
                None => return,
            },
            _ => return,
        };
        if let Cause::Consulted { round, turn: None, .. } = cause {
            let of_round = |first: bool| {
                let open = self.open.iter().filter_map(|turn| self.turns.get(turn));
                let is_first = |round| round == AskRound::Answer;
                open.filter(|(one, round)| *one == question && is_first(*round) == first).count()
            };
            match round {
                AskRound::Answer => assert!(!self.compared.contains(&question), "it is over"),
                _ => assert_eq!(of_round(true), 0, "{question} is compared too early"),
            }
            let is_new = *round == AskRound::Answer || self.compared.insert(question.clone());
            assert!(is_new || of_round(false) > 0, "{question} is compared twice");
        }
        self.turns.insert(id.clone(), (question, round));
        self.open.insert(id.clone());
    }

    pub(crate) fn ended(&mut self, id: &EntryId, cause: &Cause) {
        self.open.remove(id);
        self.graces += usize::from(matches!(cause, Cause::GraceEnded { .. }));
    }
}
