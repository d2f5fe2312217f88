//! Counting tokens: the first text, the price of a byte, linear growth on texts that are made to be slow, how much
//! slower than prose the worst of them is, and how far bpe-openai alone is away.

mod texts;

use tertulia_context::tokens::{TokenCount, Tokenizer};

use self::texts::Kind;
use crate::arguments::Scale;
use crate::measure::{GROWTH, GROWTH_LIMIT, alone, in_turns, once};
use crate::report::{Figure, Theme, Unit, duration, grouped};

/// Texts that are made to be slow.
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

/// How much slower than prose a hostile text of the same size may be.
const HOSTILE_LIMIT: f64 = 8.0;

/// What counting may take of the time of bpe-openai alone.
const BPE_OPENAI_LIMIT: f64 = 0.6;

/// What the first text of a program may take, in milliseconds: its vocabulary is read with it.
const FIRST_TEXT_LIMIT: f64 = 10.0;

/// A long message.
const FIRST_TEXT_BYTES: usize = 10_000;

/// A megabyte, however small the rest of the run is.
const TEXT_BYTES: usize = 1_000_000;

/// How much prose there is to take a megabyte from.
const PROSE_BYTES: usize = 8 * TEXT_BYTES;

/// How much longer than what is counted a hostile text is, so that it can begin elsewhere each time.
const SPARE_BYTES: usize = 2_000;

/// The first text that is counted with a vocabulary. Nothing may have been counted before.
pub(crate) fn measure_first() -> Theme {
    let prose = Kind::Prose.text(FIRST_TEXT_BYTES);
    let mut figures = Vec::new();
    for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
        let was_loaded = tokenizer.is_loaded();
        let first = || once(|| tokenizer.count(&prose));
        // What the thread remembers ends with it, so nothing stays behind for what is measured next.
        let counted = std::thread::scope(|scope| scope.spawn(first).join());
        let ms = counted.ok().filter(|_| !was_loaded).map_or(f64::NAN, |ns| ns / 1e6);
        let name = format!("prose, {}", tokenizer.id());
        let figure = Figure::new(name, ms, Unit::Milliseconds).at_most(FIRST_TEXT_LIMIT);
        figures.push(figure.of(format!("{} B", grouped(prose.len()))));
    }
    Theme { title: "Counting the first text of a program", figures }
}

/// Returns the price of a byte of prose, and how much more the worst texts cost.
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

/// Growth on texts that are made to be slow.
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

/// Against another crate that reads OpenAI's vocabularies.
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
            // Alone: the other's tables would drive ours out of the caches.
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

/// Works on a slice of the text that begins elsewhere with each call: Gemma's encoder remembers what it
/// has seen, and would otherwise be timed at looking up.
fn on_slices<'a, T>(
    text: &'a str,
    bytes: usize,
    work: impl Fn(&'a str) -> T + 'a,
) -> impl FnMut() -> T + 'a {
    /// A prime: all beginnings come before one comes again.
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
