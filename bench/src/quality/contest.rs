//! Who is compared: the baselines and the builder, each made anew for every session. Sums up what their
//! requests cost and what survives in them.

use std::error::Error;
use std::time::{Duration, Instant};

use super::baselines::{Everything, SlidingWindow};
use super::cost::Bill;
use super::log::Log;
use super::manager::Manager;
use super::ours;
use super::recall::{Finder, NamedAgain, Recall};
use super::trim::{StartOn, TrimMessages};
use super::walk::walk;

/// One way to decide what is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contestant {
    Everything,
    SlidingWindow,
    TrimMessages(StartOn),
    /// The builder with this setting.
    Ours(ours::Config),
}

/// What became of a contestant's requests.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) contestant: Contestant,
    pub(crate) bill: Bill,
    /// Of all identifiers that are named again.
    pub(crate) recall: Recall,
    /// Of those that the newest messages do not hold.
    pub(crate) old_recall: Recall,
    /// How long it took, with the judging.
    pub(crate) time: Duration,
}

impl Contestant {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Everything => "everything".to_owned(),
            Self::SlidingWindow => "sliding window".to_owned(),
            Self::TrimMessages(start_on) => start_on.name().to_owned(),
            Self::Ours(config) => config.name(),
        }
    }

    /// A manager that has seen nothing yet. The builder has its budget in its setting.
    pub(crate) fn manager(&self, budget: u64) -> Result<Box<dyn Manager>, Box<dyn Error>> {
        Ok(match self {
            Self::Everything => Box::new(Everything::default()),
            Self::SlidingWindow => Box::new(SlidingWindow::new(budget)),
            Self::TrimMessages(start_on) => Box::new(TrimMessages::new(budget, *start_on)),
            Self::Ours(config) => ours::manager(*config)?,
        })
    }
}

/// Leads every contestant through every session.
pub(crate) fn compare(
    logs: &[Log],
    contestants: &[Contestant],
    budget: u64,
) -> Result<Vec<Tally>, Box<dyn Error>> {
    let tally = |contestant: &Contestant| Tally {
        contestant: *contestant,
        bill: Bill::default(),
        recall: Recall::default(),
        old_recall: Recall::default(),
        time: Duration::ZERO,
    };
    let mut tallies: Vec<Tally> = contestants.iter().map(tally).collect();
    for log in logs {
        let named = NamedAgain::of(log);
        let mut finder = Finder::new(&named);
        for Tally { contestant, bill, recall, old_recall, time } in &mut tallies {
            let start = Instant::now();
            let mut manager = contestant.manager(budget)?;
            walk(log, manager.as_mut(), |step, _| {
                bill.add(step.sent);
                finder.look(step.number, &step.sent.pieces, recall, old_recall);
                Ok(())
            })?;
            bill.end_session();
            *time += start.elapsed();
        }
    }
    for Tally { contestant, time, .. } in &tallies {
        eprintln!("{} at {budget}: {:.1} s", contestant.name(), time.as_secs_f64());
    }
    Ok(tallies)
}
