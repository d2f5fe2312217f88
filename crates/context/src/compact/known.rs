//! A set of the names that occur in a text. The suffixes of a path are included: if a text contains `src/a/b.rs`,
//! the set contains `b.rs`. The gate and the extractive summary use the same set.

use std::collections::HashSet;

use super::previous::heading;
use super::sections::split_line;
use crate::identifiers::identifiers;

/// A set of names. It is queried, never iterated.
#[derive(Default)]
pub(super) struct Known<'a> {
    names: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    pub(super) fn read(&mut self, text: &'a str) {
        for name in identifiers(text) {
            self.add(name);
        }
    }

    /// Adds a name, and the suffixes of a path.
    pub(super) fn add(&mut self, name: &'a str) {
        if !self.names.insert(name) || name.contains("://") {
            return;
        }
        let bare = without_position(name);
        self.names.insert(bare);
        let mut rest = bare;
        while let Some((_, end)) = rest.split_once('/') {
            if end.len() > 1 {
                self.names.insert(end);
            }
            rest = end;
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// Returns a path without a line number: `a.go:12` is about `a.go`.
pub(super) fn without_position(name: &str) -> &str {
    let bare = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == ':');
    // Only if the name ends with `:` and digits, and the rest is also a name.
    let rest = name.get(bare.len()..).unwrap_or_default();
    if rest.starts_with(':') && bare.contains('.') { bare } else { name }
}

/// Returns the distinct names of a summary, in order. The ids before its lines are not names.
pub(super) fn distinct_names(summary: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    let lines = said_lines(summary);
    lines.flat_map(identifiers).filter(|name| seen.insert(*name)).collect()
}

/// Returns the distinct words of a text in lower case, in order: words of four letters or more, and pairs of letters
/// in scripts without spaces.
pub(super) fn distinct_words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut words = Vec::new();
    let lines = said_lines(text);
    for run in lines.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric())) {
        let mut wide = run.chars().filter(|letter| is_wide(*letter)).peekable();
        if wide.peek().is_some() {
            let letters: Vec<char> = wide.collect();
            for pair in letters.windows(2) {
                let pair: String = pair.iter().collect();
                if seen.insert(pair.clone()) {
                    words.push(pair);
                }
            }
        } else if run.chars().nth(3).is_some() {
            let word = run.to_lowercase();
            if seen.insert(word.clone()) {
                words.push(word);
            }
        }
    }
    words
}

/// Returns the lines of a summary without headings and without the ids before the lines.
fn said_lines(summary: &str) -> impl Iterator<Item = &str> {
    summary.lines().filter(|line| heading(line).is_none()).map(|line| split_line(line).1)
}

/// Returns whether a letter belongs to a script without spaces between words.
fn is_wide(letter: char) -> bool {
    (letter as u32) >= 0x2E80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_by_its_suffixes() {
        let mut known = Known::default();
        known.read("see src/a/b.rs:12 there");
        for name in ["src/a/b.rs:12", "src/a/b.rs", "a/b.rs", "b.rs"] {
            assert!(known.has(name), "{name}");
        }
        assert!(!known.has("src/a"));
    }

    #[test]
    fn the_id_of_a_line_is_no_name_of_it() {
        assert_eq!(distinct_names("- [e-123456] use a_b\n- a_b c_d"), ["a_b", "c_d"]);
    }

    #[test]
    fn headings_have_no_names_to_carry_over() {
        assert_eq!(distinct_words("u\n## Goal\nship"), ["ship"]);
    }

    #[test]
    fn words_are_long_or_pairs() {
        assert_eq!(distinct_words("The Quick fox 注册页"), ["quick", "注册", "册页"]);
    }
}
