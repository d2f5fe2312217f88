//! Tidy's check that links between files of the repository have a target. It parses Markdown only
//! as far as necessary for links: inline, by reference, and the `href` and `src` of HTML.

use super::{TextFile, Violation};
use std::collections::BTreeSet;

/// Finds links to files that do not exist.
pub(super) fn check(paths: &BTreeSet<String>, files: &[TextFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, target) in links(&file.text) {
            if is_local(target) && !leads_somewhere(paths, &file.path, target) {
                let what = format!("the link to `{target}` has no target");
                violations.push(file.violation(line, what, "correct it, or add the file"));
            }
        }
    }
    violations
}

/// Returns the targets of all links outside of code, with their lines.
pub(super) fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        match fence {
            Some(opening) => {
                if trimmed.starts_with(opening) {
                    fence = None;
                }
            }
            None => match fence_of(trimmed) {
                Some(opening) => fence = Some(opening),
                None => found.extend(links_in_line(line).map(|target| (number, target))),
            },
        }
    }
    found
}

/// Returns the run of backticks or tildes that opens a block of code.
fn fence_of(trimmed: &str) -> Option<&str> {
    let mark = trimmed.chars().next().filter(|mark| "`~".contains(*mark))?;
    let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
    (length >= 3).then(|| &trimmed[..length])
}

fn links_in_line(line: &str) -> impl Iterator<Item = &str> {
    let inline = prose(line).flat_map(|piece| {
        let after = |opening| piece.match_indices(opening).map(|(at, s)| &piece[at + s.len()..]);
        let quoted = after("href=\"").chain(after("src=\""));
        after("](").filter_map(inline_target).chain(quoted.filter_map(|rest| cut(rest, '"')))
    });
    inline.chain(reference_target(line))
}

/// Returns the pieces of a line that are not inline code.
fn prose(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let start = rest.find('`').unwrap_or(rest.len());
        let (piece, code) = rest.split_at(start);
        let ticks = &code[..code.len() - code.trim_start_matches('`').len()];
        let body = &code[ticks.len()..];
        // Backticks without a closing run are plain text.
        let end = body.find(ticks).filter(|_| !ticks.is_empty());
        rest = end.map_or(body, |end| &body[end + ticks.len()..]);
        Some(piece)
    })
}

/// Returns the target at the start of what follows `](`: up to the closing parenthesis or a title.
fn inline_target(rest: &str) -> Option<&str> {
    if let Some(bracketed) = rest.strip_prefix('<') {
        return cut(bracketed, '>');
    }
    let mut depth = 0_usize;
    let end = rest.find(|c: char| {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            _ => {}
        }
        c.is_whitespace()
    });
    end.map(|end| &rest[..end])
}

/// Returns the target of a line such as `[name]: target`; footnotes look similar and have none.
fn reference_target(line: &str) -> Option<&str> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    let target = target.split_whitespace().next()?;
    (!name.starts_with('^') && !name.contains(']')).then(|| target.trim_matches(['<', '>']))
}

fn cut(text: &str, end: char) -> Option<&str> {
    text.split_once(end).map(|(before, _)| before)
}

/// Returns whether the target is a path: no address with a scheme, and no place in the same file.
fn is_local(target: &str) -> bool {
    let first = target.split('/').next().unwrap_or_default();
    !target.is_empty() && !target.starts_with(['#', '?']) && !first.contains(':')
}

fn leads_somewhere(paths: &BTreeSet<String>, from: &str, target: &str) -> bool {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    resolve(from, target).is_some_and(|path| {
        let folder = format!("{path}/");
        path.is_empty()
            || paths.contains(&path)
            || paths.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    })
}

/// Returns the path from the root, or none if the link leaves the repository.
pub(super) fn resolve(from: &str, target: &str) -> Option<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests;
