//! Dollars as whole millionths, so that sums are exact and equal on every machine. Called by the
//! guard of spending limits.

use std::fmt;

/// An amount of dollars, in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(u64);

impl Dollars {
    /// An amount; less than nothing, and what is no number, counts as nothing.
    pub fn from_usd(usd: f64) -> Self {
        // A float beyond the range becomes the largest number, and NaN becomes 0.
        Self((usd * 1e6).round() as u64)
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, millionths) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let mut digits = format!("{millionths:06}");
        while digits.len() > 2 && digits.ends_with('0') {
            digits.pop();
        }
        write!(f, "{whole}.{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_nonsense_is_nothing() {
        let tenth = Dollars::from_usd(0.1);
        assert_eq!(tenth.plus(tenth).plus(tenth), Dollars::from_usd(0.3));
        for nonsense in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Dollars::from_usd(nonsense), Dollars::default());
        }
        assert_eq!(Dollars::from_usd(f64::INFINITY).plus(tenth), Dollars(u64::MAX));
    }

    #[test]
    fn amounts_are_written_as_people_do() {
        assert_eq!(Dollars::from_usd(5.0).to_string(), "5.00");
        assert_eq!(Dollars::from_usd(0.25).to_string(), "0.25");
        assert_eq!(Dollars::from_usd(0.0125).to_string(), "0.0125");
        assert_eq!(Dollars::from_usd(1.000_001).to_string(), "1.000001");
    }
}
