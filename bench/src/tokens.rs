//! Measures counting tokens: the first text, the time per byte, linear growth on hostile texts, the slowdown of the
//! worst of them compared with prose, and the time compared with bpe-openai alone.

mod texts;

use tertulia_context::tokens::{TokenCount, Tokenizer};

use self::texts::Kind;
use crate::arguments::Scale;
use crate::measure::{GROWTH, GROWTH_LIMIT, alone, in_turns, once};
use crate::report::{Figure, Theme, Unit, duration, grouped};

/// Texts that are slow to count.
const HOSTILE: [(&str, Kind); 7] = [
    ("one letter", Kind::Repeated("a")),
    ("letters", Kind::Letters),
    ("spaces", Kind::Repeated(" ")),
    ("line breaks", Kind::Repeated("\n")),
    ("emoji", Kind::Repeated("😀")),
    ("no character", Kind::Repeated("\u{10ffff}")),
    ("mixed", Kind::Repeated("aGk3Zx9 \n漢é😀1'")),
];

/// Texts as people and programs write them.
const ORDINARY: [(&str, Kind); 3] =
    [("prose", Kind::Prose), ("code", Kind::Code), ("Japanese", Kind::Japanese)];

/// The maximum slowdown of a hostile text compared with prose of the same size.
const HOSTILE_LIMIT: f64 = 8.0;

/// The maximum time compared with bpe-openai alone.
const BPE_OPENAI_LIMIT: f64 = 0.6;

/// The maximum time for the first text of a program, in milliseconds; this includes reading the vocabulary.
const FIRST_TEXT_LIMIT: f64 = 10.0;

/// The size of a long message.
const FIRST_TEXT_BYTES: usize = 10_000;

/// One megabyte, even in a quick run.
const TEXT_BYTES: usize = 1_000_000;

/// The size of the prose from which a megabyte is taken.
const PROSE_BYTES: usize = 8 * TEXT_BYTES;

/// The extra length of a hostile text, so that each counted slice can begin at another position.
const SPARE_BYTES: usize = 2_000;

/// Measures the first text that is counted with a vocabulary. No text may have been counted before.
pub(crate) fn measure_first() -> Theme {
    let prose = Kind::Prose.text(FIRST_TEXT_BYTES);
    let mut figures = Vec::new();
    for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
        let was_loaded = tokenizer.is_loaded();
        let first = || once(|| tokenizer.count(&prose));
        // The caches of the thread end with it, so they do not affect the next measurement.
        let counted = std::thread::scope(|scope| scope.spawn(first).join());
        let ms = counted.ok().filter(|_| !was_loaded).map_or(f64::NAN, |ns| ns / 1e6);
        let name = format!("prose, {}", tokenizer.id());
        let figure = Figure::new(name, ms, Unit::Milliseconds).at_most(FIRST_TEXT_LIMIT);
        figures.push(figure.of(format!("{} B", grouped(prose.len()))));
    }
    Theme { title: "Counting the first text of a program", figures }
}

/// Measures the time per byte of prose, and the slowdown of the worst texts.
pub(crate) fn measure_price(scale: &Scale) -> Theme {
    let prose = Kind::Prose.text(PROSE_BYTES);
    let mut figures = Vec::new();
    for tokenizer in Tokenizer::BUILT_IN {
        let id = tokenizer.id();
        let ns = alone(scale.time, counting(&tokenizer, &prose, TEXT_BYTES));
        let detail = format!("{} for {} B", duration(ns), grouped(TEXT_BYTES));
        let price = ns / TEXT_BYTES as f64;
        let name = format!("prose, {id}");
        figures.push(Figure::new(name, price, Unit::NanosecondsPerByte).of(detail));
        for (what, kind) in HOSTILE {
            let hostile = kind.text(TEXT_BYTES + SPARE_BYTES);
            let base = counting(&tokenizer, &prose, TEXT_BYTES);
            let other = counting(&tokenizer, &hostile, TEXT_BYTES);
            let pair = in_turns(scale.time, HOSTILE_LIMIT, base, other);
            let name = format!("{what} against prose, {id}");
            figures.push(Figure::ratio(name, &pair, HOSTILE_LIMIT));
        }
    }
    Theme { title: "Counting tokens of 1,000,000 bytes", figures }
}

