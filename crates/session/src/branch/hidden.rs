//! The entries that redactions hide: their targets, and the summaries and recalled texts that may contain text of
//! the targets.
//!
//! A redaction applies from its position in the log on, to every branch. A summary becomes void if it was written
//! before the redaction and covers its target. It also becomes void if it covers or continues another void summary.
//! A later summary never had access to the text, so it stays valid; otherwise a range with a redacted entry could
//! never be summarized again.

use std::collections::HashMap;

use super::EntryError;
use super::ancestry::{Ancestry, Since};
use super::index::EntryIndex;
use crate::{BranchSummary, CompactionSummary, Entry, EntryId, EntryKind};

/// The hidden entries, and the redactions that hide them. All numbers are positions in the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    /// The first redaction of each target.
    redacted: HashMap<EntryId, usize>,
    /// Redactions that come before their targets, or whose targets do not exist.
    early: Vec<usize>,
    /// The latest redaction.
    newest: Option<usize>,
    /// For each void summary, a redaction that makes it void.
    void: HashMap<usize, usize>,
}

/// A summary to check: its position, its parent, and everything before it.
struct Case<'a> {
    index: &'a EntryIndex,
    log: &'a [Entry],
    ancestry: &'a Ancestry,
    position: usize,
    parent: Option<usize>,
}

impl Hidden {
    /// Hides an entry, which may not exist yet. Returns whether it was visible until now.
    pub(super) fn redact(&mut self, target: &EntryId, redaction: usize, is_early: bool) -> bool {
        self.early.extend(is_early.then_some(redaction));
        self.newest = self.newest.max(Some(redaction));
        let first = *self.redacted.entry(target.clone()).or_insert(redaction);
        first == redaction
    }

    /// Returns the redaction that hides this entry.
    pub(super) fn redacted_at(&self, id: &EntryId) -> Option<usize> {
        self.redacted.get(id).copied()
    }

    /// Returns the redaction that makes the summary at this position void.
    pub(super) fn void_at(&self, position: usize) -> Option<usize> {
        self.void.get(&position).copied()
    }

    /// Returns an error if a redaction has no target.
    pub(super) fn check_targets(
        &self,
        index: &EntryIndex,
        log: &[Entry],
    ) -> Result<(), EntryError> {
        for redaction in self.early.iter().filter_map(|position| log.get(*position)) {
            if let EntryKind::Redaction(fields) = &redaction.kind
                && index.position(&fields.target_id).is_none()
            {
                let (entry, target) = (redaction.id.clone(), fields.target_id.clone());
                return Err(EntryError::MissingTarget { entry, target });
            }
        }
        Ok(())
    }

    /// Finds the summaries that are void now. Visits every entry once, parents first.
    pub(super) fn find_void_summaries(&mut self, index: &EntryIndex, log: &[Entry]) {
        self.void.clear();
        let mut ancestry = Ancestry::new(index.len());
        let mut waiting = Vec::new();
        let mut waits = vec![false; index.len()];
        for position in 0..index.len() {
            let mut next = Some(position);
            // Several entries wait only if a parent comes later in the log than its child.
            while let Some(position) = next.filter(|position| !waits[*position]) {
                waits[position] = true;
                waiting.push(position);
                next = index.parent_position(log, position);
            }
            while let Some(position) = waiting.pop() {
                // A parent that still waits is part of a cycle, which no view can follow.
                let parent =
                    index.parent_position(log, position).filter(|parent| ancestry.has(*parent));
                let case = Case { index, log, ancestry: &ancestry, position, parent };
                let since = self.check_entry(&case);
                ancestry.add(position, parent, since);
            }
        }
    }

    fn check_entry(&mut self, case: &Case<'_>) -> Since {
        let position = case.position;
        let Some(entry) = case.log.get(position) else {
            return Since::default();
        };
        let (void, is_compaction) = match &entry.kind {
            EntryKind::CompactionSummary(summary) => (case.compaction_void_by(summary), true),
            EntryKind::BranchSummary(summary) => {
                (case.branch_summary_void_by(summary, self.newest), false)
            }
            EntryKind::Recall(recall) => (self.recall_void_by(position, &recall.source_ids), false),
            _ => (None, false),
        };
        if let Some(void) = void {
            self.void.insert(position, void);
        }
        let since = self.redacted_at(&entry.id).into_iter().chain(void).min();
        Since { entry: since, summary: since.filter(|_| is_compaction) }
    }

    /// Returns a redaction of one of the sources, if it is later than the recalled text. After an earlier redaction
    /// the text was no longer available.
    fn recall_void_by(&self, position: usize, sources: &[EntryId]) -> Option<usize> {
        let redactions = sources.iter().filter_map(|source| self.redacted_at(source));
        redactions.filter(|redaction| *redaction > position).min()
    }
}

impl Case<'_> {
    /// Returns the earliest redaction that makes this summary void. Such a redaction hides something in the range of
    /// the summary, or makes a summary void that this one continues.
    fn compaction_void_by(&self, summary: &CompactionSummary) -> Option<usize> {
        let covered = self.covered(summary);
        // The summary continues every earlier summary that was visible at the time, directly or through others.
        let carried =
            self.parent.and_then(|parent| self.hidden_later(parent, |since| since.summary));
        covered.into_iter().chain(carried).min()
    }

    /// Returns a redaction that hides something that the summary covers. If the summary does not name its range, or
    /// names unknown entries, it is assumed to cover everything before the first kept entry. If that is unknown too,
    /// it covers everything before itself. Hiding too much is safer than hiding too little.
    fn covered(&self, summary: &CompactionSummary) -> Option<usize> {
        let known =
            |id: &EntryId| self.index.position(id).filter(|position| self.ancestry.has(*position));
        let last = match &summary.covered_to_id {
            Some(last) => known(last).or(self.parent)?,
            None => match known(&summary.first_kept_entry_id) {
                Some(kept) => self.index.parent_position(self.log, kept)?,
                None => self.parent?,
            },
        };
        // `last` is only unvisited if there is a cycle of parents.
        let last = if self.ancestry.has(last) { last } else { self.parent? };
        let hidden = self.nearest_later(last, |since| since.entry)?;
        let first = summary.covered_from_id.as_ref().and_then(known);
        let first = first.filter(|first| self.ancestry.is_ancestor(*first, last));
        let is_covered = first.is_none_or(|first| self.ancestry.is_ancestor(first, hidden));
        is_covered.then(|| self.ancestry.since(hidden))?
    }

    /// Returns a redaction that hides something from the source back to its root. If the source is in another log,
    /// nothing is covered.
    fn branch_summary_void_by(
        &self,
        summary: &BranchSummary,
        newest: Option<usize>,
    ) -> Option<usize> {
        let source = self.index.position(&summary.source_entry_id)?;
        if !self.ancestry.has(source) {
            // The source comes later in the log, so it is not known yet what hides it.
            return newest.filter(|newest| *newest > self.position);
        }
        self.hidden_later(source, |since| since.entry)
    }

    fn hidden_later(&self, from: usize, of: fn(&Since) -> Option<usize>) -> Option<usize> {
        self.nearest_later(from, of).and_then(|hidden| self.ancestry.since(hidden))
    }

    fn nearest_later(&self, from: usize, of: fn(&Since) -> Option<usize>) -> Option<usize> {
        self.ancestry.nearest(from, self.position, of)
    }
}
