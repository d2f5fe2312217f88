//! Compares the counts that a provider reports with the estimates; the ratio corrects later estimates. Pure and
//! deterministic: the same reports in the same order give the same ratio, without floats.

use super::TokenCount;

/// The lowest ratio, in thousandths.
pub const CALIBRATION_PERMILLE_MIN: u64 = 500;

/// The highest ratio, in thousandths. Gemini CLI keeps its own correction within the same bounds.
pub const CALIBRATION_PERMILLE_MAX: u64 = 2_000;

/// The calibration starts as if this many tokens had been estimated correctly, so that one short answer cannot
/// change the ratio much.
const PRIOR_TOKENS: u64 = 1_000;

/// Above this limit, both sums are halved, so that old reports lose weight and the sums stay small.
const MEMORY_TOKENS: u64 = 1_000_000;

/// The largest accepted factor between a report and its estimate. A larger one means that the report includes
/// something else.
const OUTLIER_FACTOR: u64 = 4;

/// The ratio of reported tokens to estimated tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    estimated: u64,
    reported: u64,
    reports: u64,
}

impl Calibration {
    /// Adds a report. A report of 0, or for an estimate of 0, is ignored.
    ///
    /// The estimates must be those before [`Calibration::apply`]. Otherwise the ratio would correct itself.
    pub fn observe(&mut self, estimated: u64, reported: u64) {
        if estimated == 0 || reported == 0 {
            return;
        }
        // A report above the memory limit is scaled down to the limit, at the same ratio.
        let scale = estimated.div_ceil(MEMORY_TOKENS);
        let estimated = estimated / scale;
        let lowest = estimated / OUTLIER_FACTOR;
        let reported = (reported / scale).clamp(lowest, estimated * OUTLIER_FACTOR);
        self.estimated += estimated;
        self.reported += reported;
        self.reports = self.reports.saturating_add(1);
        while self.estimated > MEMORY_TOKENS {
            self.estimated /= 2;
            self.reported /= 2;
        }
    }

    /// Returns the ratio in thousandths: 1,000 before the first report, always within its bounds.
    pub fn permille(&self) -> u64 {
        let reported = (self.reported + PRIOR_TOKENS) * 1_000;
        let ratio = reported / (self.estimated + PRIOR_TOKENS);
        ratio.clamp(CALIBRATION_PERMILLE_MIN, CALIBRATION_PERMILLE_MAX)
    }

    /// Returns the number of reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Returns the corrected estimate, rounded up. An exact count does not change.
    pub fn apply(&self, count: TokenCount) -> TokenCount {
        if count.is_exact {
            return count;
        }
        let tokens = (u128::from(count.tokens) * u128::from(self.permille())).div_ceil(1_000);
        TokenCount::estimated(u64::try_from(tokens).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(reports: &[(u64, u64)]) -> Calibration {
        let mut calibration = Calibration::default();
        for (estimated, reported) in reports {
            calibration.observe(*estimated, *reported);
        }
        calibration
    }

    #[test]
    fn without_reports_nothing_is_corrected() {
        let count = TokenCount::estimated(777);
        assert_eq!(Calibration::default().apply(count), count);
    }

    #[test]
    fn many_reports_of_one_ratio_give_that_ratio() {
        let calibration = after(&[(10_000, 12_000); 50]);
        assert!((1_190..=1_200).contains(&calibration.permille()), "{calibration:?}");
        assert_eq!(calibration.reports(), 50);
    }

    #[test]
    fn the_ratio_stays_within_its_bounds_whatever_is_reported() {
        assert_eq!(after(&[(50_000, 1); 20]).permille(), CALIBRATION_PERMILLE_MIN);
        assert_eq!(after(&[(50_000, u64::MAX); 20]).permille(), CALIBRATION_PERMILLE_MAX);
        assert_eq!(after(&[(u64::MAX, u64::MAX); 20]).permille(), 1_000);
    }

    #[test]
    fn a_report_of_nothing_says_nothing() {
        assert_eq!(after(&[(0, 5), (5, 0)]), Calibration::default());
    }

    #[test]
    fn one_short_answer_does_not_turn_the_ratio() {
        assert!(after(&[(10, 40)]).permille() < 1_040);
    }

    #[test]
    fn new_reports_outweigh_old_ones() {
        let mut reports = vec![(100_000, 80_000); 100];
        reports.extend([(100_000, 130_000); 30]);
        assert!(after(&reports).permille() > 1_200);
    }

    #[test]
    fn an_exact_count_is_never_corrected() {
        let calibration = after(&[(50_000, 90_000); 20]);
        assert_eq!(calibration.apply(TokenCount::exact(100)), TokenCount::exact(100));
        assert!(calibration.apply(TokenCount::estimated(100)).tokens > 150);
    }
}
