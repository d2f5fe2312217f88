//! The way from an entry back to its root, one entry at a time, as far as the caller wants to go.

use std::collections::HashSet;

use super::index::Parent;
use super::{EntryError, EntryIndex, ViewEntry};
use crate::Entry;

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

impl<'a, 'i> Walk<'a, 'i> {
    pub(super) fn new(index: &'i EntryIndex, log: &'a [Entry], start: Option<usize>) -> Self {
        Self { index, log, start, last: None, been: None }
    }

    /// The place after `last`.
    fn step(&mut self, last: usize) -> Result<Option<usize>, EntryError> {
        let parent = match self.index.parent(self.log, last) {
            Parent::None => return Ok(None),
            Parent::Missing(parent) => {
                return Err(EntryError::MissingParent {
                    entry: self.log[last].id.clone(),
                    parent: parent.clone(),
                });
            }
            Parent::At(parent) => parent,
        };
        if parent >= last && self.been.is_none() {
            self.been = Some(self.so_far(last));
        }
        let is_new = self.been.as_mut().is_none_or(|been| been.insert(parent));
        if !is_new {
            return Err(EntryError::ParentCycle {
                entry: self.log[last].id.clone(),
                parent: self.log[parent].id.clone(),
            });
        }
        Ok(Some(parent))
    }

    /// All places from the start to `last`.
    fn so_far(&self, last: usize) -> HashSet<usize> {
        let mut places = HashSet::from([last]);
        let mut next = self.start;
        while let Some(place) = next.filter(|place| *place != last) {
            places.insert(place);
            next = match self.index.parent(self.log, place) {
                Parent::At(parent) => Some(parent),
                Parent::None | Parent::Missing(_) => None,
            };
        }
        places
    }
}

impl<'a> Iterator for Walk<'a, '_> {
    type Item = Result<ViewEntry<'a>, EntryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = match self.last {
            None => self.start,
            Some(last) => match self.step(last) {
                Ok(place) => place,
                Err(error) => {
                    (self.start, self.last) = (None, None);
                    return Some(Err(error));
                }
            },
        };
        if place.is_none() {
            (self.start, self.last) = (None, None);
        } else {
            self.last = place;
        }
        self.index.see(self.log, place?).map(Ok)
    }
}
