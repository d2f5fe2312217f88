//! A query: the terms of the newest request and of the last messages, each with a weight. Called by the scoring; it
//! does not depend on passages.

use std::collections::BTreeMap;

use tertulia_session::Message;
use tertulia_session::search::rank::kind_weight;
use tertulia_session::search::terms::terms;

use super::text::{decode, prefix, sources};

/// The messages that passages are searched for.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecallQuery<'a> {
    /// The newest request of a user.
    pub request: Option<&'a Message>,
    /// The last messages, oldest first. The request is new if it is the last of them, or if there are none.
    /// Otherwise its answer is under way, and the newest messages show best what is needed. Messages before the
    /// request count little.
    pub recent: &'a [&'a Message],
}

/// The weight of the newest message, and of a request that is the newest message.
pub(super) const NEWEST: u64 = 1_000;
/// The weight of a request whose answer is under way. The newest messages count more.
const REQUEST_UNDER_WAY: u64 = 200;
/// The factor between messages: each counts half as much as the next one.
const FADE: u64 = 2;
/// The divisor for messages before the request, which are often about something else.
const BEFORE_REQUEST: u64 = 10;
/// How many bytes of each text are read. The beginning usually shows the subject.
const TEXT_BYTES_MAX: usize = 1_500;

impl RecallQuery<'_> {
    pub(super) fn is_under_way(&self) -> bool {
        match (self.request, self.request_at()) {
            (None, _) => false,
            (Some(_), Some(at)) => at + 1 < self.recent.len(),
            (Some(_), None) => !self.recent.is_empty(),
        }
    }

    /// Returns the terms of a new request, without those of the messages around it.
    pub(super) fn of_request(&self) -> BTreeMap<u64, u64> {
        let mut weights = BTreeMap::new();
        if let Some(request) = self.request.filter(|_| !self.is_under_way()) {
            add(request, NEWEST, &mut weights);
        }
        weights
    }

    pub(super) fn request_text(&self) -> String {
        let mut text = String::new();
        if let Some(request) = self.request {
            for source in sources(request) {
                decode(
                    prefix(source.raw, TEXT_BYTES_MAX, source.escaped),
                    source.escaped,
                    &mut text,
                );
                text.push('\n');
            }
        }
        text
    }

    pub(super) fn weights(&self) -> BTreeMap<u64, u64> {
        let mut weights = BTreeMap::new();
        let request_at = self.request_at();
        let mut weight = NEWEST;
        for (at, message) in self.recent.iter().enumerate().rev() {
            match request_at {
                Some(request_at) if at == request_at => {}
                Some(request_at) if at < request_at => {
                    add(message, weight / BEFORE_REQUEST, &mut weights);
                }
                _ => add(message, weight, &mut weights),
            }
            weight /= FADE;
        }
        if let Some(request) = self.request {
            let weight = if self.is_under_way() { REQUEST_UNDER_WAY } else { NEWEST };
            add(request, weight, &mut weights);
        }
        weights
    }

    fn request_at(&self) -> Option<usize> {
        let request = self.request?;
        let is_request = |one: &&Message| std::ptr::eq(*one, request) || **one == *request;
        self.recent.iter().rposition(is_request)
    }
}

/// Adds the terms of a message. The weight of a term is that of the message with the largest weight, and slightly
/// more if several messages contain it.
fn add(message: &Message, weight: u64, weights: &mut BTreeMap<u64, u64>) {
    let mut here: BTreeMap<u64, u64> = BTreeMap::new();
    let mut text = String::new();
    for source in sources(message) {
        text.clear();
        decode(prefix(source.raw, TEXT_BYTES_MAX, source.escaped), source.escaped, &mut text);
        terms(&text, &mut |term, kind| {
            let known = here.entry(term).or_default();
            *known = (*known).max(weight * kind_weight(kind));
        });
    }
    for (term, weight) in here {
        let known = weights.entry(term).or_default();
        *known = (*known).max(weight) + (*known).min(weight) / 4;
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::search::terms::hash_of;
    use tertulia_session::{Part, Role};

    use super::*;

    fn message(text: &str) -> Message {
        Message::with_role(Role::User, [Part::text(text)].into_iter().collect())
    }

    fn weight(query: &RecallQuery<'_>, term: &str) -> u64 {
        query.weights().get(&hash_of(term)).copied().unwrap_or_default()
    }

    #[test]
    fn a_new_request_outweighs_what_stood_before_it() {
        let (old, new) = (message("melon"), message("pear"));
        let query = RecallQuery { request: Some(&new), recent: &[&old, &new] };
        assert!(!query.is_under_way());
        assert!(weight(&query, "pear") > 10 * weight(&query, "melon"));
        assert!(weight(&query, "melon") > 0);
    }

    #[test]
    fn under_way_the_newest_message_counts_most() {
        let all = ["plum", "pear", "melon"].map(message);
        let query = RecallQuery { request: Some(&all[0]), recent: &[&all[0], &all[1], &all[2]] };
        assert!(query.is_under_way());
        assert!(weight(&query, "melon") > weight(&query, "pear"));
        assert!(weight(&query, "pear") > weight(&query, "plum"));
        let apart = RecallQuery { request: Some(&all[0]), recent: &[&all[1], &all[2]] };
        assert!(apart.is_under_way());
        assert_eq!(apart.weights(), query.weights());
    }

    #[test]
    fn the_same_request_is_found_among_the_last_messages_by_what_it_says() {
        let (here, there) = (message("pear"), message("pear"));
        let query = RecallQuery { request: Some(&here), recent: &[&there] };
        assert!(!query.is_under_way());
        let alone = RecallQuery { request: Some(&here), recent: &[] };
        assert_eq!(alone.weights(), query.weights());
        assert!(RecallQuery::default().weights().is_empty());
    }

    #[test]
    fn identifiers_weigh_more_than_words() {
        let request = message("the getUserName function of src/main.rs");
        let query = RecallQuery { request: Some(&request), recent: &[] };
        let [word, path, name] =
            ["function", "src/main.rs", "getusername"].map(|term| weight(&query, term));
        assert!(word < path && path < name);
        assert_eq!(weight(&query, "user"), word);
    }
}
