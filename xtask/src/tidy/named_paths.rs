//! Tidy's check that the files and folders named in ARCHITECTURE.md exist. The page names most of them without their
//! first folders (`builder/plan.rs`), so the end of a path is enough.

use super::{TextFile, Violation};
use std::collections::BTreeSet;

const PAGE: &str = "ARCHITECTURE.md";
const ENDS: [&str; 4] = [".rs", ".md", ".toml", ".yml"];

/// Files of users, which the repository does not have.
const OF_USERS: [&str; 1] = ["tertulia.toml"];

/// Finds the names of files and folders that do not exist.
pub(super) fn check(paths: &BTreeSet<String>, files: &[TextFile]) -> Vec<Violation> {
    let known = known(paths);
    let mut violations = Vec::new();
    for page in files.iter().filter(|file| file.path == PAGE) {
        for (number, line) in (1..).zip(page.text.lines()) {
            let missing = |name: &&str| !OF_USERS.contains(name) && !exists(&known, name);
            for name in names(line).filter(missing) {
                let what = format!("`{name}` does not exist");
                violations.push(page.violation(number, what, "name the file or folder that does"));
            }
        }
    }
    violations
}

/// Returns the ends of all paths: `a/b.rs` and `b.rs` for the file `a/b.rs`, and `a` for its folder.
fn known(paths: &BTreeSet<String>) -> BTreeSet<&str> {
    let mut known = BTreeSet::new();
    for path in paths {
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        for whole in folders.chain([path.as_str()]) {
            let ends = whole.match_indices('/').filter_map(|(at, _)| whole.get(at + 1..));
            known.extend(ends.chain([whole]));
        }
    }
    known
}

/// Returns the words of a line that look like paths.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/._-*".contains(c);
    let words = line.split(move |c| !is_part(c)).map(|word| word.trim_end_matches(['.', ',']));
    words.filter(|word| ENDS.iter().any(|end| word.ends_with(end)) || is_folder(line, word))
}

/// Returns whether the word is a folder: inline code with a slash. Elsewhere a slash may mean "or".
fn is_folder(line: &str, word: &str) -> bool {
    word.contains('/') && !word.starts_with('/') && line.contains(&format!("`{word}`"))
}

/// Returns whether there is such a file or folder; a `*` stands for the rest of a name.
fn exists(known: &BTreeSet<&str>, name: &str) -> bool {
    let name = name.trim_end_matches('/');
    match name.split_once('*') {
        None => known.contains(name),
        Some((start, end)) => {
            let similar = known.range(start..).take_while(|path| path.starts_with(start));
            similar.into_iter().any(|path| path.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(text: &str) -> Vec<String> {
        let paths = ["crates/a/src/plan.rs", "crates/a/tests/it/rules_x.rs", "deny.toml"];
        let paths = paths.map(str::to_owned).into();
        let page = |path: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let violations = check(&paths, &[page(PAGE), page("README.md")]);
        assert!(violations.iter().all(|violation| violation.path == PAGE));
        violations.into_iter().map(|violation| violation.problem).collect()
    }

    #[test]
    fn the_end_of_a_path_is_enough() {
        let text = "`a/src/plan.rs`, (plan.rs), `crates/`, `it/`, `rules_*.rs` and deny.toml.";
        assert_eq!(missing(text), [""; 0]);
    }

    #[test]
    fn a_name_that_leads_nowhere_is_reported() {
        let text = "`src/gone.rs` a.toml\nlan.rs `b/src/` `checks_*.rs`";
        let expected = ["src/gone.rs", "a.toml", "lan.rs", "b/src/", "checks_*.rs"];
        assert_eq!(missing(text), expected.map(|name| format!("`{name}` does not exist")));
    }

    #[test]
    fn prose_and_commands_with_a_slash_are_no_paths() {
        assert_eq!(missing("input/output, `a::b` and/or `x`, `/help`, `tertulia.toml`"), [""; 0]);
    }
}
