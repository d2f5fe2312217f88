//! The index terms of an entry: the terms of recall in lower case, with common words marked. The same code makes the
//! terms of texts and of queries, so that they match. Entries are removed from the index by the same terms, so a
//! change to the terms requires a migration that empties the index.

use std::collections::HashSet;

use tertulia_session::search::terms::{Term, TermUse, each_term, hash_of};
use tertulia_session::writing_system::fold;

/// The maximum size of an entry's terms in bytes. A search does not find the rest of a very long text.
const TERM_BYTES_MAX: usize = 512 << 10;

/// The mark before a common word in the index. It distinguishes the common word `other` (`·other`) from `other` as
/// the stem of `others`. No index treats it as a separator.
const COMMON_MARK: char = '·';

/// Returns the distinct terms of a text in order of occurrence. None contains a space.
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

/// Returns a term in index form.
pub(super) fn index_text(term: &Term<'_>) -> String {
    match term.usage {
        TermUse::Common => common_text(term.text),
        TermUse::Ranked | TermUse::Exact => term.text.chars().map(fold).collect(),
    }
}

pub(super) fn common_text(word: &str) -> String {
    [COMMON_MARK].into_iter().chain(word.chars().map(fold)).collect()
}

/// Returns a key that identifies an index term without building its text.
pub(super) fn key_of(term: &Term<'_>) -> u64 {
    match term.usage {
        TermUse::Common => !term.hash(),
        TermUse::Ranked | TermUse::Exact => term.hash(),
    }
}

/// Returns the key of a term in index form.
pub(super) fn key_of_text(text: &str) -> u64 {
    text.strip_prefix(COMMON_MARK).map_or_else(|| hash_of(text), |word| !hash_of(word))
}

/// Returns a term in index form without the mark of common words.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix(COMMON_MARK).unwrap_or(text)
}

/// Returns the text in lower case. Every run of whitespace becomes one space, and there is none at the ends.
pub(super) fn folded(text: &str) -> String {
    flat_characters(text).map(fold).collect()
}

/// Returns the text on one line with its characters unchanged. It has as many characters as the result of
/// [`folded`].
pub(super) fn flat(text: &str) -> String {
    flat_characters(text).collect()
}

fn flat_characters(text: &str) -> impl Iterator<Item = char> {
    let mut after_space = false;
    text.trim().chars().filter_map(move |one| {
        let is_space = one.is_whitespace() || one.is_control();
        let shown = if is_space { (!after_space).then_some(' ') } else { Some(one) };
        after_space = is_space;
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

    /// Entries are removed from an index by the terms that they were added with. If the terms
    /// change, the index must be emptied: add a migration step for SQLite and for PostgreSQL.
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
    fn a_long_word_is_found_by_its_prefix() {
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
    fn a_term_has_no_space_and_only_punctuation_that_the_index_keeps() {
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
