//! Which candidates get in: room is given section by section, what one leaves goes to the next, and
//! the text that comes out is counted once more. Called by [`super::extract`].
//!
//! Every line is counted at most once on its own; the sum of the lines stands for the whole until the
//! end. Where the whole is more than its parts, lines go from the end.

use super::SummaryTask;
use super::carry;
use super::known::Known;
use super::lines::{Candidate, Candidates};
use super::names::{Name, Names};
use super::sections::{Section, cut};
use super::write::{Chosen, write};
use crate::identifiers::identifiers;

/// How many lines that are too long are passed over before a section is full.
const MISSES_MAX: usize = 12;

/// The goal may have this part of the cap where the cap is small, up to so many tokens.
const SMALL_GOAL: (u64, u64) = (3, 80);

/// Writes the summary.
pub(super) fn choose<'a>(
    task: &SummaryTask<'a>,
    names: &Names<'a>,
    candidates: &Candidates<'a>,
) -> String {
    let mut draft = Draft::new(task, names, candidates);
    let mut spare = 0;
    for section in Section::BY_WEIGHT {
        if section == Section::Requests {
            carry::carry(&mut draft, task.previous.unwrap_or_default());
        }
        spare = draft.fill(section, draft.share(section) + spare);
    }
    for section in Section::BY_WEIGHT {
        draft.fill(section, u64::MAX);
    }
    write(draft.chosen, task)
}

/// A summary on its way.
pub(super) struct Draft<'t, 'a> {
    task: &'t SummaryTask<'a>,
    candidates: &'t Candidates<'a>,
    ranked: Vec<Name<'a>>,
    /// What a reader of the chosen lines knows.
    known: Known<'a>,
    chosen: [Vec<Chosen>; Section::ALL.len()],
    /// Which candidates are in, and what those cost that were counted and are not.
    judged: [Vec<Judged>; Section::ALL.len()],
    spent: [u64; Section::ALL.len()],
    left: u64,
}

#[derive(Clone, Copy)]
enum Judged {
    Costs(u64),
    In,
}

impl<'t, 'a> Draft<'t, 'a> {
    fn new(task: &'t SummaryTask<'a>, names: &Names<'a>, candidates: &'t Candidates<'a>) -> Self {
        Self {
            task,
            candidates,
            ranked: names.ranked(),
            known: Known::default(),
            chosen: Default::default(),
            judged: Default::default(),
            spent: [0; Section::ALL.len()],
            left: task.max_tokens,
        }
    }

    /// What this section may spend.
    fn share(&self, section: Section) -> u64 {
        let cap = self.task.max_tokens;
        let share = cap.saturating_mul(section.share()) / 1000;
        match section {
            Section::Goal => share.max((cap / SMALL_GOAL.0).min(SMALL_GOAL.1)),
            _ => share,
        }
    }

    /// How many bytes a line of this section may have.
    fn line_max(&self, section: Section) -> usize {
        let room = usize::try_from(self.share(section)).unwrap_or(usize::MAX).saturating_mul(3);
        section.line_max().min(room.max(100))
    }

    /// Takes lines until the section has spent this much; what is left of it.
    fn fill(&mut self, section: Section, budget: u64) -> u64 {
        match section {
            Section::Names => self.fill_names(budget),
            _ => self.fill_lines(section, budget),
        }
        budget.saturating_sub(self.spent[section as usize])
    }

    fn fill_lines(&mut self, section: Section, budget: u64) {
        let mut misses = 0;
        for at in 0..self.candidates.of(section).len() {
            if misses >= MISSES_MAX || self.left == 0 {
                return;
            }
            let taken = self.take(section, at, budget);
            misses += usize::from(!taken);
        }
    }

