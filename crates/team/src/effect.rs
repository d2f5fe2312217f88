//! What the machine wants done. Data only; the driver performs it, in order, the entries of one step in
//! one append.

use std::fmt;

use tertulia_context::Intent;
use tertulia_session::{EntryId, EntryKind};

use crate::money::Dollars;
use crate::{Note, SpeakerError};

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append this entry under this id: a turn's new state, or that the person said "go on".
    Append {
        /// The id. It follows from the decision, so appending twice is harmless.
        id: EntryId,
        /// The payload. The driver may add a prompt's hash to a turn.
        kind: EntryKind,
    },
    /// Let an agent answer. The same step has appended that it started.
    StartTurn {
        /// The turn.
        turn: EntryId,
        /// Who answers.
        member: Box<str>,
        /// The message to be answered.
        parent: EntryId,
        /// What brought the turn about: the message, or the turn that is repeated.
        trigger: EntryId,
        /// How urgent it is.
        intent: Intent,
    },
    /// Stop the agent of this turn, and report its end.
    CancelTurn {
        /// The turn.
        turn: EntryId,
        /// Whose it is.
        member: Box<str>,
    },
    /// Ask the person.
    AskPerson(Question),
    /// The team has this task from here on; `None` takes it away.
    SetTeamTask {
        /// The person's message.
        entry: EntryId,
        /// The task.
        task: Option<String>,
    },
    /// Say what was refused or changed.
    Note(Note),
    /// Nothing runs, nothing waits and nobody is asked.
    Rest,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Whom to ask; `None` where no person sits at the table.
    pub to: Option<Box<str>>,
    /// Why.
    pub why: Why,
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is their turn.
    Answer {
        /// Their turn.
        turn: EntryId,
        /// The message that they are to answer.
        entry: EntryId,
    },
    /// Agents had many turns since a person last spoke.
    LoopGuard {
        /// How many.
        turns: u32,
    },
    /// The same two agents answer each other again and again.
    PairLoop {
        /// Both of them; one name twice for an agent that addresses itself.
        pair: [Box<str>; 2],
        /// How many turns that were.
        turns: u32,
    },
    /// A spending limit is reached.
    Spending {
        /// Whose limit; `None` for that of the session.
        member: Option<Box<str>>,
        /// What was spent.
        spent: Dollars,
        /// What was allowed.
        allowed: Dollars,
    },
    /// None of the names in a message is known.
    Unresolved {
        /// The message.
        entry: EntryId,
        /// The names, each with the nearest known one.
        names: Vec<(Box<str>, Option<Box<str>>)>,
    },
    /// A message that addresses nobody, and no agent sits at the table.
    NobodyToAnswer {
        /// The message.
        entry: EntryId,
    },
    /// It is not clear which person speaks. The message was not routed.
    WhoSpeaks {
        /// The message.
        entry: EntryId,
        /// What is not clear.
        error: SpeakerError,
    },
    /// An agent failed, and nothing else waits.
    Failed {
        /// The turn.
        turn: EntryId,
        /// Whose it was.
        member: Box<str>,
        /// The class of the failure.
        class: Box<str>,
    },
    /// The person cancelled a turn that ran; others wait for a word.
    Cancelled {
        /// The turn.
        turn: EntryId,
        /// How many wait.
        waiting: usize,
    },
    /// The table was opened again.
    Resumed {
        /// The turn that ran when it stopped.
        interrupted: Option<EntryId>,
        /// How many wait.
        waiting: usize,
    },
}

