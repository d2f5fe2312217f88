//! Collects data of a session before it is written: the speakers, the number of messages, and the cost.

use std::collections::HashMap;

use tertulia_session::{Entry, EntryKind, Message, PartKind, Role, Timestamp, TurnActivity};

use crate::session_file::name_of;

/// Maximum number of speakers that are named. Others are only counted.
const SPEAKERS_MAX: usize = 1000;

/// The data collected from all entries of a branch.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// The names of the speakers, in the order of their first messages.
    pub(super) speakers: Vec<Box<str>>,
    numbers: HashMap<Box<str>, usize>,
    pub(super) messages: u64,
    pub(super) calls: u64,
    pub(super) models: Vec<Box<str>>,
    pub(super) cost: f64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Survey {
    /// Adds the next entry. `at` is the time of the entry.
    pub fn add(&mut self, entry: &Entry, at: &Timestamp) {
        match &entry.kind {
            EntryKind::Message(message) => {
                self.first.get_or_insert_with(|| at.clone());
                self.last = Some(at.clone());
                self.add_message(message);
            }
            EntryKind::TurnEvent(event) => {
                self.calls += u64::from(matches!(event.activity, TurnActivity::ToolStarted { .. }));
            }
            EntryKind::Usage(usage) => {
                self.cost += usage.cost_usd.as_ref().map_or(0.0, |cost| cost.amount());
                if let Some(model) = &usage.model {
                    self.add_model(model);
                }
            }
            EntryKind::ModelChange(change) => self.add_model(&change.model),
            _ => {}
        }
    }

    /// Returns the time of the first message.
    pub fn first(&self) -> Option<&Timestamp> {
        self.first.as_ref()
    }

    /// Returns the time of the last message.
    pub fn last(&self) -> Option<&Timestamp> {
        self.last.as_ref()
    }

    /// Returns the number of a speaker, starting at 0.
    pub(super) fn number(&self, name: &str) -> usize {
        self.numbers.get(name).copied().unwrap_or(self.speakers.len())
    }

    fn add_message(&mut self, message: &Message) {
        let calls = message.parts.iter();
        let calls = calls.filter(|part| matches!(part.kind, PartKind::ToolCall(_))).count();
        self.calls += calls as u64;
        if message.effective_role() == Role::Tool {
            return;
        }
        self.messages += 1;
        let name = name_of(message);
        if !self.numbers.contains_key(name) && self.speakers.len() < SPEAKERS_MAX {
            self.numbers.insert(name.into(), self.speakers.len());
            self.speakers.push(name.into());
        }
    }

    fn add_model(&mut self, model: &str) {
        if self.models.len() < SPEAKERS_MAX && !self.models.iter().any(|known| **known == *model) {
            self.models.push(model.into());
        }
    }
}
