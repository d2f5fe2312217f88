//! Selects the lines of a summary from the candidates. Each section gets a number of tokens, and passes unused
//! tokens on to the next one. At the end, the complete text is counted. Called by [`super::extract`].
//!
//! Every line is counted at most once on its own, and the sum of these counts approximates the size of the text. If
//! the complete text is over the cap, lines are removed.

use std::collections::{HashMap, HashSet};

use super::SummaryTask;
use super::gate::CARRIED_PART;
use super::known::{Known, distinct_names, distinct_words, without_position};
use super::names::{Name, Names};
use super::order::{Candidate, Candidates};
use super::sections::Section;
use crate::identifiers::identifiers;
use crate::truncate::truncate_to_bytes;

/// After this many lines that are too long, a section counts as full.
const MISFITS_MAX: usize = 12;

/// If the cap is small, the goal may have a third of it, at most 80 tokens.
const SMALL_GOAL: (u64, u64) = (3, 80);

pub(super) fn choose<'a>(
    task: &SummaryTask<'a>,
    names: &Names<'a>,
    candidates: &Candidates<'a>,
) -> String {
    let mut draft = Draft {
        task,
        candidates,
        ranked: names.ranked(),
        known: Known::default(),
        chosen: Default::default(),
        line_states: Default::default(),
        spent: [0; Section::ALL.len()],
        left: task.max_tokens,
    };
    let mut spare = 0;
    for section in Section::BY_WEIGHT {
        if section == Section::Requests {
            draft.carry(task.previous.unwrap_or_default());
        }
        spare = draft.fill(section, draft.share(section) + spare);
    }
    for section in Section::BY_WEIGHT {
        draft.fill(section, u64::MAX);
    }
    write(draft.chosen, task)
}

struct Draft<'t, 'a> {
    task: &'t SummaryTask<'a>,
    candidates: &'t Candidates<'a>,
    ranked: Vec<Name<'a>>,
    known: Known<'a>,
    chosen: Sections,
    /// The selected candidates, and the costs of those that were counted but not selected.
    line_states: [Vec<LineState>; Section::ALL.len()],
    spent: [u64; Section::ALL.len()],
    left: u64,
}

struct Chosen {
    /// The line with its line break; for a name, with the space before it.
    text: String,
    cost: u64,
    /// Its position in its section.
    position: (usize, usize, usize),
}

/// The selected lines of each section. The last one of a section is the least important one.
type Sections = [Vec<Chosen>; Section::ALL.len()];

#[derive(Clone, Copy)]
enum LineState {
    Costs(u64),
    Selected,
}

