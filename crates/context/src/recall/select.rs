//! Selects the best passages that fit: chosen greedily, put into log order, with neighbours joined. Called by the
//! search with the scores; it does not depend on how they were computed.

use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use super::{Passage, Span};
use crate::tokens::Tokenizer;

struct Chosen<'s> {
    span: &'s Span,
    score: u64,
    text: String,
    tokens: u64,
}

/// After this many passages that do not fit, the search for smaller ones ends.
const MISFITS_MAX: usize = 16;

/// Whether a message is sent, and whether it may be recalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallStatus {
    /// It is not sent, and its passages may be recalled.
    Candidate,
    Sent,
    /// It is ignored.
    Excluded,
}

/// The limits of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallBudget {
    pub max_tokens: u64,
    /// The passages are considered from the best one on, until those that are sent anyway and those that are
    /// recalled have this many tokens together.
    pub scope_tokens: u64,
}

/// The approximate tokens of the line above the passages of a message.
const HEAD_TOKENS: u64 = 6;
/// The same if the message before or after it is recalled too.
const NEXT_HEAD_TOKENS: u64 = 3;

/// The size of a text, in bytes, at which only half of its score counts. So of two equally good passages, the
/// shorter one is chosen, which leaves room for others.
const HALF_BYTES: u64 = 1_000;

/// The divisor of the budget that gives the maximum size of a message that is recalled whole.
const WHOLE_SHARE: u64 = 3;

/// A message with more bytes than this for each of these tokens is not counted, because it is certainly too large.
const WHOLE_BYTES: u64 = 16;

/// The approximate number of bytes of a token.
const TOKEN_BYTES: u64 = 4;

