//! Tidy's checks of whole files: the name must describe the content, and the file must not be too long.

use super::{TextFile, Violation};
use std::collections::BTreeSet;

const LINES_MAX: usize = 500;

/// Names that do not describe the content.
const EMPTY_NAMES: [&str; 4] = ["utils.rs", "helpers.rs", "common.rs", "misc.rs"];

/// The endings of hand-written code. Prose, recorded data and lock files may be longer.
const CODE: [&str; 6] = ["rs", "py", "ts", "js", "mjs", "sh"];

/// A file that may be longer than the others, with the reason.
pub(super) struct LongFile {
    pub(super) path: &'static str,
    pub(super) reason: &'static str,
}

/// The exceptions. An exception that is no longer needed is a violation.
pub(super) const LONG_FILES: &[LongFile] = &[];

/// Finds files whose names do not describe their content.
pub(super) fn check_names(paths: &BTreeSet<String>) -> Vec<Violation> {
    let says_nothing =
        |path: &&String| path.rsplit('/').next().is_some_and(|name| EMPTY_NAMES.contains(&name));
    let violation = |path: &String| Violation {
        path: path.clone(),
        line: 1,
        problem: "the file's name does not describe its content".to_owned(),
        advice: "name it after its content",
    };
    paths.iter().filter(says_nothing).map(violation).collect()
}

/// Finds code that is too long, and exceptions that are no longer needed.
pub(super) fn check_lengths(files: &[TextFile], exceptions: &[LongFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut needed = BTreeSet::new();
    for file in files.iter().filter(|file| is_code(&file.path)) {
        let lines = file.text.lines().count();
        if lines <= LINES_MAX {
            continue;
        }
        if exceptions.iter().any(|exception| exception.path == file.path) {
            needed.insert(file.path.as_str());
            continue;
        }
        let what = format!("it has {lines} lines; the maximum is {LINES_MAX}");
        violations.push(file.violation(1, what, "split it, or add it to LONG_FILES"));
    }
    let stale = exceptions.iter().filter(|exception| !needed.contains(exception.path));
    violations.extend(stale.map(|exception| Violation {
        path: exception.path.to_owned(),
        line: 1,
        problem: format!("is no longer too long ({})", exception.reason),
        advice: "remove it from LONG_FILES",
    }));
    violations
}

fn is_code(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| CODE.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, lines: usize) -> TextFile {
        TextFile { path: path.to_owned(), text: "x\n".repeat(lines) }
    }

    fn lengths(file: TextFile, exceptions: &[LongFile]) -> Vec<String> {
        let found = check_lengths(&[file], exceptions);
        found.iter().map(ToString::to_string).collect()
    }

    const LEXER: LongFile = LongFile { path: "crates/a/src/lexer.rs", reason: "one table" };

    #[test]
    fn a_name_that_says_nothing_is_reported() {
        let paths = ["crates/a/src/utils.rs", "crates/a/src/text_width.rs"];
        let found = check_names(&paths.map(str::to_owned).into());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/a/src/utils.rs");
    }

    #[test]
    fn a_longer_name_that_ends_alike_is_fine() {
        assert!(check_names(&["src/not_common.rs".to_owned()].into()).is_empty());
    }

    #[test]
    fn five_hundred_lines_are_fine_and_one_more_is_not() {
        assert!(lengths(file("a.rs", 500), &[]).is_empty());
        assert_eq!(
            lengths(file("a.rs", 501), &[]),
            ["a.rs:1: it has 501 lines; the maximum is 500; split it, or add it to LONG_FILES"]
        );
    }

    #[test]
    fn prose_and_data_may_be_long() {
        assert!(lengths(file("CHANGELOG.md", 9_000), &[]).is_empty());
        assert!(lengths(file("Cargo.lock", 9_000), &[]).is_empty());
    }

    #[test]
    fn a_named_exception_may_be_long() {
        assert!(lengths(file(LEXER.path, 501), &[LEXER]).is_empty());
    }

    #[test]
    fn an_exception_that_is_not_needed_any_more_is_reported() {
        assert_eq!(
            lengths(file(LEXER.path, 500), &[LEXER]),
            [
                "crates/a/src/lexer.rs:1: is no longer too long (one table); remove it from LONG_FILES"
            ]
        );
    }
}
