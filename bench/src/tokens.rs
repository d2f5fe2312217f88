//! Counting tokens: the price of a byte, linear growth on texts that are made to be slow, and how much
//! slower than prose the worst of them is.

use tertulia_context::tokens::{TokenCount, Tokenizer};

use crate::arguments::Scale;
use crate::measure::{GROWTH, GROWTH_LIMIT, alone, in_turns};
use crate::report::{Figure, Theme, Unit, duration, grouped};
use crate::sample::plain_text;

/// What a hostile text is made of.
const PIECES: [(&str, &str); 5] = [
    ("one letter", "a"),
    ("blanks", " "),
    ("line breaks", "\n"),
    ("emoji", "😀"),
    ("mixed", "aGk3Zx9 \n漢é😀1'"),
];

/// How much slower than prose a hostile text of the same size may be.
const HOSTILE_LIMIT: f64 = 8.0;

/// How many lengths of one text are counted in turn. More than the encoder remembers.
const VARIANTS: usize = 499;

/// A megabyte, however small the rest of the run is.
const HOSTILE_BYTES: usize = 1_000_000;

/// The price of a byte of prose, and how much more the worst texts cost.
pub(crate) fn measure_price(scale: &Scale) -> Theme {
    let prose = plain_text(HOSTILE_BYTES);
    let mut figures = Vec::new();
    for tokenizer in Tokenizer::BUILT_IN {
        let (id, (_, limit)) = (tokenizer.id(), limits(&tokenizer));
        let ns = alone(scale.time, counting(&tokenizer, &prose));
        let detail = format!("{} for {} B", duration(ns), grouped(prose.len()));
        let price = ns / prose.len() as f64;
        let name = format!("prose, {id}");
        figures.push(Figure::new(name, price, Unit::NanosecondsPerByte).of(detail));
        for (what, piece) in PIECES {
            let hostile = repeated(piece, HOSTILE_BYTES);
            let (base, other) = (counting(&tokenizer, &prose), counting(&tokenizer, &hostile));
            let pair = in_turns(scale.time, limit, base, other);
            let name = format!("{what} against prose, {id}");
            figures.push(Figure::ratio(name, &pair, limit));
        }
    }
    Theme { title: "Counting tokens of 1,000,000 bytes", figures }
}

/// Growth on texts of one kind of character.
pub(crate) fn measure_growth(scale: &Scale) -> Theme {
    let mut figures = Vec::new();
    for tokenizer in Tokenizer::BUILT_IN {
        for (what, piece) in PIECES {
            let short = repeated(piece, HOSTILE_BYTES / GROWTH);
            let long = short.repeat(GROWTH);
            let (limit, _) = limits(&tokenizer);
            let (base, other) = (counting(&tokenizer, &short), counting(&tokenizer, &long));
            let pair = in_turns(scale.time, limit, base, other);
            figures.push(Figure::ratio(format!("{what}, {}", tokenizer.id()), &pair, limit));
        }
    }
    Theme { title: "Counting tokens of texts of 16 times the length", figures }
}

/// Counts a text that is a little shorter with each call: Gemma's encoder remembers what it has seen,
/// and would otherwise be timed at looking up, which is two hundred times as fast.
fn counting<'a>(tokenizer: &'a Tokenizer, text: &'a str) -> impl FnMut() -> TokenCount + 'a {
    let mut calls = 0;
    move || {
        calls = (calls + 1) % VARIANTS;
        // No character is longer than four bytes: each call ends at another one.
        let end = text.len().saturating_sub(4 * calls);
        tokenizer.count(&text[..text.floor_char_boundary(end)])
    }
}

/// What a tokenizer may take: on 16 times the text, and against prose.
///
/// Gemma's encoder keeps neither limit of the others: a megabyte of one letter took 26 times as long
/// as a sixteenth of it, and 10 times as long as prose. Its limits only tell if that gets worse;
/// quadratic work would show 256.
fn limits(tokenizer: &Tokenizer) -> (f64, f64) {
    match tokenizer {
        Tokenizer::Gemma => (32.0, 16.0),
        Tokenizer::O200k
        | Tokenizer::Cl100k
        | Tokenizer::Claude
        | Tokenizer::Bytes
        | Tokenizer::Custom(_) => (GROWTH_LIMIT, HOSTILE_LIMIT),
    }
}

fn repeated(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}
