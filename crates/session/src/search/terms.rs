//! A text as the terms it is found by: words, the pieces of identifiers, whole identifiers and paths,
//! and pairs of characters where a script writes no blanks. One pass, no copies: a term is a hash.
//! Called for what is taken in and for what is asked; must not know of passages or scores.

use crate::script::{Run, Runs, fold, is_word, pairs};

use super::stem::{is_common, stem};

/// What a term is; the question weighs them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKind {
    /// A plain word, a piece of an identifier, a pair of characters.
    Word,
    /// A word that begins with a digit.
    Number,
    /// A whole identifier: `getUserName`, `max_tokens`, `session-end`.
    Identifier,
    /// A path or the name of a file: `src/main.rs`, `main.rs`.
    Path,
}

/// Longer runs are no words: encoded data, lines of dashes.
const WORD_BYTES_MAX: usize = 64;
/// Longer chains of words are not looked up as a whole.
const CHAIN_BYTES_MAX: usize = 256;

/// Hands over every term of a text, in order, repeats included. Of a dense run these are the pairs, or the one
/// character that stands alone.
pub fn terms(text: &str, take: &mut impl FnMut(u64, TermKind)) {
    let mut runs = Runs::new(text);
    while let Some(run) = runs.next_run() {
        match run {
            Run::Spaced(rest) => runs.skip(chain(rest, take)),
            Run::Dense(run) => {
                for (place, (first, second)) in pairs(run).enumerate() {
                    match second {
                        Some(second) => take(hash([first, second]), TermKind::Word),
                        None if place == 0 => take(hash([first]), TermKind::Word),
                        None => {}
                    }
                }
            }
        }
    }
}

/// A chain of words joined by single marks, as in `src/main.rs` or `well-known`: the words, the whole,
/// and the file name. Says where it ends.
fn chain(text: &str, take: &mut impl FnMut(u64, TermKind)) -> usize {
    let (mut word, mut name) = (0, 0);
    let (mut joined, mut is_path) = (false, false);
    let mut end = text.len();
    let mut characters = text.char_indices().peekable();
    while let Some((at, one)) = characters.next() {
        if is_word_character(one) {
            continue;
        }
        let goes_on = matches!(one, '.' | '/' | '-' | '\\' | '@')
            && characters.peek().is_some_and(|&(_, next)| is_word_character(next));
        if !goes_on {
            end = at;
            break;
        }
        take_word(text.get(word..at).unwrap_or_default(), take);
        word = at + 1;
        joined = true;
        if matches!(one, '/' | '\\') {
            name = word;
            is_path = true;
        }
        is_path |= one == '.';
    }
    take_word(text.get(word..end).unwrap_or_default(), take);
    if joined && end <= CHAIN_BYTES_MAX {
        let kind = if is_path { TermKind::Path } else { TermKind::Identifier };
        take(hash_of(text.get(..end).unwrap_or_default()), kind);
        if name > 0 && name != word {
            take(hash_of(text.get(name..end).unwrap_or_default()), kind);
        }
    }
    end
}

fn is_word_character(one: char) -> bool {
    one == '_' || is_word(one)
}

/// A word, and its pieces if it has humps or underscores. Those around it do not count.
fn take_word(word: &str, take: &mut impl FnMut(u64, TermKind)) {
    let word = word.trim_matches('_');
    if word.is_empty() || word.len() > WORD_BYTES_MAX {
        return;
    }
    let mut pieces = 0_u32;
    let mut begin = 0;
    let mut before = None;
    let mut emit = |from: usize, to: usize, last: bool| {
        let piece = word.get(from..to).unwrap_or_default();
        if !piece.is_empty() && (pieces > 0 || !last) {
            take_plain(piece, take);
        }
        pieces += u32::from(!piece.is_empty());
    };
    for (at, one) in word.char_indices() {
        if one == '_' {
            emit(begin, at, false);
            begin = at + 1;
        } else if one.is_uppercase() && before.is_some_and(char::is_lowercase) {
            emit(begin, at, false);
            begin = at;
        }
        before = Some(one);
    }
    emit(begin, word.len(), true);
    match pieces {
        0 | 1 => take_plain(word, take),
        _ => take(hash_of(word), TermKind::Identifier),
    }
}

