//! Scores the passages: BM25 over passages and over the subjects of calls, with query expansion. Scores spread to
//! neighbours and are then adjusted by age and kind. Only whole numbers are used, so that every machine ranks alike.
//! Called by the search; it does not depend on budgets or texts.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tertulia_session::search::rank::{Saturation, UNIT, kind_weight, rarity};
use tertulia_session::search::terms::TermKind;

use super::dates::{asks_when, is_date};
use super::days::{NamedDay, named_days};
use super::expansion::expanded;
use super::query::{NEWEST, RecallQuery};
use super::{RecallIndex, Span, Voice, speaker_of};

pub(super) struct QueryTerm {
    pub(super) term: u64,
    pub(super) value: u64,
    /// The number of passages with this term, or the number of subjects if that is larger.
    pub(super) passages: u64,
}

/// The maximum number of terms that are looked up; those with the largest values are used.
const TERMS_MAX: usize = 64;
/// A term is common if more than one passage in `.0` contains it. Common terms are left out if at least `.1` others
/// remain. There is one pair of limits for new requests, and one for work under way, whose messages have many terms.
const COMMON_IN_REQUEST: (u64, usize) = (5, 1);
const COMMON_UNDER_WAY: (u64, usize) = (8, 8);
/// The factor for terms that name a time.
const DATE_WEIGHT: u64 = 3;
/// The number of best passages whose words are added to a new request.
const FEEDBACK_PASSAGES: usize = 10;
/// The maximum length of such a passage, in terms. Longer ones cover too many subjects.
const FEEDBACK_TERMS_MAX: u16 = 48;
/// The weight of a term in the subject of a call, relative to one in the text.
const SUBJECT_WEIGHT: u64 = 2;

pub(super) fn scores(
    index: &RecallIndex,
    query: &RecallQuery<'_>,
    is_candidate: &impl Fn(usize) -> bool,
    text_of: &impl Fn(&Span) -> Option<String>,
) -> Vec<u64> {
    let (_, own) = question(index, query, is_candidate, text_of);
    let mut scores = with_neighbours(&index.spans, &own);
    let newest = index.positions.last().copied().unwrap_or_default();
    let is_under_way = query.is_under_way();
    for (score, span) in scores.iter_mut().zip(&index.spans) {
        if *score > 0 {
            *score = adjusted_by_age_and_kind(
                *score,
                span,
                index,
                newest.saturating_sub(span.position),
                is_under_way,
            );
        }
    }
    scores
}

/// Returns the terms of the expanded query, and the score of each passage without its neighbours.
pub(super) fn question(
    index: &RecallIndex,
    query: &RecallQuery<'_>,
    is_candidate: &impl Fn(usize) -> bool,
    text_of: &impl Fn(&Span) -> Option<String>,
) -> (Vec<QueryTerm>, Vec<u64>) {
    let mut query_terms = words_of(index, query, is_candidate);
    let preference = Preference::of(query);
    let mut own = preference.scores(index, &query_terms);
    if preference.is_new {
        let found = own.iter().copied().zip(0..);
        let found = found.filter(|(_, at)| {
            let span = index.spans.get(*at).filter(|span| span.terms <= FEEDBACK_TERMS_MAX);
            span.is_some_and(|span| is_candidate(span.position))
        });
        let best = best_of(found, FEEDBACK_PASSAGES).into_iter();
        let best = best.filter_map(|(score, at)| Some((score, text_of(index.spans.get(at)?)?)));
        query_terms = expanded(index, query_terms, &best.collect::<Vec<_>>());
        own = preference.scores(index, &query_terms);
    }
    (query_terms, own)
}

/// Returns the highest scores in descending order. Of equal scores the newer one comes first.
fn best_of(found: impl Iterator<Item = (u64, usize)>, count: usize) -> Vec<(u64, usize)> {
    let mut best: Vec<(u64, usize)> = found.filter(|(score, _)| *score > 0).collect();
    let by_score = |one: &(u64, usize), other: &(u64, usize)| other.cmp(one);
    if best.len() > count {
        best.select_nth_unstable_by(count, by_score);
        best.truncate(count);
    }
    best.sort_unstable_by(by_score);
    best
}

