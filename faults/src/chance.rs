//! Chance that can be repeated: the same seed gives the same numbers on every machine.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A source of numbers (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers that follow from a text (FNV-1a over its bytes).
    pub(crate) fn of(text: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// A seed that nobody chose.
    pub(crate) fn seed() -> u64 {
        RandomState::new().build_hasher().finish() % 1_000_000
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one; 0 if there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// A number from the first to the last.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Yes in so many of a hundred cases.
    pub(crate) fn percent(&mut self, hundredths: u64) -> bool {
        self.below(100) < hundredths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed| {
            let mut chance = Chance::new(seed);
            (0..9).map(|_| chance.next()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn numbers_stay_below_their_end() {
        let mut chance = Chance::of("a text");
        assert!((0..1000).all(|_| chance.below(7) < 7 && (3..=5).contains(&chance.between(3, 5))));
        assert_eq!(chance.below(0), 0);
    }
}
