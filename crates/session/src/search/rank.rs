//! The weight of a term: BM25 in integers, so that every machine ranks alike. Recall calls it for passages and the
//! stores for entries; it does not depend on what contains the terms.

use super::terms::TermKind;

/// The integer that represents 1 in scores and logarithms.
pub const UNIT: u64 = 1_024;

/// The maximum number of repeats of a term in one text that count.
pub const REPEATS_MAX: usize = 15;

/// Returns the weight of a kind of term. Exact identifiers count most. Recall counts paths again as the subject of
/// calls.
pub fn kind_weight(kind: TermKind) -> u64 {
    match kind {
        TermKind::Word | TermKind::Number => 10,
        TermKind::Path => 20,
        TermKind::Identifier => 30,
    }
}

/// Returns the rarity, in units, of a term that `holders` of `all` texts contain:
/// log2(1 + (all - holders + ½) / (holders + ½)).
pub fn rarity(holders: u64, all: u64) -> u64 {
    let rest = 2 * all.saturating_sub(holders) + 1;
    log2(UNIT + UNIT * rest / (2 * holders + 1)).saturating_sub(log2(UNIT))
}

/// Returns the logarithm in units, linear between the powers of two.
fn log2(number: u64) -> u64 {
    let number = number.max(1);
    let whole = number.ilog2();
    let fraction = (u128::from(number) * u128::from(UNIT)) >> whole;
    u64::from(whole) * UNIT + u64::try_from(fraction).unwrap_or(UNIT) - UNIT
}

/// The weight of a repeated term in a text of some length: BM25's fraction, as a table.
#[derive(Clone, Debug)]
pub struct Saturation {
    average: u64,
    table: [[u64; REPEATS_MAX + 1]; LENGTHS],
}

/// The number of rows of the table. Lengths are rounded down to eighths of the average length, up to four times the
/// average.
const LENGTHS: usize = 32;
const LENGTH_STEPS: u64 = 8;

impl Saturation {
    /// Creates the table for texts with this average number of terms.
    pub fn new(average: u64) -> Self {
        let fraction = |length: usize, repeats: usize| {
            // k1 is 0.9, b is ½; all in percent.
            let length = length as u64 * 100 / LENGTH_STEPS;
            let repeats = repeats as u64 * 100;
            let norm = 90 * (50 + length / 2) / 100;
            UNIT * repeats * 190 / 100 / (repeats + norm)
        };
        let table =
            std::array::from_fn(|length| std::array::from_fn(|repeats| fraction(length, repeats)));
        Self { average: average.max(1), table }
    }

    /// Returns the fraction, in units, for a text with this many terms, in which the term occurs this often. At most
    /// [`REPEATS_MAX`] occurrences count.
    pub fn fraction(&self, terms: u16, repeats: usize) -> u64 {
        let length = (u64::from(terms) * LENGTH_STEPS / self.average).min(LENGTHS as u64 - 1);
        let row = self.table.get(usize::try_from(length).unwrap_or_default());
        row.and_then(|row| row.get(repeats)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_exact_at_powers_of_two_and_rise_between() {
        for power in 0..64 {
            assert_eq!(log2(1 << power), power * UNIT);
        }
        assert_eq!(log2(0), 0);
        assert!((1..5_000).all(|number| log2(number) <= log2(number + 1)));
        assert!(log2(u64::MAX) < 64 * UNIT);
    }

    #[test]
    fn the_rarer_a_term_the_more_it_says() {
        let all: Vec<u64> = [1, 2, 10, 500, 1_000].map(|holders| rarity(holders, 1_000)).into();
        assert!(all.windows(2).all(|pair| pair[0] > pair[1]), "{all:?}");
        assert!(rarity(5, 1) < UNIT);
    }

    #[test]
    fn repeats_say_more_and_long_texts_less() {
        let saturation = Saturation::new(100);
        assert!(saturation.fraction(100, 1) < saturation.fraction(100, 2));
        assert!(saturation.fraction(100, REPEATS_MAX) < 3 * saturation.fraction(100, 1));
        assert!(saturation.fraction(50, 1) > saturation.fraction(200, 1));
        assert_eq!(saturation.fraction(u16::MAX, 1), saturation.fraction(400, 1));
    }
}