    /// Takes the candidate at this place, if it fits; whether it is in.
    pub(super) fn take(&mut self, section: Section, at: usize, budget: u64) -> bool {
        let Some(candidate) = self.candidates.of(section).get(at) else { return false };
        let slot = section as usize;
        let judged = self.judged[slot].get(at).copied();
        let room = self.left.min(budget.saturating_sub(self.spent[slot]));
        match judged {
            Some(Judged::In) => return true,
            Some(Judged::Costs(cost)) if cost > room => return false,
            _ => {}
        }
        if section > Section::Goal && self.goal_says(candidate) {
            return true;
        }
        let mut max = self.line_max(section);
        let (text, cost) = loop {
            let text = candidate.written(max);
            let cost = self.count(&text) + self.heading_cost(section);
            // Only the goal is cut down until it fits: a summary without it is none.
            if cost <= room || section != Section::Goal || max < 24 {
                break (text, cost);
            }
            max /= 2;
        };
        if cost > room {
            self.judge(slot, at, Judged::Costs(cost));
            return false;
        }
        self.judge(slot, at, Judged::In);
        self.known.read(surely_written(candidate.text, max));
        self.spend(section, Chosen { text, cost, place: candidate.place });
        true
    }

    fn judge(&mut self, slot: usize, at: usize, judged: Judged) {
        let list = &mut self.judged[slot];
        if list.len() <= at {
            list.resize(at + 1, Judged::Costs(0));
        }
        list[at] = judged;
    }

    /// Whether the goal has these words already.
    fn goal_says(&self, candidate: &Candidate<'a>) -> bool {
        candidate.lead.is_empty()
            && self.chosen[Section::Goal as usize]
                .iter()
                .any(|goal| goal.text.contains(candidate.text))
    }

    fn fill_names(&mut self, budget: u64) {
        let mut misses = 0;
        for at in 0..self.ranked.len() {
            let spent = self.spent[Section::Names as usize];
            if misses >= MISSES_MAX || spent >= budget || self.left == 0 {
                return;
            }
            let Some(name) = self.ranked.get(at).copied() else { return };
            if !self.known.has(name.text) {
                misses += usize::from(!self.take_name(at, name, budget));
            }
        }
    }

    /// Takes the name of this rank, if it fits; whether it is in.
    pub(super) fn take_name(&mut self, rank: usize, name: Name<'a>, budget: u64) -> bool {
        let plain = identifiers(name.text).next() == Some(name.text);
        // What is a name only between back-ticks stays between them, so that it is found again.
        let text = if plain { format!(" {}", name.text) } else { format!(" `{}`", name.text) };
        let cost = self.count(&text) + self.heading_cost(Section::Names);
        let spent = self.spent[Section::Names as usize];
        let fits = cost <= self.left.min(budget.saturating_sub(spent));
        if fits {
            self.known.add(name.text);
            self.spend(Section::Names, Chosen { text, cost, place: (rank, 0, 0) });
        }
        fits
    }

    fn spend(&mut self, section: Section, chosen: Chosen) {
        self.left = self.left.saturating_sub(chosen.cost);
        self.spent[section as usize] += chosen.cost;
        self.chosen[section as usize].push(chosen);
    }

    fn count(&self, text: &str) -> u64 {
        self.task.tokenizer.count(text).tokens
    }

    /// What the heading costs, where this is the first line.
    fn heading_cost(&self, section: Section) -> u64 {
        match self.chosen[section as usize].is_empty() {
            true => self.count(section.heading()) + 1,
            false => 0,
        }
    }

    /// What is chosen so far, for [`carry`].
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.chosen.iter().flatten().map(|chosen| chosen.text.as_str())
    }

    /// Whether a reader knows this name by now.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.known.has(name)
    }

    /// The names, most telling for their room first.
    pub(super) fn ranked(&self) -> &[Name<'a>] {
        &self.ranked
    }

    pub(super) fn candidates(&self, section: Section) -> &'t [Candidate<'a>] {
        self.candidates.of(section)
    }
}

/// The part of a text whose names are whole however a line is cut.
fn surely_written(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let start = cut(text, max.saturating_sub(8));
    start.rfind([' ', '\n']).and_then(|at| start.get(..at)).unwrap_or_default()
}
