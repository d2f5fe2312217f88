//! The beginning of a window that later builds need not read again. The index keeps it. Everything in it can be
//! computed again from the log.

use tertulia_session::{Entry, EntryKind};

use super::cut_state::CutState;
use super::window::{Window, generated_from};
use super::{Item, LogIndex, MessageRef, units};

/// The oldest messages of the last window that only a redaction or another cut can still change.
#[derive(Debug, Default)]
pub(super) struct Settled {
    by: Option<LogIndex>,
    recalled: Option<LogIndex>,
    /// In ascending order. None of them was repaired.
    entries: Vec<LogIndex>,
}

impl Settled {
    /// Returns the messages. Returns `None` if they belong to another cut, or if the newest request is older and not
    /// one of them.
    pub(super) fn items<'a>(
        &self,
        log: &'a [Entry],
        cut_state: &CutState<'_>,
        request: Option<LogIndex>,
    ) -> Option<Vec<Item<'a>>> {
        let last = *self.entries.last()?;
        let is_there =
            |request: LogIndex| request > last || self.entries.binary_search(&request).is_ok();
        if (self.by, self.recalled) != (cut_state.by, cut_state.recalled)
            || (cut_state.first_kept.is_some() && !request.is_none_or(is_there))
        {
            return None;
        }
        let mut items = Vec::with_capacity(self.entries.len() + NEW_ITEMS);
        for entry in self.entries.iter().copied() {
            let message = match &log.get(entry.0)?.kind {
                EntryKind::Message(message) => MessageRef::Logged(message),
                kind => generated_from(kind)?,
            };
            let is_before = Some(entry) < cut_state.first_kept;
            items.push(Item { is_before, ..Item::new(entry, message) });
        }
        Some(items)
    }

    /// Adds the messages that no later entry changes: whole units before the newest unit and before every repair.
    /// Every call in them has its result, so the repair of later messages does not need them. The first `known`
    /// items of the window are already settled.
    pub(super) fn extended(
        mut self,
        window: &Window<'_>,
        known: usize,
        cut_state: &CutState<'_>,
        log_end: LogIndex,
    ) -> Self {
        (self.by, self.recalled) = (cut_state.by, cut_state.recalled);
        self.entries.truncate(known);
        let new = &window.items[known..];
        let end = window.repairs.iter().map(|one| one.entry).fold(log_end, LogIndex::min);
        let units = units(new);
        for unit in units.split_last().map_or(&[][..], |(_, older)| older) {
            let entries = new[unit.items.clone()].iter().map(|item| item.entry);
            let follows = self.entries.last().copied().into_iter().chain(entries.clone());
            if !follows.is_sorted_by(|left, right| left < right)
                || entries.clone().any(|entry| entry >= end)
            {
                break;
            }
            self.entries.extend(entries);
        }
        // The walk along the branch must end after the cut.
        if self.entries.last().copied() < cut_state.first_kept {
            self.entries.clear();
        }
        self
    }
}

/// The approximate number of messages that a turn adds.
const NEW_ITEMS: usize = 8;
