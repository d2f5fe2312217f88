//! Scores texts with the same BM25 as recall, and the same weights for each kind of term. The statistics are the
//! same in every store, however it counts.

use tertulia_session::search::rank::{REPEATS_MAX, Saturation, UNIT, kind_weight, rarity};

use super::forms::AnyOf;
use super::matcher::Counts;
use super::query::ParsedQuery;
use crate::model::TermMatch;

/// The maximum count of entries with a term. A larger count would hardly change the score.
pub(crate) const COUNTED_MAX: u64 = 2_000;
/// The maximum number of entries that is assumed, so that a very common term has little weight in a large store too.
const ENTRIES_MAX: u64 = 8 * COUNTED_MAX;
/// The number of terms in a text of average length.
const LENGTH: u64 = 200;
/// The assumed frequency of a prefix: one in this many entries. Counting all words with the prefix would take as
/// long as the search.
const PREFIX_SHARE: u64 = 8;

/// The number of entries in a store, and for each group of terms the number of entries with one of them, at most
/// [`COUNTED_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frequencies {
    pub(crate) entries: u64,
    pub(crate) with_terms: Vec<u64>,
}

/// The weights of the terms of a query.
#[derive(Debug)]
pub(super) struct Weights {
    pub(super) terms: Vec<Weight>,
    saturation: Saturation,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    pub(super) value: u64,
    /// The number of entries that contain it, if counted.
    pub(super) entries: Option<u64>,
}

/// Returns the terms whose entries must be counted.
pub(super) fn counted(parsed: &ParsedQuery) -> Vec<AnyOf> {
    let counted = parsed.ranked.iter().filter(|ranked| is_counted(&ranked.forms));
    counted.map(|ranked| ranked.forms.clone()).collect()
}

fn is_counted(forms: &AnyOf) -> bool {
    forms.iter().all(|form| !form.is_prefix)
}

impl Weights {
    pub(super) fn new(parsed: &ParsedQuery, frequencies: &Frequencies) -> Self {
        let all = frequencies.entries.min(ENTRIES_MAX);
        let mut counts = frequencies.with_terms.iter().copied();
        let terms = parsed.ranked.iter().map(|ranked| {
            let entries = is_counted(&ranked.forms).then(|| counts.next().unwrap_or_default());
            let rarity = entries.map_or(rarity(1, PREFIX_SHARE), |entries| rarity(entries, all));
            // The weight is at least 1, because the number of occurrences matters even if every entry has the term.
            Weight { value: kind_weight(ranked.kind) * rarity.max(1), entries }
        });
        Self { terms: terms.collect(), saturation: Saturation::new(LENGTH) }
    }

    pub(super) fn score(&self, counts: &Counts) -> u64 {
        let terms = self.terms.iter().zip(&counts.times);
        terms.map(|(weight, times)| self.part(*weight, counts.length, *times)).sum()
    }

    /// Returns the total value of the terms that a text contains, regardless of repetitions.
    pub(super) fn covered(&self, counts: &Counts) -> u64 {
        let terms = self.terms.iter().zip(&counts.times);
        terms.filter(|(_, times)| **times > 0).map(|(weight, _)| weight.value).sum()
    }

    fn part(&self, weight: Weight, length: u16, times: usize) -> u64 {
        weight.value * self.saturation.fraction(length, times.min(REPEATS_MAX)) / UNIT
    }

    /// Explains a score term by term. `found` returns a term as written in the text.
    pub(super) fn explained(
        &self,
        parsed: &ParsedQuery,
        counts: &Counts,
        found: impl Fn(usize) -> Box<str>,
    ) -> Vec<TermMatch> {
        let terms = parsed.ranked.iter().zip(&self.terms).zip(&counts.times).enumerate();
        let terms = terms.filter(|(_, (_, times))| **times > 0);
        terms
            .map(|(index, ((ranked, weight), times))| TermMatch {
                asked: ranked.written.clone(),
                found: found(index),
                kind: ranked.kind,
                times: *times as u64,
                entries: weight.entries,
                weight: weight.value,
                score: self.part(*weight, counts.length, *times),
            })
            .collect()
    }
}
