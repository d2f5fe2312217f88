//! The position of every entry of a log, its parent and the redaction that hides it. It is built once and updated as
//! the log grows, so that the cost of reading the newest entries depends only on their number.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::hidden::Hidden;
use super::{EntryError, ViewEntry};
use crate::{Entry, EntryId, EntryKind};

/// An index over a log in append order.
///
/// The parent of an entry is:
/// - the entry that `parentId` names, wherever in the log it is;
/// - without `parentId`, the entry before it, if no entry of the log has named a parent so far: a log without
///   branches is one chain;
/// - without `parentId`, none, if an earlier entry has named a parent: the entry starts a branch.
///
/// So later entries never change the parents of earlier ones. An entry that repeats an earlier one, with the same id
/// and content, is skipped.
#[derive(Clone, Debug, Default)]
pub struct EntryIndex {
    positions: HashMap<EntryId, usize>,
    links: Vec<Link>,
    newest: Option<usize>,
    names_parents: bool,
    hidden: Hidden,
}

/// The predecessor of an entry.
#[derive(Clone, Copy, Debug)]
enum Link {
    Root,
    Earlier(usize),
    /// An entry that did not exist when this one was added.
    Unknown,
}

impl EntryIndex {
    /// Creates an index of this log.
    pub fn over(log: &[Entry]) -> Result<Self, EntryError> {
        let mut index = Self::default();
        index.catch_up(log)?;
        Ok(index)
    }

    /// Adds the entries that were appended to the log since the last call. The cost depends on the number of new
    /// entries. If redactions are among them, every entry is visited once.
    ///
    /// After an error, the entries before the invalid one are indexed, and the next call returns
    /// the error again.
    pub fn catch_up(&mut self, log: &[Entry]) -> Result<(), EntryError> {
        let mut hides_more = false;
        let result = self.append_all(log, &mut hides_more);
        // This must happen even after an error, because every indexed entry that must be hidden has to be.
        if hides_more {
            let mut hidden = mem::take(&mut self.hidden);
            hidden.find_void_summaries(self, log);
            self.hidden = hidden;
        }
        result
    }

    /// Returns the number of indexed entries, including repeated ones.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Returns the 0-based position of this entry in the log.
    pub fn position(&self, id: &EntryId) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// Walks from the newest entry back to its root. The log must be the indexed one.
    pub fn walk<'a, 'i>(&'i self, log: &'a [Entry]) -> Result<Walk<'a, 'i>, EntryError> {
        self.check(log)?;
        Ok(Walk { index: self, log, start: self.newest, last: None, been: None })
    }

