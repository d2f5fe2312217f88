//! Recorded counts: from OpenAI's Python tiktoken 0.14.0 (`encode_ordinary`), and for Gemma from the SentencePiece
//! form of Gemma 3, which is a different file and algorithm than ours.

use serde_json::Value;
use tertulia_context::tokens::{TokenCount, Tokenizer};

const RECORDED: &str = include_str!("../../fixtures/tokens.jsonl");

struct Recorded {
    text: String,
    counts: Value,
}

fn recorded() -> impl Iterator<Item = Recorded> {
    RECORDED.lines().map(|line| {
        let counts: Value = serde_json::from_str(line).unwrap();
        let times = counts["times"].as_u64().unwrap_or(1);
        let text = counts["text"].as_str().unwrap().repeat(usize::try_from(times).unwrap());
        Recorded { text, counts }
    })
}

fn check(tokenizer: &Tokenizer) {
    for Recorded { text, counts } in recorded() {
        let expected = counts[tokenizer.id()].as_u64().unwrap();
        assert_eq!(tokenizer.count(&text), TokenCount::exact(expected), "{text:?}");
    }
}

#[test]
fn there_are_enough_nasty_texts() {
    assert!(recorded().count() >= 300);
}

#[test]
fn o200k_counts_as_tiktoken_does() {
    check(&Tokenizer::O200k);
}

#[test]
fn cl100k_counts_as_tiktoken_does() {
    check(&Tokenizer::Cl100k);
}

#[test]
fn gemma_counts_as_its_other_form_does() {
    check(&Tokenizer::Gemma);
}

#[test]
fn control_tokens_in_a_text_are_text() {
    let open_ai = "<|endoftext|><|im_start|><|fim_prefix|>";
    assert!(Tokenizer::O200k.count(open_ai).tokens > 10);
    assert!(Tokenizer::Cl100k.count(open_ai).tokens > 10);
    assert!(Tokenizer::Gemma.count("<bos><start_of_turn><end_of_turn>").tokens > 10);
}

/// Python's tiktoken panics on some of these. The counts of one letter and of spaces are those of fourteen other
/// implementations, which agree.
#[test]
fn a_megabyte_of_anything_is_counted() {
    let megabyte = |piece: &str| piece.repeat(1_000_000 / piece.len());
    assert_eq!(Tokenizer::O200k.count(&megabyte("a")).tokens, 125_000);
    assert_eq!(Tokenizer::O200k.count(&megabyte(" ")).tokens, 7_813);
    for piece in ["a", " ", "\n", "😀", "a ", "  x", "漢", "\r\n", "\u{301}", "aGk3Zx9", "'s", "1"]
    {
        let text = megabyte(piece);
        for tokenizer in Tokenizer::BUILT_IN {
            assert!(tokenizer.count(&text).tokens > 0, "{piece:?} {}", tokenizer.id());
        }
    }
}
