//! The terms that an entry is found by, as an index keeps them: the terms of recall in lower case, and common words
//! apart from them. Called for texts and for questions, so that both are folded alike.
//! What is indexed is taken out by the same terms: a change of them needs a step that empties the index.

use std::collections::HashSet;

use tertulia_session::script::fold;
use tertulia_session::search::terms::{Term, TermUse, each_term, hash_of};

/// How many bytes of terms an entry may have. What is behind that in a text of megabytes is not found.
const TERM_BYTES_MAX: usize = 512 << 10;

/// Stands before a common word: `·other` is not the stem of `others`. No index takes it for a blank.
const COMMON_MARK: char = '·';

/// The terms of a text, each once, in the order in which they come. None holds a blank.
pub(crate) fn index_terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut terms = Vec::new();
    let mut bytes = 0;
    each_term(text, &mut |term| {
        if bytes <= TERM_BYTES_MAX && seen.insert(key_of(&term)) {
            let text = index_text(&term);
            bytes += text.len() + 1;
            terms.push(text);
        }
    });
    terms
}

/// A term in the form of the index.
pub(super) fn index_text(term: &Term<'_>) -> String {
    match term.usage {
        TermUse::Common => common_text(term.text),
        TermUse::Ranked | TermUse::Exact => term.text.chars().map(fold).collect(),
    }
}

pub(super) fn common_text(word: &str) -> String {
    [COMMON_MARK].into_iter().chain(word.chars().map(fold)).collect()
}

/// What tells the terms of the index apart without making their texts.
pub(super) fn key_of(term: &Term<'_>) -> u64 {
    match term.usage {
        TermUse::Common => !term.hash(),
        TermUse::Ranked | TermUse::Exact => term.hash(),
    }
}

/// The same of a term in the form of the index.
pub(super) fn key_of_text(text: &str) -> u64 {
    text.strip_prefix(COMMON_MARK).map_or_else(|| hash_of(text), |word| !hash_of(word))
}

/// A term in the form of the index without the mark of common words.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix(COMMON_MARK).unwrap_or(text)
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
    fn words_are_the_same_in_any_case_form_and_script() {
        check("Hello, WORLD! hello", &["hello", "world"]);
        check("Straße ÄRGER Привет", &["straße", "ärger", "привет"]);
        check("The others fail, failing", &["·the", "other", "fail"]);
        check(" .,;!? \n", &[]);
    }

    #[test]
    fn identifiers_and_paths_are_found_whole_and_by_their_pieces() {
        check(
            "parseEntry src/main.rs",
            &["pars", "entr", "parseentry", "src", "main", "rs", "src/main.rs", "main.rs"],
        );
    }

    /// Entries are taken out of an index by the terms that they were taken in by. If these change, the index has to be
    /// emptied: add a step to the tables of SQLite and PostgreSQL.
    #[test]
    fn the_terms_are_those_of_this_version_of_the_index() {
        let text = "The deciders decided: re-read crates/store/src/search.rs, maxTokens=4_096 in 東京タワー, don't";
        let terms = index_terms(text).join(" ");
        assert_eq!(
            terms,
            "·the decider decid ·re read re-read crat stor src search rs crates/store/src/search.rs search.rs max \
             token maxtokens 4 096 4_096 ·in 東京 京タ タワ ワー ー ·don ·t"
        );
    }

    #[test]
    fn chinese_and_japanese_are_pairs_of_characters() {
        check("数据库", &["数据", "据库", "库"]);
        check("東京タワー", &["東京", "京タ", "タワ", "ワー", "ー"]);
        check("用React写", &["用", "react", "写"]);
    }

    #[test]
    fn a_long_word_is_found_by_its_beginning() {
        check(&"x".repeat(1000), &[&"x".repeat(64)]);
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
    fn a_term_holds_no_blank_and_only_marks_that_the_index_keeps() {
        let marks = "a_b a.b a/b a-b a\\b a@b a'b a\"b a*b a:b a(b) a^b ";
        let text: String = marks.chars().chain((0..0x3000).filter_map(char::from_u32)).collect();
        for term in index_terms(&text) {
            let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"_./-\\@".contains(&byte);
            assert!(term.bytes().all(|byte| !byte.is_ascii() || is_kept(byte)), "{term}");
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
