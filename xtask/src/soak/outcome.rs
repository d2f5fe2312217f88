//! The outcome of a run of the tests, read from the output of the test programs.

use std::fmt;
use std::time::Duration;

/// One run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    is_success: bool,
    passed: u64,
    skipped: u64,
    /// The names of the tests that failed.
    failed: Vec<String>,
    time: Duration,
}

impl Outcome {
    /// Parses the output of a run.
    pub(super) fn read(said: &str, is_success: bool, time: Duration) -> Self {
        let passed = said.lines().filter_map(passed_in).sum();
        let skipped = said.lines().filter(|line| line.starts_with("skipped: ")).count() as u64;
        let failed = said.lines().filter_map(failed_in).map(str::to_owned).collect();
        Self { is_success, passed, skipped, failed, time }
    }

    pub(super) fn is_good(&self) -> bool {
        self.is_success && self.failed.is_empty() && self.passed > 0
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_good() { "ok" } else { "FAILED" };
        let Self { passed, skipped, failed, time, .. } = self;
        let seconds = time.as_secs_f64();
        write!(formatter, "{verdict}, {passed} passed, {skipped} skipped, {seconds:.0} s")?;
        if !failed.is_empty() {
            write!(formatter, "; failed: {}", failed.join(", "))?;
        }
        Ok(())
    }
}

/// `test result: ok. 12 passed; 0 failed; …`
fn passed_in(line: &str) -> Option<u64> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counts.split_once(" passed")?.0.parse().ok()
}

/// `test chat::notes::a_claim ... FAILED`
fn failed_in(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
running 3 tests
skipped: c needs PostgreSQL (`cargo xtask test` installs and starts it)
test a ... ok
test chat::b ... FAILED
test c ... ok
test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s
";

    #[test]
    fn passed_skipped_and_failed_tests_are_counted() {
        let outcome = Outcome::read(SAID, false, Duration::from_secs(90));
        assert_eq!(outcome.to_string(), "FAILED, 9 passed, 1 skipped, 90 s; failed: chat::b");
        assert!(!outcome.is_good());
    }

    #[test]
    fn a_run_without_tests_is_no_success() {
        assert!(!Outcome::read("", true, Duration::ZERO).is_good());
        let one = "test result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert!(Outcome::read(one, true, Duration::ZERO).is_good());
        assert!(!Outcome::read(one, false, Duration::ZERO).is_good());
    }
}
