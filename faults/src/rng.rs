//! Reproducible random numbers: the same seed gives the same numbers on every machine.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random number generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Seeds a generator with a text (FNV-1a over its bytes).
    pub(crate) fn from_text(text: &str) -> Self {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// Returns a random seed.
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

    /// Returns a number below this one; 0 if there is none.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// Returns a number from the first to the last.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Returns `true` with this probability in percent.
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
            let mut rng = Rng::new(seed);
            (0..9).map(|_| rng.next()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
    }

    #[test]
    fn numbers_stay_below_their_end() {
        let mut rng = Rng::from_text("a text");
        assert!((0..1000).all(|_| rng.below(7) < 7 && (3..=5).contains(&rng.between(3, 5))));
        assert_eq!(rng.below(0), 0);
    }
}
