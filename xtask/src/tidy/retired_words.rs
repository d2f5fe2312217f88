//! Tidy's check that sources and documentation do not use retired words. Each of them was a private name for
//! something that has a usual one.

use super::{TextFile, Violation};

/// The words that nobody may use, in lower case.
pub(super) const RETIRED: &[&str] = &[
    "aloud",
    "bell",
    "bells",
    "blanks",
    "chores",
    "desk",
    "desks",
    "door",
    "doors",
    "ear",
    "ears",
    "errand",
    "errands",
    "fate",
    "fates",
    "guest",
    "guests",
    "house",
    "houses",
    "hub",
    "knock",
    "knocks",
    "ledger",
    "mail",
    "mouth",
    "parlor",
    "parlour",
    "rooms",
    "seat",
    "seats",
    "shelf",
    "shelves",
    "stranger",
    "strangers",
    "strays",
    "teller",
    "tellers",
    "whereabouts",
    "wish",
    "wishes",
];

/// Texts that may contain a retired word: names of other projects and of their tables, and values in JSON that programs
/// already read.
const EXCEPTIONS: &[&str] = &["GitHub", "usage_ledger", "\"blanks_trimmed\"", "\"stranger\""];

/// Finds the lines of sources and documentation that use one of the words.
pub(super) fn check(files: &[TextFile], retired: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| is_checked(&file.path)) {
        for word in words(&file.path).filter(|word| retired.contains(&word.as_str())) {
            let what = format!("`{word}` in its path is a retired word");
            violations.push(file.violation(1, what, "rename the file"));
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            let mut line = line.to_owned();
            for text in EXCEPTIONS {
                line = line.replace(text, "");
            }
            for word in words(&line).filter(|word| retired.contains(&word.as_str())) {
                let what = format!("`{word}` is a retired word");
                violations.push(file.violation(number, what, "use the usual term"));
            }
        }
    }
    violations
}

/// Returns whether the file is a Rust source, a page for people or a configuration. The change log describes earlier
/// versions, and this file lists the words.
fn is_checked(path: &str) -> bool {
    let is_text = [".rs", ".md", ".toml", ".yml"].iter().any(|end| path.ends_with(end));
    is_text && !matches!(path, "CHANGELOG.md" | "xtask/src/tidy/retired_words.rs")
}

/// Returns the words of a line in lower case. Identifiers are split at underscores and at capital letters.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_after_lower = false;
    for letter in line.chars() {
        let ends_word = !letter.is_alphanumeric() || (is_after_lower && letter.is_uppercase());
        if ends_word && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        is_after_lower = letter.is_lowercase();
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[&str] = &["desk", "hub"];

    fn found(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file], WORDS).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_retired_word_is_found_in_prose_and_in_identifiers() {
        let text = "first\n// The desk.\nlet write_desk = Desk::new();\nWriteDesk\nDESK_SIZE\n";
        assert_eq!(found("crates/store/src/a.rs", text), [2, 3, 3, 4, 5]);
        assert_eq!(found("docs/a.md", "At the Desk."), [1]);
        assert_eq!(found("README.md", "At the desk."), [1]);
    }

    #[test]
    fn longer_words_and_exceptions_are_fine() {
        assert!(found("docs/a.md", "desktop, desks, GitHub, hubs\n").is_empty());
        let stranger =
            TextFile { path: "a.rs".to_owned(), text: "\"stranger\"\na_stranger".to_owned() };
        let lines: Vec<usize> = check(&[stranger], RETIRED).iter().map(|one| one.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn a_retired_word_in_the_name_of_a_file_is_found() {
        assert_eq!(found("crates/a/src/desk.rs", "text"), [1]);
        assert_eq!(found("crates/desk/README.md", ""), [1]);
        assert!(found("crates/a/src/desktop.rs", "text").is_empty());
    }

    #[test]
    fn sources_pages_and_configurations_are_checked_but_the_change_log() {
        for path in
            ["xtask/src/a.rs", "fuzz/a.rs", "crates/a/README.md", "clippy.toml", ".github/a.yml"]
        {
            assert_eq!(found(path, "desk"), [1], "{path}");
        }
        for path in ["crates/a/schema.json", "CHANGELOG.md", "xtask/src/tidy/retired_words.rs"] {
            assert!(found(path, "desk").is_empty(), "{path}");
        }
    }

    #[test]
    fn the_words_are_sorted_and_in_lower_case() {
        assert!(RETIRED.is_sorted());
        assert!(RETIRED.iter().all(|word| **word == word.to_lowercase()));
    }
}
