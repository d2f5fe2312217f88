//! Follows the asks of a session from its entries, for displays: reports the result when an ask has ended. Every process
//! that sees the entries computes the same result.

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{AskRound, Cause, Entry, EntryId, EntryKind, Turn, TurnState, Usage};

use super::result::AskResult;
use super::state::AskState;

/// Computes the results of asks from the entries of a session.
#[derive(Clone, Debug, Default)]
pub struct AskFollower {
    asks: BTreeMap<EntryId, Followed>,
    /// The ask of each turn that belongs to one.
    turns: HashMap<EntryId, EntryId>,
    /// The ask of the newest turn of each member; `None` if that turn belongs to none.
    newest: HashMap<Box<str>, Option<EntryId>>,
    /// The question of the newest ask.
    last: Option<EntryId>,
    /// The texts of the messages that were said while an ask is open.
    texts: HashMap<EntryId, String>,
}

#[derive(Clone, Debug, Default)]
struct Followed {
    state: AskState,
    /// The texts that compare the answers.
    texts: HashMap<EntryId, String>,
    usages: Vec<Usage>,
    is_open: bool,
}

impl AskFollower {
    /// Reads the next entry. Returns the result of an ask that has ended with it.
    pub fn on_entry(&mut self, entry: &Entry) -> Option<AskResult> {
        match &entry.kind {
            EntryKind::Message(message) => {
                let routing = message.routing.as_deref();
                if let Some(ask) = routing.and_then(|routing| routing.ask.as_deref()) {
                    let state = AskState::new(ask);
                    self.asks.insert(entry.id.clone(), Followed { state, ..Followed::default() });
                    self.last = Some(entry.id.clone());
                }
                if self.asks.values().any(|one| one.is_open) {
                    self.texts.insert(entry.id.clone(), message.text().into_owned());
                }
                None
            }
            EntryKind::Usage(usage) => {
                let question = self.newest.get(&usage.member)?.as_ref()?;
                self.asks.get_mut(question)?.usages.push(usage.clone());
                None
            }
            EntryKind::Turn(turn) => {
                let question = self.turn(entry.turn_id()?, turn)?;
                self.ended(&question)
            }
            _ => None,
        }
    }

    /// Returns the question of the newest ask.
    pub fn last(&self) -> Option<&EntryId> {
        self.last.as_ref()
    }

    /// Returns the result of an ask so far.
    pub fn result(&self, question: &EntryId) -> Option<AskResult> {
        let Followed { state, texts, usages, .. } = self.asks.get(question)?;
        Some(AskResult::new(question, state, texts, usages))
    }

    /// Returns whether turns of an ask are still to come.
    pub fn is_open(&self, question: &EntryId) -> bool {
        self.asks.get(question).is_some_and(|one| one.state.is_open())
    }

    /// Returns the round of a turn, and the question of its ask.
    pub fn round_of(&self, turn: &EntryId) -> Option<(AskRound, &EntryId)> {
        let question = self.turns.get(turn)?;
        let state = &self.asks.get(question)?.state;
        Some((state.turns.iter().find(|one| one.turn == *turn)?.round, question))
    }

    /// Applies a change of a turn. Returns the question of its ask.
    fn turn(&mut self, id: &EntryId, turn: &Turn) -> Option<EntryId> {
        let (question, replaces, round) = match &turn.cause {
            Cause::Consulted { entry, turn, round, .. } => {
                (Some(entry.clone()), turn.as_ref(), Some(*round))
            }
            Cause::Repeated { turn, entry, .. } => {
                let round = self.round_of(turn).map(|(round, _)| round);
                (round.map(|_| entry.clone()), Some(turn), round)
            }
            _ => (self.turns.get(id).cloned(), None, None),
        };
        if turn.state == TurnState::Started {
            self.newest.insert(turn.member.clone(), question.clone());
        }
        let question = question?;
        if let Some(round) = round {
            self.turns.insert(id.clone(), question.clone());
            let followed = self.asks.entry(question.clone()).or_default();
            followed.state.queued(id, &turn.member, round, replaces);
        }
        let followed = self.asks.get_mut(&question)?;
        followed.state.changed(id, turn.state, &turn.cause);
        if let Cause::Answered { entry } = &turn.cause {
            let text = self.texts.remove(entry);
            followed.texts.extend(text.map(|text| (entry.clone(), text)));
        }
        Some(question)
    }

    fn ended(&mut self, question: &EntryId) -> Option<AskResult> {
        let followed = self.asks.get_mut(question)?;
        let was_open = std::mem::replace(&mut followed.is_open, followed.state.is_open());
        let has_ended = was_open && !followed.is_open;
        if self.asks.values().all(|one| !one.is_open) {
            self.texts.clear();
        }
        // A part of an ask whose question was not read shows too little.
        let followed = self.asks.get(question).filter(|one| has_ended && one.state.ask.is_some());
        followed.and_then(|_| self.result(question))
    }
}
