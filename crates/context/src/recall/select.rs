//! The best passages that fit: taken greedily, put into log order, neighbours joined. Called by the
//! search with the scores; must not know where scores come from.

use std::collections::BinaryHeap;

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
    let found = scores.iter().copied().zip(0..spans.len()).filter(|&(score, _)| score > 0);
    let mut best: BinaryHeap<(u64, usize)> = found.collect();
    let mut chosen = Vec::new();
    let (mut left, mut misfits) = (budget.max_tokens, 0);
    let mut scope = budget.scope_tokens;
    while let (Some((_, number)), true) = (best.pop(), left.min(scope) > 0 && misfits < MISFITS_MAX)
    {
        let Some(span) = spans.get(number).filter(|span| span.terms > 0) else { continue };
        match standing(span) {
            Standing::Gone => {}
            Standing::Sent => {
                let bytes = u64::from(span.end.saturating_sub(span.begin));
                scope = scope.saturating_sub(bytes.div_ceil(TOKEN_BYTES));
                continue;
            }
            Standing::Apart => continue,
        }
        let Some(text) = cut(span) else { continue };
        let tokens = tokenizer.count(&text).tokens;
        if tokens > left {
            misfits += 1;
            continue;
        }
        left -= tokens;
        scope = scope.saturating_sub(tokens);
        chosen.push(Chosen { span, text, tokens });
    }
    loop {
        let passages = joined(&chosen, tokenizer);
        let tokens: u64 = passages.iter().fold(0, |sum, one| sum.saturating_add(one.tokens));
        // Joined texts may cost a token more than their pieces: then the last choice goes.
        if tokens <= budget.max_tokens || chosen.pop().is_none() {
            return passages;
        }
    }
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
