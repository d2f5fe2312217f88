//! Full-text search, the part that is the same in every store, so that all stores give the same hits in the same order. A
//! store keeps the terms of entries in its own index, counts the entries that have a term, and hands over the newest
//! entries that have the wanted terms.

mod forms;
mod matcher;
mod needle;
mod query;
mod snippet;
mod terms;
mod text;
mod weights;

pub(crate) use forms::{AnyOf, Form};
pub(crate) use query::{Question, Wanted};
pub(crate) use terms::index_terms;
pub(crate) use text::{json_values, text_of};
pub(crate) use weights::{COUNTED_MAX, Frequencies};

use std::cmp::Reverse;

use tertulia_session::{Entry, Timestamp};

use crate::backend::{Backend, Candidates};
use crate::model::{Hit, Matching, SearchQuery, SearchResult, StoredEntry};
use crate::row::{Encoding, Row};
use crate::{Result, SessionId};
use matcher::Matcher;
use query::Needs;
use weights::Weights;

/// How many entries are looked at, the newest of those that have the wanted terms.
pub(crate) const CANDIDATES_MAX: usize = 2000;
const HITS: usize = 20;
/// Of entries that lack words, those count whose words are worth at least one of so many parts of the best one's.
const COVERED_SHARE: u64 = 2;

/// An entry that has the terms that an index was asked for.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) session: SessionId,
    pub(crate) stored: StoredEntry,
    pub(crate) speaker: Option<Box<str>>,
}

impl Candidate {
    /// An entry as a store keeps it; none if it is damaged, which is never served as good.
    pub(crate) fn of(session: SessionId, row: Row) -> Option<Self> {
        let speaker = row.record.speaker.as_ref().map(|speaker| speaker.id.clone());
        Some(Self { session, stored: row.decode().ok()?, speaker })
    }
}

/// The terms of an entry for an index, as [`terms_text`] gives them. A damaged entry is not found; `verify` names
/// it.
pub(crate) fn terms_of(row: Row) -> Option<String> {
    let is_purged = row.record.encoding == Encoding::Purged;
    terms_text(&row.decode().ok().filter(|_| !is_purged)?.entry)
}

/// The terms of an entry, if it has any. No term holds a blank, so a blank between them is enough.
pub(crate) fn terms_text(entry: &Entry) -> Option<String> {
    let terms = index_terms(&text_of(entry));
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// Finds what a query asks for, best first.
pub(crate) fn find(backend: &dyn Backend, query: &SearchQuery) -> Result<SearchResult> {
    let Some(question) = Question::read(&query.text) else {
        return Ok(SearchResult::default());
    };
    if query.matching == Matching::BestWords && question.is_common() {
        return Ok(SearchResult::default());
    }
    let weights = Weights::new(&question, &backend.frequencies(&weights::counted(&question))?);
    let search =
        Search { backend, query, matcher: Matcher::new(&question), question: &question, weights };
    if query.matching == Matching::AllWords {
        let found = search.with_all_words()?;
        if !found.found.is_empty() || !question.has_parts() {
            return Ok(search.result(found, false));
        }
    }
    let found = search.with_some_words()?;
    Ok(search.result(found, query.matching == Matching::AllWords))
}

struct Search<'a> {
    backend: &'a dyn Backend,
    query: &'a SearchQuery,
    question: &'a Question,
    matcher: Matcher<'a>,
    weights: Weights,
}

#[derive(Default)]
struct Found {
    found: Vec<Scored>,
    more: bool,
}

struct Scored {
    candidate: Candidate,
    score: u64,
    /// What the terms are worth that it has.
    covered: u64,
}

