//! The figures of the report: which there are, and what they have to keep. Measures nothing.

use crate::report::{Figure, Theme, Unit, grouped};

use super::contest::{Contestant, Tally};
use super::found::Hits;
use super::ours;
use super::trim::StartOn;
use super::{BUDGET, SMALL_BUDGET, TINY_BUDGET};

/// What the builder's requests may cost against those of the baselines.
const COST_LIMIT: f64 = 0.30;

/// The baselines whose costs the builder's are held against, and whether that is a limit. Trimming from
/// a human is cheap since it sends less, at many steps nothing: that price is not to be won.
const AGAINST: [(Contestant, bool); 3] = [
    (Contestant::SlidingWindow, true),
    (Contestant::TrimMessages(StartOn::Any), true),
    (Contestant::TrimMessages(StartOn::Human), false),
];

/// What of an agent's quotes has to be found, in hundredths.
const QUOTES_FOUND: [(u64, f64); 2] = [(SMALL_BUDGET, 85.0), (BUDGET, 97.0)];

/// How many points more than by recency have to be found in meetings.
const MEETINGS_GAIN: f64 = 15.0;

/// The sets of questions, and at which budgets they are asked.
pub(super) const QUESTION_SETS: [(&str, &[u64]); 3] = [
    ("qmsum", &[TINY_BUDGET, SMALL_BUDGET]),
    ("longmemeval-s3", &[TINY_BUDGET, SMALL_BUDGET]),
    ("personamem-sample", &[SMALL_BUDGET, BUDGET]),
];

/// What was found; of nobody in particular by recency alone.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) who: Option<Contestant>,
    pub(super) budget: u64,
    pub(super) hits: Hits,
    /// Whether the answer had come as far as what is looked for.
    pub(super) is_begun: bool,
}

/// What a step costs with each of them.
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

/// What the builder costs against the baselines, as the library sets it within the limit.
pub(super) fn ratios(title: &'static str, tallies: &[Tally]) -> Theme {
    let mut figures = Vec::new();
    for (baseline, has_limit) in AGAINST {
        for other in tallies.iter().filter(|tally| tally.contestant == baseline) {
            for tally in tallies.iter().filter(|tally| is_ours(&tally.contestant)) {
                let name = format!("{} / {}", tally.contestant.name(), baseline.name());
                let figure = Figure::new(name, tally.bill.against(&other.bill), Unit::Times);
                let is_limited = has_limit && is_lean(&tally.contestant);
                figures.push(if is_limited { figure.at_most(COST_LIMIT) } else { figure });
            }
        }
    }
    Theme { title, figures }
}

/// What stays cached from step to step.
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

/// What survives, and what the builder has to keep against the sliding window.
pub(super) fn survives(title: &'static str, tallies: &[Tally], times: f64) -> Theme {
    let window = tallies.iter().find(|tally| tally.contestant == Contestant::SlidingWindow);
    let limit = window.map_or(f64::NAN, |tally| times * tally.recall.percent());
    let figures = tallies.iter().map(|tally| {
        let figure = Figure::new(tally.contestant.name(), tally.recall.percent(), Unit::Percent)
            .of(format!("{:.1} % of what is older than 10 messages", tally.old_recall.percent()));
        if is_lean(&tally.contestant) { figure.at_least(limit) } else { figure }
    });
    Theme { title, figures: figures.collect() }
}

/// What is found again in a set.
pub(super) fn found(set: &'static str, rows: &[Row]) -> Theme {
    let mut figures = Vec::new();
    let mut recency = f64::NAN;
    for row in rows {
        let Hits { hits, of } = row.hits;
        let who = row.who.map_or_else(|| "recency, chars / 4".to_owned(), |who| who.name());
        let begun = if row.is_begun { ", answer begun" } else { "" };
        let name = format!("{} tokens, {who}{begun}", grouped(row.budget as usize));
        let figure = Figure::new(name, row.hits.percent(), Unit::Percent).of(format!(
            "{} of {}",
            grouped(hits as usize),
            grouped(of as usize)
        ));
        figures.push(match row.who {
            None => {
                recency = row.hits.percent();
                figure
            }
            Some(who) if is_finding(&who) => match found_limit(set, row, recency) {
                Some(limit) => figure.at_least(limit),
                None => figure,
            },
            Some(_) => figure,
        });
    }
    Theme { title: found_title(set), figures }
}

/// Edits are judged where the answer has come as far as the edit, as recency is; where the model is
/// called, what it is about to say is not known yet.
fn found_limit(set: &str, row: &Row, recency: f64) -> Option<f64> {
    let limits = || QUOTES_FOUND.iter().find(|limit| limit.0 == row.budget);
    match set {
        "claude-code" if row.is_begun => limits().map(|limit| limit.1),
        "qmsum" if row.budget == SMALL_BUDGET => Some(recency + MEETINGS_GAIN),
        _ => None,
    }
}

fn found_title(set: &str) -> &'static str {
    match set {
        "claude-code" => "Quoted in edits and sent, claude-code",
        "pi" => "Quoted in edits and sent, pi",
        "qmsum" => "Evidence for questions that is sent, qmsum",
        "longmemeval-s3" => "Evidence for questions that is sent, longmemeval-s3",
        _ => "Evidence for questions that is sent, personamem-sample",
    }
}

fn is_ours(contestant: &Contestant) -> bool {
    matches!(contestant, Contestant::Ours(_))
}

/// Whether it is the builder set for finding again: the limits on that are for it.
fn is_finding(contestant: &Contestant) -> bool {
    match contestant {
        Contestant::Ours(config) => *config == ours::Config::finding(config.budget),
        _ => false,
    }
}

/// Whether it is the builder as the library sets it: the limits on cost and names are for that.
fn is_lean(contestant: &Contestant) -> bool {
    match contestant {
        Contestant::Ours(config) => *config == ours::Config::lean(config.budget),
        _ => false,
    }
}
