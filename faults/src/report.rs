//! The report of a role: one line of figures, the broken guarantees, and the command that repeats
//! the run.

use std::time::Instant;

use crate::error::FaultsError;
use crate::judge::Verdict;
use crate::options::Options;

/// Maximum number of broken guarantees that are printed in full.
const PRINTED_MAX: usize = 12;

/// Counts and findings of a role.
pub(crate) struct Report {
    role: String,
    command: String,
    started: Instant,
    figures: Vec<(String, u64)>,
    faults: u64,
    /// Totals of acknowledged, lost and other entries.
    verdict: Verdict,
    broken: Vec<String>,
    /// Problems found at several locations: the problem, the first location, and the count.
    repeated: Vec<(String, String, u64)>,
}

impl Report {
    pub(crate) fn new(role: &str, options: &mut Options) -> Result<Self, FaultsError> {
        options.seed()?;
        Ok(Self {
            role: role.to_owned(),
            command: options.command(),
            started: Instant::now(),
            figures: Vec::new(),
            faults: 0,
            verdict: Verdict::default(),
            broken: Vec::new(),
            repeated: Vec::new(),
        })
    }

    /// Counts faults that occurred. Without any, nothing was tested.
    pub(crate) fn faults(&mut self, count: u64) {
        self.faults += count;
    }

    /// Adds to a figure; figures are printed in order of first use.
    pub(crate) fn add(&mut self, name: &str, count: u64) {
        match self.figures.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => self.figures.push((name.to_owned(), count)),
        }
    }

    /// Returns the current value of a figure.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        self.figures.iter().find(|(known, _)| known == name).map_or(0, |(_, sum)| *sum)
    }

    /// Records a broken guarantee.
    pub(crate) fn broken(&mut self, what: impl Into<String>) {
        self.broken.push(what.into());
    }

    /// Records a guarantee that was broken at this location, and perhaps at others in the same way.
    pub(crate) fn broken_at(&mut self, what: &str, location: &str) {
        match self.repeated.iter_mut().find(|(known, ..)| known == what) {
            Some((_, _, times)) => *times += 1,
            None => self.repeated.push((what.to_owned(), location.to_owned(), 1)),
        }
    }

    /// Records a broken guarantee unless the condition holds.
    pub(crate) fn claim(&mut self, is_so: bool, what: impl Into<String>) {
        if !is_so {
            self.broken(what);
        }
    }

    /// Adds the findings of a judge. `location` is the location, for problems.
    pub(crate) fn judged(&mut self, verdict: &Verdict, location: &str) {
        let sum = &mut self.verdict;
        sum.entries += verdict.entries;
        sum.acknowledged += verdict.acknowledged;
        sum.lost += verdict.lost;
        sum.half += verdict.half;
        sum.unknown += verdict.unknown;
        if !verdict.is_clean() {
            let Verdict { lost, half, wrong, .. } = verdict;
            self.broken(format!("{location}: {lost} entries lost, {half} batches half, {wrong:?}"));
        }
    }

    /// Prints the figures. Returns whether all guarantees held.
    pub(crate) fn finish(mut self) -> bool {
        if self.faults == 0 {
            self.broken("no fault occurred, so nothing was tested");
        }
        let times = |(what, location, times): &(String, String, u64)| match times {
            1 => format!("{what}: at {location}"),
            times => format!("{what}: {times} times, first at {location}"),
        };
        self.broken.extend(self.repeated.iter().map(times));
        let mut figures = vec![("faults injected".to_owned(), self.faults)];
        let Verdict { acknowledged, lost, half, unknown, entries, .. } = self.verdict;
        figures.append(&mut self.figures);
        if entries > 0 || acknowledged > 0 {
            let names = ["acknowledged", "lost", "half", "unknown"].map(str::to_owned);
            figures.extend(names.into_iter().zip([acknowledged, lost, half, unknown]));
        }
        let words: Vec<String> =
            figures.iter().map(|(name, sum)| format!("{sum} {name}")).collect();
        let seconds = self.started.elapsed().as_secs_f64();
        let end = if self.broken.is_empty() { "kept" } else { "BROKEN" };
        println!("{}: {}, {seconds:.1} s: {end}", self.role, words.join(", "));
        println!("  again: {}", self.command);
        for what in self.broken.iter().take(PRINTED_MAX) {
            println!("  broken: {what}");
        }
        if let Some(more) = self.broken.len().checked_sub(PRINTED_MAX).filter(|more| *more > 0) {
            println!("  and {more} more");
        }
        self.broken.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut options = Options::parse("kills", &[], &[]).unwrap();
        Report::new("kills", &mut options).unwrap()
    }

    #[test]
    fn a_report_without_faults_is_a_failure() {
        assert!(!report().finish());
        let mut proved = report();
        proved.faults(1);
        assert!(proved.finish());
    }

    #[test]
    fn repeated_problems_are_one_failure() {
        let mut broken = report();
        broken.faults(1);
        broken.broken_at("half a file", "call 1");
        broken.broken_at("half a file", "call 2");
        assert_eq!(broken.repeated, [("half a file".to_owned(), "call 1".to_owned(), 2)]);
        assert!(!broken.finish());
    }

    #[test]
    fn one_lost_entry_is_a_failure() {
        let mut lossy = report();
        lossy.faults(1);
        lossy.judged(&Verdict { lost: 1, ..Verdict::default() }, "cycle 1");
        assert!(!lossy.finish());
    }
}