/// Measures the growth on hostile texts.
pub(crate) fn measure_growth(scale: &Scale) -> Theme {
    let mut figures = Vec::new();
    for tokenizer in Tokenizer::BUILT_IN {
        for (what, kind) in HOSTILE {
            let text = kind.text(TEXT_BYTES + SPARE_BYTES);
            let base = counting(&tokenizer, &text, TEXT_BYTES / GROWTH);
            let other = counting(&tokenizer, &text, TEXT_BYTES);
            let pair = in_turns(scale.time, GROWTH_LIMIT, base, other);
            figures.push(Figure::ratio(format!("{what}, {}", tokenizer.id()), &pair, GROWTH_LIMIT));
        }
    }
    Theme { title: "Counting tokens of texts of 16 times the length", figures }
}

/// Compares with another crate that reads OpenAI's vocabularies.
pub(crate) fn measure_against_bpe_openai(scale: &Scale) -> Theme {
    let vocabularies = [
        (Tokenizer::O200k, bpe_openai::o200k_base()),
        (Tokenizer::Cl100k, bpe_openai::cl100k_base()),
    ];
    let mut figures = Vec::new();
    for (what, kind) in ORDINARY {
        let text = kind.text(PROSE_BYTES);
        for (tokenizer, reference) in &vocabularies {
            let base = on_slices(&text, TEXT_BYTES, |slice| reference.count(slice));
            let other = counting(tokenizer, &text, TEXT_BYTES);
            let pair = in_turns(scale.time, BPE_OPENAI_LIMIT, base, other);
            let name = format!("{what}, {}", tokenizer.id());
            figures.push(Figure::ratio(&name, &pair, BPE_OPENAI_LIMIT));
            // Measured alone, because the tables of the other crate would displace ours in the caches.
            let ns = alone(scale.time, counting(tokenizer, &text, TEXT_BYTES));
            let speed = TEXT_BYTES as f64 * 1e3 / ns;
            let name = format!("{name}, speed");
            figures.push(Figure::new(name, speed, Unit::MegabytesPerSecond));
        }
    }
    Theme { title: "Counting tokens against bpe-openai alone", figures }
}

fn counting<'a>(
    tokenizer: &'a Tokenizer,
    text: &'a str,
    bytes: usize,
) -> impl FnMut() -> TokenCount + 'a {
    on_slices(text, bytes, |slice| tokenizer.count(slice))
}

/// Works on a slice of the text that begins at another position with each call. Otherwise, Gemma's encoder would
/// only look up words in its cache.
fn on_slices<'a, T>(
    text: &'a str,
    bytes: usize,
    work: impl Fn(&'a str) -> T + 'a,
) -> impl FnMut() -> T + 'a {
    /// A prime number, so that all positions are used before one is repeated.
    const STEP: usize = 1_000_003;
    let (mut start, beginnings) = (0, text.len().saturating_sub(bytes) + 1);
    move || {
        start = (start + STEP) % beginnings;
        let from = text.floor_char_boundary(start);
        work(&text[from..text.floor_char_boundary(from + bytes)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_one_length_and_begin_elsewhere_each_time() {
        let text = Kind::Repeated("ab").text(1_100);
        let slice = |part: &str| (part.as_ptr() as usize - text.as_ptr() as usize, part.len());
        let mut next = on_slices(&text, 1_000, slice);
        let slices: std::collections::BTreeSet<_> = (0..101).map(|_| next()).collect();
        assert_eq!(slices.len(), 101);
        assert!(slices.iter().all(|(from, bytes)| *from <= 100 && *bytes == 1_000));
    }
}
