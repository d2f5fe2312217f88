//! Explains why a passage was recalled: the words of the query that it contains, with their weights. Called after a
//! search, for callers that want an explanation; it decides nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use tertulia_session::Message;
use tertulia_session::search::terms::{TermUse, each_term};

use super::query::NEWEST;
use super::score::{QueryTerm, question, words_of};
use super::{RecallIndex, RecallQuery, Span, cut};

/// A word of the query that occurs in a passage or in the call that the passage belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallMatch {
    /// The word as it is written at its first occurrence in the passage.
    pub word: Box<str>,
    /// The weight of the word, as in a search of sessions: the rarer it is, the larger.
    pub weight: u64,
    /// Whether query expansion added it.
    pub is_added: bool,
}

/// The maximum number of words that are listed for a passage: those with the largest weights.
const MATCHES_MAX: usize = 8;

impl RecallIndex {
    /// Returns the matching words for each passage, largest weight first. A passage is given by its position and its
    /// text. If it was added because of its neighbours, it has no matching words.
    pub fn matches<'m>(
        &self,
        query: &RecallQuery<'_>,
        is_candidate: impl Fn(usize) -> bool,
        message_at: impl Fn(usize) -> Option<&'m Message>,
        passages: &[(usize, &str)],
    ) -> Vec<Vec<RecallMatch>> {
        let text_of = |span: &Span| cut(span, message_at(span.position)?);
        let said = words_of(self, query, &is_candidate);
        let said: HashSet<u64> = said.into_iter().map(|one| one.term).collect();
        let (query_terms, _) = question(self, query, &is_candidate, &text_of);
        let query_terms: HashMap<u64, QueryTerm> =
            query_terms.into_iter().map(|one| (one.term, one)).collect();
        let matches = passages.iter().map(|(position, text)| {
            let mut found = BTreeMap::new();
            let subjects = self.subjects(*position);
            for text in std::iter::once(*text).chain(subjects) {
                each_term(text, &mut |term| {
                    let hash = term.hash();
                    if let Some(query_term) =
                        query_terms.get(&hash).filter(|_| term.usage == TermUse::Ranked)
                    {
                        found.entry(hash).or_insert_with(|| RecallMatch {
                            word: term.written.into(),
                            weight: (query_term.value / NEWEST).max(1),
                            is_added: !said.contains(&hash),
                        });
                    }
                });
            }
            let mut found: Vec<RecallMatch> = found.into_values().collect();
            found.sort_by(|one, other| {
                other.weight.cmp(&one.weight).then_with(|| one.word.cmp(&other.word))
            });
            found.truncate(MATCHES_MAX);
            found
        });
        matches.collect()
    }

    /// Returns the subjects of the calls that the passages of a message belong to.
    fn subjects(&self, position: usize) -> Vec<&str> {
        let spans = self.spans.iter().filter(|span| span.position == position);
        let mut calls: Vec<u32> = spans.map(|span| span.call).collect();
        calls.dedup();
        calls.into_iter().filter_map(|call| self.call_subjects.subject_of(call)).collect()
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Part, Role};

    use super::*;

    fn message(text: &str) -> Message {
        Message::with_role(Role::User, [Part::text(text)].into_iter().collect())
    }

    #[test]
    fn a_passage_lists_the_words_of_the_query_and_those_that_were_added() {
        let messages = [
            "The garden has roses",
            "Roses need water",
            "lorry",
            "night",
            "river",
            "stone",
            "paper",
            "bridge",
            "violin",
            "window",
            "copper",
        ]
        .map(message);
        let mut index = RecallIndex::new();
        for (position, message) in messages.iter().enumerate() {
            index.add(position, message);
        }
        let request = message("What is in the gardens?");
        let query = RecallQuery { request: Some(&request), recent: &[&request] };
        let passages = [(0, "The garden has roses"), (1, "Roses need water"), (2, "lorry")];
        let found = index.matches(&query, |_| true, |at| messages.get(at), &passages);
        let words = |at: usize| -> Vec<(&str, bool)> {
            found[at].iter().map(|one| (&*one.word, one.is_added)).collect()
        };
        assert_eq!(words(0), [("garden", false), ("roses", true)]);
        assert_eq!(words(1), [("Roses", true)]);
        assert!(found[2].is_empty());
        assert!(found[0][0].weight > found[0][1].weight);
    }
}
