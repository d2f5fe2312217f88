//! Tidy's claim that nothing in the repository names a folder of somebody's machine: such a path
//! works for its author only, and discloses details about them.

use super::{TextFile, Violation};

/// The beginnings of such paths. The search adds the leading slash, because this file is checked, too.
const BEGINNINGS: [&str; 6] = ["root/", "home/", "Users/", "work/", "farm/", "tmp/bash"];

/// Finds lines with such a path.
pub(super) fn check(files: &[TextFile]) -> Vec<Violation> {
    let paths = BEGINNINGS.map(|beginning| format!("/{beginning}"));
    let mut violations = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            if let Some(path) = paths.iter().find(|path| names(line, path)) {
                let what = format!("`{path}` is a path of a specific machine");
                violations.push(file.violation(number, what, "use a relative or made-up path"));
            }
        }
    }
    violations
}

/// Returns whether a path in the line begins with this one. It does not if the text is inside an address or a
/// relative path.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-~})>]*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `§` stands for the slash, so that these lines are not found here.
    fn found(text: &str) -> Vec<usize> {
        let file = TextFile { path: "docs/a.md".to_owned(), text: text.replace('§', "/") };
        check(&[file]).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn the_line_of_a_machine_path_is_reported() {
        assert_eq!(found("first\nsee §home/ana/notes.txt\n"), [2]);
        assert_eq!(found("\"§root/.cargo/bin\""), [1]);
        assert_eq!(found("log=§tmp/bash_1234/out"), [1]);
    }

    #[test]
    fn a_file_address_is_a_machine_path_too() {
        assert_eq!(found("[notes](file://§Users/ana/notes.md)"), [1]);
    }

    #[test]
    fn web_addresses_and_relative_paths_are_fine() {
        assert!(found("https://example.com§home/ana").is_empty());
        assert!(found("crates/cli§home/page.rs").is_empty());
        assert!(found("$CLONE§work/ and ${HOME}§work/ and ~§work/").is_empty());
    }

    #[test]
    fn temporary_folders_of_other_names_are_fine() {
        assert!(found("§tmp/tertulia").is_empty());
    }
}