pub(super) fn select(
    spans: &[Span],
    scores: &[u64],
    budget: RecallBudget,
    tokenizer: &Tokenizer,
    status: impl Fn(&Span) -> RecallStatus,
    cut: impl Fn(&Span) -> Option<String>,
) -> Vec<Passage> {
    // Passages are considered from the best one on, as long as they fit. Of two equal ones, the newer comes first.
    let mut best = BinaryHeap::from(worth(spans, scores, budget.max_tokens));
    let mut chosen = Vec::new();
    let (mut is_taken, mut messages) = (vec![false; spans.len()], HashSet::new());
    let mut text_hashes = HashSet::new();
    let choose = |span, score| {
        let text = cut(span)?;
        let tokens = tokenizer.count(&text).tokens;
        Some(Chosen { span, score, text, tokens })
    };
    let (mut left, mut misfits) = (budget.max_tokens, 0);
    let mut scope = budget.scope_tokens;
    while let (Some((score, number)), true) =
        (best.pop(), left.min(scope) > 0 && misfits < MISFITS_MAX)
    {
        let Some(span) = spans.get(number).filter(|span| span.terms > 0) else { continue };
        match status(span) {
            RecallStatus::Candidate => {}
            RecallStatus::Sent => {
                let bytes = bytes(std::slice::from_ref(span));
                scope = scope.saturating_sub(bytes.div_ceil(TOKEN_BYTES));
                continue;
            }
            RecallStatus::Excluded => continue,
        }
        // Of passages that differ only in numbers, the best one is recalled.
        if is_taken[number] || text_hashes.contains(&span.text_hash) {
            continue;
        }
        let head = head_tokens(span.position, &messages);
        let pieces = |numbers: Range<usize>, max: u64| {
            let pieces = spans[numbers].iter().map(|span| choose(span, score));
            let pieces: Option<Vec<Chosen<'_>>> = pieces.collect();
            let tokens = |pieces: &[Chosen<'_>]| pieces.iter().map(|one| one.tokens).sum::<u64>();
            pieces
                .map(|pieces| (head + tokens(&pieces), pieces))
                .filter(|(tokens, _)| *tokens <= max)
        };
        let whole = whole(spans, number);
        let whole_max = left.min(budget.max_tokens / WHOLE_SHARE);
        let is_small = bytes(&spans[whole.clone()]) <= whole_max.saturating_mul(WHOLE_BYTES);
        let all = is_small.then(|| pieces(whole.clone(), whole_max)).flatten();
        let one = number..number + 1;
        let Some((numbers, (tokens, taken))) =
            all.map(|all| (whole, all)).or_else(|| Some((one.clone(), pieces(one, left)?)))
        else {
            misfits += 1;
            continue;
        };
        is_taken[numbers].fill(true);
        messages.insert(span.position);
        text_hashes.insert(span.text_hash);
        left -= tokens;
        scope = scope.saturating_sub(tokens);
        chosen.extend(taken);
    }
    fitted(chosen, budget.max_tokens, tokenizer)
}

/// Returns the approximate tokens of the line above the passages of this message. They depend on which other
/// messages are chosen.
fn head_tokens(position: usize, chosen: &HashSet<usize>) -> u64 {
    let is_chosen =
        |position: Option<usize>| position.is_some_and(|position| chosen.contains(&position));
    match is_chosen(Some(position)) {
        true => 0,
        false if is_chosen(position.checked_sub(1)) => NEXT_HEAD_TOKENS,
        false if is_chosen(position.checked_add(1)) => NEXT_HEAD_TOKENS,
        false => HEAD_TOKENS,
    }
}

/// Returns the passages that were found, each with its score adjusted by its size. If the whole text may be
/// recalled, the size of the text is used, otherwise that of the passage.
fn worth(spans: &[Span], scores: &[u64], max_tokens: u64) -> Vec<(u64, usize)> {
    let whole_max = max_tokens.saturating_mul(TOKEN_BYTES) / WHOLE_SHARE;
    let mut found = Vec::new();
    let mut number = 0;
    for text in spans.chunk_by(|a, b| (a.position, a.part) == (b.position, b.part)) {
        let whole = bytes(text);
        for span in text {
            let score = scores.get(number).copied().unwrap_or_default();
            let room = if whole <= whole_max { whole } else { bytes(std::slice::from_ref(span)) };
            if score > 0 {
                found.push((score.saturating_mul(HALF_BYTES) / (HALF_BYTES + room), number));
            }
            number += 1;
        }
    }
    found
}

/// Returns the chosen passages, as many as fit when they are joined.
fn fitted(mut chosen: Vec<Chosen<'_>>, max_tokens: u64, tokenizer: &Tokenizer) -> Vec<Passage> {
    loop {
        let passages = joined(&chosen, tokenizer);
        let tokens: u64 = passages.iter().fold(0, |sum, one| sum.saturating_add(one.tokens));
        // Joined texts may need more tokens than their pieces. If so, the last choice is removed.
        if tokens <= max_tokens || chosen.pop().is_none() {
            return passages;
        }
    }
}

fn bytes(spans: &[Span]) -> u64 {
    spans.iter().map(|span| u64::from(span.end.saturating_sub(span.begin))).sum()
}

/// Returns the passages of the text that contains this one.
fn whole(spans: &[Span], number: usize) -> Range<usize> {
    let is_same = |one: &&Span| {
        spans.get(number).is_some_and(|span| (one.position, one.part) == (span.position, span.part))
    };
    let before = spans[..number].iter().rev().take_while(is_same).count();
    let after = spans[number..].iter().take_while(is_same).count();
    number - before..number + after
}

fn joined(chosen: &[Chosen<'_>], tokenizer: &Tokenizer) -> Vec<Passage> {
    let mut order: Vec<&Chosen<'_>> = chosen.iter().collect();
    order.sort_by_key(|one| (one.span.position, one.span.part, one.span.begin));
    let touch = |a: &&Chosen<'_>, b: &&Chosen<'_>| {
        let (a, b) = (a.span, b.span);
        (a.position, a.part, a.end) == (b.position, b.part, b.begin)
    };
    let join = |pieces: &[&Chosen<'_>]| {
        let first = pieces.first()?;
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let tokens = match pieces {
            [one] => one.tokens,
            _ => tokenizer.count(&text).tokens,
        };
        let score = pieces.iter().map(|piece| piece.score).max().unwrap_or_default();
        Some(Passage { position: first.span.position, text, tokens, score })
    };
    order.chunk_by(touch).filter_map(join).collect()
}