impl Search<'_> {
    fn with_all_words(&self) -> Result<Found> {
        let wanted = self.question.wanted(Needs::All);
        let candidates = self.backend.candidates(&wanted, self.query, CANDIDATES_MAX)?;
        let mut found = Found::default();
        self.judge(candidates, Needs::All, &mut found);
        Ok(found)
    }

    /// The entries with the most telling words. The rarest terms come first, so that common ones do not use up what is
    /// looked at, and no more terms are asked for than can still bring a hit.
    fn with_some_words(&self) -> Result<Found> {
        let mut order: Vec<usize> = (0..self.question.ranked.len()).collect();
        let weight = |place: &usize| self.weights.terms.get(*place).copied();
        order.retain(|place| weight(place).is_some_and(|weight| weight.entries != Some(0)));
        order.sort_by_key(|place| Reverse(weight(place).map(|weight| weight.value)));
        let mut left: u64 = order.iter().filter_map(weight).map(|weight| weight.value).sum();
        let (mut found, mut best, mut looked_at) = (Found::default(), 0, 0);
        let mut wanted = self.question.wanted(Needs::Quoted);
        let mut order = order.into_iter().peekable();
        while order.peek().is_some() && left * COVERED_SHARE >= best && looked_at < CANDIDATES_MAX {
            let (mut group, mut entries) = (AnyOf::new(), 0);
            while let Some(place) = order.next_if(|_| entries < COUNTED_MAX) {
                let Some(weight) = weight(&place) else { continue };
                entries += weight.entries.unwrap_or(COUNTED_MAX);
                left -= weight.value;
                group.extend(
                    self.question.ranked.get(place).into_iter().flat_map(|one| one.forms.clone()),
                );
            }
            wanted.all.push(group);
            let candidates =
                self.backend.candidates(&wanted, self.query, CANDIDATES_MAX - looked_at)?;
            looked_at += candidates.found.len();
            self.judge(candidates, Needs::Quoted, &mut found);
            best = found.found.iter().map(|one| one.covered).max().unwrap_or_default();
            // What follows has none of these terms.
            wanted.without.extend(wanted.all.pop().unwrap_or_default());
        }
        found.found.retain(|one| one.covered * COVERED_SHARE >= best);
        Ok(found)
    }

    fn judge(&self, candidates: Candidates, needs: Needs, found: &mut Found) {
        found.more |= candidates.more;
        for candidate in candidates.found {
            let text = text_of(&candidate.stored.entry);
            let Some(counts) = self.matcher.counts(&text, needs) else { continue };
            let (score, covered) = (self.weights.score(&counts), self.weights.covered(&counts));
            if needs == Needs::All || score > 0 {
                found.found.push(Scored { candidate, score, covered });
            }
        }
    }

    fn result(&self, found: Found, is_partial: bool) -> SearchResult {
        let Found { mut found, more } = found;
        // Equal scores: the later entry first, by time where there is one; then by place, so that every
        // store and every run gives the same order.
        found.sort_by_cached_key(|Scored { candidate, score, .. }| {
            let time = candidate.stored.entry.timestamp.as_ref().map(Timestamp::millis);
            (Reverse((*score, time)), candidate.session.clone(), Reverse(candidate.stored.seq))
        });
        found.truncate(self.query.limit.unwrap_or(HITS));
        let is_partial = is_partial && !found.is_empty();
        let hits = found.into_iter().map(|one| self.hit(one)).collect();
        SearchResult { hits, more, is_partial, ignored: self.question.ignored.clone() }
    }

    fn hit(&self, Scored { candidate, score, .. }: Scored) -> Hit {
        let Candidate { session, stored, speaker } = candidate;
        let text = text_of(&stored.entry);
        let counts = self.matcher.counts(&text, Needs::Quoted);
        let shown = terms::flat(&text);
        let places = self.matcher.places(&shown);
        let found = |term: usize| {
            let place = places.iter().find(|(_, other)| *other == term);
            let found = place.and_then(|(range, _)| shown.get(range.clone()));
            found.unwrap_or_default().into()
        };
        let value = |term: usize| self.weights.terms.get(term).map_or(0, |weight| weight.value);
        Hit {
            session,
            seq: stored.seq,
            type_name: stored.entry.kind.type_name().into(),
            speaker,
            snippet: snippet::around(&shown, &places, value),
            timestamp: stored.entry.timestamp,
            entry_id: stored.entry.id,
            score,
            matches: self.weights.explained(self.question, &counts.unwrap_or_default(), found),
        }
    }
}

#[cfg(test)]
mod tests;
