//! What the machine wants done. Data only; the driver performs it, in order, the entries of one step in
//! one append.

use std::fmt;

use tertulia_session::{EntryId, EntryKind, Intent};

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
        turn: EntryId,
        member: Box<str>,
        parent: EntryId,
        /// What brought the turn about: the message, or the turn that is repeated.
        trigger: EntryId,
        intent: Intent,
    },
    /// Stop the agent of this turn, and report its end.
    CancelTurn {
        turn: EntryId,
        member: Box<str>,
    },
    AskPerson(Question),
    /// The team has this task from here on; `None` takes it away.
    SetTeamTask {
        entry: EntryId,
        task: Option<String>,
    },
    Note(Note),
    /// Nothing runs, nothing waits and nobody is asked.
    Rest,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Whom to ask; `None` where no person sits at the table.
    pub to: Option<Box<str>>,
    pub why: Why,
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is their turn.
    Answer {
        turn: EntryId,
        entry: EntryId,
        /// Who said it; `None` for a person from outside.
        by: Option<Box<str>>,
    },
    /// Agents had many turns since a person last spoke.
    LoopGuard { turns: u32 },
    /// The same two agents answer each other again and again.
    PairLoop {
        /// Both of them; one name twice for an agent that addresses itself.
        pair: [Box<str>; 2],
        turns: u32,
    },
    /// A spending limit is reached.
    Spending {
        /// Whose limit; `None` for that of the session.
        member: Option<Box<str>>,
        spent: Dollars,
        allowed: Dollars,
    },
    /// None of the names in a message is known.
    Unresolved {
        entry: EntryId,
        /// The names, each with the nearest known one.
        names: Vec<(Box<str>, Option<Box<str>>)>,
    },
    /// A message that addresses nobody, and no agent sits at the table.
    NobodyToAnswer { entry: EntryId },
    /// It is not clear which person speaks. The message was not routed.
    WhoSpeaks { entry: EntryId, error: SpeakerError },
    /// An agent failed, and nothing else waits.
    Failed { turn: EntryId, member: Box<str>, class: Box<str> },
    /// The person cancelled a turn that ran; others wait for a word.
    Cancelled { turn: EntryId, waiting: usize },
    Resumed {
        /// The turn that ran when it stopped.
        interrupted: Option<EntryId>,
        waiting: usize,
    },
    /// Turns were paused when a person said something else; that is done, and they still wait.
    Paused { waiting: usize },
}

impl Why {
    /// The entries that the question rests on.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Answer { turn, entry, .. } => vec![turn, entry],
            Self::Unresolved { entry, .. }
            | Self::NobodyToAnswer { entry }
            | Self::WhoSpeaks { entry, .. } => vec![entry],
            Self::Failed { turn, .. } | Self::Cancelled { turn, .. } => vec![turn],
            Self::Resumed { interrupted, .. } => interrupted.iter().collect(),
            Self::LoopGuard { .. }
            | Self::PairLoop { .. }
            | Self::Spending { .. }
            | Self::Paused { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { entry, by, .. } => {
                let by = by.as_deref().unwrap_or("somebody");
                write!(f, "{by} asked a question in {entry}")
            }
            Self::LoopGuard { turns } => {
                let turns = counted(*turns as usize, "one turn", "# turns");
                write!(f, "the agents have taken {turns} since a person last wrote. Continue?")
            }
            Self::PairLoop { pair: [a, b], turns: 1 } if a == b => {
                write!(f, "{a} has taken one turn, addressing itself. Continue?")
            }
            Self::PairLoop { pair: [a, b], turns } if a == b => {
                write!(f, "{a} has taken {turns} turns in a row, addressing itself. Continue?")
            }
            Self::PairLoop { pair: [a, b], turns } => {
                let turns = counted(*turns as usize, "one turn", "# turns");
                write!(f, "{a} and {b} have taken {turns} with each other. Continue?")
            }
            Self::Spending { member, allowed, .. } if *allowed == Dollars::default() => {
                let who = member.as_deref().unwrap_or("the session");
                write!(
                    f,
                    "{who} may not spend anything (budget_usd = 0 in the team file), so no turn starts"
                )
            }
            Self::Spending { member, spent, allowed } => {
                let who = member.as_deref().unwrap_or("the session");
                write!(f, "{who} has spent ${spent} of ${allowed}. Continue?")
            }
            Self::Unresolved { entry, names } => write_unresolved(f, entry, names),
            Self::NobodyToAnswer { entry } => {
                write!(f, "{entry} addresses nobody, and the team has no agent")
            }
            Self::WhoSpeaks { entry, error } => write!(f, "{entry} was not routed: {error}"),
            Self::Failed { turn, member, class } => {
                write!(
                    f,
                    "{member} could not answer ({class}); retry turn {turn}, or say how to continue"
                )
            }
            Self::Cancelled { turn, waiting } => {
                write!(f, "turn {turn} was cancelled. Continue with {}?", queued(*waiting))
            }
            Self::Resumed { interrupted: Some(turn), waiting: 0 } => {
                write!(f, "turn {turn} was interrupted. Retry it?")
            }
            Self::Resumed { interrupted: Some(turn), waiting } => {
                write!(f, "turn {turn} was interrupted. Continue with {}?", queued(*waiting))
            }
            Self::Resumed { interrupted: None, waiting } => {
                write!(f, "the session was opened again. Continue with {}?", queued(*waiting))
            }
            Self::Paused { waiting } => {
                let (one, several) = ("one earlier turn is still", "# earlier turns are still");
                write!(f, "{} paused. Continue?", counted(*waiting, one, several))
            }
        }
    }
}

/// One of a thing by its own word, or several as a number.
fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { one.to_owned() } else { several.replace('#', &count.to_string()) }
}

fn queued(waiting: usize) -> String {
    counted(waiting, "the queued turn", "the # queued turns")
}

fn write_unresolved(
    f: &mut fmt::Formatter<'_>,
    entry: &EntryId,
    names: &[(Box<str>, Option<Box<str>>)],
) -> fmt::Result {
    write!(f, "{entry} reached nobody:")?;
    for (index, (name, nearest)) in names.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma} nobody is called '{name}'")?;
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
            Why::PairLoop { pair: ["max".into(), "max".into()], turns: 1 },
            Why::Paused { waiting: 1 },
        ] {
            let told = why.to_string();
            assert!(!told.split(' ').any(|word| ["0", "1"].contains(&word)), "{told}");
        }
        let two = Why::Cancelled { turn: turn(), waiting: 2 }.to_string();
        assert_eq!(two, "turn e-1 was cancelled. Continue with the 2 queued turns?");
    }

    #[test]
    fn a_loop_of_one_member_names_it_once() {
        let why = Why::PairLoop { pair: ["max".into(), "max".into()], turns: 12 };
        let expected = "max has taken 12 turns in a row, addressing itself. Continue?";
        assert_eq!(why.to_string(), expected);
    }
}
