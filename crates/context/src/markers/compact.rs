//! Strips markers by the rule of the contract: one pass for each kind of marker, then whitespace is folded.
//!
//! If removing a marker creates another one, the new one stays, because there is only one pass for each kind. Code
//! is treated like any other text; callers that send code use `preserve`.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{Kind, Scanner, brackets};
use super::{Stripped, TaskBlock};
use crate::whitespace::{is_whitespace, trim};

pub(super) fn strip(text: &str, task_block: TaskBlock) -> Stripped<'_> {
    let text = without_markers(Cow::Borrowed(text), Kind::From);
    let text = without_markers(text, Kind::TeamTask);
    let before = text.len();
    let text = without(text, |scanner, text, from| find_block(scanner, text, from, task_block));
    let task_block_bytes = before - text.len();
    let text = without_markers(text, Kind::Next);
    Stripped { text: fold_whitespace(text), task_block_bytes }
}

fn without_markers(text: Cow<'_, str>, kind: Kind) -> Cow<'_, str> {
    without(text, |scanner, _, from| Some(scanner.find(kind, from)?.whole))
}

/// Removes the ranges that `find` returns, one after the other, and returns the rest of the text.
fn without<'a>(
    text: Cow<'a, str>,
    find: impl Fn(&mut Scanner<'_>, &str, usize) -> Option<Range<usize>>,
) -> Cow<'a, str> {
    let mut scanner = Scanner::new(&text);
    let mut found = find(&mut scanner, &text, 0);
    if found.is_none() {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut until = 0;
    while let Some(range) = found {
        kept.push_str(&text[until..range.start]);
        until = range.end;
        found = find(&mut scanner, &text, until);
    }
    kept.push_str(&text[until..]);
    Cow::Owned(kept)
}

fn find_block(
    scanner: &mut Scanner<'_>,
    text: &str,
    from: usize,
    task_block: TaskBlock,
) -> Option<Range<usize>> {
    let label = scanner.find(Kind::TaskBlock, from)?.whole;
    let end = match task_block {
        TaskBlock::ToBracket => brackets(text, label.end).next().unwrap_or(text.len()),
        TaskBlock::ToBlankLine => {
            let limit = scanner.paragraph_end(label.end);
            brackets(text, label.end)
                .take_while(|at| *at < limit)
                .find(|at| scanner.marker_at(*at).is_some())
                .unwrap_or(limit)
        }
    };
    Some(label.start..end)
}

/// Trims every line, replaces runs of whitespace by one space, and drops empty lines.
fn fold_whitespace(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.split('\n').all(is_folded) {
        return text;
    }
    let mut folded = String::with_capacity(text.len());
    for line in text.split('\n').map(trim).filter(|line| !line.is_empty()) {
        if !folded.is_empty() {
            folded.push('\n');
        }
        fold_line(line, &mut folded);
    }
    Cow::Owned(folded)
}

fn is_folded(line: &str) -> bool {
    if line.is_ascii() {
        return is_folded_ascii(line.as_bytes());
    }
    // The start of a line counts as a space, so that a space after it makes a run.
    let mut after_blank = true;
    for c in line.chars() {
        let blank = is_whitespace(c);
        if blank && after_blank {
            return false;
        }
        after_blank = blank;
    }
    !after_blank
}

/// Returns whether a line needs no folding. It runs for nearly all lines, so it has no branch for each byte.
fn is_folded_ascii(line: &[u8]) -> bool {
    let blank = |byte: u8| byte == b' ' || byte.wrapping_sub(b'\t') < 5;
    let [first, .., last] = line else {
        return line.first().is_some_and(|byte| !blank(*byte));
    };
    let pairs = line.iter().zip(&line[1..]);
    let runs = pairs.fold(false, |found, (left, right)| found | (blank(*left) & blank(*right)));
    !(blank(*first) || blank(*last) || runs)
}

fn fold_line(line: &str, folded: &mut String) {
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        if is_whitespace(c) && rest.next_if(|next| is_whitespace(*next)).is_some() {
            while rest.next_if(|next| is_whitespace(*next)).is_some() {}
            folded.push(' ');
        } else {
            folded.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_fast_way_agrees_with_folding_itself(line in "[ a\t\r\u{b}\u{a0}é]{0,8}") {
            let mut folded = String::new();
            fold_line(trim(&line), &mut folded);
            prop_assert_eq!(is_folded(&line), folded == line && !line.is_empty());
        }
    }
}
