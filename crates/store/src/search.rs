//! Full-text search, the part that is the same in every store, so that all stores give the same hits. A
//! store keeps the terms of entries in its own index and hands over the newest entries that have all of them.

mod query;
mod terms;
mod text;

pub(crate) use query::{Question, Term};
pub(crate) use terms::index_terms;
pub(crate) use text::{json_values, text_of};

use std::cmp::Reverse;

use tertulia_session::{Entry, Timestamp};

use crate::SessionId;
use crate::backend::Candidates;
use crate::model::{Hit, SearchQuery, SearchResult, StoredEntry};
use crate::row::{Encoding, Row};

/// How many entries are looked at, the newest of those that have all terms.
pub(crate) const CANDIDATES_MAX: usize = 2000;
const HITS: usize = 20;

/// An entry that has all terms of a question.
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

/// The terms of an entry, if it has any. They are letters and digits, so a blank between them is enough.
pub(crate) fn terms_text(entry: &Entry) -> Option<String> {
    let terms = index_terms(&text_of(entry));
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// The best of the candidates; those that only seemed to fit are left out.
pub(crate) fn rank(
    question: &Question,
    query: &SearchQuery,
    candidates: Candidates,
) -> SearchResult {
    let Candidates { found, more } = candidates;
    let score = |one: Candidate| Some((question.score(&text_of(&one.stored.entry))?, one));
    let mut found: Vec<(u64, Candidate)> = found.into_iter().filter_map(score).collect();
    // Equal scores: the later entry first, by time where there is one; then by place, so that every
    // store and every run gives the same order.
    found.sort_by_cached_key(|(score, one)| {
        let time = one.stored.entry.timestamp.as_ref().map(Timestamp::millis);
        (Reverse((*score, time)), one.session.clone(), Reverse(one.stored.seq))
    });
    found.truncate(query.limit.unwrap_or(HITS));
    let hits = found.into_iter().map(|(score, Candidate { session, stored, speaker })| Hit {
        session,
        seq: stored.seq,
        type_name: stored.entry.kind.type_name().into(),
        speaker,
        snippet: question.snippet(&text_of(&stored.entry)),
        timestamp: stored.entry.timestamp,
        entry_id: stored.entry.id,
        score,
    });
    SearchResult { hits: hits.collect(), more }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Letters of several scripts, marks, blanks, and characters that change their length in lower case.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-zA-Z]{1,4}",
            "[数据库東京タワーภาษา]{1,4}",
            "[ \\n\\t.,/_*\"'-]{1,3}",
            Just("İ".to_owned()),
            Just("ǅß".to_owned()),
            any::<char>().prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    fn is_indexed(question: &Question, text: &str) -> bool {
        question.is_in(&index_terms(text))
    }

    proptest! {
        #[test]
        fn whatever_a_question_finds_its_terms_are_in_the_index(text in text(), asked in text()) {
            let Some(question) = Question::read(&asked) else { return Ok(()) };
            if question.score(&text).is_some() {
                prop_assert!(is_indexed(&question, &text), "{:?}", question);
            }
        }

        #[test]
        fn a_text_is_found_by_every_word_of_it(text in text()) {
            for word in text.split_whitespace().filter(|word| !word.contains(['"', '*'])) {
                let Some(question) = Question::read(word) else { continue };
                prop_assert!(question.score(&text).is_some(), "{:?}", word);
                prop_assert!(is_indexed(&question, &text), "{:?}", word);
            }
        }

        #[test]
        fn a_snippet_marks_what_it_shows(text in text(), asked in text()) {
            let Some(question) = Question::read(&asked) else { return Ok(()) };
            let snippet = question.snippet(&text);
            let mut last = 0;
            for mark in &snippet.marks {
                prop_assert!(mark.start >= last && mark.start < mark.end);
                prop_assert!(snippet.text.get(mark.clone()).is_some());
                last = mark.end;
            }
        }
    }
}
