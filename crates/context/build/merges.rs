//! Finds the merge that produces each token, by merging the token's bytes without that merge. Only [`super`] calls
//! this code.

use std::collections::HashMap;
use std::error::Error;

use super::layout::{ID_BITS, pair_hash};

/// The merge that produces a token.
pub(super) struct Merge {
    pub(super) hash: u64,
    pub(super) id: u32,
}

type Ids<'a> = HashMap<&'a [u8], u32>;

/// Returns the properties of each token, and the merges.
pub(super) fn facts(tokens: &[&[u8]]) -> Result<(Vec<u64>, Vec<Merge>), Box<dyn Error>> {
    let ids: Ids<'_> = (0..).zip(tokens).map(|(id, token)| (*token, id)).collect();
    let mut facts = Vec::with_capacity(tokens.len());
    let mut merges = Vec::with_capacity(tokens.len());
    for (id, token) in (0..).zip(tokens) {
        let [left, right, shorter] = if token.len() == 1 {
            [id; 3]
        } else {
            let (left, right) = halves(&ids, token, id)?;
            merges.push(Merge { hash: pair_hash(left, right), id });
            [left, right, shorter(&ids, token)?]
        };
        let [left, right, shorter] = [left, right, shorter].map(u64::from);
        let others = left | right << ID_BITS | shorter << (2 * ID_BITS);
        facts.push(u64::from(u8::try_from(token.len())?) | others << 8);
    }
    Ok((facts, merges))
}

/// Returns the two tokens that are merged into this one.
fn halves(ids: &Ids<'_>, token: &[u8], id: u32) -> Result<(u32, u32), Box<dyn Error>> {
    // The positions where the parts begin, and the end of the last part.
    let mut cuts: Vec<usize> = (0..=token.len()).collect();
    let merged = |part: &[usize]| ids.get(&token[part[0]..part[2]]).copied();
    while cuts.len() > 3 {
        let merges = cuts.windows(3).enumerate();
        let best = merges.filter_map(|(at, part)| Some((merged(part)?, at))).min();
        let (_, at) = best.filter(|(best, _)| *best < id).ok_or("a token is no merge")?;
        cuts.remove(at + 1);
    }
    let middle = cuts[1];
    let find = |part: &[u8]| ids.get(part).copied().ok_or("a half is no token");
    Ok((find(&token[..middle])?, find(&token[middle..])?))
}

/// Returns the longest other token that this one begins with.
fn shorter(ids: &Ids<'_>, token: &[u8]) -> Result<u32, Box<dyn Error>> {
    let found = (1..token.len()).rev().find_map(|bytes| ids.get(&token[..bytes]));
    Ok(*found.ok_or("a byte is no token")?)
}
