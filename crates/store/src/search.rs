//! The part of full-text search that is the same for every store, so that all stores return the
//! same hits in the same order. A store keeps the terms of entries in its own index, counts the
//! entries that have a term, and returns the newest entries that match an index query.

mod forms;
mod matcher;
mod needle;
mod query;
mod snippet;
mod terms;
mod text;
mod weights;

pub(crate) use forms::{AnyOf, Form};
pub(crate) use query::{IndexQuery, ParsedQuery};
pub(crate) use terms::index_terms;
pub(crate) use text::{is_record_field, is_word, json_values, strings, text_of};
pub(crate) use weights::{COUNTED_MAX, Frequencies};

use std::cmp::Reverse;

use tertulia_session::{Entry, Timestamp};

use crate::backend::{Backend, Candidates};
use crate::model::{Hit, Matching, SearchQuery, SearchResult, StoredEntry};
use crate::row::{Encoding, Row};
use crate::{Result, SessionId};
use matcher::Matcher;
use query::Required;
use weights::Weights;

/// The maximum number of entries that are examined: the newest ones that match the index query.
pub(crate) const CANDIDATES_MAX: usize = 2000;
const HITS: usize = 20;
/// An entry that lacks words of the query is a hit only if its words have at least one half (1 divided by this) of
/// the value of the best entry's words.
const COVERED_SHARE: u64 = 2;

/// An entry that matches an index query, with its text.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) session: SessionId,
    pub(crate) stored: StoredEntry,
    pub(crate) speaker: Option<Box<str>>,
}

impl Candidate {
    /// Decodes a row; returns `None` if it is damaged.
    pub(crate) fn from_row(session: SessionId, row: Row) -> Option<Self> {
        let speaker = row.record.speaker.as_ref().map(|speaker| speaker.id.clone());
        Some(Self { session, stored: row.decode().ok()?, speaker })
    }
}

/// Returns the terms of an entry for an index, as [`terms_text`] formats them. Damaged entries are
/// not indexed; `verify` reports them.
pub(crate) fn terms_of(row: Row) -> Option<String> {
    let is_purged = row.record.encoding == Encoding::Purged;
    terms_text(&row.decode().ok().filter(|_| !is_purged)?.entry)
}

/// Returns the terms of an entry separated by spaces, if it has any. No term contains a space.
pub(crate) fn terms_text(entry: &Entry) -> Option<String> {
    let terms = index_terms(&text_of(entry));
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// Runs a search, best hit first.
pub(crate) fn find(backend: &dyn Backend, query: &SearchQuery) -> Result<SearchResult> {
    let Some(parsed) = ParsedQuery::parse(&query.text) else {
        return Ok(SearchResult::default());
    };
    if query.matching == Matching::BestWords && parsed.is_common() {
        return Ok(SearchResult::default());
    }
    let weights = Weights::new(&parsed, &backend.frequencies(&weights::counted(&parsed))?);
    let search =
        Search { backend, query, matcher: Matcher::new(&parsed), parsed: &parsed, weights };
    if query.matching == Matching::AllWords {
        let found = search.with_all_words()?;
        if !found.found.is_empty() || !parsed.has_parts() {
            return Ok(search.result(found, false));
        }
    }
    let found = search.with_some_words()?;
    Ok(search.result(found, query.matching == Matching::AllWords))
}

struct Search<'a> {
    backend: &'a dyn Backend,
    query: &'a SearchQuery,
    parsed: &'a ParsedQuery,
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
    /// The value of the terms that it contains.
    covered: u64,
}

