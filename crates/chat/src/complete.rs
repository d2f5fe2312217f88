//! Tab completion in the chat: members and files after `@`, commands after `/`. Reads only folders below the working
//! folder.

use std::path::{Component, Path};

use super::commands::COMMANDS;

/// Maximum number of candidates.
const CANDIDATES_MAX: usize = 200;
/// Maximum number of files read of one folder.
const FILES_MAX: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    /// Byte index of the start of the word.
    pub(crate) from: usize,
    /// The candidates; a folder ends with a slash.
    pub(crate) candidates: Vec<String>,
}

/// Returns the completions of the word before the cursor.
pub(crate) fn complete(before: &str, names: &[String], folder: &Path) -> Completion {
    let is_list = before.starts_with("/ask ");
    let is_between = |c: char| c.is_whitespace() || (is_list && c == ',');
    let word = before.rsplit(is_between).next().unwrap_or(before);
    let from = before.len() - word.len();
    let candidates = if let Some(begun) = word.strip_prefix('@') {
        let mut found = members(begun, names, "@");
        found.extend(files(begun, folder));
        found
    } else if let Some(begun) = word.strip_prefix('/').filter(|_| from == 0) {
        let names = COMMANDS.iter().map(|(_, name, ..)| *name);
        names.filter(|name| name.starts_with(begun)).map(|name| format!("/{name}")).collect()
    } else if is_name_wanted(before) {
        let mut found = members(word, names, "");
        let takes_all =
            ["/drop ", "/cancel ", "/ask "].iter().any(|command| before.starts_with(command));
        if takes_all && "all".starts_with(word) {
            found.push("all".to_owned());
        }
        found
    } else {
        Vec::new()
    };
    Completion { from, candidates }
}

/// Returns whether the line begins with a command that takes names.
fn is_name_wanted(before: &str) -> bool {
    let commands = ["/next ", "/ask ", "/drop ", "/cancel ", "/context "];
    // The names of an ask end at the colon.
    let is_question = before.starts_with("/ask ") && before.contains(':');
    !is_question && commands.iter().any(|command| before.starts_with(command))
}

fn members(begun: &str, members: &[String], sign: &str) -> Vec<String> {
    let begun = begun.to_lowercase();
    let fits = |name: &&String| name.to_lowercase().starts_with(&begun);
    members.iter().filter(fits).map(|name| format!("{sign}{name}")).collect()
}

/// Returns files below the folder whose relative path has this prefix. Hidden files and names with spaces or control
/// characters are left out.
fn files(begun: &str, folder: &Path) -> Vec<String> {
    let (above, start) = begun.rsplit_once('/').unwrap_or(("", begun));
    let inside = Path::new(above).components().all(|part| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    });
    if !inside || begun.starts_with('/') {
        return Vec::new();
    }
    let Ok(entries) = folder.join(above).read_dir() else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.take(FILES_MAX).flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(start)) else { continue };
        if name.starts_with('.') || name.contains(|c: char| c.is_control() || c.is_whitespace()) {
            continue;
        }
        let slash = if entry.path().is_dir() { "/" } else { "" };
        let above = if above.is_empty() { String::new() } else { format!("{above}/") };
        found.push(format!("@{above}{name}{slash}"));
    }
    found.sort_unstable();
    found.truncate(CANDIDATES_MAX);
    found
}

pub(crate) fn common_beginning(candidates: &[String]) -> &str {
    let Some((first, others)) = candidates.split_first() else { return "" };
    let shared = |length: usize, other: &String| {
        let pairs = first.char_indices().zip(other.chars());
        let differs = pairs.into_iter().find(|((_, a), b)| a != b);
        differs.map_or(first.len().min(other.len()), |((index, _), _)| index).min(length)
    };
    let length = others.iter().fold(first.len(), shared);
    first.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(before: &str, folder: &Path) -> Vec<String> {
        let members = ["max".to_owned(), "Mia".to_owned(), "eva".to_owned()];
        complete(before, &members, folder).candidates
    }

    #[test]
    fn members_and_files_follow_an_at_sign() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/.git")).unwrap();
        for file in ["main.rs", "src/mod.rs", ".hidden", "a b", "src/x\u{1b}y"] {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        let at = |before: &str| at(before, folder.path());
        assert_eq!(at("ask @m"), ["@max", "@Mia", "@main.rs"]);
        assert_eq!(at("@s"), ["@src/"]);
        assert_eq!(at("@src/"), ["@src/mod.rs"]);
        for outside in ["@../", "@/etc/", "@.", "@src/../", "@src/.git/", "ann@m", "@./"] {
            assert!(at(outside).is_empty(), "{outside}");
        }
    }

    #[test]
    fn commands_stand_at_the_beginning_of_a_line_only() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(at("/c", folder.path()), ["/context", "/compact", "/cancel", "/cost"]);
        assert!(at("see /c", folder.path()).is_empty());
        assert_eq!(at("/drop ", folder.path()), ["max", "Mia", "eva", "all"]);
        assert_eq!(at("/next max e", folder.path()), ["eva"]);
        assert_eq!(at("/ask max,e", folder.path()), ["eva"]);
        assert_eq!(at("/ask ", folder.path()), ["max", "Mia", "eva", "all"]);
        assert!(at("/ask max,eva: m", folder.path()).is_empty());
    }

    #[test]
    fn the_word_begins_behind_the_last_space_of_any_kind() {
        let folder = tempfile::tempdir().unwrap();
        let members = ["max".to_owned()];
        let completion = complete("安\u{3000}@m", &members, folder.path());
        assert_eq!(completion.from, "安\u{3000}".len());
    }

    #[test]
    fn the_shared_beginning_ends_where_they_differ() {
        let strings =
            |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        assert_eq!(common_beginning(&strings(&["/compact", "/context", "/cost"])), "/co");
        assert_eq!(common_beginning(&strings(&["@max"])), "@max");
        assert_eq!(common_beginning(&strings(&["安a", "案a"])), "");
        assert_eq!(common_beginning(&[]), "");
    }
}
