//! The figures of the report and their limits. The limits apply to the builder's default settings. Measures nothing.

use crate::report::{Figure, Theme, Unit, grouped};

use super::contest::{Contestant, Tally};
use super::facts::Known;
use super::found::Hits;
use super::options::Part;
use super::recall::Recall;
use super::trim::StartOn;
use super::{BUDGET, SMALL_BUDGET, TINY_BUDGET};

/// The limit at each budget.
type Limits = [(u64, f64)];

/// The maximum cost of the builder's requests, compared with the sliding window.
const COST: &Limits = &[(SMALL_BUDGET, 0.56), (BUDGET, 0.30)];

/// The minimum percentage of identifiers that are sent.
const IDENTIFIERS: &Limits = &[(SMALL_BUDGET, 86.0), (BUDGET, 96.0)];

/// The minimum ratio of the facts known after a compaction to those of the sliding window.
const KNOWN_TIMES: f64 = 2.0;

/// The baselines with which the builder's cost is compared. The limit applies to the first one.
const AGAINST: [Contestant; 3] = [
    Contestant::SlidingWindow,
    Contestant::TrimMessages(StartOn::Any),
    Contestant::TrimMessages(StartOn::Human),
];

/// The sets of questions.
pub(super) const QUESTION_SETS: [(Part, Set); 4] = [
    (Part::Qmsum, Set::Qmsum),
    (Part::Longmemeval, Set::Longmemeval),
    (Part::Personamem, Set::Personamem),
    (Part::Irc, Set::Irc),
];

/// A set with texts that a manager should find again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Claude,
    Pi,
    Qmsum,
    Longmemeval,
    Personamem,
    Irc,
}

/// The number of texts that were found; without a contestant, those that are among the newest characters.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) who: Option<Contestant>,
    pub(super) budget: u64,
    pub(super) hits: Hits,
    /// Whether the answer had already reached the searched text.
    pub(super) is_begun: bool,
}

impl Set {
    /// Returns its folder in the data.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Pi => "pi",
            Self::Qmsum => "qmsum",
            Self::Longmemeval => "longmemeval-s3",
            Self::Personamem => "personamem-sample",
            Self::Irc => "irc-teams",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Claude => "Quoted in edits and sent, claude-code",
            Self::Pi => "Quoted in edits and sent, pi",
            Self::Qmsum => "Evidence for questions that is sent, qmsum",
            Self::Longmemeval => "Evidence for questions that is sent, longmemeval-s3",
            Self::Personamem => "Evidence for questions that is sent, personamem-sample",
            Self::Irc => "What a late answer answers and is sent, irc-teams",
        }
    }

    /// Returns the minimum percentage to find.
    fn limits(self) -> &'static Limits {
        match self {
            Self::Claude => &[(SMALL_BUDGET, 80.0), (BUDGET, 96.5)],
            Self::Qmsum => &[(SMALL_BUDGET, 70.0)],
            Self::Longmemeval => &[(TINY_BUDGET, 60.0), (SMALL_BUDGET, 70.0)],
            Self::Pi | Self::Personamem | Self::Irc => &[],
        }
    }
}

/// Returns the cost of a step for each contestant.
pub(super) fn cost(title: &'static str, tallies: &[Tally]) -> Theme {
    let figures = tallies.iter().map(|tally| {
        let bill = &tally.bill;
        let share = |tokens: u64| grouped((tokens / bill.steps.max(1)) as usize);
        let detail = format!(
            "{} read + {} written + {} volatile; {} of {} steps cut, {} with nothing that fits",
            share(bill.read),
            share(bill.written),
            share(bill.volatile),
            grouped(bill.cuts as usize),
            grouped(bill.steps as usize),
            grouped(bill.overflows as usize),
        );
        let name = tally.contestant.name();
        Figure::new(name, bill.per_step(), Unit::TokensPerStep).of(detail)
    });
    Theme { title, figures: figures.collect() }
}

/// Returns the builder's cost compared with the baselines. `trim_messages` from a human message is cheap because it
/// sends less, at many steps nothing; the builder cannot be as cheap.
pub(super) fn ratios(title: &'static str, tallies: &[Tally], budget: u64) -> Theme {
    let mut figures = Vec::new();
    for baseline in AGAINST {
        for other in tallies.iter().filter(|tally| tally.contestant == baseline) {
            for tally in tallies.iter().filter(|tally| is_ours(&tally.contestant)) {
                let name = format!("{} / {}", tally.contestant.name(), baseline.name());
                let figure = Figure::new(name, tally.bill.against(&other.bill), Unit::Times);
                let limit = limit_at(COST, budget).filter(|_| {
                    baseline == Contestant::SlidingWindow && tally.contestant.is_default()
                });
                figures.push(match limit {
                    Some(limit) => figure.at_most(limit),
                    None => figure,
                });
            }
        }
    }
    Theme { title, figures }
}

