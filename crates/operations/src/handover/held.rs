//! What a session of an agent has of a log already: the entries that were read from it, and those that earlier receipts
//! account for.

use std::collections::HashMap;

use tertulia_session::{Entry, EntryIndex, EntryKind, NativeDirection};

use super::items::other_status;
use super::links::{Link, Source};
use super::receipt::{Item, ItemStatus, Receipt};

/// What the agent's session has.
#[derive(Debug)]
pub(super) struct Held {
    /// How the session has every entry; `None` for entries that it does not have.
    states: Vec<State>,
    /// The items of earlier receipts, by the number of the entry.
    earlier: HashMap<u64, Vec<Item>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The entry was read from it.
    Read,
    /// It was handed over before.
    Written,
    /// It is new, and was not chosen.
    Skipped,
    OtherBranch,
}

impl Held {
    pub(super) fn new(
        entries: &[Entry],
        index: &EntryIndex,
        (branch, new): (&[usize], &[usize]),
        link: &Link,
    ) -> Self {
        let source = Source::new(entries, link);
        let state = |at: usize| match () {
            () if source.has(entries, index, at) => State::Read,
            () if new.binary_search(&at).is_ok() => State::Skipped,
            () if branch.binary_search(&at).is_ok() => State::Written,
            () => State::OtherBranch,
        };
        let states = (0..entries.len()).map(state).collect();
        Self { states, earlier: earlier_items(entries, link) }
    }

    /// Returns what became of the items of an entry that is not written now.
    pub(super) fn statuses(&self, at: usize, entry: &Entry, items: &[Item]) -> Vec<ItemStatus> {
        let all = |status: ItemStatus| vec![status; items.len()];
        let left_out = |reason: &str| all(ItemStatus::LeftOut { reason: reason.into() });
        if entry.is_purged() {
            return all(other_status(entry));
        }
        let state = self.states.get(at).copied().unwrap_or(State::OtherBranch);
        if state == State::Read {
            return all(ItemStatus::Kept);
        }
        let earlier = self.earlier.get(&(at as u64 + 1));
        if let Some(earlier) = earlier.filter(|earlier| is_of_same_items(earlier, items)) {
            return earlier.iter().map(|item| item.status.clone()).collect();
        }
        match (state, entry.message().is_some()) {
            (_, false) => all(other_status(entry)),
            (State::Read | State::Written, true) => all(ItemStatus::Kept),
            (State::Skipped, true) => left_out("it is older than what --last allows"),
            (State::OtherBranch, true) => left_out("it is on another branch"),
        }
    }
}

/// Whether two lists are about the same items: an entry that was changed since, or another log, has others.
fn is_of_same_items(earlier: &[Item], items: &[Item]) -> bool {
    let is_same = |(one, other): (&Item, &Item)| (one.kind, one.bytes) == (other.kind, other.bytes);
    earlier.len() == items.len() && earlier.iter().zip(items).all(is_same)
}

/// Returns the items of the receipts of earlier handovers to a session; the newest receipt that has an entry counts.
fn earlier_items(entries: &[Entry], link: &Link) -> HashMap<u64, Vec<Item>> {
    let mut earlier: HashMap<u64, Vec<Item>> = HashMap::new();
    for entry in entries {
        let EntryKind::NativeSession(native) = &entry.kind else { continue };
        let is_it = native.direction == NativeDirection::Written
            && *native.agent == *link.format.as_str()
            && native.native_session_id == link.native_session_id;
        let receipt = native.receipt.as_ref().filter(|_| is_it);
        let Some(Ok(receipt)) = receipt.map(|json| Receipt::read(json.raw())) else { continue };
        for items in receipt.items.chunk_by(|one, next| one.entry == next.entry) {
            if let [first, ..] = items {
                earlier.insert(first.entry, items.to_vec());
            }
        }
    }
    earlier
}
