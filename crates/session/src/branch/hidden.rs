//! What redactions hide: their targets, and the summaries and recalled texts that may hold text of them.
//!
//! A redaction counts from its place in the log on, for every branch. A summary is void if it was
//! written before the redaction and covers its target, or covers or carries on something that became
//! void by it. One written later never saw the text: it stays, or a region with a redacted entry could
//! never be summarised again.

use std::collections::HashMap;

use super::EntryError;
use super::ancestry::{Ancestry, Since};
use super::index::EntryIndex;
use crate::{BranchSummary, CompactionSummary, Entry, EntryId, EntryKind};

/// What is hidden, and by which redactions. All numbers are places in the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    /// The first redaction of each target.
    redacted: HashMap<EntryId, usize>,
    /// Redactions that came before their targets, if these came at all.
    early: Vec<usize>,
    /// The latest redaction of all.
    newest: Option<usize>,
    /// A redaction that makes this summary void.
    void: HashMap<usize, usize>,
}

/// A summary that is judged: its place, its parent, and all that came before it.
struct Case<'a> {
    index: &'a EntryIndex,
    log: &'a [Entry],
    ancestry: &'a Ancestry,
    place: usize,
    parent: Option<usize>,
}

impl Hidden {
    /// Hides an entry, which may not be there yet; says whether it was seen until now.
    pub(super) fn redact(&mut self, target: &EntryId, redaction: usize, is_early: bool) -> bool {
        self.early.extend(is_early.then_some(redaction));
        self.newest = self.newest.max(Some(redaction));
        let first = *self.redacted.entry(target.clone()).or_insert(redaction);
        first == redaction
    }

    /// The redaction that hides this entry.
    pub(super) fn redacted_at(&self, id: &EntryId) -> Option<usize> {
        self.redacted.get(id).copied()
    }

    /// The redaction that makes the summary at this place void.
    pub(super) fn void_at(&self, place: usize) -> Option<usize> {
        self.void.get(&place).copied()
    }

    /// Says which redaction has no target.
    pub(super) fn check_targets(
        &self,
        index: &EntryIndex,
        log: &[Entry],
    ) -> Result<(), EntryError> {
        for redaction in self.early.iter().filter_map(|place| log.get(*place)) {
            if let EntryKind::Redaction(fields) = &redaction.kind
                && index.place(&fields.target_id).is_none()
            {
                let (entry, target) = (redaction.id.clone(), fields.target_id.clone());
                return Err(EntryError::MissingTarget { entry, target });
            }
        }
        Ok(())
    }

    /// Finds the summaries that are void by now; one look at every entry, parents first.
    pub(super) fn judge(&mut self, index: &EntryIndex, log: &[Entry]) {
        self.void.clear();
        let mut ancestry = Ancestry::new(index.len());
        let mut waiting = Vec::new();
        let mut waits = vec![false; index.len()];
        for place in 0..index.len() {
            let mut next = Some(place);
            // More than one waits only where a parent comes later in the log than its child.
            while let Some(place) = next.filter(|place| !waits[*place]) {
                waits[place] = true;
                waiting.push(place);
                next = index.parent_place(log, place);
            }
            while let Some(place) = waiting.pop() {
                // A parent that still waits is part of a circle, which no view can follow.
                let parent = index.parent_place(log, place).filter(|parent| ancestry.has(*parent));
                let case = Case { index, log, ancestry: &ancestry, place, parent };
                let since = self.judge_one(&case);
                ancestry.add(place, parent, since);
            }
        }
    }

    fn judge_one(&mut self, case: &Case<'_>) -> Since {
        let place = case.place;
        let Some(entry) = case.log.get(place) else {
            return Since::default();
        };
        let (void, is_compaction) = match &entry.kind {
            EntryKind::CompactionSummary(summary) => (case.judge_compaction(summary), true),
            EntryKind::BranchSummary(summary) => (case.judge_branch(summary, self.newest), false),
            EntryKind::Recall(recall) => (self.judge_recall(place, &recall.source_ids), false),
            _ => (None, false),
        };
        if let Some(void) = void {
            self.void.insert(place, void);
        }
        let since = self.redacted_at(&entry.id).into_iter().chain(void).min();
        Since { entry: since, summary: since.filter(|_| is_compaction) }
    }

    /// A redaction of something that the text was put together from. One that came before took its text away in time.
    fn judge_recall(&self, place: usize, sources: &[EntryId]) -> Option<usize> {
        let redactions = sources.iter().filter_map(|source| self.redacted_at(source));
        redactions.filter(|redaction| *redaction > place).min()
    }
}

impl Case<'_> {
    /// A redaction that hides something in the range, or an earlier summary that this one carries on.
    fn judge_compaction(&self, summary: &CompactionSummary) -> Option<usize> {
        let covered = self.covered(summary);
        // Every earlier summary that could be seen at the time is carried on, by way of the others.
        let carried =
            self.parent.and_then(|parent| self.hidden_later(parent, |since| since.summary));
        covered.into_iter().chain(carried).min()
    }

    /// Where a summary does not say what it covers, or names what is not there, it is taken to cover
    /// all before what it kept, or all before itself: rather too much than too little.
    fn covered(&self, summary: &CompactionSummary) -> Option<usize> {
        let known = |id: &EntryId| self.index.place(id).filter(|place| self.ancestry.has(*place));
        let last = match &summary.covered_to_id {
            Some(last) => known(last).or(self.parent)?,
            None => match known(&summary.first_kept_entry_id) {
                Some(kept) => self.index.parent_place(self.log, kept)?,
                None => self.parent?,
            },
        };
        // Only in a circle of parents can it be that `last` was not looked at.
        let last = if self.ancestry.has(last) { last } else { self.parent? };
        let hidden = self.nearest_later(last, |since| since.entry)?;
        let first = summary.covered_from_id.as_ref().and_then(known);
        let first = first.filter(|first| self.ancestry.is_ancestor(*first, last));
        let is_covered = first.is_none_or(|first| self.ancestry.is_ancestor(first, hidden));
        is_covered.then(|| self.ancestry.since(hidden))?
    }

    /// All from the source back to its root is covered; nothing if the source is another log's.
    fn judge_branch(&self, summary: &BranchSummary, newest: Option<usize>) -> Option<usize> {
        let source = self.index.place(&summary.source_entry_id)?;
        if !self.ancestry.has(source) {
            // A source that comes later in the log: what hides it is not known yet.
            return newest.filter(|newest| *newest > self.place);
        }
        self.hidden_later(source, |since| since.entry)
    }

    fn hidden_later(&self, from: usize, of: fn(&Since) -> Option<usize>) -> Option<usize> {
        self.nearest_later(from, of).and_then(|hidden| self.ancestry.since(hidden))
    }

    fn nearest_later(&self, from: usize, of: fn(&Since) -> Option<usize>) -> Option<usize> {
        self.ancestry.nearest(from, self.place, of)
    }
}
