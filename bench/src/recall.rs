//! Measures recall in a long conversation: the time of a search, the size of the index for each term, and the
//! growth of the time for adding messages.

use tertulia_context::recall::{RecallIndex, RecallQuery};
use tertulia_context::tokens::Tokenizer;
use tertulia_session::search::terms::terms;
use tertulia_session::{Message, Part, Role};

use crate::alloc::counted;
use crate::arguments::Scale;
use crate::measure::{GROWTH, GROWTH_LIMIT, alone, in_turns};
use crate::report::{Figure, Theme, Unit, grouped};

const FEW_MESSAGES: usize = 10_000;
const MANY_MESSAGES: usize = 100_000;

/// The maximum time of a search in each conversation, in milliseconds.
const FEW_LIMIT: f64 = 3.0;
const MANY_LIMIT: f64 = 15.0;

/// The maximum size of the index for each occurrence of a term, in bytes.
const TERM_LIMIT: f64 = 60.0;

/// The maximum number of tokens recalled for a new request of a conversation.
const RECALL_TOKENS: u64 = 6_144;

const MESSAGE_WORDS: usize = 50;
const REQUEST_WORDS: usize = 14;

/// The number of different requests, because some have rarer words than others.
const REQUESTS: usize = 8;

/// The number of different words in all messages.
const VOCABULARY: u64 = 20_000;

pub(crate) fn measure(scale: &Scale) -> Theme {
    let many: Vec<Message> =
        (0..MANY_MESSAGES).map(|number| message(number, MESSAGE_WORDS)).collect();
    let few = &many[..FEW_MESSAGES];
    let mut figures = Vec::new();
    for (messages, limit) in [(few, FEW_LIMIT), (&many[..], MANY_LIMIT)] {
        let index = index_of(messages);
        let ms = search_ns(&index, messages, scale) / 1e6;
        let name = format!("a search in {} messages", grouped(messages.len()));
        let detail = format!("the mean of {REQUESTS} requests of {REQUEST_WORDS} words");
        figures.push(Figure::new(name, ms, Unit::Milliseconds).at_most(limit).of(detail));
    }
    let (index, allocated) = counted(|| index_of(&many));
    let count = many.iter().map(count_terms).sum::<usize>();
    drop(index);
    let bytes = allocated.live_bytes as f64 / count as f64;
    let detail = format!("{} B for {} terms", grouped_bytes(allocated.live_bytes), grouped(count));
    let name = format!("index of {} messages", grouped(MANY_MESSAGES));
    figures.push(Figure::new(name, bytes, Unit::BytesPerTerm).at_most(TERM_LIMIT).of(detail));
    let fewest = &few[..FEW_MESSAGES / GROWTH];
    let pair = in_turns(scale.time, GROWTH_LIMIT, || index_of(fewest), || index_of(few));
    let name =
        format!("taking in {} messages against {}", grouped(few.len()), grouped(fewest.len()));
    figures.push(Figure::ratio(name, &pair, GROWTH_LIMIT));
    Theme { title: "Recall in a long conversation", figures }
}

/// Returns the mean time of a search.
fn search_ns(index: &RecallIndex, messages: &[Message], scale: &Scale) -> f64 {
    let requests: Vec<Message> =
        (0..REQUESTS).map(|number| message(MANY_MESSAGES + number, REQUEST_WORDS)).collect();
    let tokenizer = Tokenizer::Claude;
    let all = || {
        let passages = requests.iter().map(|request| {
            let query = RecallQuery { request: Some(request), recent: &[request] };
            let found =
                index.search(&query, RECALL_TOKENS, &tokenizer, |_| true, |at| messages.get(at));
            found.len()
        });
        passages.sum::<usize>()
    };
    alone(scale.time, all) / REQUESTS as f64
}

fn index_of(messages: &[Message]) -> RecallIndex {
    let mut index = RecallIndex::new();
    for (place, message) in messages.iter().enumerate() {
        index.add(place, message);
    }
    index
}

fn count_terms(message: &Message) -> usize {
    let mut count = 0;
    terms(&message.text(), &mut |_, _| count += 1);
    count
}

fn grouped_bytes(bytes: i64) -> String {
    grouped(usize::try_from(bytes).unwrap_or_default())
}

/// Returns a message of a user whose words have frequencies like those of a natural language.
fn message(number: usize, words: usize) -> Message {
    let mut state = number as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut text = String::new();
    for _ in 0..words {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Squares a uniform number, so that the first words are frequent and the last ones rare.
        let share = state >> 43;
        let rank = (VOCABULARY * ((share * share) >> 21)) >> 21;
        push_word(&mut text, rank);
    }
    Message::with_role(Role::User, std::iter::once(Part::text(text)).collect())
}

/// Adds the word of this rank. It consists of syllables, so that no two ranks have the same stem.
fn push_word(text: &mut String, mut rank: u64) {
    const CONSONANTS: [char; 16] =
        ['b', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 't', 'v', 'w', 'z'];
    text.push(' ');
    for _ in 0..4 {
        text.push(CONSONANTS[(rank % 16) as usize]);
        text.push(if rank.is_multiple_of(3) { 'a' } else { 'o' });
        rank /= 16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_finds_something_in_the_messages() {
        let messages: Vec<Message> = (0..200).map(|number| message(number, 50)).collect();
        let index = index_of(&messages);
        let request = message(7, 14);
        let query = RecallQuery { request: Some(&request), recent: &[&request] };
        let found = index.search(&query, 1_000, &Tokenizer::Bytes, |_| true, |at| messages.get(at));
        assert!(found.iter().any(|passage| passage.position == 7));
    }

    #[test]
    fn every_rank_has_its_own_word() {
        let word = |rank| {
            let mut word = String::new();
            push_word(&mut word, rank);
            word
        };
        let words: std::collections::HashSet<String> = (0..VOCABULARY).map(word).collect();
        assert_eq!(words.len() as u64, VOCABULARY);
    }
}
