//! Managers that search by words. They use a share of the budget for the newest messages, and the rest for whole
//! messages, ranked by a search for the newest message. A message that does not fit is skipped. The found messages
//! come before the newest ones, in the order of the log. If everything fits, everything is sent.

use std::collections::HashMap;
use std::error::Error;

use tertulia_session::Entry;

use super::baselines::Backlog;
use super::manager::{Manager, Sent, messages};
use super::search::Search;

/// The usual values for saturation and the weight of the length.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Ranks messages.
pub(crate) trait Ranker {
    /// Adds the next message.
    fn push(&mut self, text: &str) -> Result<(), Box<dyn Error>>;

    /// Returns the indexes of the messages that contain a word of the query, the best first, and the newer of two
    /// equal ones first.
    fn rank(&mut self, query: &str) -> Result<Vec<usize>, Box<dyn Error>>;
}

/// A method of searching by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) method: Method,
    /// The share of the budget for the newest messages.
    pub(crate) newest_percent: u64,
}

/// The ranking method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// BM25 on lower-cased words.
    Plain,
    /// The full-text search of SQLite.
    Fts5,
}

/// Sends the newest messages and the found ones.
pub(crate) struct Lexical {
    budget: u64,
    finding: Finding,
    backlog: Backlog,
    ranker: Box<dyn Ranker>,
}

/// BM25 on lower-cased words, without stems and stop words.
#[derive(Debug, Default)]
pub(crate) struct PlainBm25 {
    /// For each word, the indexes of the messages with it, and its frequency.
    postings: HashMap<Box<str>, Vec<(usize, u32)>>,
    /// The number of words of each message.
    lengths: Vec<usize>,
    words: usize,
}

impl Finding {
    pub(crate) fn name(self) -> String {
        let method = match self.method {
            Method::Plain => "plain BM25",
            Method::Fts5 => "SQLite FTS5",
        };
        format!("{method}, newest {} %", self.newest_percent)
    }

    /// Creates a manager without messages.
    pub(crate) fn manager(self, budget: u64) -> Result<Lexical, Box<dyn Error>> {
        let ranker: Box<dyn Ranker> = match self.method {
            Method::Plain => Box::new(PlainBm25::default()),
            Method::Fts5 => Box::new(Search::new()?),
        };
        Ok(Lexical { budget, finding: self, backlog: Backlog::default(), ranker })
    }
}

