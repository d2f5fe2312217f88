//! The excerpt of a text that is shown for a hit: the part with the most valuable terms of the query close together.
//! It does not depend on scores.

use std::ops::Range;

use crate::model::Snippet;

const CHARACTERS: usize = 160;
/// The number of characters before the first match.
const BEFORE: usize = 40;

/// Returns the excerpt of a text on one line around the best of these matches. Each match has the
/// index of its term, and `value` returns the value of a term.
pub(super) fn snippet_around(
    text: &str,
    positions: &[(Range<usize>, usize)],
    value: impl Fn(usize) -> u64,
) -> Snippet {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let byte = |character: usize| starts.get(character).copied().unwrap_or(text.len());
    let character = |byte: usize| starts.partition_point(|start| *start < byte);
    let positions: Vec<(Range<usize>, usize)> = positions
        .iter()
        .map(|(range, term)| (character(range.start)..character(range.end), *term))
        .collect();
    let total = starts.len();
    let first = best_start(&positions, value);
    // More context before the match is better than an empty end of the line.
    let begin = first.saturating_sub(BEFORE).min(total.saturating_sub(CHARACTERS));
    let end = (begin + CHARACTERS).min(total);
    let offset = byte(begin);
    let piece = text.get(offset..byte(end)).unwrap_or_default();
    let inside = positions.iter().map(|(range, _)| range);
    let inside = inside.filter(|range| range.start >= begin && range.end <= end);
    let marks = inside.map(|range| byte(range.start) - offset..byte(range.end) - offset);
    Snippet {
        text: piece.to_owned(),
        marks: merged(marks),
        cut_before: begin > 0,
        cut_after: end < total,
    }
}

/// Returns the start of the excerpt with the most valuable terms. Of several equal ones, the first is chosen.
fn best_start(positions: &[(Range<usize>, usize)], value: impl Fn(usize) -> u64) -> usize {
    let mut best = (0, 0);
    let mut terms = Vec::new();
    for (at, (range, _)) in positions.iter().enumerate() {
        let end = range.start + CHARACTERS - BEFORE;
        terms.clear();
        for (_, term) in positions.iter().skip(at).take_while(|(other, _)| other.end <= end) {
            if !terms.contains(term) {
                terms.push(*term);
            }
        }
        let worth = terms.iter().map(|term| value(*term)).sum::<u64>();
        if worth > best.0 || at == 0 {
            best = (worth, range.start);
        }
    }
    best.1
}

/// Merges ranges that overlap or touch.
fn merged(marks: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        match merged.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => merged.push(mark),
        }
    }
    merged
}
