//! The messages of a session, as far as later records refer to them: to keep them after a compaction, to roll back
//! turns, or to repeat them in the other log.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tertulia_session::{EntryId, EntryKind, Message, PartKind, Role};

use super::super::item::{Item, Parent};

/// Maximum number of messages of the screen that are compared with those of the model.
const SHOWN_MAX: usize = 16;

/// The messages of a session, without their texts.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The last record of the conversation.
    last: Option<Box<str>>,
    messages: Vec<Logged>,
    /// The positions of the messages with a fingerprint, in ascending order.
    positions: HashMap<u64, Vec<usize>>,
    /// Fingerprints of the screen's messages that the log of the model may repeat.
    shown: Vec<u64>,
    /// The text of the only record so far, if it comes from the screen.
    first_shown: Option<String>,
}

#[derive(Debug)]
struct Logged {
    hash: u64,
    place: Box<str>,
    /// The record before it, if it is a message of the user.
    turn_after: Option<Option<Box<str>>>,
}

impl Log {
    /// Records an item that was read.
    pub(super) fn follow(&mut self, place: &str, item: &Item) {
        if item.parent == Parent::Outside {
            return;
        }
        if let EntryKind::Message(message) = &item.kind {
            let is_user = message.role == Some(Role::User);
            let turn_after = is_user.then(|| self.last.clone());
            // A compaction omits the pictures of the messages that it keeps.
            let hash = fingerprint(message.role, &message.text(), 0);
            self.positions.entry(hash).or_default().push(self.messages.len());
            self.messages.push(Logged { hash, place: place.into(), turn_after });
        }
        self.last = Some(place.into());
    }

    /// Records a message of the screen.
    pub(super) fn show(&mut self, message: &Message) {
        let text = message.text();
        if self.shown.len() == SHOWN_MAX {
            self.shown.remove(0);
        }
        self.shown.push(fingerprint(message.role, &text, images(message)));
        self.first_shown = self.last.is_none().then(|| text.into_owned());
    }

    /// Returns whether the screen has already shown a message of the model's log.
    pub(super) fn shown(&mut self, message: &Message) -> Shown {
        if self.shown.is_empty() {
            return Shown::No;
        }
        let text = message.text();
        let hash = fingerprint(message.role, &text, images(message));
        let first = self.first_shown.take();
        if let Some(at) = self.shown.iter().position(|shown| *shown == hash) {
            self.shown.drain(..=at);
            return Shown::Same;
        }
        match first {
            Some(first) if self.messages.len() == 1 && text.starts_with(&first) => Shown::Less,
            _ => Shown::No,
        }
    }

    /// Returns the entries of the last messages with these fingerprints, in order. Also returns for every fingerprint
    /// whether such a message exists.
    pub(super) fn find(&self, wanted: &[u64]) -> (Vec<EntryId>, Vec<bool>) {
        let mut end = self.messages.len();
        let (mut ids, mut found) = (Vec::new(), vec![false; wanted.len()]);
        for (hash, found) in wanted.iter().zip(&mut found).rev() {
            let Some(positions) = self.positions.get(hash) else { continue };
            let before = positions.partition_point(|at| *at < end);
            let Some(at) = before.checked_sub(1).and_then(|last| positions.get(last)) else {
                continue;
            };
            (end, *found) = (*at, true);
            ids.extend(self.messages.get(*at).map(|logged| EntryId::from(&*logged.place)));
        }
        ids.reverse();
        (ids, found)
    }

    /// Rolls back the last turns of the user. Returns the parent of the next record.
    pub(super) fn roll_back(&mut self, turns: u64) -> Parent {
        let mut parent = Parent::Previous;
        for _ in 0..turns {
            let turn = loop {
                let Some(message) = self.messages.pop() else { return parent };
                if let Some(positions) = self.positions.get_mut(&message.hash) {
                    positions.pop();
                }
                if let Some(before) = message.turn_after {
                    break before;
                }
            };
            parent = match turn {
                Some(before) => Parent::Id(before),
                None => Parent::Root,
            };
        }
        parent
    }
}

/// The relation of a message to those of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    No,
    /// The same message was shown.
    Same,
    /// The beginning of its text was shown, and the message contains more.
    Less,
}

/// Returns a hash that is equal for messages with this role, this text and this number of pictures.
pub(super) fn fingerprint(role: Option<Role>, text: &str, images: usize) -> u64 {
    // The hasher gives the same result in every process.
    let mut hasher = DefaultHasher::new();
    (role.map(Role::as_str), text, images).hash(&mut hasher);
    hasher.finish()
}

/// Returns the number of pictures.
fn images(message: &Message) -> usize {
    message.parts.iter().filter(|part| matches!(part.kind, PartKind::Image(_))).count()
}