/// The preferences of a new request besides its words: passages of the speakers that it names and, if it asks for a
/// time, passages that name one.
struct Preference {
    /// Whether nobody has begun to answer it.
    is_new: bool,
    speakers: HashSet<u32>,
    asks_when: bool,
    days: Vec<NamedDay>,
}

/// The factor for passages of a named speaker, in percent. The next one is for passages that name a time.
const SPEAKER_PERCENT: u64 = 135;
const DATED_PERCENT: u64 = 200;

impl Preference {
    fn of(query: &RecallQuery<'_>) -> Self {
        let terms = query.of_request();
        let is_new = !terms.is_empty();
        let speakers = terms.into_keys().map(speaker_of).collect();
        let text = if is_new { query.request_text() } else { String::new() };
        Self { is_new, speakers, asks_when: asks_when(&text), days: named_days(&text) }
    }

    fn scores(&self, index: &RecallIndex, query_terms: &[QueryTerm]) -> Vec<u64> {
        let mut scores = own_scores(index, query_terms);
        self.add_days(index, &mut scores);
        for (score, span) in scores.iter_mut().zip(&index.spans) {
            if self.speakers.contains(&span.speaker) {
                *score = *score * SPEAKER_PERCENT / 100;
            }
            if self.asks_when && span.is_dated {
                *score = *score * DATED_PERCENT / 100;
            }
        }
        scores
    }

    /// Adds the score of named days. A named day counts like a word that all messages of the day contain.
    fn add_days(&self, index: &RecallIndex, scores: &mut [u64]) {
        for named in &self.days {
            let said = |span: &&Span| span.day.is(named);
            let holders = index.spans.iter().filter(said).count() as u64;
            let weight = NEWEST * kind_weight(TermKind::Word) * DATE_WEIGHT;
            let value = weight * rarity(holders, index.spans.len() as u64);
            for (score, _) in scores.iter_mut().zip(&index.spans).filter(|(_, span)| said(span)) {
                *score += value;
            }
        }
    }
}

/// Returns the value of each term of the query.
pub(super) fn values(index: &RecallIndex, query: &RecallQuery<'_>) -> HashMap<u64, u64> {
    let query_terms = words_of(index, query, &|_| true);
    query_terms.into_iter().map(|one| (one.term, one.value)).collect()
}

/// Returns the terms of a query that are used for the search, largest value first.
pub(super) fn words_of(
    index: &RecallIndex,
    query: &RecallQuery<'_>,
    is_candidate: &impl Fn(usize) -> bool,
) -> Vec<QueryTerm> {
    let all = index.spans.len() as u64;
    let may_help =
        |number: usize| index.spans.get(number).is_some_and(|span| is_candidate(span.position));
    let weigh = |(term, weight): (u64, u64)| {
        let postings = index.postings.of(term);
        let passages = postings.len().max(index.call_subjects.count(term)) as u64;
        let value = weight * rarity(passages, all) * if is_date(term) { DATE_WEIGHT } else { 1 };
        // The rarest terms are often new words that no older message contains. They must not displace others.
        let helps = || {
            postings.iter().any(|posting| may_help(posting.number()))
                || index.call_subjects.spans_of(term).any(|spans| may_help(spans.start))
        };
        (passages > 0 && value > 0)
            .then_some(QueryTerm { term, value, passages })
            .filter(|_| helps())
    };
    let mut query_terms: Vec<QueryTerm> =
        query.of_request().into_iter().filter_map(weigh).collect();
    let mut common = COMMON_IN_REQUEST;
    if query_terms.is_empty() {
        common = COMMON_UNDER_WAY;
        // Either work is under way, or the request is like "go on". In both cases the last messages show what it is
        // about.
        query_terms = query.weights().into_iter().filter_map(weigh).collect();
    }
    query_terms.sort_by(|a, b| b.value.cmp(&a.value).then(a.term.cmp(&b.term)));
    let (share, others_min) = common;
    let is_rare = |one: &QueryTerm| one.passages * share <= all;
    if query_terms.iter().filter(|one| is_rare(one)).count() >= others_min {
        query_terms.retain(is_rare);
    }
    query_terms.truncate(TERMS_MAX);
    query_terms
}