impl Lexical {
    /// Returns the indexes of the found messages before the newest ones, in order.
    fn found(&mut self, newest: usize) -> Result<Vec<usize>, Box<dyn Error>> {
        let query = self.backlog.len().checked_sub(1).and_then(|last| self.backlog.words(last));
        let ranked = self.ranker.rank(query.unwrap_or_default())?;
        let mut room = self.budget.saturating_sub(self.backlog.tokens_from(newest));
        let mut found = Vec::new();
        for place in ranked.into_iter().filter(|place| *place < newest) {
            let tokens = self.backlog.tokens(place);
            if tokens <= room {
                room -= tokens;
                found.push(place);
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

impl Manager for Lexical {
    fn name(&self) -> String {
        self.finding.name()
    }

    fn step(&mut self, new: &[Entry]) -> Result<Sent, Box<dyn Error>> {
        for message in messages(new) {
            let place = self.backlog.len();
            if self.backlog.push(message) {
                self.ranker.push(self.backlog.words(place).unwrap_or_default())?;
            }
        }
        let fitting = self.backlog.fitting(self.budget);
        if fitting == 0 {
            return Ok(self.backlog.sent_from(0, false));
        }
        // The newest message is sent if it fits at all.
        let share = self.backlog.fitting(self.budget * self.finding.newest_percent / 100);
        let newest = share.min(self.backlog.len().saturating_sub(1)).max(fitting);
        let found = self.found(newest)?;
        Ok(self.backlog.sent_with(&found, newest))
    }
}

impl Ranker for PlainBm25 {
    fn push(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        let (place, mut length) = (self.lengths.len(), 0);
        for word in words(text) {
            length += 1;
            let postings = self.postings.entry(word).or_default();
            match postings.last_mut() {
                Some((last, count)) if *last == place => *count += 1,
                _ => postings.push((place, 1)),
            }
        }
        self.lengths.push(length);
        self.words += length;
        Ok(())
    }

    fn rank(&mut self, query: &str) -> Result<Vec<usize>, Box<dyn Error>> {
        let scores = self.scores(query).into_iter().enumerate();
        Ok(best_first(scores.filter(|(_, score)| *score > 0.0).collect()))
    }
}

impl PlainBm25 {
    /// Returns the score of each message.
    fn scores(&self, query: &str) -> Vec<f64> {
        let mut asked: Vec<Box<str>> = words(query).collect();
        asked.sort_unstable();
        asked.dedup();
        let all = self.lengths.len() as f64;
        let usual = self.words as f64 / all;
        let mut scores = vec![0.0; self.lengths.len()];
        for postings in asked.iter().filter_map(|word| self.postings.get(word)) {
            let with = postings.len() as f64;
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for (place, count) in postings {
                let (count, length) = (f64::from(*count), self.lengths[*place] as f64);
                let saturation = count + K1 * (1.0 - B + B * length / usual);
                scores[*place] += rarity * count * (K1 + 1.0) / saturation;
            }
        }
        scores
    }
}

/// Returns the indexes sorted by score.
pub(crate) fn best_first(mut scored: Vec<(usize, f64)>) -> Vec<usize> {
    scored.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    scored.into_iter().map(|(place, _)| place).collect()
}

/// Returns the lower-cased words of a text.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Box<str>> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(|word| word.to_lowercase().into())
}

#[cfg(test)]
mod tests {
    use super::super::data::Session;
    use super::super::log::Log;
    use super::*;

    #[track_caller]
    fn check_rank(ranker: &mut dyn Ranker, texts: &[&str], query: &str, expected: &[usize]) {
        for text in texts {
            ranker.push(text).unwrap();
        }
        assert_eq!(ranker.rank(query).unwrap(), expected, "{query}");
    }

    #[test]
    fn rare_words_and_short_messages_come_first() {
        let texts = ["The cat and the dog", "a dog", "the long tale of the dog", "the bird"];
        let mut plain = PlainBm25::default();
        check_rank(&mut plain, &texts, "Dog?", &[1, 0, 2]);
        check_rank(&mut plain, &[], "cat, dog", &[0, 1, 2]);
        check_rank(&mut plain, &[], "cats", &[]);
    }

    #[test]
    fn the_score_is_the_usual_one() {
        let mut plain = PlainBm25::default();
        check_rank(&mut plain, &["a b", "a a c d e", "f g"], "a", &[1, 0]);
        // Two of three messages have the word. The lengths are 2 and 5, the average is 3.
        let score = |count: f64, length: f64| {
            1.6_f64.ln() * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 3.0))
        };
        let expected = [score(1.0, 2.0), score(2.0, 5.0), 0.0];
        for (score, expected) in plain.scores("a, A").into_iter().zip(expected) {
            assert!((score - expected).abs() < 1e-9, "{score}, {expected}");
        }
    }

    #[test]
    fn of_two_that_are_as_good_the_newer_comes_first() {
        check_rank(&mut PlainBm25::default(), &["dog", "dog"], "dog", &[1, 0]);
    }

    /// Messages of eight bytes and a wrapper: five tokens each.
    fn sent(method: Method, budget: u64) -> Vec<String> {
        let session = Session::of(&[
            ("system", "text", "Be nice."),
            ("user", "text", "the dogs"),
            ("user", "text", "the cats"),
            ("user", "text", "a bird.."),
            ("user", "text", "one tree"),
            ("user", "text", "dogs 1st"),
        ]);
        let finding = Finding { method, newest_percent: 50 };
        let mut manager = finding.manager(budget).unwrap();
        let sent = manager.step(&Log::of_agent(&session).entries).unwrap();
        let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
        sent.pieces.iter().map(|piece| last(&piece.text)).collect()
    }

    #[test]
    fn what_is_found_stands_before_the_newest_messages() {
        for method in [Method::Plain, Method::Fts5] {
            // The prompt and the newest message use half of the 20 tokens; two more messages fit.
            assert_eq!(sent(method, 20), ["Be nice.", "the dogs", "dogs 1st"]);
            assert_eq!(sent(method, 30).len(), 6, "everything fits");
        }
    }

    #[test]
    fn the_newest_message_is_sent_if_it_fits_at_all() {
        assert_eq!(sent(Method::Plain, 10), ["Be nice.", "dogs 1st"]);
        assert_eq!(sent(Method::Plain, 9), ["Be nice."]);
    }
}
