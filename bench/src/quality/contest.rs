//! The compared managers: the baselines and the builder, each created again for every session. Sums up the cost of
//! their requests and the information that these keep.

use std::error::Error;
use std::time::{Duration, Instant};

use super::baselines::{Everything, SlidingWindow};
use super::cost::Bill;
use super::facts::{Facts, Known, Memory};
use super::lexical::Finding;
use super::log::Log;
use super::manager::Manager;
use super::ours;
use super::recall::{Finder, NamedAgain, Recall};
use super::trim::{StartOn, TrimMessages};
use super::walk::walk;

/// A compared manager.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contestant {
    Everything,
    SlidingWindow,
    TrimMessages(StartOn),
    Lexical(Finding),
    /// The builder with this setting.
    Ours(ours::Config),
}

/// The results of a contestant.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) contestant: Contestant,
    pub(crate) bill: Bill,
    /// The share of all identifiers that are named again.
    pub(crate) recall: Recall,
    /// The share of those identifiers that the newest messages do not contain.
    pub(crate) old_recall: Recall,
    /// The share of known facts, from the first cut of each session on.
    pub(crate) known: Known,
    /// The time, including the evaluation.
    pub(crate) time: Duration,
}

impl Contestant {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Everything => "everything".to_owned(),
            Self::SlidingWindow => "sliding window".to_owned(),
            Self::TrimMessages(start_on) => start_on.name().to_owned(),
            Self::Lexical(finding) => finding.name(),
            Self::Ours(_) if self.is_default() => "ours".to_owned(),
            Self::Ours(config) => config.name(),
        }
    }

    /// Creates a manager without messages. The builder's settings contain its budget.
    pub(crate) fn manager(&self, budget: u64) -> Result<Box<dyn Manager>, Box<dyn Error>> {
        Ok(match self {
            Self::Everything => Box::new(Everything::default()),
            Self::SlidingWindow => Box::new(SlidingWindow::new(budget)),
            Self::TrimMessages(start_on) => Box::new(TrimMessages::new(budget, *start_on)),
            Self::Lexical(finding) => Box::new(finding.manager(budget)?),
            Self::Ours(config) => ours::manager(*config)?,
        })
    }

    /// Returns the builder with its default settings, to which the limits apply.
    pub(crate) fn default_at(budget: u64) -> Self {
        Self::Ours(ours::Config::default_at(budget))
    }

    pub(crate) fn is_default(&self) -> bool {
        matches!(self, Self::Ours(config) if *self == Self::default_at(config.budget))
    }
}

/// Runs every contestant through every session.
pub(crate) fn compare(
    logs: &[Log],
    contestants: &[Contestant],
    budget: u64,
) -> Result<Vec<Tally>, Box<dyn Error>> {
    let mut tallies: Vec<Tally> = contestants.iter().copied().map(Tally::new).collect();
    for log in logs {
        let (named, facts) = (NamedAgain::of(log), Facts::of(log));
        let (mut finder, mut memory) = (Finder::new(&named), Memory::new(&facts));
        for tally in &mut tallies {
            tally.add(log, budget, &mut finder, &mut memory)?;
        }
    }
    for Tally { contestant, time, .. } in &tallies {
        eprintln!("{} at {budget}: {:.1} s", contestant.name(), time.as_secs_f64());
    }
    Ok(tallies)
}

impl Tally {
    fn new(contestant: Contestant) -> Self {
        Self {
            contestant,
            bill: Bill::default(),
            recall: Recall::default(),
            old_recall: Recall::default(),
            known: Known::default(),
            time: Duration::ZERO,
        }
    }

    /// Runs the contestant through a session.
    fn add(
        &mut self,
        log: &Log,
        budget: u64,
        finder: &mut Finder<'_>,
        memory: &mut Memory<'_>,
    ) -> Result<(), Box<dyn Error>> {
        let start = Instant::now();
        let mut manager = self.contestant.manager(budget)?;
        let mut has_cut = false;
        walk(log, manager.as_mut(), |step, _| {
            let pieces = &step.sent.pieces;
            self.bill.add(step.sent);
            finder.look(step.number, pieces, &mut self.recall, &mut self.old_recall);
            has_cut |= step.sent.cut;
            if has_cut && let Some(answer) = log.steps.get(step.number) {
                memory.look(*answer, pieces, &mut self.known);
            }
            Ok(())
        })?;
        self.bill.end_session();
        self.time += start.elapsed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{Line, Session};
    use super::*;

    /// A command, then texts of 25 tokens, each with an answer of 5.
    fn log() -> Log {
        let call = Line {
            tool: Some("Bash".to_owned()),
            ..Line::of("assistant", "tool_call", r#"{"command":"go build ./..."}"#)
        };
        let mut lines = vec![Line::of("user", "text", "Mend it"), call];
        for _ in 0..4 {
            lines.push(Line::of("tool", "text", &"long ".repeat(17)));
            lines.push(Line::of("assistant", "text", "go on..."));
        }
        Log::of_agent(&Session { key: "s".to_owned(), lines })
    }

    fn known(contestant: Contestant, budget: u64) -> f64 {
        let tallies = compare(&[log()], &[contestant], budget).unwrap();
        tallies[0].known.all.percent()
    }

    #[test]
    fn nothing_is_judged_before_the_first_cut() {
        assert!(known(Contestant::Everything, 50).is_nan());
        assert!(known(Contestant::SlidingWindow, 1_000).is_nan());
    }

    #[test]
    fn the_window_forgets_what_it_leaves_out() {
        assert_eq!(known(Contestant::SlidingWindow, 50), 0.0);
    }

    #[test]
    fn the_default_is_called_ours() {
        let default = Contestant::default_at(8_000);
        assert!(default.is_default() && !Contestant::SlidingWindow.is_default());
        assert_eq!(default.name(), "ours");
    }
}
