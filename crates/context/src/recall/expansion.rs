//! Query expansion by relevance feedback: adds words that the best passages share to the words of a request.

use std::collections::BTreeMap;

use tertulia_session::search::rank::{UNIT, rarity};
use tertulia_session::search::terms::terms;

use super::RecallIndex;
use super::score::QueryTerm;

/// The maximum number of words that are added.
const TERMS_MAX: usize = 20;
/// The share of the total weight that the added words get, in percent.
const ADDED_PERCENT: u128 = 25;
/// The divisor for common words: a word that more than one passage in five contains is not added.
const COMMON: u64 = 5;
/// The minimum length, in terms, that is assumed for a text. Otherwise the words of very short texts would get too
/// much weight.
const LENGTH_MIN: u64 = 8;
/// The maximum number of repeats of a word in one text that are counted.
const REPEATS_MAX: u64 = 3;

/// Returns the terms of a request together with terms of `texts`, the best passages for it with their scores.
pub(super) fn expanded(
    index: &RecallIndex,
    query_terms: Vec<QueryTerm>,
    texts: &[(u64, String)],
) -> Vec<QueryTerm> {
    let all = index.spans.len() as u64;
    let weigh = |(term, weight): (u64, u64)| {
        let passages = index.postings.of(term).len() as u64;
        let value = weight * rarity(passages, all);
        let is_telling = passages > 0 && passages * COMMON <= all;
        is_telling.then_some(QueryTerm { term, value, passages })
    };
    let mut added: Vec<QueryTerm> = shared_terms(texts).into_iter().filter_map(weigh).collect();
    added.sort_by(|a, b| b.value.cmp(&a.value).then(a.term.cmp(&b.term)));
    added.truncate(TERMS_MAX);

    let sum = |list: &[QueryTerm]| list.iter().map(|one| u128::from(one.value)).sum::<u128>();
    let (asked_sum, added_sum) = (sum(&query_terms), sum(&added));
    if added_sum == 0 {
        return query_terms;
    }
    let share = |value: u64, percent: u128, of: u128, per: u128| {
        u64::try_from(u128::from(value) * percent * of / (100 * per)).unwrap_or(u64::MAX)
    };
    let query_terms = query_terms.into_iter().map(|one| {
        let value = share(one.value, 100 - ADDED_PERCENT, 1, 1);
        (one.term, QueryTerm { value, ..one })
    });
    let mut both: BTreeMap<u64, QueryTerm> = query_terms.collect();
    for one in added {
        let value = share(one.value, ADDED_PERCENT, asked_sum, added_sum);
        let known = both.entry(one.term).or_insert(QueryTerm { value: 0, ..one });
        known.value = known.value.saturating_add(value);
    }
    both.into_values().collect()
}

/// Returns the terms of these texts. A term's weight is its share of the text times the text's score.
fn shared_terms(texts: &[(u64, String)]) -> BTreeMap<u64, u64> {
    let mut weights: BTreeMap<u64, u64> = BTreeMap::new();
    let best = texts.iter().map(|(score, _)| *score).max().unwrap_or_default().max(1);
    for (score, text) in texts {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut length = 0;
        terms(text, &mut |term, _| {
            *counts.entry(term).or_default() += 1;
            length += 1;
        });
        let good = u64::try_from(u128::from(*score) * u128::from(UNIT) / u128::from(best));
        let share = UNIT * good.unwrap_or(UNIT) / u64::max(length, LENGTH_MIN);
        for (term, count) in counts {
            *weights.entry(term).or_default() += share * count.min(REPEATS_MAX);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use tertulia_session::search::terms::hash_of;
    use tertulia_session::{Message, Part, Role};

    use super::*;

    /// Returns the weights of these words in an index of these messages, after a query for "garden" was expanded.
    fn values(messages: &[&str], best: &[&str], words: &[&str]) -> Vec<u64> {
        let mut index = RecallIndex::new();
        for (at, text) in messages.iter().enumerate() {
            let parts = [Part::text(*text)].into_iter().collect();
            index.add(at, &Message::with_role(Role::User, parts));
        }
        let query_terms = vec![QueryTerm { term: hash_of("garden"), value: 1_000, passages: 1 }];
        let texts: Vec<(u64, String)> = best.iter().map(|text| (10, (*text).to_owned())).collect();
        let all = expanded(&index, query_terms, &texts);
        let value = |word: &&str| all.iter().find(|one| one.term == hash_of(word));
        words.iter().map(|word| value(word).map_or(0, |one| one.value)).collect()
    }

    #[rustfmt::skip]
    const MESSAGES: [&str; 12] = [
        "garden rose tulip", "rose", "tulip and soil", "lorry", "night", "river", "stone", "paper", "bridge", "violin",
        "window", "copper",
    ];

    #[test]
    fn expansion_adds_words_of_the_best_passages() {
        let found = values(&MESSAGES, &["garden rose tulip"], &["garden", "ros", "lorry"]);
        assert!(found[0] > found[1] && found[1] > 0, "{found:?}");
        assert_eq!(found[2], 0);
    }

    #[test]
    fn without_texts_a_question_stays_as_it_is() {
        assert_eq!(values(&MESSAGES, &[], &["garden", "ros"]), [1_000, 0]);
    }

    #[test]
    fn expansion_keeps_the_total_weight() {
        let words = ["garden", "ros", "tulip"];
        let sum: u64 = values(&MESSAGES, &["garden rose tulip"], &words).iter().sum();
        assert!((990..=1_000).contains(&sum), "{sum}");
    }
}