/// A plain word is found in all its forms. Words that every text has find nothing.
fn take_plain(word: &str, take: &mut impl FnMut(u64, TermKind)) {
    if word.starts_with(|one: char| one.is_ascii_digit()) {
        take(hash_of(word), TermKind::Number);
    } else if !is_common(word) {
        take(hash_of(stem(word)), TermKind::Word);
    }
}

/// The hash of a term, in any case.
pub fn hash_of(text: &str) -> u64 {
    hash(text.chars())
}

/// FNV over characters in lower case, with the bits mixed at the end: the same on every machine.
fn hash(characters: impl IntoIterator<Item = char>) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let mut hash = BASIS;
    for one in characters {
        hash = (hash ^ u64::from(u32::from(fold(one)))).wrapping_mul(PRIME);
    }
    hash ^= hash >> 32;
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The terms of a text must be the hashes of these, in any order.
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        terms(text, &mut |term, _| found.push(term));
        let mut expected: Vec<u64> = expected.iter().map(|term| hash_of(term)).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }

    fn kind(text: &str, term: &str) -> Option<TermKind> {
        let mut found = None;
        terms(text, &mut |one, kind| {
            if one == hash_of(term) {
                found = Some(kind);
            }
        });
        found
    }

    #[test]
    fn words_are_the_same_in_any_case_and_script() {
        check("Hello, WORLD!", &["hello", "world"]);
        check("Straße ÄRGER Привет", &["straße", "ärger", "привет"]);
        check(" .,;!? \n", &[]);
    }

    #[test]
    fn words_are_the_same_in_all_their_forms_and_common_ones_are_none() {
        check("The tests failed; this test is failing", &["test", "fail", "test", "fail"]);
        assert_eq!(kind("in 2,048 tokens", "2,048"), None);
        assert_eq!(kind("in 2048 tokens", "2048"), Some(TermKind::Number));
    }

    #[test]
    fn chinese_and_japanese_are_pairs_of_characters() {
        check("数据库", &["数据", "据库"]);
        check("東京タワー", &["東京", "京タ", "タワ", "ワー"]);
        check("我。", &["我"]);
    }

    #[test]
    fn scripts_meet_without_blanks() {
        check("用React写", &["用", "react", "写"]);
        check("ภาษา", &["ภา", "าษ", "ษา"]);
    }

    #[test]
    fn identifiers_are_found_whole_and_by_their_pieces() {
        check("getUserName", &["user", "nam", "getusername"]);
        check("max_tokens", &["max", "token", "max_tokens"]);
        check("_private __init__", &["privat", "init"]);
        check("HTTPServer", &["httpserver"]);
        assert_eq!(kind("getUserName", "getusername"), Some(TermKind::Identifier));
        assert_eq!(kind("getUserName", "user"), Some(TermKind::Word));
        assert_eq!(kind("session-end", "session-end"), Some(TermKind::Identifier));
    }

    #[test]
    fn paths_are_found_whole_by_their_file_and_by_their_words() {
        let path = ["src", "io", "read", "fil", "read_file", "rs"];
        check(
            "./src/io/read_file.rs:12",
            &[&path[..], &["src/io/read_file.rs", "read_file.rs", "12"]].concat(),
        );
        assert_eq!(kind("src/main.rs", "main.rs"), Some(TermKind::Path));
        check("cli/", &["cli"]);
        check("b...c", &["b", "c"]);
    }

    #[test]
    fn what_is_too_long_for_a_word_is_none() {
        check(&"x".repeat(WORD_BYTES_MAX + 1), &[]);
        let chain = "ab/".repeat(CHAIN_BYTES_MAX);
        let mut count = 0;
        terms(&chain, &mut |_, _| count += 1);
        assert_eq!(count, CHAIN_BYTES_MAX);
    }
}
