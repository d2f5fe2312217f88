//! Compares counts and pieces with bpe-openai, which reads the same vocabularies with regular expressions.

use super::*;
use bpe_openai::Tokenizer;
use proptest::prelude::*;

fn vocabularies() -> [(&'static OpenAi, &'static Tokenizer); 2] {
    [(&O200K, bpe_openai::o200k_base()), (&CL100K, bpe_openai::cl100k_base())]
}

#[track_caller]
fn check(text: &str) {
    for (ours, theirs) in vocabularies() {
        assert_eq!(ours.count(text), Some(theirs.count(text) as u64), "{text:?}");
    }
}

fn pieces<'a>(ours: &OpenAi, text: &'a str) -> Vec<&'a str> {
    let (mut from, mut pieces) = (0, Vec::new());
    while from < text.len() {
        let to = match ours.pattern {
            Pattern::O200k => split::o200k(text.as_bytes(), from),
            Pattern::Cl100k => split::cl100k(text.as_bytes(), from),
        };
        pieces.push(&text[from..to]);
        from = to;
    }
    pieces
}

#[track_caller]
fn check_pieces(text: &str) {
    for (ours, theirs) in vocabularies() {
        assert_eq!(pieces(ours, text), theirs.split(text).collect::<Vec<_>>());
    }
}

/// Characters of every class, and sequences that the patterns mention.
const SNIPPETS: &[&str] = &[
    "a",
    "b",
    "the",
    "The",
    "THE",
    "X",
    "'s",
    "'S",
    "'t",
    "'re",
    "'RE",
    "'Ve",
    "'m",
    "'ll",
    "'lL",
    "'d",
    "'\u{17f}",
    "'",
    "''",
    "\u{2019}s",
    "\u{17f}",
    "\u{212a}",
    " ",
    "  ",
    "   ",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{a0}",
    "\u{1680}",
    "\u{2003}",
    "\u{2028}",
    "\u{2029}",
    "\u{3000}",
    "\u{200b}",
    "\u{feff}",
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "\n/",
    "//",
    "/",
    "0",
    "12",
    "345",
    "6789",
    "\u{b2}",
    "\u{bd}",
    "\u{2167}",
    "\u{0664}",
    "\u{1d7d9}",
    "\u{301}",
    "\u{903}",
    "\u{20dd}",
    "e\u{301}",
    "\u{1c5}",
    "\u{1c4}",
    "\u{2b0}",
    "ﬁ",
    "ß",
    "É",
    "é",
    "Ж",
    "ж",
    "ა",
    "Ა",
    "漢",
    "字",
    "かな",
    "カ",
    "한국",
    "ไทย",
    "नमस्ते",
    "العربية",
    "\u{10400}",
    "\u{10428}",
    "😀",
    "👨\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "\u{fe0f}",
    "\u{e0061}",
    "\u{10ffff}",
    "\u{e000}",
    "\0",
    "\u{7f}",
    "=",
    "==",
    "{",
    "}",
    "();",
    "->",
    "::",
    "_",
    "$",
    "+",
    "<|endoftext|>",
    "<|",
    "|>",
    "\"",
    "#",
    "…",
    "«",
    "—",
    "fn main() {\n",
    "    let x = 1;\n",
    "https://example.org/a?b=c&d",
    "aGVsbG8gd29ybGQ=",
    "0xDEADbeef",
    "HTTPServer",
    "camelCase",
    "snake_case",
    "I'm",
    "DON'T",
    "they'll",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => proptest::sample::select(SNIPPETS).prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => "\\PC{1,6}",
        1 => "[a-zA-Z]{1,20}",
        1 => "[ \r\n\t/=]{1,6}",
        1 => "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}\\p{Ll}]{1,4}",
        1 => "[\\p{N}\\p{M}\\s']{1,4}",
        1 => "[\u{4e00}-\u{9fff}\u{3040}-\u{30ff}]{1,12}",
    ];
    let run = (piece, prop_oneof![6 => Just(1_usize), 1 => 1..40_usize]);
    let runs = proptest::collection::vec(run, 0..40);
    runs.prop_map(|runs| runs.iter().map(|(piece, times)| piece.repeat(*times)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn texts_are_counted_as_the_reference_counts_them(text in texts()) {
        check(&text);
    }

    #[test]
    fn texts_are_cut_as_the_reference_cuts_them(text in texts()) {
        check_pieces(&text);
    }

    #[test]
    fn long_pieces_are_counted_as_the_reference_counts_them(
        text in "[a-e]{0,300}|[a-zA-Z]{0,300}|[\u{3040}-\u{30ff}\u{4e00}-\u{5000}]{0,100}|[\u{300}-\u{900}]{0,100}|[=\\-+*/#]{0,300}",
    ) {
        check(&text);
    }

    #[test]
    fn what_is_remembered_does_not_change_what_is_counted(
        words in proptest::collection::vec("[ ]?[a-e]{1,2}|\\PC{1,12}|[0-9\n ]{1,5}", 0..200),
    ) {
        check(&words.concat());
    }
}

#[test]
fn every_character_has_the_class_of_the_patterns() {
    for character in '\0'..=char::MAX {
        for text in [format!("{character}A"), format!("a{character}"), format!(" {character}b")] {
            check_pieces(&text);
        }
    }
}

#[test]
fn every_token_is_found_with_its_length() {
    for (ours, theirs) in vocabularies() {
        for id in 0..u32::try_from(theirs.bpe.num_tokens()).unwrap() {
            let bytes = theirs.bpe.token_bytes(id);
            assert_eq!(ours.tables.longest(bytes), id);
            assert_eq!(ours.tables.token(id).bytes(), bytes.len());
        }
    }
}

#[test]
fn pieces_that_begin_and_end_alike_are_distinguished() {
    check("a12345678bb87654321 a12345678cc87654321 abcdefghxabcdefgh abcdefghyabcdefgh");
    check(&["=".repeat(14), "=".repeat(15), "=".repeat(16)].join("\n\n"));
}

#[test]
fn texts_that_are_made_to_be_slow_are_counted_as_the_reference_counts_them() {
    let base64 = "aGVsbG8gd29ybGQgYW5kIGFsbCB0aGF0IGlzIGluIGl0IQ";
    let repeated = [
        "a",
        "A",
        "ab",
        "aab",
        " ",
        "\n",
        "\r\n",
        " \n",
        "\t",
        "😀",
        "\u{10ffff}",
        "\u{301}",
        "漢",
        "漢A",
        "A漢",
        "=",
        "/\n",
        "0",
        "'s",
        "\u{a0}",
        "\u{3000}",
        base64,
        "aGk3Zx9 \n漢é😀1'",
        "\0",
    ];
    for piece in repeated {
        for bytes in [100, 1_000, 20_011] {
            check(&piece.repeat(bytes / piece.len() + 1));
        }
    }
    // Random letters without a space.
    let mut dice = 0x5eed_u64;
    let letters: String = (0..50_000)
        .map(|_| {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + ((dice >> 33) % 26) as u8)
        })
        .collect();
    check(&letters);
    check(&letters.to_uppercase());
}
