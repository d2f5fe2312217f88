//! What is remembered of the messages of a session, so that later records can refer to them: to
//! keep them over a compaction, to take turns back, or to repeat them in the other log.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tertulia_session::{EntryId, EntryKind, Message, PartKind, Role};

use super::super::item::{Item, Parent};

/// How many messages of the screen are compared with those of the model.
const SHOWN_MAX: usize = 16;

/// The messages of a session, without their texts.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The last record of the conversation.
    last: Option<Box<str>>,
    messages: Vec<Logged>,
    /// The positions of the messages with a fingerprint, rising.
    positions: HashMap<u64, Vec<usize>>,
    /// Messages of the screen that the log of the model may repeat.
    shown: Vec<u64>,
    /// The text of the only record so far, if it is from the screen.
    first_shown: Option<String>,
}

#[derive(Debug)]
struct Logged {
    hash: u64,
    place: Box<str>,
    /// The record before it, if it is the user's.
    turn_after: Option<Option<Box<str>>>,
}

impl Log {
    /// Notes an item that was read.
    pub(super) fn follow(&mut self, place: &str, item: &Item) {
        if item.parent == Parent::Aside {
            return;
        }
        if let EntryKind::Message(message) = &item.kind {
            let is_user = message.role == Some(Role::User);
            let turn_after = is_user.then(|| self.last.clone());
            // A compaction leaves the pictures out of what it keeps.
            let hash = fingerprint(message.role, &message.text(), 0);
            self.positions.entry(hash).or_default().push(self.messages.len());
            self.messages.push(Logged { hash, place: place.into(), turn_after });
        }
        self.last = Some(place.into());
    }

    /// Notes a message of the screen.
    pub(super) fn show(&mut self, message: &Message) {
        let text = message.text();
        if self.shown.len() == SHOWN_MAX {
            self.shown.remove(0);
        }
        self.shown.push(fingerprint(message.role, &text, images(message)));
        self.first_shown = self.last.is_none().then(|| text.into_owned());
    }

    /// Returns how a message of the model's log relates to those that the screen already showed.
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

    /// Returns the entries of the last messages that have these fingerprints, in order, and for
    /// every fingerprint whether there is one.
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

    /// Takes back the last turns of the user. Returns what the next record follows.
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

/// How a message relates to those of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    No,
    /// It was shown as it is.
    Same,
    /// Its text was shown, and it holds more.
    Less,
}

/// Returns a number that messages with this text, and this number of pictures, share.
pub(super) fn fingerprint(role: Option<Role>, text: &str, images: usize) -> u64 {
    // The same for every process.
    let mut hasher = DefaultHasher::new();
    (role.map(Role::as_str), text, images).hash(&mut hasher);
    hasher.finish()
}

/// Returns the number of pictures.
fn images(message: &Message) -> usize {
    message.parts.iter().filter(|part| matches!(part.kind, PartKind::Image(_))).count()
}
