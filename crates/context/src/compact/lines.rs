//! Candidates: lines that may stand in a summary, and in which order each section wants them. Written
//! by [`super::gather`], read by [`super::choose`].

use std::collections::HashSet;

use super::sections::{Section, line, one_line};

/// A line that may be chosen.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    /// The id of its entry as it is written.
    pub(super) id: &'a str,
    /// What stands before the text: who said it, or what was done.
    pub(super) lead: &'a str,
    /// The text: a slice of a message or of the previous summary.
    pub(super) text: &'a str,
    /// What stands behind it: how it ended.
    pub(super) tail: String,
    /// Its place in the section: by message, carried lines first; then by part and by sentence.
    pub(super) place: (usize, usize, usize),
}

impl<'a> Candidate<'a> {
    pub(super) fn written(&self, max: usize) -> String {
        let text = one_line(self.text, max);
        line(self.id, &format!("{}{text}{}", self.lead, self.tail))
    }

    /// Whether it comes from the previous summary.
    pub(super) fn is_carried(&self) -> bool {
        self.place.0 == 0
    }
}

/// The candidates of all sections, in each the most wanted first.
#[derive(Default)]
pub(super) struct Candidates<'a> {
    lists: [Vec<Candidate<'a>>; Section::ALL.len()],
    seen: [HashSet<(&'a str, &'a str)>; Section::ALL.len()],
}

impl<'a> Candidates<'a> {
    /// Adds a line at the end, unless the section has the same one.
    pub(super) fn push(&mut self, section: Section, candidate: Candidate<'a>) {
        let at = section as usize;
        if let (Some(list), Some(seen)) = (self.lists.get_mut(at), self.seen.get_mut(at))
            && seen.insert((candidate.lead, candidate.text))
        {
            list.push(candidate);
        }
    }

    pub(super) fn of(&self, section: Section) -> &[Candidate<'a>] {
        self.lists.get(section as usize).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Two lists by turns, each in its order.
pub(super) fn by_turns<T>(left: Vec<T>, right: Vec<T>) -> Vec<T> {
    let mut both = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return both,
            (one, other) => both.extend(one.into_iter().chain(other)),
        }
    }
}
