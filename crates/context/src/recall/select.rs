//! The best passages that fit: taken greedily, put into log order, neighbours joined. Called by the
//! search with the scores; must not know where scores come from.

use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use super::{Passage, Span};
use crate::tokens::Tokenizer;

struct Chosen<'s> {
    span: &'s Span,
    text: String,
    tokens: u64,
}

/// So many passages that do not fit end the search for smaller ones.
const MISFITS_MAX: usize = 16;

/// How a message stands to what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not sent; passages of it may come back.
    Gone,
    Sent,
    /// It is not to be looked at.
    Apart,
}

/// How much may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallBudget {
    pub max_tokens: u64,
    /// Passages are looked at, best first, until those that are sent anyway and those that come back
    /// have this many tokens together.
    pub scope_tokens: u64,
}

/// What the line before the passages of a message costs, about.
const HEAD_TOKENS: u64 = 6;

/// A message comes back whole if it takes no more than this part of the budget, as a divisor.
const WHOLE_SHARE: u64 = 3;

/// A message with more bytes for each of these tokens is not counted: it is too large.
const WHOLE_BYTES: u64 = 16;

/// About how many bytes of a passage are a token.
const TOKEN_BYTES: u64 = 4;

pub(super) fn select(
    spans: &[Span],
    scores: &[u64],
    budget: RecallBudget,
    tokenizer: &Tokenizer,
    standing: impl Fn(&Span) -> Standing,
    cut: impl Fn(&Span) -> Option<String>,
) -> Vec<Passage> {
    // From the best one on, the newer of two equals, while they fit.
    let found = scores.iter().copied().zip(0..spans.len());
    let mut best: BinaryHeap<(u64, usize)> = found.filter(|&(score, _)| score > 0).collect();
    let mut chosen = Vec::new();
    let (mut is_taken, mut messages) = (vec![false; spans.len()], HashSet::new());
    let mut gists = HashSet::new();
    let choose = |span| {
        let text = cut(span)?;
        let tokens = tokenizer.count(&text).tokens;
        Some(Chosen { span, text, tokens })
    };
    let (mut left, mut misfits) = (budget.max_tokens, 0);
    let mut scope = budget.scope_tokens;
    while let (Some((_, number)), true) = (best.pop(), left.min(scope) > 0 && misfits < MISFITS_MAX)
    {
        let Some(span) = spans.get(number).filter(|span| span.terms > 0) else { continue };
        match standing(span) {
            Standing::Gone => {}
            Standing::Sent => {
                let bytes = bytes(std::slice::from_ref(span));
                scope = scope.saturating_sub(bytes.div_ceil(TOKEN_BYTES));
                continue;
            }
            Standing::Apart => continue,
        }
        // Of passages that say the same but for numbers the best one comes back.
        if is_taken[number] || gists.contains(&span.gist) {
            continue;
        }
        let head = if messages.contains(&span.place) { 0 } else { HEAD_TOKENS };
        let pieces = |numbers: Range<usize>, max: u64| {
            let pieces: Option<Vec<Chosen<'_>>> = spans[numbers].iter().map(&choose).collect();
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
        messages.insert(span.place);
        gists.insert(span.gist);
        left -= tokens;
        scope = scope.saturating_sub(tokens);
        chosen.extend(taken);
    }
    fitted(chosen, budget.max_tokens, tokenizer)
}

/// The chosen passages, as many as fit when they are joined.
fn fitted(mut chosen: Vec<Chosen<'_>>, max_tokens: u64, tokenizer: &Tokenizer) -> Vec<Passage> {
    loop {
        let passages = joined(&chosen, tokenizer);
        let tokens: u64 = passages.iter().fold(0, |sum, one| sum.saturating_add(one.tokens));
        // Joined texts may cost a token more than their pieces: then the last choice goes.
        if tokens <= max_tokens || chosen.pop().is_none() {
            return passages;
        }
    }
}

fn bytes(spans: &[Span]) -> u64 {
    spans.iter().map(|span| u64::from(span.end.saturating_sub(span.begin))).sum()
}

/// The passages of the text that one belongs to.
fn whole(spans: &[Span], number: usize) -> Range<usize> {
    let is_same = |one: &&Span| {
        spans.get(number).is_some_and(|span| (one.place, one.part) == (span.place, span.part))
    };
    let before = spans[..number].iter().rev().take_while(is_same).count();
    let after = spans[number..].iter().take_while(is_same).count();
    number - before..number + after
}

fn joined(chosen: &[Chosen<'_>], tokenizer: &Tokenizer) -> Vec<Passage> {
    let mut order: Vec<&Chosen<'_>> = chosen.iter().collect();
    order.sort_by_key(|one| (one.span.place, one.span.part, one.span.begin));
    let touch = |a: &&Chosen<'_>, b: &&Chosen<'_>| {
        let (a, b) = (a.span, b.span);
        (a.place, a.part, a.end) == (b.place, b.part, b.begin)
    };
    let join = |pieces: &[&Chosen<'_>]| {
        let first = pieces.first()?;
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let tokens = match pieces {
            [one] => one.tokens,
            _ => tokenizer.count(&text).tokens,
        };
        Some(Passage { place: first.span.place, text, tokens })
    };
    order.chunk_by(touch).filter_map(join).collect()
}
