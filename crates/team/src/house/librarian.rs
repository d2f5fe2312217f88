//! The librarian: what past sessions say about a request, found by search, with where it stands.

use tertulia_context::{Strip, strip_markers};
use tertulia_store::{SearchQuery, SessionId, SessionStore, StoreError};

/// How many places it names.
const HITS_MAX: usize = 8;
/// How many words of a request it looks for.
const WORDS_MAX: usize = 12;
/// Shorter words say little, unless they hold a digit or are not Latin.
const WORD_CHARACTERS_MIN: usize = 4;

/// Answers a request from all sessions but the one it is asked in.
pub(crate) fn look_up(
    store: &SessionStore,
    here: &SessionId,
    request: &str,
) -> Result<String, StoreError> {
    let request = strip_markers(request, Strip::Preserve).text;
    let words = words(&request);
    for text in questions(&words) {
        let query = SearchQuery { text, limit: Some(HITS_MAX * 2), ..SearchQuery::default() };
        if !query.has_words() {
            continue;
        }
        let found = store.search(&query)?;
        let hits: Vec<_> =
            found.hits.into_iter().filter(|hit| hit.session != *here).take(HITS_MAX).collect();
        if hits.is_empty() {
            continue;
        }
        let about = query.text.replace('*', "");
        let mut answer = format!("About {about}, past sessions say:\n");
        for hit in hits {
            let speaker = hit.speaker.as_deref().unwrap_or("somebody");
            let when = hit.timestamp.map(|time| time.to_iso()).unwrap_or_default();
            let day = when.get(..10).unwrap_or_default();
            let said = strip_markers(&hit.snippet.text, Strip::Preserve).text.into_owned();
            let place = format!("{} {}", hit.session, hit.entry_id);
            answer.push_str(&format!("\n{speaker}, {day} ({place}):\n> {}\n", said.trim()));
        }
        return Ok(super::quiet(&answer));
    }
    Ok("Past sessions say nothing about this.".to_owned())
}

/// All words; then fewer, since a request holds words that no answer has; then each alone. A word may go
/// on: who asks where something listens finds that it is listening.
fn questions(words: &[&str]) -> Vec<String> {
    let asked = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("{word}*")).collect();
        words.join(" ")
    };
    let fewer = (1..=words.len()).rev().filter_map(|take| words.get(..take)).map(asked);
    let alone = words.iter().skip(1).map(|word| asked(&[word]));
    fewer.chain(alone).collect()
}

/// The words that tell most: the longest first, in the order of the request among equals.
fn words(request: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    // A name behind an @ is a member's, no matter of the request.
    let said = request.split_whitespace().filter(|word| !word.starts_with('@'));
    let said = said.flat_map(|word| word.split(|letter| !is_part(letter)));
    for word in said.filter(|word| !word.is_empty()) {
        let tells = word.chars().count() >= WORD_CHARACTERS_MIN
            || word.chars().any(|letter| letter.is_numeric() || !letter.is_ascii());
        if tells && !words.contains(&word) {
            words.push(word);
        }
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.truncate(WORDS_MAX);
    words
}
