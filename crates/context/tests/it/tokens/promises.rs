//! Properties of every text: counts are repeatable, lines add up, more text never has fewer tokens.

use proptest::prelude::*;
use tertulia_context::tokens::{
    MessageCounter, TokenCount, Tokenizer, find_model, read_dimensions,
};

/// Returns texts with characters and sequences that tokenizers treat specially.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zA-Z']{1,12}",
        "[0-9]{1,9}",
        "[ \t]{1,6}",
        "(\r?\n){1,3}",
        "[!-/:-@\\[-`{-~]{1,6}",
        "[あ-ん漢字한글éßжλ]{1,6}",
        "[😀👍🏽\u{200d}\u{301}]{1,4}",
        "\\PC{1,5}",
        any::<char>().prop_map(String::from),
        Just("<|endoftext|>".to_owned()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Returns by how much the sum over lines may differ from the count of the whole text, for each cut.
///
/// Gemma has no token across a cut after a run of line breaks, and at most one within a run. OpenAI's tokens join
/// line breaks with the punctuation and spaces around them. Estimates are rounded up line by line.
fn cut_bound(tokenizer: &Tokenizer) -> u64 {
    match tokenizer {
        Tokenizer::O200k | Tokenizer::Cl100k => 2,
        Tokenizer::Gemma | Tokenizer::Claude | Tokenizer::Bytes | Tokenizer::Custom(_) => 1,
    }
}

proptest! {
    #[test]
    fn a_text_costs_the_same_each_time(text in texts()) {
        for tokenizer in Tokenizer::BUILT_IN {
            prop_assert_eq!(tokenizer.count(&text), tokenizer.count(&text));
        }
    }

    #[test]
    fn lines_add_up_to_their_text(text in texts()) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let cuts = lines.len().saturating_sub(1) as u64;
        for tokenizer in Tokenizer::BUILT_IN {
            let whole = tokenizer.count(&text).tokens;
            let sum: TokenCount = lines.iter().map(|line| tokenizer.count(line)).sum();
            let bound = cuts * cut_bound(&tokenizer);
            prop_assert!(sum.tokens.abs_diff(whole) <= bound, "{}: {whole} and {}", tokenizer.id(), sum.tokens);
        }
    }

    #[test]
    fn an_estimate_never_shrinks_when_text_is_added(head in texts(), tail in texts()) {
        let whole = format!("{head}{tail}");
        for tokenizer in [Tokenizer::Claude, Tokenizer::Bytes] {
            let (part, all) = (tokenizer.count(&head).tokens, tokenizer.count(&whole).tokens);
            prop_assert!(part <= all && all <= part + tokenizer.count(&tail).tokens + 4);
        }
    }

    #[test]
    fn a_text_has_no_more_tokens_than_bytes_and_no_less_than_one(text in texts()) {
        prop_assume!(!text.is_empty());
        for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Gemma] {
            let tokens = tokenizer.count(&text).tokens;
            prop_assert!(tokens >= 1 && tokens <= text.len() as u64);
        }
    }

    #[test]
    fn no_picture_and_no_name_is_too_broken(text in texts(), bytes in "[A-Za-z0-9+/=]{0,80}") {
        for begin in ["", "/9j/", "iVBORw0KGgo", "R0lGODlh", "UklGR", "data:,", "data:"] {
            let _ = read_dimensions(&format!("{begin}{bytes}"));
            let _ = read_dimensions(&format!("{begin}{text}"));
        }
        let _ = find_model(&text);
    }
}

#[test]
fn a_model_of_the_table_has_a_counter_that_counts() {
    let model = find_model("gpt-4.1").unwrap();
    let counter = MessageCounter::for_model(model);
    assert_eq!(counter.count_reply(), TokenCount::exact(3));
    assert_eq!(counter.tokenizer, Tokenizer::O200k);
}
