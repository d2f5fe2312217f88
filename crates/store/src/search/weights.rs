//! How well a text answers: the same BM25 as recall, with the same weights for each kind of term. What is counted over
//! a store is the same in every kind of store.
//! Called by the search; must not know how a store counts.

use tertulia_session::search::rank::{REPEATS_MAX, Saturation, UNIT, kind_weight, rarity};

use super::forms::AnyOf;
use super::matcher::Counts;
use super::query::Question;
use crate::model::TermMatch;

/// How many entries with a term are counted. It says little then.
pub(crate) const COUNTED_MAX: u64 = 2_000;
/// Against how many entries at most: a term of very many weighs little then, also in a large store.
const ENTRIES_MAX: u64 = 8 * COUNTED_MAX;
/// How many terms a text has that is neither long nor short.
const LENGTH: u64 = 200;
/// A beginning of a word weighs like a word that one of so many entries has: counting all that begin with it would
/// take as long as the search.
const PREFIX_SHARE: u64 = 8;

/// How many entries there are in a store, and how many of them have one of some terms, at most [`COUNTED_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frequencies {
    pub(crate) entries: u64,
    pub(crate) with_terms: Vec<u64>,
}

/// What the terms of a question are worth.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) terms: Vec<Weight>,
    saturation: Saturation,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub(super) value: u64,
    /// How many entries have it, where that was counted.
    pub(super) entries: Option<u64>,
}

/// The terms whose entries are to be counted.
pub(super) fn counted(question: &Question) -> Vec<AnyOf> {
    let counted = question.ranked.iter().filter(|ranked| is_counted(&ranked.forms));
    counted.map(|ranked| ranked.forms.clone()).collect()
}

fn is_counted(forms: &AnyOf) -> bool {
    forms.iter().all(|form| !form.is_prefix)
}

impl Weights {
    pub(super) fn new(question: &Question, frequencies: &Frequencies) -> Self {
        let all = frequencies.entries.min(ENTRIES_MAX);
        let mut counts = frequencies.with_terms.iter().copied();
        let terms = question.ranked.iter().map(|ranked| {
            let entries = is_counted(&ranked.forms).then(|| counts.next().unwrap_or_default());
            let rarity = entries.map_or(rarity(1, PREFIX_SHARE), |entries| rarity(entries, all));
            // Where every entry has it, how often still tells something.
            Weight { value: kind_weight(ranked.kind) * rarity.max(1), entries }
        });
        Self { terms: terms.collect(), saturation: Saturation::new(LENGTH) }
    }

    pub(super) fn score(&self, counts: &Counts) -> u64 {
        let terms = self.terms.iter().zip(&counts.times);
        terms.map(|(weight, times)| self.part(*weight, counts.length, *times)).sum()
    }

    /// What the terms are worth that a text has, however often.
    pub(super) fn covered(&self, counts: &Counts) -> u64 {
        let terms = self.terms.iter().zip(&counts.times);
        terms.filter(|(_, times)| **times > 0).map(|(weight, _)| weight.value).sum()
    }

    fn part(&self, weight: Weight, length: u16, times: usize) -> u64 {
        weight.value * self.saturation.of(length, times.min(REPEATS_MAX)) / UNIT
    }

    /// What brought a text its score, term by term. `found` gives a term as the text has it.
    pub(super) fn explained(
        &self,
        question: &Question,
        counts: &Counts,
        found: impl Fn(usize) -> Box<str>,
    ) -> Vec<TermMatch> {
        let terms = question.ranked.iter().zip(&self.terms).zip(&counts.times).enumerate();
        let terms = terms.filter(|(_, (_, times))| **times > 0);
        terms
            .map(|(place, ((ranked, weight), times))| TermMatch {
                asked: ranked.asked.clone(),
                found: found(place),
                kind: ranked.kind,
                times: *times as u64,
                entries: weight.entries,
                weight: weight.value,
                score: self.part(*weight, counts.length, *times),
            })
            .collect()
    }
}
