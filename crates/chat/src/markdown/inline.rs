//! Inline Markdown: strong, emphasized, code, links. A mark that is not closed on the same line is text. Linear: every
//! mark is searched for once.

use std::cmp::Reverse;

use crate::style::{Line, Look};

/// The longest link that is shown as one.
const LINK_BYTES_MAX: usize = 2048;

/// Adds a text and converts its marks to looks; `usual` is the look outside them. Returns how many bytes were
/// searched for closing marks.
pub(super) fn add(line: &mut Line, text: &str, usual: Look) -> usize {
    let mut searched = Searched::default();
    let mut rest = text;
    let mut before = None;
    while let Some(index) = rest.find(['`', '*', '_', '[', '\\']) {
        let (plain, marked) = rest.split_at(index);
        line.push(plain, usual);
        before = plain.chars().last().or(before);
        let (taken, last) = mark(line, marked, before, usual, &mut searched);
        before = Some(last);
        rest = marked.get(taken..).unwrap_or_default();
    }
    line.push(rest, usual);
    searched.bytes
}

/// Facts about the rest of the line, so that nothing is searched for twice. Positions count from the end of the
/// line.
#[derive(Default)]
struct Searched {
    /// Marks of these kinds have no closing mark in the rest of the line.
    double_star: bool,
    star: bool,
    underline: bool,
    /// The ends of the next label of a link and of the next address.
    label_end: Ahead,
    address_end: Ahead,
    /// All runs of backticks, by their length and then in order.
    ticks: Option<Vec<(usize, Reverse<usize>)>>,
    bytes: usize,
}

/// The next position of something.
#[derive(Default)]
struct Ahead {
    looked: Option<(usize, usize)>,
    is_there: bool,
}

impl Ahead {
    /// Finds it in the rest of the line; returns the number of bytes before it.
    fn find(
        &mut self,
        text: &str,
        find: impl FnOnce(&str) -> Option<usize>,
        bytes: &mut usize,
    ) -> Option<usize> {
        let known = self.looked.filter(|(from, to)| (*to..=*from).contains(&text.len()));
        let to = match known {
            Some((_, to)) => to,
            None => {
                let found = find(text);
                self.is_there = found.is_some();
                *bytes += found.unwrap_or(text.len());
                let to = text.len() - found.unwrap_or(text.len());
                self.looked = Some((text.len(), to));
                to
            }
        };
        self.is_there.then(|| text.len() - to)
    }
}

/// Adds the marked text, or the mark itself; returns the number of bytes taken and the last character.
fn mark(
    line: &mut Line,
    text: &str,
    before: Option<char>,
    usual: Look,
    searched: &mut Searched,
) -> (usize, char) {
    let found = match text.as_bytes() {
        [b'\\', next, ..] if next.is_ascii_punctuation() => {
            line.push(text.get(1..2).unwrap_or_default(), usual);
            return (2, char::from(*next));
        }
        [b'`', ..] => code(line, text, searched),
        [b'*', b'*', ..] => between(line, text, "**", searched),
        [b'*', ..] => between(line, text, "*", searched),
        // Names in code have underlines inside.
        [b'_', ..] if !before.is_some_and(char::is_alphanumeric) => {
            between(line, text, "_", searched)
        }
        [b'[', ..] => link(line, text, usual, searched),
        _ => None,
    };
    match found {
        Some(taken) => (taken, text.get(..taken).and_then(|all| all.chars().last()).unwrap_or(' ')),
        None => {
            // Takes the whole run, so that no part of it counts as another mark.
            let first = text.chars().next().unwrap_or(' ');
            let run = match first {
                '[' | '\\' => 1,
                first => text.len() - text.trim_start_matches(first).len(),
            };
            line.push(text.get(..run).unwrap_or_default(), usual);
            (run, first)
        }
    }
}

fn code(line: &mut Line, text: &str, searched: &mut Searched) -> Option<usize> {
    let length = run_of_ticks(text);
    let Searched { ticks, bytes, .. } = searched;
    let ticks = ticks.get_or_insert_with(|| {
        *bytes += text.len();
        all_ticks(text)
    });
    let behind = (length, Reverse(text.len() - length));
    let index = ticks.partition_point(|run| *run < behind);
    let (_, Reverse(left)) = ticks.get(index).filter(|(same, _)| *same == length)?;
    let end = text.len() - left;
    line.push(text.get(length..end)?, Look::Code);
    Some(end + length)
}

fn run_of_ticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

fn all_ticks(text: &str) -> Vec<(usize, Reverse<usize>)> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(index) = rest.find('`') {
        let at = rest.get(index..).unwrap_or_default();
        let length = run_of_ticks(at);
        all.push((length, Reverse(at.len())));
        rest = at.get(length..).unwrap_or_default();
    }
    all.sort_unstable();
    all
}

fn between(line: &mut Line, text: &str, mark: &str, searched: &mut Searched) -> Option<usize> {
    let (is_never_closed, look) = match mark {
        "**" => (&mut searched.double_star, Look::Strong),
        "*" => (&mut searched.star, Look::Emphasized),
        _ => (&mut searched.underline, Look::Emphasized),
    };
    let inner = text.get(mark.len()..)?;
    if *is_never_closed || inner.starts_with(char::is_whitespace) {
        return None;
    }
    let found = inner.find(mark);
    searched.bytes += found.unwrap_or(inner.len());
    *is_never_closed = found.is_none();
    let end = found?;
    let inside = inner.get(..end)?;
    let closes = !inside.is_empty() && !inside.ends_with(char::is_whitespace);
    let after = inner.get(end + mark.len()..)?.chars().next();
    if !closes || (mark == "_" && after.is_some_and(char::is_alphanumeric)) {
        return None;
    }
    line.push(inside, look);
    Some(end + 2 * mark.len())
}

/// Shows `[text](address)` with its address, so that a link cannot mislead.
fn link(line: &mut Line, text: &str, usual: Look, searched: &mut Searched) -> Option<usize> {
    let Searched { label_end, address_end, bytes, .. } = searched;
    let middle = label_end.find(text, |text| text.find("]("), bytes)?;
    let near = text.get(1..middle).filter(|label| label.len() <= LINK_BYTES_MAX);
    // A bracket inside the label may start another link.
    let label = near.filter(|label| !label.contains('['))?;
    let rest = text.get(middle + 2..)?;
    let ends = |text: &str| text.find(|c: char| c == ')' || c.is_whitespace());
    let end = address_end.find(rest, ends, bytes)?;
    let address = rest.get(..end).filter(|address| address.len() <= LINK_BYTES_MAX)?;
    if !rest.get(end..)?.starts_with(')') {
        return None;
    }
    line.push(label, usual);
    line.push(&format!(" ({address})"), Look::Dim);
    Some(label.len() + address.len() + 4)
}
