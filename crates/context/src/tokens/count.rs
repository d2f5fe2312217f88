//! A number of tokens, and whether it is exact or an estimate.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A number of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenCount {
    pub tokens: u64,
    /// Whether the model's own tokenizer gives the same number. If not, at least a part of it is an estimate.
    pub is_exact: bool,
}

impl TokenCount {
    /// Zero tokens, which is exact.
    pub const ZERO: Self = Self::exact(0);

    /// Creates an exact count, as the model's tokenizer returns it.
    pub const fn exact(tokens: u64) -> Self {
        Self { tokens, is_exact: true }
    }

    /// Creates an estimate.
    pub const fn estimated(tokens: u64) -> Self {
        Self { tokens, is_exact: false }
    }
}

impl Add for TokenCount {
    type Output = Self;

    /// A sum is exact only if both parts are.
    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            is_exact: self.is_exact && other.is_exact,
        }
    }
}

impl AddAssign for TokenCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TokenCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Self::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_with_a_guess_in_it_is_a_guess() {
        let exact = [TokenCount::exact(2), TokenCount::exact(3)];
        assert_eq!(exact.into_iter().sum::<TokenCount>(), TokenCount::exact(5));
        assert_eq!(TokenCount::exact(2) + TokenCount::estimated(3), TokenCount::estimated(5));
    }

    #[test]
    fn a_sum_that_would_be_too_large_stays_the_largest() {
        let all = TokenCount::exact(u64::MAX) + TokenCount::exact(1);
        assert_eq!(all.tokens, u64::MAX);
    }
}
