//! The search terms of a text: words, the pieces of identifiers, whole identifiers and paths, and pairs of
//! characters for scripts without spaces. One pass, no copies. Called for indexed texts and for queries; it does not
//! depend on passages, entries or scores.

use super::stem::{is_common, stem};
use crate::writing_system::{Run, Runs, fold, is_word, pairs};

/// The kind of a term; the ranking weights them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TermKind {
    /// A plain word, a piece of an identifier, a pair of characters.
    Word,
    /// A word that begins with a digit.
    Number,
    /// A whole identifier: `getUserName`, `max_tokens`, `session-end`.
    Identifier,
    /// A path or a file name: `src/main.rs`, `main.rs`.
    Path,
}

/// The use of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermUse {
    /// It finds texts and ranks them.
    Ranked,
    /// A common word. It does not rank. A store uses it only in quotes, or if the query contains nothing else.
    Common,
    /// The prefix of a word that is too long, or the last character of an unspaced run. Stores find texts by it;
    /// recall ignores it.
    Exact,
}

/// A term of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term<'t> {
    /// The text to compare, in any case of letters: the stem of a word, a whole identifier or path, a pair of
    /// characters.
    pub text: &'t str,
    /// The term as it is written.
    pub written: &'t str,
    /// Byte offset in the text.
    pub start: usize,
    pub kind: TermKind,
    pub usage: TermUse,
}

impl Term<'_> {
    /// Returns the hash that recall stores instead of the text.
    pub fn hash(&self) -> u64 {
        hash_of(self.text)
    }
}

/// The maximum length of a word. Longer runs are encoded data or lines of dashes.
const WORD_BYTES_MAX: usize = 64;
/// The maximum length of a chain of words that is indexed as a whole.
const CHAIN_BYTES_MAX: usize = 256;

/// Calls `take` with the hash of every ranked term of a text, in order, including repeats. For an unspaced run,
/// these are the pairs, or its character if there is only one.
pub fn terms(text: &str, take: &mut impl FnMut(u64, TermKind)) {
    each_term(text, &mut |term| {
        if term.usage == TermUse::Ranked {
            take(term.hash(), term.kind);
        }
    });
}

/// Calls `take` with every term of a text, in order, including repeats.
pub fn each_term<'t>(text: &'t str, take: &mut impl FnMut(Term<'t>)) {
    let mut runs = Runs::new(text);
    while let Some(run) = runs.next_run() {
        match run {
            Run::Spaced(rest) => {
                let start = text.len() - rest.len();
                runs.skip(chain(rest, start, take));
            }
            Run::Unspaced(run) => unspaced(run, text.len() - runs.bytes_left() - run.len(), take),
        }
    }
}

/// Takes the pairs of a run of a script without spaces, and its last character. So every character is the prefix of
/// some term.
fn unspaced<'t>(run: &'t str, start: usize, take: &mut impl FnMut(Term<'t>)) {
    let mut at = 0;
    for (first, second) in pairs(run) {
        let end = at + first.len_utf8() + second.map_or(0, char::len_utf8);
        let text = run.get(at..end).unwrap_or_default();
        let usage = if second.is_none() && at > 0 { TermUse::Exact } else { TermUse::Ranked };
        take(Term { text, written: text, start: start + at, kind: TermKind::Word, usage });
        at += first.len_utf8();
    }
}

/// Takes a chain of words joined by single marks, as in `src/main.rs` or `well-known`: the words, the whole, and the
/// file name. Returns the end of the chain.
fn chain<'t>(text: &'t str, start: usize, take: &mut impl FnMut(Term<'t>)) -> usize {
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
        take_word(text.get(word..at).unwrap_or_default(), start + word, take);
        word = at + 1;
        joined = true;
        if matches!(one, '/' | '\\') {
            name = word;
            is_path = true;
        }
        is_path |= one == '.';
    }
    take_word(text.get(word..end).unwrap_or_default(), start + word, take);
    if joined && end <= CHAIN_BYTES_MAX {
        let kind = if is_path { TermKind::Path } else { TermKind::Identifier };
        let mut whole = |from: usize| {
            let text = text.get(from..end).unwrap_or_default();
            let start = start + from;
            take(Term { text, written: text, start, kind, usage: TermUse::Ranked });
        };
        whole(0);
        if name > 0 && name != word {
            whole(name);
        }
    }
    end
}

fn is_word_character(one: char) -> bool {
    one == '_' || is_word(one)
}

/// Takes a word, and also its pieces if it contains underscores or inner capital letters. Leading and trailing
/// underscores are ignored.
fn take_word<'t>(word: &'t str, start: usize, take: &mut impl FnMut(Term<'t>)) {
    let outer = word.len();
    let word = word.trim_start_matches('_');
    let start = start + outer - word.len();
    let word = word.trim_end_matches('_');
    if word.is_empty() {
        return;
    }
    if word.len() > WORD_BYTES_MAX {
        let text = word.get(..word.floor_char_boundary(WORD_BYTES_MAX)).unwrap_or_default();
        let (kind, usage) = (TermKind::Word, TermUse::Exact);
        return take(Term { text, written: word, start, kind, usage });
    }
    let mut pieces = 0_u32;
    let mut begin = 0;
    let mut before = None;
    let mut emit = |from: usize, to: usize, last: bool| {
        let piece = word.get(from..to).unwrap_or_default();
        if !piece.is_empty() && (pieces > 0 || !last) {
            take_plain(piece, start + from, take);
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
        0 | 1 => take_plain(word, start, take),
        _ => {
            let (kind, usage) = (TermKind::Identifier, TermUse::Ranked);
            take(Term { text: word, written: word, start, kind, usage });
        }
    }
}

/// Takes a plain word, which is found in all its forms. Common words do not rank.
fn take_plain<'t>(word: &'t str, start: usize, take: &mut impl FnMut(Term<'t>)) {
    let (text, kind, usage) = if word.starts_with(|one: char| one.is_ascii_digit()) {
        (word, TermKind::Number, TermUse::Ranked)
    } else if is_common(word) {
        (word, TermKind::Word, TermUse::Common)
    } else {
        (stem(word), TermKind::Word, TermUse::Ranked)
    };
    take(Term { text, written: word, start, kind, usage });
}

/// Returns the hash of a term, whatever the case of its letters.
pub fn hash_of(text: &str) -> u64 {
    hash(text.chars())
}

/// Returns the FNV hash of lower-case characters, with the bits mixed at the end. It is the same on every machine.
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

    /// Checks that the terms of a text have the hashes of these, in any order.
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
    fn scripts_meet_without_spaces() {
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
