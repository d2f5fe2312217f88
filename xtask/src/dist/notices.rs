//! The licences of the crates that are compiled into the program, in the form that their authors require.

use super::DistError;
use super::contents::read;
use crate::sbom::Crates;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The beginnings of the names of such files, in lower case.
const BEGINNINGS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// The whole text.
pub(super) fn text(crates: &Crates) -> Result<String, DistError> {
    let mut names = Vec::new();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, folder) in crates.foreign() {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text below");
        names.push(format!("{name}: {licence}"));
        for text in licence_files(&folder)? {
            let users = texts.entry(text).or_default();
            if users.last() != Some(&name) {
                users.push(name.clone());
            }
        }
    }
    Ok(render(&names, &texts))
}

/// The texts in the folder of a crate.
fn licence_files(folder: &Path) -> Result<Vec<String>, DistError> {
    let failed = |source| DistError::File { path: folder.to_owned(), source };
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() && is_licence(&path) {
            texts.push(String::from_utf8_lossy(&read(&path)?).trim().to_owned());
        }
    }
    texts.sort();
    Ok(texts)
}

fn is_licence(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    name.is_some_and(|name| BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)))
}

/// The crates, then every text once, with the crates that have it.
fn render(names: &[String], texts: &BTreeMap<String, Vec<String>>) -> String {
    let mut page = "tertulia contains code of these crates:\n\n".to_owned();
    for name in names {
        let _ = writeln!(page, "  {name}");
    }
    let line = "-".repeat(80);
    for (text, users) in texts {
        let _ = writeln!(page, "\n{line}\n{}\n{line}\n\n{text}", users.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_several_crates_have_stands_there_once() {
        let names = ["a 1.0.0: MIT".to_owned(), "b 2.0.0: MIT".to_owned()];
        let users = vec!["a 1.0.0".to_owned(), "b 2.0.0".to_owned()];
        let page = render(&names, &[("Permission is granted".to_owned(), users)].into());
        assert!(page.contains("  a 1.0.0: MIT\n  b 2.0.0: MIT\n"), "{page}");
        assert!(page.contains("\na 1.0.0, b 2.0.0\n"), "{page}");
        assert_eq!(page.matches("Permission").count(), 1);
    }

    #[test]
    fn licences_have_many_names() {
        for name in ["LICENSE", "LICENSE-MIT", "license.txt", "COPYING", "NOTICE", "UNLICENSE"] {
            assert!(is_licence(Path::new(name)), "{name}");
        }
        assert!(!is_licence(Path::new("README.md")));
    }
}
