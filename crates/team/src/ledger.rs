//! What was decided and why, found by the entries it rests on: the memory behind `why`. Filled by the
//! machine, live or in a replay.

use std::collections::HashMap;
use std::fmt;

use tertulia_session::{Cause, EntryId, Intent, TurnState};

use crate::effect::Question;
use crate::note::Note;

/// Something that the machine decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// A turn has a new state.
    Turn { turn: EntryId, entry: EntryId, member: Box<str>, state: TurnState, cause: Cause },
    /// Something was refused or changed.
    Note(Note),
    /// A person was asked; with the turns that a guard stopped by it, and the messages that they are for.
    Asked { question: Question, waiting: Vec<EntryId> },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    decisions: Vec<Decision>,
    by_entry: HashMap<EntryId, Vec<usize>>,
}

impl Decision {
    /// The entries that it is about.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Turn { turn, entry, cause, .. } => {
                let mut ids = cause.ids();
                ids.extend([turn, entry]);
                ids
            }
            Self::Note(note) => note.ids(),
            Self::Asked { question, waiting } => {
                question.why.ids().into_iter().chain(waiting).collect()
            }
        }
    }
}

impl Ledger {
    pub(crate) fn add(&mut self, decision: Decision) {
        let place = self.decisions.len();
        for id in decision.ids() {
            let places = self.by_entry.entry(id.clone()).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
        self.decisions.push(decision);
    }

    pub(crate) fn why(&self, entry: &str) -> Vec<&Decision> {
        let places = self.by_entry.get(entry).into_iter().flatten();
        places.filter_map(|place| self.decisions.get(*place)).collect()
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn { turn, member, state, cause, .. } => {
                let sentence = cause.sentence(member);
                write!(f, "{member}'s turn {turn} is {}: {sentence}", state.as_str())?;
                match cause {
                    Cause::Asked { intent, .. } if *intent != Intent::default() => {
                        write!(f, ", {}", intent.as_str())
                    }
                    _ => Ok(()),
                }
            }
            Self::Note(note) => note.fmt(f),
            // The person of the house has this name.
            Self::Asked { question: Question { to: Some(name), why }, .. } if **name == *"you" => {
                write!(f, "you were asked: {why}")
            }
            Self::Asked { question: Question { to, why }, .. } => {
                write!(f, "{} was asked: {why}", to.as_deref().unwrap_or("the person"))
            }
        }
    }
}