    /// Returns the parent of the entry at this position. The error is the id of a parent that is not in the log.
    fn parent<'a>(&self, log: &'a [Entry], position: usize) -> Result<Option<usize>, &'a EntryId> {
        match self.links.get(position) {
            Some(Link::Earlier(parent)) => Ok(Some(*parent)),
            Some(Link::Unknown) => {
                let named = log.get(position).and_then(|entry| entry.parent_id.as_ref());
                named.map(|id| self.position(id).ok_or(id)).transpose()
            }
            Some(Link::Root) | None => Ok(None),
        }
    }

    /// Returns the position of the parent; `None` for a root, and if the parent is not in the log.
    pub fn parent_position(&self, log: &[Entry], position: usize) -> Option<usize> {
        self.parent(log, position).ok().flatten()
    }

    /// Returns the position of the newest entry, where a walk begins.
    pub fn newest_position(&self) -> Option<usize> {
        self.newest
    }

    /// Returns the entry at this position with its visibility.
    pub fn view_entry<'a>(&self, log: &'a [Entry], position: usize) -> Option<ViewEntry<'a>> {
        let entry = log.get(position)?;
        let by = |position: usize| log.get(position).map(|redaction| &redaction.id);
        let redacted = self.hidden.redacted_at(&entry.id).and_then(by);
        let void = || self.hidden.void_at(position).and_then(by);
        // A purged entry names its redaction. This is the only source if the redaction is not in the log, or if the
        // entry was a void summary.
        let purged = || match &entry.kind {
            EntryKind::Purged(purged) => Some(&purged.by),
            _ => None,
        };
        let hidden_by = redacted.or_else(void).or_else(purged);
        Some(ViewEntry { entry, position, hidden_by })
    }

    fn append_all(&mut self, log: &[Entry], hides_more: &mut bool) -> Result<(), EntryError> {
        while let Some(entry) = log.get(self.links.len()) {
            *hides_more |= self.append(log, entry)?;
        }
        Ok(())
    }

    /// Adds the next entry. Returns whether it hides other entries.
    fn append(&mut self, log: &[Entry], entry: &Entry) -> Result<bool, EntryError> {
        let position = self.links.len();
        if let Some(first) = self.position(&entry.id) {
            if !log.get(first).is_some_and(|first| entry.repeats(first)) {
                let entry = entry.id.clone();
                return Err(EntryError::DuplicateId { entry, first, second: position });
            }
            self.links.push(Link::Root);
            return Ok(false);
        }
        self.names_parents |= entry.parent_id.is_some();
        let link = match &entry.parent_id {
            Some(parent) => self.position(parent).map_or(Link::Unknown, Link::Earlier),
            None if self.names_parents => Link::Root,
            None => self.newest.map_or(Link::Root, Link::Earlier),
        };
        self.links.push(link);
        self.positions.insert(entry.id.clone(), position);
        self.newest = Some(position);
        let EntryKind::Redaction(redaction) = &entry.kind else { return Ok(false) };
        let is_early = self.position(&redaction.target_id).is_none();
        Ok(self.hidden.redact(&redaction.target_id, position, is_early))
    }

    fn check(&self, log: &[Entry]) -> Result<(), EntryError> {
        if log.len() != self.links.len() {
            return Err(EntryError::OutOfStep { indexed: self.links.len(), given: log.len() });
        }
        self.hidden.check_targets(self, log)
    }
}

/// An iterator over the entries from the newest one back to its root. It ends after the first error.
#[derive(Clone, Debug)]
pub struct Walk<'a, 'i> {
    index: &'i EntryIndex,
    log: &'a [Entry],
    start: Option<usize>,
    last: Option<usize>,
    /// The visited positions. They are needed only after a step forward in the log: as long as every step goes back,
    /// there can be no cycle.
    been: Option<HashSet<usize>>,
}

impl Walk<'_, '_> {
    /// Returns the position after `last`.
    fn step(&mut self, last: usize) -> Result<Option<usize>, EntryError> {
        let missing = |parent: &EntryId| {
            let (entry, parent) = (self.log[last].id.clone(), parent.clone());
            EntryError::MissingParent { entry, parent }
        };
        let parent = self.index.parent(self.log, last).map_err(missing)?;
        let Some(parent) = parent else { return Ok(None) };
        if parent >= last && self.been.is_none() {
            self.been = Some(self.so_far(last));
        }
        let is_new = self.been.as_mut().is_none_or(|been| been.insert(parent));
        if !is_new {
            let (entry, parent) = (self.log[last].id.clone(), self.log[parent].id.clone());
            return Err(EntryError::ParentCycle { entry, parent });
        }
        Ok(Some(parent))
    }

    /// Returns all positions from the start to `last`.
    fn so_far(&self, last: usize) -> HashSet<usize> {
        let mut positions = HashSet::from([last]);
        let mut next = self.start;
        while let Some(position) = next.filter(|position| *position != last) {
            positions.insert(position);
            next = self.index.parent_position(self.log, position);
        }
        positions
    }
}

impl<'a> Iterator for Walk<'a, '_> {
    type Item = Result<ViewEntry<'a>, EntryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let position = match self.last {
            None => Ok(self.start),
            Some(last) => self.step(last),
        };
        self.last = position.as_ref().ok().copied().flatten();
        if self.last.is_none() {
            self.start = None;
        }
        match position {
            Ok(position) => self.index.view_entry(self.log, position?).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}
