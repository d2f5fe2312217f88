//! Inside a line of Markdown: strong, stressed, code, links. What is not closed on the same line is
//! text. Linear: every mark is looked for once.

use crate::chat::style::{Line, Look};

/// The longest link that is shown as one.
const LINK_BYTES_MAX: usize = 2048;

/// A text with its marks turned into looks.
pub(super) fn styled(text: &str, look: Look) -> Line {
    let mut line = Line::default();
    add(&mut line, text, look);
    line
}

/// Adds a text with its marks turned into looks. `usual` is the look outside them.
pub(super) fn add(line: &mut Line, text: &str, usual: Look) {
    let mut searched = Searched::default();
    let mut rest = text;
    let mut before = None;
    while let Some(place) = rest.find(['`', '*', '_', '[', '\\']) {
        let (plain, marked) = rest.split_at(place);
        line.push(plain, usual);
        before = plain.chars().last().or(before);
        let (taken, last) = mark(line, marked, before, usual, &mut searched);
        before = Some(last);
        rest = marked.get(taken..).unwrap_or_default();
    }
    line.push(rest, usual);
}

/// Which marks are known not to be closed any more, so that nobody looks for them again.
#[derive(Default)]
struct Searched {
    double_star: bool,
    star: bool,
    underline: bool,
    /// No link can begin while more than this is left of the line.
    link_below: Option<usize>,
    /// Runs of backticks of these lengths.
    ticks: Vec<usize>,
}

/// Adds what a mark begins, or the mark itself; how many bytes that were, and the last character.
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
        [b'*', b'*', ..] => between(line, text, "**", Look::Strong, &mut searched.double_star),
        [b'*', ..] => between(line, text, "*", Look::Stressed, &mut searched.star),
        // Names in code have underlines inside.
        [b'_', ..] if !before.is_some_and(char::is_alphanumeric) => {
            between(line, text, "_", Look::Stressed, &mut searched.underline)
        }
        [b'[', ..] => link(line, text, usual, &mut searched.link_below),
        _ => None,
    };
    match found {
        Some(taken) => (taken, text.get(..taken).and_then(|all| all.chars().last()).unwrap_or(' ')),
        None => {
            // The whole run, so that no part of it is taken for another mark.
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
    let length = text.len() - text.trim_start_matches('`').len();
    if searched.ticks.contains(&length) {
        return None;
    }
    let mut place = length;
    while let Some(found) = text.get(place..)?.find('`') {
        let start = place + found;
        let run = text.get(start..)?;
        let run = run.len() - run.trim_start_matches('`').len();
        if run == length {
            line.push(text.get(length..start)?, Look::Code);
            return Some(start + run);
        }
        place = start + run;
    }
    searched.ticks.push(length);
    None
}

fn between(
    line: &mut Line,
    text: &str,
    mark: &str,
    look: Look,
    searched: &mut bool,
) -> Option<usize> {
    let inner = text.get(mark.len()..)?;
    if *searched || inner.starts_with(char::is_whitespace) {
        return None;
    }
    let Some(end) = inner.find(mark) else {
        *searched = true;
        return None;
    };
    let inside = inner.get(..end)?;
    let closes = !inside.is_empty() && !inside.ends_with(char::is_whitespace);
    let after = inner.get(end + mark.len()..)?.chars().next();
    if !closes || (mark == "_" && after.is_some_and(char::is_alphanumeric)) {
        return None;
    }
    line.push(inside, look);
    Some(end + 2 * mark.len())
}

/// `[text](address)` as the text and the address: a link must not lie.
fn link(line: &mut Line, text: &str, usual: Look, below: &mut Option<usize>) -> Option<usize> {
    if below.is_some_and(|below| text.len() > below) {
        return None;
    }
    // Nobody writes a longer link, and looking no further, and at nothing twice, keeps this linear.
    let near = text.get(..text.floor_char_boundary(LINK_BYTES_MAX)).unwrap_or(text);
    let found = near.find("](").and_then(|middle| {
        let end = near.get(middle + 2..)?.find(')')?;
        Some((near.get(1..middle)?, near.get(middle + 2..middle + 2 + end)?))
    });
    let Some((label, address)) = found else {
        *below = Some(text.len() - near.len());
        return None;
    };
    if label.contains('[') || address.contains(char::is_whitespace) {
        return None;
    }
    line.push(label, usual);
    line.push(&format!(" ({address})"), Look::Dim);
    Some(label.len() + address.len() + 4)
}
