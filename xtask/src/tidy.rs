//! `cargo xtask tidy`: style rules that neither rustfmt nor clippy can check.
//! Checks every file that git tracks, or would track after `git add`.

mod book;
mod file_shape;
mod machine_paths;
mod markdown_links;
mod named_paths;
mod retired_words;
mod rust_source;

use crate::process::{self, ProcessError};
use crate::workspace::Workspace;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A tree that is not tidy, or could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    #[error("git cannot list the files; tidy needs a clone of the repository")]
    List(#[source] ProcessError),
    #[error("git lists {0:?}, which is not UTF-8; rename it")]
    Name(String),
    #[error("{path} cannot be read; check its permissions")]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("tidy found {count} problems; each says how to fix it")]
    Violations { count: usize },
}

/// One thing to fix, and where.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    path: String,
    line: usize,
    problem: String,
    advice: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, problem, advice } = self;
        write!(formatter, "{path}:{line}: {problem}; {advice}")
    }
}

/// A file with text in it; its path is relative to the root, with forward slashes.
struct TextFile {
    path: String,
    text: String,
}

impl TextFile {
    fn violation(
        &self,
        line: usize,
        problem: impl Into<String>,
        advice: &'static str,
    ) -> Violation {
        Violation { path: self.path.clone(), line, problem: problem.into(), advice }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Reads the tree, prints the violations, and fails if there are any.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TidyError> {
    let paths = list_paths(workspace)?;
    let files = read_texts(workspace.root(), &paths)?;
    let violations = check(&paths, &files);
    for violation in &violations {
        println!("{violation}");
    }
    println!("{} files", paths.len());
    match violations.len() {
        0 => Ok(()),
        count => Err(TidyError::Violations { count }),
    }
}

fn check(paths: &BTreeSet<String>, files: &[TextFile]) -> Vec<Violation> {
    let mut violations = file_shape::check_names(paths);
    violations.extend(file_shape::check_lengths(files, file_shape::LONG_FILES));
    violations.extend(machine_paths::check(files));
    violations.extend(markdown_links::check(paths, files));
    violations.extend(book::check(files));
    violations.extend(named_paths::check(paths, files));
    violations.extend(retired_words::check(files, retired_words::RETIRED));
    violations.extend(rust_source::check(files, rust_source::LONG_FUNCTIONS));
    violations.sort();
    violations
}

fn list_paths(workspace: &Workspace) -> Result<BTreeSet<String>, TidyError> {
    let mut git = workspace.program("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let listing = process::capture(&mut git).map_err(TidyError::List)?;
    let names = listing.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut paths = BTreeSet::new();
    for name in names {
        let path = String::from_utf8(name.to_vec())
            .map_err(|_| TidyError::Name(String::from_utf8_lossy(name).into_owned()))?;
        // Git lists a deleted file until the deletion is committed.
        if workspace.root().join(&path).exists() {
            paths.insert(path);
        }
    }
    Ok(paths)
}

/// Reads the text files; pictures and recorded byte streams are skipped.
fn read_texts(root: &Path, paths: &BTreeSet<String>) -> Result<Vec<TextFile>, TidyError> {
    let mut files = Vec::new();
    for path in paths {
        let full = root.join(path);
        if full.is_dir() {
            continue;
        }
        let bytes =
            std::fs::read(&full).map_err(|source| TidyError::Read { path: full, source })?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(TextFile { path: path.clone(), text });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_says_where_what_and_how_to_mend_it() {
        let file = TextFile { path: "crates/cli/src/main.rs".to_owned(), text: String::new() };
        let line = file.violation(7, "no header", "write one").to_string();
        assert_eq!(line, "crates/cli/src/main.rs:7: no header; write one");
    }

    #[test]
    fn violations_come_in_the_order_of_files_and_lines() {
        let long_ago = |path: &str| TextFile { path: path.to_owned(), text: "fn f() {}\n".into() };
        let files = [long_ago("xtask/src/b.rs"), long_ago("crates/a.rs")];
        let found = check(&BTreeSet::new(), &files);
        let paths: Vec<&str> = found.iter().map(|violation| violation.path.as_str()).collect();
        assert_eq!(paths, ["crates/a.rs", "xtask/src/b.rs"]);
    }
}
