//! A hash table without collisions that has a slot for every merge. The merges are divided into small groups, and
//! the shift of a group moves all its merges to free slots. Only [`super`] calls this code.

use std::error::Error;

use super::layout::{pair_group, pair_mark, pair_slot};
use super::merges::Merge;

/// The value of an empty slot. Token 0 is a single byte, which no merge produces.
const NO_PAIR: u32 = 0;

/// The average number of merges in a group.
const GROUP_MERGES: usize = 4;

/// Returns the hash table, and the shift of each group.
pub(super) fn tables(merges: &[Merge]) -> Result<(Vec<u32>, Vec<u16>), Box<dyn Error>> {
    let mut groups: Vec<Vec<&Merge>> = Vec::new();
    groups.resize_with(merges.len().div_ceil(GROUP_MERGES), Vec::new);
    for merge in merges {
        let group = pair_group(merge.hash, groups.len());
        groups[group].push(merge);
    }
    // Large groups are placed first, while there is room.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|group| std::cmp::Reverse(groups[*group].len()));
    let mut pairs = vec![NO_PAIR; merges.len() + merges.len() / 4];
    let mut shifts = vec![0; groups.len()];
    for group in order {
        let fitting = (0..=u16::MAX).find(|shift| place(&mut pairs, &groups[group], *shift));
        shifts[group] = fitting.ok_or("no shift places a group of merges")?;
    }
    Ok((pairs, shifts))
}

/// Places a group of merges if all its slots are free.
fn place(pairs: &mut [u32], group: &[&Merge], shift: u16) -> bool {
    for (number, merge) in group.iter().enumerate() {
        let at = pair_slot(merge.hash, shift, pairs.len());
        if pairs[at] != NO_PAIR {
            for placed in &group[..number] {
                pairs[pair_slot(placed.hash, shift, pairs.len())] = NO_PAIR;
            }
            return false;
        }
        pairs[at] = pair_mark(merge.hash) | merge.id;
    }
    true
}
