//! The scribe: the minutes of the session so far, from what was said and nothing else.

use tertulia_context::compact::{Covered, SummaryTask, extract};
use tertulia_context::tokens::Tokenizer;
use tertulia_context::{Strip, strip_markers};
use tertulia_session::{Message, Part, Parts};

/// How long the minutes may be.
const TOKENS_MAX: u64 = 2_000;

/// Writes minutes of these messages, oldest first, the one that asks for them aside.
pub(crate) fn write_minutes(said: &[Covered<'_>]) -> String {
    // Markers are for the router, and minutes that hold one would route.
    let clean: Vec<Message> = said.iter().map(|one| without_markers(one.message)).collect();
    let covered: Vec<Covered<'_>> = said
        .iter()
        .zip(&clean)
        .map(|(one, message)| Covered { entry: one.entry, message })
        .collect();
    let tokenizer = Tokenizer::Claude;
    let task = SummaryTask {
        previous: None,
        covered: &covered,
        max_tokens: TOKENS_MAX,
        tokenizer: &tokenizer,
    };
    let minutes = extract(&task);
    if minutes.trim().is_empty() {
        return "Nothing was said yet that minutes could hold.".to_owned();
    }
    super::quiet(&minutes)
}

fn without_markers(message: &Message) -> Message {
    let text = strip_markers(&message.text(), Strip::Preserve).text.into_owned();
    Message { parts: Parts::from([Part::text(text)]), ..message.clone() }
}
