//! Candidates: possible lines of a summary, in each section's order of preference. Most sections prefer the newest.
//! Constraints alternate between those of the previous summary, oldest first, and new ones, newest first, so that
//! neither kind displaces the other. Notes are ordered by importance. Called by [`super::gather`].

use std::collections::HashSet;

use super::calls::is_read_only;
use super::names::Names;
use super::previous::{Carried, CarriedLine};
use super::sections::{Section, line, one_line};
use super::work::subject;
use crate::identifiers::identifiers;

#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) id: &'a str,
    /// The text before it: the speaker or the action.
    pub(super) lead: &'a str,
    /// The text: a slice of a message or of the previous summary.
    pub(super) text: &'a str,
    /// The text after it: the result.
    pub(super) tail: String,
    /// Its position in the section: by message, lines of the previous summary first; then by part and by sentence.
    pub(super) position: (usize, usize, usize),
}

impl<'a> Candidate<'a> {
    pub(super) fn written(&self, max: usize) -> String {
        let text = one_line(self.text, max);
        line(self.id, &format!("{}{text}{}", self.lead, self.tail))
    }

    pub(super) fn is_carried(&self) -> bool {
        self.position.0 == 0
    }
}

#[derive(Default)]
pub(super) struct Candidates<'a> {
    lists: [Vec<Candidate<'a>>; Section::ALL.len()],
    seen: [HashSet<(&'a str, &'a str)>; Section::ALL.len()],
}

impl<'a> Candidates<'a> {
    /// Adds lines at the end, except those that the section already contains.
    fn add(&mut self, section: Section, lines: impl IntoIterator<Item = Candidate<'a>>) {
        let seen = &mut self.seen[section as usize];
        let new = lines.into_iter().filter(|line| seen.insert((line.lead, line.text)));
        self.lists[section as usize].extend(new);
    }

    pub(super) fn in_section(&self, section: Section) -> &[Candidate<'a>] {
        &self.lists[section as usize]
    }
}

#[derive(Default)]
pub(super) struct Lists<'a> {
    pub(super) goal: Vec<Candidate<'a>>,
    pub(super) requests: Vec<Candidate<'a>>,
    /// By how binding they are: rules of users, preferences of users, rules of the system.
    pub(super) constraints: [Vec<Candidate<'a>>; 3],
    pub(super) decisions: Vec<Candidate<'a>>,
    pub(super) done: Vec<Candidate<'a>>,
    /// Files that were written and commands that were run, newest first.
    pub(super) files: Vec<Candidate<'a>>,
    pub(super) commands: Vec<Candidate<'a>>,
    pub(super) errors: Vec<Candidate<'a>>,
    pub(super) open: Vec<Candidate<'a>>,
    /// A question that nobody answered.
    pub(super) open_question: Option<Candidate<'a>>,
    /// The newest to-do list, and every task that was completed.
    pub(super) steps: Vec<Candidate<'a>>,
    pub(super) closed: HashSet<&'a str>,
    /// Other sentences of assistants, with the weight of their cues.
    pub(super) notes: Vec<(u64, Candidate<'a>)>,
}

pub(super) fn order<'a>(
    mut found: Lists<'a>,
    carried: &Carried<'a>,
    names: &Names<'a>,
    messages: usize,
) -> Candidates<'a> {
    let mut candidates = Candidates::default();
    let named = found.files.iter().chain(&found.commands);
    let named: HashSet<&str> = named.map(|line| line.text).collect();
    let is_over = |line: &CarriedLine<'a>| match line.section {
        Section::Open => found.closed.contains(line.text),
        Section::Files | Section::Commands => named.contains(subject(line.text)),
        _ => false,
    };
    let old = |section| -> Vec<Candidate<'a>> {
        let lines = carried.lines.iter().filter(|line| line.section == section && !is_over(line));
        let candidate = |(at, line): (usize, &CarriedLine<'a>)| {
            let (lead, tail) = ("", String::new());
            Candidate { id: line.id, lead, text: line.text, tail, position: (0, at, 0) }
        };
        lines.enumerate().map(candidate).collect()
    };

    let goal = old(Section::Goal);
    // There is only one goal, the very first one. Later ones count as requests.
    let first = std::mem::take(&mut found.goal);
    if goal.is_empty() {
        candidates.add(Section::Goal, first);
    } else {
        candidates.add(Section::Goal, goal);
        found.requests.splice(0..0, first);
    }
    let mut newest_first = |section, new: Vec<Candidate<'a>>| {
        let lines = new.into_iter().rev().chain(old(section).into_iter().rev());
        candidates.add(section, lines);
    };
    newest_first(Section::Requests, found.requests);
    newest_first(Section::Decisions, found.decisions);
    newest_first(Section::Errors, found.errors);
    newest_first(Section::Done, found.done);
    found.files.reverse();
    newest_first(Section::Files, found.files);
    let mut open = found.open;
    open.extend(found.open_question);
    open.extend(found.steps.into_iter().rev());
    newest_first(Section::Open, open);

    // Commands that only read are the least important ones, however new they are.
    let old_commands = old(Section::Commands).into_iter().rev();
    let commands = found.commands.into_iter().chain(old_commands);
    let (reading, acting): (Vec<_>, Vec<_>) = commands.partition(|line| is_read_only(line.text));
    candidates.add(Section::Commands, acting.into_iter().chain(reading));

    let [rules, preferences, system] = found.constraints;
    let new = [rules, preferences, system].into_iter().flat_map(|list| list.into_iter().rev());
    candidates.add(Section::Constraints, interleave(old(Section::Constraints), new.collect()));

    let notes = interleave(most_important_first(found.notes, names, messages), old(Section::Notes));
    candidates.add(Section::Notes, notes);
    candidates
}

/// Sorts sentences by importance: by their names, by words that announce a finding, and by age.
fn most_important_first<'a>(
    notes: Vec<(u64, Candidate<'a>)>,
    names: &Names<'a>,
    messages: usize,
) -> Vec<Candidate<'a>> {
    let messages = messages.max(1) as u64;
    let mut scored: Vec<(u64, Candidate<'a>)> = notes
        .into_iter()
        .map(|(weight, note)| {
            let named: u64 = identifiers(note.text).take(6).map(|name| names.value(name)).sum();
            let recency = 40 * note.position.0 as u64 / messages;
            let length = note.text.len() as u64;
            let score = weight + recency + (named / 8).min(80);
            (score * 1000 / (length + 120), note)
        })
        .collect();
    scored.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.position.cmp(&right.1.position)));
    scored.into_iter().map(|(_, note)| note).collect()
}

/// Returns the lines of two lists alternately, each in its order.
fn interleave<T>(left: Vec<T>, right: Vec<T>) -> Vec<T> {
    let mut both = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return both,
            (one, other) => both.extend(one.into_iter().chain(other)),
        }
    }
}
