//! The piece of a text that is shown of a hit: where most of what was asked for stands close together.
//! Called for hits; must not know of scores.

use std::ops::Range;

use crate::model::Snippet;

const CHARACTERS: usize = 160;
/// How many of them before the first place.
const BEFORE: usize = 40;

/// The piece of a text, which is on one line, around the best of these places. Each place has the number of its term,
/// and `value` says what a term is worth.
pub(super) fn around(
    text: &str,
    places: &[(Range<usize>, usize)],
    value: impl Fn(usize) -> u64,
) -> Snippet {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let byte = |character: usize| starts.get(character).copied().unwrap_or(text.len());
    let character = |byte: usize| starts.partition_point(|start| *start < byte);
    let places: Vec<(Range<usize>, usize)> = places
        .iter()
        .map(|(range, term)| (character(range.start)..character(range.end), *term))
        .collect();
    let total = starts.len();
    let first = best_start(&places, value);
    // Rather more before the place than an empty end of the line.
    let begin = first.saturating_sub(BEFORE).min(total.saturating_sub(CHARACTERS));
    let end = (begin + CHARACTERS).min(total);
    let offset = byte(begin);
    let piece = text.get(offset..byte(end)).unwrap_or_default();
    let inside = places.iter().map(|(range, _)| range);
    let inside = inside.filter(|range| range.start >= begin && range.end <= end);
    let marks = inside.map(|range| byte(range.start) - offset..byte(range.end) - offset);
    Snippet {
        text: piece.to_owned(),
        marks: joined(marks),
        cut_before: begin > 0,
        cut_after: end < total,
    }
}

/// Where the piece with the most valuable terms begins; the first of equal ones.
fn best_start(places: &[(Range<usize>, usize)], value: impl Fn(usize) -> u64) -> usize {
    let mut best = (0, 0);
    let mut terms = Vec::new();
    for (at, (range, _)) in places.iter().enumerate() {
        let end = range.start + CHARACTERS - BEFORE;
        terms.clear();
        for (_, term) in places.iter().skip(at).take_while(|(other, _)| other.end <= end) {
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

/// Marks that overlap or touch become one.
fn joined(marks: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
            _ => joined.push(mark),
        }
    }
    joined
}