impl<'a> Draft<'_, 'a> {
    fn share(&self, section: Section) -> u64 {
        let cap = self.task.max_tokens;
        let share = cap.saturating_mul(section.layout().share) / 1000;
        match section {
            Section::Goal => share.max((cap / SMALL_GOAL.0).min(SMALL_GOAL.1)),
            _ => share,
        }
    }

    fn line_max(&self, section: Section) -> usize {
        let room = usize::try_from(self.share(section)).unwrap_or(usize::MAX).saturating_mul(3);
        section.layout().line_max.min(room.max(100))
    }

    /// Takes lines until the section has used this budget; returns the tokens that are left.
    fn fill(&mut self, section: Section, budget: u64) -> u64 {
        match section {
            Section::Names => self.fill_names(budget),
            _ => self.fill_lines(section, budget),
        }
        budget.saturating_sub(self.spent[section as usize])
    }

    fn fill_lines(&mut self, section: Section, budget: u64) {
        let mut misfits = 0;
        for at in 0..self.candidates.in_section(section).len() {
            if misfits >= MISFITS_MAX || self.left == 0 {
                return;
            }
            let taken = self.take(section, at, budget);
            misfits += usize::from(!taken);
        }
    }

    fn take(&mut self, section: Section, at: usize, budget: u64) -> bool {
        let Some(candidate) = self.candidates.in_section(section).get(at) else { return false };
        let slot = section as usize;
        let state = self.line_states[slot].get(at).copied();
        let room = self.left.min(budget.saturating_sub(self.spent[slot]));
        match state {
            Some(LineState::Selected) => return true,
            Some(LineState::Costs(cost)) if cost > room => return false,
            _ => {}
        }
        let is_listed = matches!(section, Section::Files | Section::Commands | Section::Errors);
        if section > Section::Goal && !is_listed && self.is_in_goal(candidate) {
            return true;
        }
        let mut max = self.line_max(section);
        let (text, cost) = loop {
            let text = candidate.written(max);
            let cost = self.count(&text) + self.heading_cost(section);
            // Only the goal is shortened until it fits, because a summary needs a goal.
            if cost <= room || section != Section::Goal || max < 24 {
                break (text, cost);
            }
            max /= 2;
        };
        if cost > room {
            self.set_state(slot, at, LineState::Costs(cost));
            return false;
        }
        self.set_state(slot, at, LineState::Selected);
        self.known.read(certain_part(candidate.text, max));
        self.spend(section, Chosen { text, cost, position: candidate.position });
        true
    }

    fn set_state(&mut self, slot: usize, at: usize, state: LineState) {
        let list = &mut self.line_states[slot];
        if list.len() <= at {
            list.resize(at + 1, LineState::Costs(0));
        }
        list[at] = state;
    }

    fn is_in_goal(&self, candidate: &Candidate<'a>) -> bool {
        candidate.lead.is_empty()
            && self.chosen[Section::Goal as usize]
                .iter()
                .any(|goal| goal.text.contains(candidate.text))
    }

    fn fill_names(&mut self, budget: u64) {
        let mut misfits = 0;
        for at in 0..self.ranked.len() {
            let spent = self.spent[Section::Names as usize];
            if misfits >= MISFITS_MAX || spent >= budget || self.left == 0 {
                return;
            }
            let Some(name) = self.ranked.get(at).copied() else { return };
            if !self.known.has(name.text) {
                misfits += usize::from(!self.take_name(at, name, budget));
            }
        }
    }

    fn take_name(&mut self, rank: usize, name: Name<'a>, budget: u64) -> bool {
        let plain = identifiers(name.text).next() == Some(name.text);
        // A name that is recognised only in back-ticks keeps them, so that it is found again.
        let text = if plain { format!(" {}", name.text) } else { format!(" `{}`", name.text) };
        let cost = self.count(&text) + self.heading_cost(Section::Names);
        let spent = self.spent[Section::Names as usize];
        let fits = cost <= self.left.min(budget.saturating_sub(spent));
        if fits {
            self.known.add(name.text);
            self.spend(Section::Names, Chosen { text, cost, position: (rank, 0, 0) });
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

    fn heading_cost(&self, section: Section) -> u64 {
        match self.chosen[section as usize].is_empty() {
            true => self.count(section.layout().heading) + 1,
            false => 0,
        }
    }

    /// Makes sure that at least a third of the names of the previous summary are present, and adds missing ones. If
    /// it has no names, it uses words. Without this, the summary might not pass the gate.
    fn carry(&mut self, previous: &str) {
        let names = distinct_names(previous);
        if names.is_empty() {
            self.carry_words(previous);
        } else {
            self.carry_names(&names);
        }
    }

    fn carry_names(&mut self, names: &[&str]) {
        // A file with several positions is one name in the new summary.
        let mut missing: HashMap<&str, usize> = HashMap::new();
        let mut carried = 0;
        for name in names.iter().map(|name| without_position(name)) {
            if self.known.has(name) {
                carried += 1;
            } else {
                *missing.entry(name).or_default() += 1;
            }
        }
        let needed = names.len().div_ceil(CARRIED_PART);
        for (rank, name) in self.ranked.clone().into_iter().enumerate() {
            if carried >= needed {
                return;
            }
            if name.is_carried()
                && let Some(count) = missing.get(name.text)
                && self.take_name(rank, name, u64::MAX)
            {
                carried += count;
            }
        }
    }

    fn carry_words(&mut self, previous: &str) {
        let words = distinct_words(previous);
        let needed = words.len().div_ceil(CARRIED_PART);
        let mut missing: HashSet<String> = words.into_iter().collect();
        let total = missing.len();
        for word in self.chosen.iter().flatten().flat_map(|chosen| distinct_words(&chosen.text)) {
            missing.remove(&word);
        }
        for section in Section::BY_WEIGHT {
            for (at, candidate) in self.candidates.in_section(section).iter().enumerate() {
                if total - missing.len() >= needed {
                    return;
                }
                if candidate.is_carried() && self.take(section, at, u64::MAX) {
                    for word in distinct_words(candidate.text) {
                        missing.remove(&word);
                    }
                }
            }
        }
    }
}

/// Returns the part of a text that stays in a line even if the line is cut.
fn certain_part(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let start = truncate_to_bytes(text, max.saturating_sub(8));
    start.rfind([' ', '\n']).and_then(|at| start.get(..at)).unwrap_or_default()
}

/// Writes the text. If it is over the cap although its lines were not, the least important lines are removed.
fn write(mut chosen: Sections, task: &SummaryTask<'_>) -> String {
    // The number of removed tokens is at least doubled each time, so that only a few counts are needed, whatever the
    // tokenizer.
    let mut more = 0;
    loop {
        let text = text(&chosen);
        let tokens = task.tokenizer.count(&text).tokens;
        if tokens <= task.max_tokens {
            return text;
        }
        more = more * 2 + 1;
        let mut over = (tokens - task.max_tokens).max(more);
        while over > 0 {
            let mut least_wanted = Section::BY_WEIGHT.iter().rev();
            let dropped = least_wanted.find_map(|section| chosen[*section as usize].pop());
            let Some(dropped) = dropped else { break };
            over = over.saturating_sub(dropped.cost.max(1));
        }
    }
}

fn text(chosen: &Sections) -> String {
    let mut text = String::new();
    for section in Section::ALL {
        let list = &chosen[section as usize];
        if list.is_empty() {
            continue;
        }
        text.push_str(section.layout().heading);
        let mut lines: Vec<&Chosen> = list.iter().collect();
        lines.sort_by_key(|line| line.position);
        let from = text.len();
        text.extend(lines.iter().map(|line| line.text.as_str()));
        if section == Section::Names {
            text.remove(from);
            text.push('\n');
        }
    }
    text
}