impl Why {
    /// The entries that the question rests on.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Answer { turn, entry } => vec![turn, entry],
            Self::Unresolved { entry, .. }
            | Self::NobodyToAnswer { entry }
            | Self::WhoSpeaks { entry, .. } => vec![entry],
            Self::Failed { turn, .. } | Self::Cancelled { turn, .. } => vec![turn],
            Self::Resumed { interrupted, .. } => interrupted.iter().collect(),
            Self::LoopGuard { .. } | Self::PairLoop { .. } | Self::Spending { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { entry, .. } => write!(f, "{entry} is for you to answer"),
            Self::LoopGuard { turns: 1 } => {
                f.write_str("the agents had a turn since a person spoke; shall they go on?")
            }
            Self::LoopGuard { turns } => {
                write!(f, "the agents had {turns} turns since a person spoke; shall they go on?")
            }
            Self::PairLoop { pair: [a, b], turns: 1 } => {
                write!(f, "{a} and {b} had a turn with each other; shall they go on?")
            }
            Self::PairLoop { pair: [a, b], turns } => {
                write!(f, "{a} and {b} had {turns} turns with each other; shall they go on?")
            }
            Self::Spending { member, allowed, .. } if *allowed == Dollars::default() => {
                let who = member.as_deref().unwrap_or("the session");
                write!(
                    f,
                    "{who} may cost nothing (budget_usd = 0 in the team file), so no turn begins"
                )
            }
            Self::Spending { member, spent, allowed } => {
                let who = member.as_deref().unwrap_or("the session");
                write!(f, "{who} has spent ${spent} of ${allowed}; shall it go on?")
            }
            Self::Unresolved { entry, names } => write_unresolved(f, entry, names),
            Self::NobodyToAnswer { entry } => {
                write!(f, "{entry} addresses nobody, and no agent sits at the table")
            }
            Self::WhoSpeaks { entry, error } => write!(f, "{entry} was not routed: {error}"),
            Self::Failed { turn, member, class } => {
                write!(
                    f,
                    "{member} could not answer ({class}); repeat turn {turn}, or say how to go on"
                )
            }
            Self::Cancelled { turn, waiting } => {
                let those = Waiting(*waiting);
                write!(f, "turn {turn} was cancelled; shall {those} go on?")
            }
            Self::Resumed { interrupted: Some(turn), waiting: 0 } => {
                write!(f, "turn {turn} was interrupted; shall it be repeated?")
            }
            Self::Resumed { interrupted: Some(turn), waiting } => {
                let those = Waiting(*waiting);
                write!(f, "turn {turn} was interrupted; repeat it, or go on with {those}?")
            }
            Self::Resumed { interrupted: None, waiting } => {
                let those = Waiting(*waiting);
                write!(f, "the table was opened again; shall {those} go on?")
            }
        }
    }
}

/// The turns that wait, in words.
struct Waiting(usize);

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("the one that waits"),
            count => write!(f, "the {count} that wait"),
        }
    }
}

fn write_unresolved(
    f: &mut fmt::Formatter<'_>,
    entry: &EntryId,
    names: &[(Box<str>, Option<Box<str>>)],
) -> fmt::Result {
    write!(f, "{entry} reached nobody:")?;
    for (index, (name, nearest)) in names.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma} '{name}' is not at the table")?;
        if let Some(nearest) = nearest {
            write!(f, " (did you mean {nearest}?)")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_not_many() {
        let turn = || EntryId::from("e-1");
        let pair = || ["max".into(), "eva".into()];
        for why in [
            Why::Cancelled { turn: turn(), waiting: 1 },
            Why::Resumed { interrupted: Some(turn()), waiting: 0 },
            Why::Resumed { interrupted: Some(turn()), waiting: 1 },
            Why::Resumed { interrupted: None, waiting: 1 },
            Why::LoopGuard { turns: 1 },
            Why::PairLoop { pair: pair(), turns: 1 },
        ] {
            let told = why.to_string();
            assert!(!told.split(' ').any(|word| ["0", "1"].contains(&word)), "{told}");
        }
        let two = Why::Cancelled { turn: turn(), waiting: 2 }.to_string();
        assert_eq!(two, "turn e-1 was cancelled; shall the 2 that wait go on?");
    }
}