impl Search<'_> {
    fn with_all_words(&self) -> Result<Found> {
        let index_query = self.parsed.index_query(Required::All);
        let candidates = self.backend.candidates(&index_query, self.query, CANDIDATES_MAX)?;
        let mut found = Found::default();
        self.evaluate(candidates, Required::All, &mut found);
        Ok(found)
    }

    /// Returns the entries with the most significant words. Queries the rarest terms first, so that common ones do
    /// not use up the limit. Stops when the remaining terms can no longer produce a hit.
    fn with_some_words(&self) -> Result<Found> {
        let mut order: Vec<usize> = (0..self.parsed.ranked.len()).collect();
        let weight = |index: &usize| self.weights.terms.get(*index).copied();
        order.retain(|index| weight(index).is_some_and(|weight| weight.entries != Some(0)));
        order.sort_by_key(|index| Reverse(weight(index).map(|weight| weight.value)));
        let mut left: u64 = order.iter().filter_map(weight).map(|weight| weight.value).sum();
        let (mut found, mut best, mut looked_at) = (Found::default(), 0, 0);
        let mut index_query = self.parsed.index_query(Required::Quoted);
        let mut order = order.into_iter().peekable();
        while order.peek().is_some() && left * COVERED_SHARE >= best && looked_at < CANDIDATES_MAX {
            let (mut group, mut entries) = (AnyOf::new(), 0);
            while let Some(index) = order.next_if(|_| entries < COUNTED_MAX) {
                let Some(weight) = weight(&index) else { continue };
                entries += weight.entries.unwrap_or(COUNTED_MAX);
                left -= weight.value;
                group.extend(
                    self.parsed.ranked.get(index).into_iter().flat_map(|one| one.forms.clone()),
                );
            }
            index_query.all.push(group);
            let candidates =
                self.backend.candidates(&index_query, self.query, CANDIDATES_MAX - looked_at)?;
            looked_at += candidates.found.len();
            self.evaluate(candidates, Required::Quoted, &mut found);
            best = found.found.iter().map(|one| one.covered).max().unwrap_or_default();
            // Entries with these terms were already found, so the next queries exclude them.
            index_query.without.extend(index_query.all.pop().unwrap_or_default());
        }
        found.found.retain(|one| one.covered * COVERED_SHARE >= best);
        Ok(found)
    }

    fn evaluate(&self, candidates: Candidates, required: Required, found: &mut Found) {
        found.more |= candidates.more;
        for candidate in candidates.found {
            let text = text_of(&candidate.stored.entry);
            let Some(counts) = self.matcher.counts(&text, required) else { continue };
            let (score, covered) = (self.weights.score(&counts), self.weights.covered(&counts));
            if required == Required::All || score > 0 {
                found.found.push(Scored { candidate, score, covered });
            }
        }
    }

    fn result(&self, found: Found, is_partial: bool) -> SearchResult {
        let Found { mut found, more } = found;
        // Of hits with the same score, the later entry comes first, by time if known. Then session and number
        // decide, so that every store and every run returns the same order.
        found.sort_by_cached_key(|Scored { candidate, score, .. }| {
            let time = candidate.stored.entry.timestamp.as_ref().map(Timestamp::millis);
            (Reverse((*score, time)), candidate.session.clone(), Reverse(candidate.stored.seq))
        });
        found.truncate(self.query.limit.unwrap_or(HITS));
        let is_partial = is_partial && !found.is_empty();
        let hits = found.into_iter().map(|one| self.hit(one)).collect();
        SearchResult { hits, more, is_partial, ignored: self.parsed.ignored.clone() }
    }

    fn hit(&self, Scored { candidate, score, .. }: Scored) -> Hit {
        let Candidate { session, stored, speaker } = candidate;
        let text = text_of(&stored.entry);
        let counts = self.matcher.counts(&text, Required::Quoted);
        let shown = terms::flat(&text);
        let positions = self.matcher.positions(&shown);
        let found = |term: usize| {
            let index = positions.iter().find(|(_, other)| *other == term);
            let found = index.and_then(|(range, _)| shown.get(range.clone()));
            found.unwrap_or_default().into()
        };
        let value = |term: usize| self.weights.terms.get(term).map_or(0, |weight| weight.value);
        Hit {
            session,
            seq: stored.seq,
            type_name: stored.entry.kind.type_name().into(),
            speaker,
            snippet: snippet::snippet_around(&shown, &positions, value),
            timestamp: stored.entry.timestamp,
            entry_id: stored.entry.id,
            score,
            matches: self.weights.explained(self.parsed, &counts.unwrap_or_default(), found),
        }
    }
}

#[cfg(test)]
mod tests;