fn own_scores(index: &RecallIndex, query_terms: &[QueryTerm]) -> Vec<u64> {
    let mut scores = vec![0_u64; index.spans.len()];
    let average = index.terms / (index.spans.len() as u64).max(1);
    let saturation = Saturation::new(average);
    for QueryTerm { term, value, .. } in query_terms {
        for posting in index.postings.of(*term) {
            let number = posting.number();
            if let (Some(score), Some(span)) = (scores.get_mut(number), index.spans.get(number)) {
                *score += value * saturation.fraction(span.terms, posting.repeats()) / UNIT;
            }
        }
        for spans in index.call_subjects.spans_of(*term) {
            for score in scores.get_mut(spans).unwrap_or_default() {
                *score += value * SUBJECT_WEIGHT;
            }
        }
    }
    scores
}

/// How far a score spreads, in messages.
const REACH: usize = 4;
/// How much of the best score near by a passage gets, in percent.
const NEIGHBOUR_SHARE: u64 = 60;

/// Returns the scores, each increased by a part of the best score near by. A subject often continues after a
/// passage, and the remark that introduces it often does not name it. Passages of the same message are near. In talk
/// without tools, the messages around it are near too; calls and their results may be about anything.
fn with_neighbours(spans: &[Span], own: &[u64]) -> Vec<u64> {
    let mut scores = own.to_vec();
    let mut messages: Vec<MessageSpans> = Vec::new();
    for (number, (span, score)) in spans.iter().zip(own).enumerate() {
        let is_talk = span.voice == Voice::Talk;
        match messages.last_mut() {
            Some(last) if last.position == span.position => {
                last.spans.end = number + 1;
                last.best = last.best.max(*score);
                last.is_talk &= is_talk;
            }
            _ => messages.push(MessageSpans {
                position: span.position,
                spans: number..number + 1,
                best: *score,
                is_talk,
            }),
        }
    }
    for (at, message) in messages.iter().enumerate() {
        let is_talk = |one: &&MessageSpans| one.is_talk && message.is_talk;
        let before = messages[..at].iter().rev().take(REACH).take_while(is_talk);
        let after = messages[at + 1..].iter().take(REACH).take_while(is_talk);
        let near = before.chain(after).map(|one| one.best).max().unwrap_or_default();
        for (score, own) in
            scores[message.spans.clone()].iter_mut().zip(&own[message.spans.clone()])
        {
            let beside = if *own == message.best { near } else { near.max(message.best) };
            *score += beside * NEIGHBOUR_SHARE / 100;
        }
    }
    scores
}

/// The passages of one message.
struct MessageSpans {
    position: usize,
    spans: Range<usize>,
    best: u64,
    is_talk: bool,
}

/// Returns the score adjusted by age and kind. While work is under way, recent passages are preferred. The content
/// of files is preferred most, because it is quoted and changed. A new question may be about anything.
fn adjusted_by_age_and_kind(
    score: u64,
    span: &Span,
    index: &RecallIndex,
    age: usize,
    is_under_way: bool,
) -> u64 {
    const HALF_AGE: u64 = 50;
    let age = age as u64;
    let bonus = if is_under_way { 400 } else { 0 };
    let mut score = score / 100 * (100 + bonus * HALF_AGE / (HALF_AGE.saturating_add(age)));
    if is_under_way && index.call_subjects.is_file(span.call) {
        score *= 3;
    }
    if span.voice == Voice::Thinking {
        score /= 5;
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_passages_get_a_part_of_a_score() {
        let span = |position, voice| Span {
            position,
            part: 0,
            begin: 0,
            end: 300,
            call: u32::MAX,
            terms: 1,
            text_hash: 0,
            speaker: 0,
            day: Default::default(),
            escaped: false,
            is_dated: false,
            voice,
        };
        let talk = [0, 1, 2, 3, 4, 5, 6].map(|position| span(position, Voice::Talk));
        let scores = with_neighbours(&talk, &[0, 1_000, 0, 0, 0, 0, 0]);
        assert_eq!(scores, [600, 1_000, 600, 600, 600, 600, 0]);
        let tools = [0, 1, 1, 2].map(|position| span(position, Voice::Tool));
        let scores = with_neighbours(&tools, &[0, 1_000, 0, 0]);
        assert!(scores[0] == 0 && scores[2] > 0 && scores[3] == 0, "{scores:?}");
    }
}
