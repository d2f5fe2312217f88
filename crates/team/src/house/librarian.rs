//! The librarian: what past sessions say about a request, found by search, with where it stands.

use tertulia_agent::agents::AgentDefinition;
use tertulia_context::{Strip, strip_markers};
use tertulia_store::{Hit, ProjectScope, SearchQuery, SessionId, SessionStore, StoreError};

use super::Answer;

/// The librarian, as a team file names it.
pub const LIBRARIAN: &AgentDefinition =
    &AgentDefinition::built_in("librarian", "finds passages of past sessions", &[&["scope"]]);

const HITS_MAX: usize = 8;
/// So many are looked at: many of them may be of the session where it is asked.
const HITS_LOOKED_AT: usize = 64;
const WORDS_MAX: usize = 12;
/// Shorter words say little, unless they hold a digit or are not Latin.
const WORD_CHARACTERS_MIN: usize = 4;
const EMPTY_WORDS: &str = "about after again been before could does ever from have here into just more much \
    said same should some than that their them then there these they this those were what when where \
    which will with would your";

pub(crate) const OTHER_PROJECT: &str = "This session belongs to another project than the one it is open in, \
    so I search no past sessions.";

#[derive(Clone, Copy, PartialEq, Eq)]
struct Word<'r> {
    text: &'r str,
    /// What it is a piece of, as it was written: `E-2041` for `2041`.
    written: &'r str,
}

/// Answers a request from the sessions of a scope, all but the one it is asked in.
pub(crate) fn look_up(
    store: &SessionStore,
    here: &SessionId,
    scope: &ProjectScope,
    request: &str,
) -> Result<Answer, StoreError> {
    let place = Place { store, here, scope };
    let request = strip_markers(request, Strip::Preserve).text;
    // A request holds words that no answer has: only those count that are somewhere.
    let mut known = Vec::new();
    for word in words(&request) {
        if !place.search(&[word])?.is_empty() {
            known.push(word);
        }
    }
    for count in (1..=known.len()).rev() {
        let asked = known.get(..count).unwrap_or_default();
        let hits = place.search(asked)?;
        if !hits.is_empty() {
            let source = |hit: &Hit| (Some(hit.session.clone()), hit.entry_id.clone());
            let sources = hits.iter().map(source).collect();
            return Ok(Answer { text: super::quiet(&told(asked, scope, &hits)), sources });
        }
    }
    let of = where_searched(scope);
    Ok(Answer::plain(format!(
        "No past session{of} mentions this. I search past sessions only, not this one."
    )))
}

struct Place<'s> {
    store: &'s SessionStore,
    /// The session where the librarian is asked: what it says is known already.
    here: &'s SessionId,
    scope: &'s ProjectScope,
}

impl Place<'_> {
    /// What other sessions say with all of these words. A word may go on: "listen" finds "listening".
    fn search(&self, words: &[Word<'_>]) -> Result<Vec<Hit>, StoreError> {
        let text: Vec<String> = words.iter().map(|word| format!("{}*", word.text)).collect();
        let (text, limit) = (text.join(" "), Some(HITS_LOOKED_AT));
        let project = self.scope.clone();
        let query = SearchQuery { text, limit, project, ..SearchQuery::default() };
        if !query.has_words() {
            return Ok(Vec::new());
        }
        let mut hits = self.store.search(&query)?.hits;
        hits.retain(|hit| hit.session != *self.here && !self.is_made_from_others(hit));
        Ok(each_once(hits.into_iter()))
    }

    /// Whether a hit is an answer that was made from other entries, as a librarian's is: those may be of another
    /// project, and what is of this one is found itself.
    fn is_made_from_others(&self, hit: &Hit) -> bool {
        let stored = self.store.entry(&hit.session, &hit.entry_id);
        stored.is_ok_and(|stored| tertulia_store::has_sources(&stored.entry))
    }
}

/// The first hits, without those that repeat what an earlier one says.
fn each_once(hits: impl Iterator<Item = Hit>) -> Vec<Hit> {
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        let said = hit.snippet.text.trim();
        if kept.iter().all(|earlier| !earlier.snippet.text.contains(said)) {
            kept.push(hit);
        }
        if kept.len() == HITS_MAX {
            break;
        }
    }
    kept
}

fn where_searched(scope: &ProjectScope) -> &'static str {
    match scope {
        ProjectScope::All => " of all projects",
        ProjectScope::Of(_) => " of this project",
        // Nothing is known of projects.
        ProjectScope::Unassigned => "",
    }
}

fn told(words: &[Word<'_>], scope: &ProjectScope, hits: &[Hit]) -> String {
    let mut about: Vec<&str> = Vec::new();
    for word in words {
        if !about.contains(&word.written) {
            about.push(word.written);
        }
    }
    let of = where_searched(scope);
    let mut answer = format!("About {}, past sessions{of} say:\n", about.join(", "));
    for hit in hits {
        let speaker = hit.speaker.as_deref().unwrap_or("somebody");
        let when = hit.timestamp.as_ref().map(|time| time.to_iso()).unwrap_or_default();
        let day = when.get(..10).map(|day| format!(", {day}")).unwrap_or_default();
        let said = strip_markers(&hit.snippet.text, Strip::Preserve).text.into_owned();
        let place = format!("{} {}", hit.session, hit.entry_id);
        answer.push_str(&format!("\n{speaker}{day} ({place}):\n> {}\n", said.trim()));
    }
    answer
}

/// The words that tell most: codes first, then the longest, in the order of the request among equals.
fn words(request: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    // A name behind an @ is a member's, no matter of the request.
    for written in request.split_whitespace().filter(|word| !word.starts_with('@')) {
        let written = written.trim_matches(|letter| !is_part(letter));
        for text in written.split(|letter| !is_part(letter)).filter(|word| !word.is_empty()) {
            let tells = text.chars().count() >= WORD_CHARACTERS_MIN
                || text.chars().any(|letter| letter.is_numeric() || !letter.is_ascii());
            let small = text.to_ascii_lowercase();
            let is_empty = EMPTY_WORDS.split_whitespace().any(|empty| empty == small);
            if tells && !is_empty && words.iter().all(|word| word.text != text) {
                words.push(Word { text, written });
            }
        }
        // A request may be a whole file.
        if words.len() > WORDS_MAX * 16 {
            break;
        }
    }
    let is_code = |word: &Word<'_>| word.text.contains(|letter: char| letter.is_numeric());
    words.sort_by_key(|word| (!is_code(word), std::cmp::Reverse(word.text.len())));
    words.truncate(WORDS_MAX);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_first_and_words_about_nothing_not_at_all() {
        let found = words("@librarian did we have trouble with E-2041 or the ledger before?");
        let texts: Vec<_> = found.iter().map(|word| (word.text, word.written)).collect();
        assert_eq!(texts, [("2041", "E-2041"), ("trouble", "trouble"), ("ledger", "ledger")]);
    }
}
