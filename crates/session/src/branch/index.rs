//! Where every entry of a log is, what it follows and what hides it. Built once and kept up to date as
//! the log grows, so that a look at the newest entries costs no more than their number.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::hidden::Hidden;
use super::{EntryError, ViewEntry};
use crate::{Entry, EntryId, EntryKind};

/// An index over a log in append order.
///
/// What it takes for the parent of an entry:
/// - the entry that `parentId` names, wherever in the log it is;
/// - without `parentId`, the entry before it, as long as no entry of the log has named a parent: logs
///   that know no branches are one chain;
/// - without `parentId`, none, once an entry has named a parent: the entry starts a branch.
///
/// So what follows never changes the parent of what was there. An entry that repeats an earlier one,
/// same id and same content, is passed over.
#[derive(Clone, Debug, Default)]
pub struct EntryIndex {
    places: HashMap<EntryId, usize>,
    links: Vec<Link>,
    newest: Option<usize>,
    names_parents: bool,
    hidden: Hidden,
}

/// What an entry follows.
#[derive(Clone, Copy, Debug)]
enum Link {
    Root,
    Earlier(usize),
    /// An entry that was not there when this one came.
    Unknown,
}

impl EntryIndex {
    /// An index over this log.
    pub fn over(log: &[Entry]) -> Result<Self, EntryError> {
        let mut index = Self::default();
        index.catch_up(log)?;
        Ok(index)
    }

    /// Takes in the entries that were appended to the log since. Costs what is new; with redactions
    /// among it, one look at every entry.
    ///
    /// An error is found again at the same entry by the next call; those before it are known.
    pub fn catch_up(&mut self, log: &[Entry]) -> Result<(), EntryError> {
        let mut hides_more = false;
        let result = self.append_all(log, &mut hides_more);
        // Also after an error: of what was taken in, all must be hidden that is to be.
        if hides_more {
            let mut hidden = mem::take(&mut self.hidden);
            hidden.judge(self, log);
            self.hidden = hidden;
        }
        result
    }

    /// How many entries it knows, repeated ones among them.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The place of this entry in the log, from 0.
    pub fn place(&self, id: &EntryId) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// From the newest entry back to its root. The log must be the one that the index has seen.
    pub fn walk<'a, 'i>(&'i self, log: &'a [Entry]) -> Result<Walk<'a, 'i>, EntryError> {
        self.check(log)?;
        Ok(Walk { index: self, log, start: self.newest, last: None, been: None })
    }

    /// What the entry at this place follows; an error is the id of one that is not in the log.
    fn parent<'a>(&self, log: &'a [Entry], place: usize) -> Result<Option<usize>, &'a EntryId> {
        match self.links.get(place) {
            Some(Link::Earlier(parent)) => Ok(Some(*parent)),
            Some(Link::Unknown) => {
                let named = log.get(place).and_then(|entry| entry.parent_id.as_ref());
                named.map(|id| self.place(id).ok_or(id)).transpose()
            }
            Some(Link::Root) | None => Ok(None),
        }
    }

    /// The place of the entry that the one at this place follows; `None` for a root, and where the
    /// parent is not in the log.
    pub fn parent_place(&self, log: &[Entry], place: usize) -> Option<usize> {
        self.parent(log, place).ok().flatten()
    }

    /// The place of the newest entry, where a walk begins.
    pub fn newest_place(&self) -> Option<usize> {
        self.newest
    }

    /// The entry at this place as it may be seen.
    pub fn see<'a>(&self, log: &'a [Entry], place: usize) -> Option<ViewEntry<'a>> {
        let entry = log.get(place)?;
        let by = |place: usize| log.get(place).map(|redaction| &redaction.id);
        let redacted = self.hidden.redacted_at(&entry.id).and_then(by);
        let void = || self.hidden.void_at(place).and_then(by);
        // Where the redaction itself is gone, or a summary became void with it, only this is left.
        let purged = || match &entry.kind {
            EntryKind::Purged(purged) => Some(&purged.by),
            _ => None,
        };
        let hidden_by = redacted.or_else(void).or_else(purged);
        Some(ViewEntry { entry, place, hidden_by })
    }

    fn append_all(&mut self, log: &[Entry], hides_more: &mut bool) -> Result<(), EntryError> {
        while let Some(entry) = log.get(self.links.len()) {
            *hides_more |= self.append(log, entry)?;
        }
        Ok(())
    }

    /// Takes in the next entry; says whether more is hidden now.
    fn append(&mut self, log: &[Entry], entry: &Entry) -> Result<bool, EntryError> {
        let place = self.links.len();
        if let Some(first) = self.place(&entry.id) {
            if !log.get(first).is_some_and(|first| entry.repeats(first)) {
                let entry = entry.id.clone();
                return Err(EntryError::DuplicateId { entry, first, second: place });
            }
            self.links.push(Link::Root);
            return Ok(false);
        }
        self.names_parents |= entry.parent_id.is_some();
        let link = match &entry.parent_id {
            Some(parent) => self.place(parent).map_or(Link::Unknown, Link::Earlier),
            None if self.names_parents => Link::Root,
            None => self.newest.map_or(Link::Root, Link::Earlier),
        };
        self.links.push(link);
        self.places.insert(entry.id.clone(), place);
        self.newest = Some(place);
        let EntryKind::Redaction(redaction) = &entry.kind else { return Ok(false) };
        let is_early = self.place(&redaction.target_id).is_none();
        Ok(self.hidden.redact(&redaction.target_id, place, is_early))
    }

    fn check(&self, log: &[Entry]) -> Result<(), EntryError> {
        if log.len() != self.links.len() {
            return Err(EntryError::OutOfStep { indexed: self.links.len(), given: log.len() });
        }
        self.hidden.check_targets(self, log)
    }
}

/// The entries from a tail back to its root, newest first. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Walk<'a, 'i> {
    index: &'i EntryIndex,
    log: &'a [Entry],
    start: Option<usize>,
    last: Option<usize>,
    /// Where the walk has been. Kept only once it went forwards in the log: as long as every step
    /// goes back, it cannot meet itself.
    been: Option<HashSet<usize>>,
}

impl Walk<'_, '_> {
    /// The place after `last`.
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

    /// All places from the start to `last`.
    fn so_far(&self, last: usize) -> HashSet<usize> {
        let mut places = HashSet::from([last]);
        let mut next = self.start;
        while let Some(place) = next.filter(|place| *place != last) {
            places.insert(place);
            next = self.index.parent_place(self.log, place);
        }
        places
    }
}

impl<'a> Iterator for Walk<'a, '_> {
    type Item = Result<ViewEntry<'a>, EntryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = match self.last {
            None => Ok(self.start),
            Some(last) => self.step(last),
        };
        self.last = place.as_ref().ok().copied().flatten();
        if self.last.is_none() {
            self.start = None;
        }
        match place {
            Ok(place) => self.index.see(self.log, place?).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }
}
