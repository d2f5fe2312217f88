//! The labels of answers: `A`, `B` and so on, in an order that depends only on the seed of the ask. A judge sees them in
//! place of names. Only members that have answered get a label.

/// Returns the position of each member in the order of the labels.
pub(super) fn positions(members: usize, seed: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..members).collect();
    let mut state = u64::from(seed);
    for last in (1..members).rev() {
        order.swap(last, below(&mut state, last + 1));
    }
    let mut positions = vec![0; members];
    for (position, member) in order.into_iter().enumerate() {
        if let Some(place) = positions.get_mut(member) {
            *place = position;
        }
    }
    positions
}

/// Returns a number below the limit (SplitMix64).
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
}

/// Returns the label at a position: `A` to `Z`, then `AA`, `AB` and so on.
pub(super) fn label(position: usize) -> String {
    let mut label = Vec::new();
    let mut rest = position + 1;
    while rest > 0 {
        rest -= 1;
        label.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or_default()));
        rest /= 26;
    }
    label.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn labels_are_letters_and_never_repeat() {
        assert_eq!(
            [0, 1, 25, 26, 27, 701, 702].map(label),
            ["A", "B", "Z", "AA", "AB", "ZZ", "AAA"]
        );
        let all: BTreeSet<String> = (0..2_000).map(label).collect();
        assert_eq!(all.len(), 2_000);
    }

    #[test]
    fn every_seed_gives_a_permutation_and_all_permutations_occur() {
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let positions = positions(4, seed);
            assert_eq!(positions, super::positions(4, seed));
            assert_eq!(positions.iter().collect::<BTreeSet<_>>().len(), 4);
            seen.insert(positions);
        }
        assert_eq!(seen.len(), 24);
        assert!(positions(0, 1).is_empty());
    }
}