/// Returns the share that stays cached from step to step.
pub(super) fn prefix(title: &'static str, tallies: &[Tally]) -> Theme {
    let figures = tallies.iter().map(|tally| {
        let (outside, all) = (tally.bill.prefix_outside_cuts, tally.bill.prefix);
        let name = format!("{}, outside cuts", tally.contestant.name());
        let figure = Figure::new(name, outside.percent(), Unit::Percent)
            .of(format!("{:.1} % over all steps", all.percent()));
        if is_ours(&tally.contestant) { figure.at_least(100.0) } else { figure }
    });
    Theme { title, figures: figures.collect() }
}

/// Returns the share of identifiers that are kept.
pub(super) fn survives(title: &'static str, tallies: &[Tally], budget: u64) -> Theme {
    let figures = tallies.iter().map(|tally| {
        let figure = Figure::new(tally.contestant.name(), tally.recall.percent(), Unit::Percent)
            .of(format!("{:.1} % of what is older than 10 messages", tally.old_recall.percent()));
        let limit = limit_at(IDENTIFIERS, budget);
        at_least(figure, limit.filter(|_| tally.contestant.is_default()))
    });
    Theme { title, figures: figures.collect() }
}

/// Returns the facts known after a compaction, and their limit compared with the sliding window.
pub(super) fn known(title: &'static str, tallies: &[Tally]) -> Theme {
    let window = tallies.iter().find(|tally| tally.contestant == Contestant::SlidingWindow);
    let limit = window.map(|tally| KNOWN_TIMES * tally.known.all.percent());
    let figures = tallies.iter().map(|tally| {
        let Known { commands, files, errors, all } = tally.known;
        let [commands, files, errors, all] = [commands, files, errors, all].map(Recall::percent);
        let detail = format!("commands {commands:.1} %, files {files:.1} %, errors {errors:.1} %");
        let figure = Figure::new(tally.contestant.name(), all, Unit::Percent).of(detail);
        at_least(figure, limit.filter(|_| tally.contestant.is_default()))
    });
    Theme { title, figures: figures.collect() }
}

/// Returns the share that is found again in a set. An edit is evaluated when the model is called, before the answer
/// is known.
pub(super) fn found(set: Set, rows: &[Row]) -> Theme {
    let figures = rows.iter().map(|row| {
        let Hits { hits, of } = row.hits;
        let who = row.who.map_or_else(|| "recency, chars / 4".to_owned(), |who| who.name());
        let begun = if row.is_begun { ", answer begun" } else { "" };
        let name = format!("{} tokens, {who}{begun}", grouped(row.budget as usize));
        let detail = format!("{} of {}", grouped(hits as usize), grouped(of as usize));
        let figure = Figure::new(name, row.hits.percent(), Unit::Percent).of(detail);
        let is_judged = !row.is_begun && row.who.is_some_and(|who| who.is_default());
        at_least(figure, limit_at(set.limits(), row.budget).filter(|_| is_judged))
    });
    Theme { title: set.title(), figures: figures.collect() }
}

fn at_least(figure: Figure, limit: Option<f64>) -> Figure {
    match limit {
        Some(limit) => figure.at_least(limit),
        None => figure,
    }
}

fn limit_at(limits: &Limits, budget: u64) -> Option<f64> {
    limits.iter().find(|limit| limit.0 == budget).map(|limit| limit.1)
}

fn is_ours(contestant: &Contestant) -> bool {
    matches!(contestant, Contestant::Ours(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Limit;

    fn limits(set: Set, row: Row) -> Option<Limit> {
        found(set, &[row]).figures[0].limit
    }

    fn row(who: Option<Contestant>, budget: u64, is_begun: bool) -> Row {
        Row { who, budget, hits: Hits { hits: 1, of: 2 }, is_begun }
    }

    #[test]
    fn limits_are_for_the_default_as_a_sender_knows_it() {
        let ours = Some(Contestant::default_at(SMALL_BUDGET));
        let limit = Some(Limit::AtLeast(80.0));
        assert_eq!(limits(Set::Claude, row(ours, SMALL_BUDGET, false)), limit);
        assert_eq!(limits(Set::Claude, row(ours, SMALL_BUDGET, true)), None);
        assert_eq!(limits(Set::Pi, row(ours, SMALL_BUDGET, false)), None);
        assert_eq!(limits(Set::Claude, row(None, SMALL_BUDGET, false)), None);
        let window = Some(Contestant::SlidingWindow);
        assert_eq!(limits(Set::Claude, row(window, SMALL_BUDGET, false)), None);
    }

    #[test]
    fn each_budget_has_its_limit() {
        assert_eq!(limit_at(COST, BUDGET), Some(0.30));
        assert_eq!(limit_at(COST, TINY_BUDGET), None);
    }
}
