//! The terms that a text is found by: words in lower case, and pairs of characters where a script
//! writes no blanks. All letters and digits, so that no index splits them further. Called for texts and for
//! questions, so that both are folded alike.

use std::collections::HashSet;

use tertulia_session::script::{Run, Runs, fold, is_word, pairs};

/// Longer words are indexed by their beginning.
const WORD_CHARACTERS_MAX: usize = 64;
/// How many bytes of terms an entry may have. What is behind that in a text of megabytes is not found.
const TERM_BYTES_MAX: usize = 512 << 10;

/// The terms of a text, each once, in the order in which they come.
pub(crate) fn index_terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut terms = Vec::new();
    let mut bytes = 0;
    each_term(text, &mut |term| {
        if bytes <= TERM_BYTES_MAX && !seen.contains(term) {
            bytes += term.len() + 1;
            seen.insert(term.to_owned());
            terms.push(term.to_owned());
        }
    });
    terms
}

/// Hands over every term of a text, in order, repeats included. The last character of a dense run is a term too: so a
/// single character is the beginning of some term wherever it stands.
pub(super) fn each_term(text: &str, take: &mut impl FnMut(&str)) {
    let mut term = String::new();
    let mut runs = Runs::new(text);
    while let Some(run) = runs.next_run() {
        match run {
            Run::Spaced(rest) => {
                let end = rest.find(|one| !is_word(one)).unwrap_or(rest.len());
                let word = rest.get(..end).unwrap_or_default();
                term.clear();
                term.extend(word.chars().take(WORD_CHARACTERS_MAX).map(fold));
                take(&term);
                runs.skip(end);
            }
            Run::Dense(run) => pairs(run).for_each(|(first, second)| {
                term.clear();
                term.extend([Some(first), second].into_iter().flatten().map(fold));
                take(&term);
            }),
        }
    }
}

/// The text in lower case, every run of blanks as one blank, none at the ends.
pub(super) fn folded(text: &str) -> String {
    flat_characters(text).map(fold).collect()
}

/// The text on one line, characters as they are; as many of them as [`folded`] has.
pub(super) fn flat(text: &str) -> String {
    flat_characters(text).collect()
}

fn flat_characters(text: &str) -> impl Iterator<Item = char> {
    let mut blank = false;
    text.trim().chars().filter_map(move |one| {
        let is_blank = one.is_whitespace() || one.is_control();
        let shown = if is_blank { (!blank).then_some(' ') } else { Some(one) };
        blank = is_blank;
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(index_terms(text), expected, "{text}");
    }

    #[test]
    fn words_are_the_same_in_any_case_and_script() {
        check("Hello, WORLD! hello", &["hello", "world"]);
        check("Straße ÄRGER Привет", &["straße", "ärger", "привет"]);
        check("parse_entry src/main.rs", &["parse", "entry", "src", "main", "rs"]);
        check(" .,;!? \n", &[]);
    }

    #[test]
    fn chinese_and_japanese_are_pairs_of_characters() {
        check("数据库", &["数据", "据库", "库"]);
        check("東京タワー", &["東京", "京タ", "タワ", "ワー", "ー"]);
        check("用React写", &["用", "react", "写"]);
    }

    #[test]
    fn a_long_word_is_found_by_its_beginning() {
        check(&"x".repeat(1000), &[&"x".repeat(WORD_CHARACTERS_MAX)]);
    }

    #[test]
    fn a_text_of_megabytes_has_a_bounded_number_of_terms() {
        let text: String = (0..400_000).map(|number| format!("w{number} ")).collect();
        let terms = index_terms(&text);
        let bytes: usize = terms.iter().map(|term| term.len() + 1).sum();
        assert!(bytes <= TERM_BYTES_MAX + 300, "{bytes}");
        assert!(terms.len() > 50_000);
    }

    #[test]
    fn a_term_is_letters_and_digits_only() {
        let text: String = (0..0x3000).filter_map(char::from_u32).collect();
        for term in index_terms(&text) {
            assert!(!term.bytes().any(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()));
        }
    }

    #[test]
    fn a_text_becomes_one_line_of_lower_case() {
        assert_eq!(folded("  Hello,\n\t WORLD \r\n"), "hello, world");
        assert_eq!(flat("  Hello,\n\t WORLD \r\n"), "Hello, WORLD");
    }

    #[test]
    fn both_forms_have_as_many_characters() {
        for text in ["İstanbul ǅ ß", "ΑΣ\u{0}x", "東京\u{3000}タワー", ""] {
            assert_eq!(folded(text).chars().count(), flat(text).chars().count(), "{text}");
        }
    }
}
