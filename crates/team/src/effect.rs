//! What happens at the table, as the machine is told by the driver or by a replay, and what the machine wants done. Data
//! only; the driver performs the effects in order, the entries of one step in one append.

use tertulia_session::{EntryId, EntryKind, Intent, Turn, TurnState};

use crate::guard::Dollars;
use crate::{Note, PersonMessage, SpeakerError};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A person said something, and it is an entry. Who, where the door knows; else as `[FROM: …]` says, the person that
    /// is waited for, or the only one.
    PersonSaid { entry: EntryId, member: Option<Box<str>>, message: Box<PersonMessage> },
    /// The agent of this turn works. Nothing is decided by it.
    TurnStarted { turn: EntryId },
    /// An agent's answer is an entry: its own final text, without tool output, thinking or words of others. What is left
    /// of one that was interrupted routes nothing.
    AgentSaid { turn: EntryId, entry: EntryId, text: String, interrupted: bool },
    /// An agent could not answer, or ended after its turn was cancelled. The class is that of the failure, such as `quota`.
    AgentFailed { turn: EntryId, class: Box<str>, entry: Option<EntryId> },
    /// Turns are to stop.
    Cancel(Cancel),
    /// A member has cost this much.
    UsageSeen { member: Box<str>, usd: f64 },
    /// A person is to be asked after so many turns at the latest; `None`: as the team says.
    TurnsLimited { turns: Option<u32> },
    /// What waits may go on.
    Continue,
    /// The table was opened again after its process had ended; see [`crate::Machine::replay`].
    Resume,
    /// The person wants a turn again that failed, was cancelled or interrupted.
    Repeat { turn: EntryId },
}

/// Which turns are stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// This one, whether it runs or waits.
    Turn(EntryId),
    /// The one that runs and all that wait.
    All,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append a turn's new state, or that the person said "go on". The id follows from the decision: twice is harmless.
    Append { id: EntryId, kind: EntryKind },
    /// Let an agent answer. The same step has appended that it started.
    StartTurn { turn: EntryId, member: Box<str>, parent: EntryId, intent: Intent },
    /// Stop the agent of this turn, and report its end.
    CancelTurn { turn: EntryId, member: Box<str> },
    /// Ask a person.
    AskPerson(Question),
    /// The team has this task from here on; `None` takes it away.
    SetTeamTask { task: Option<String> },
    /// Tell what was refused or changed.
    Note(Note),
    /// Nothing runs, nothing waits and nobody is asked.
    Rest,
}

impl Effect {
    pub(crate) fn as_turn(&self) -> Option<&Turn> {
        match self {
            Self::Append { kind: EntryKind::Turn(turn), .. } => Some(turn),
            _ => None,
        }
    }

    /// The members whose turns these effects queue, in order.
    pub(crate) fn queued<'e>(effects: impl IntoIterator<Item = &'e Self>) -> Vec<Box<str>> {
        let turns = effects.into_iter().filter_map(Self::as_turn);
        let queued = turns.filter(|turn| turn.state == TurnState::Queued);
        queued.map(|turn| turn.member.clone()).collect()
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Whom to ask; `None` where no person sits at the table.
    pub to: Option<Box<str>>,
    pub why: Why,
}

/// Why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is their turn; `by` is `None` for a person from outside.
    #[error("{} asked a question in {entry}", by.as_deref().unwrap_or("somebody"))]
    Answer { turn: EntryId, entry: EntryId, by: Option<Box<str>> },
    #[error(
        "the agents have taken {} since a person last wrote. Continue?",
        counted(*turns as usize, "one turn", "# turns")
    )]
    LoopGuard { turns: u32 },
    /// The same two agents answer each other again and again; one name twice for an agent that addresses itself.
    #[error("{}. Continue?", pair_loop(pair, *turns))]
    PairLoop { pair: [Box<str>; 2], turns: u32 },
    /// A spending limit is reached: a member's, or that of the session.
    #[error("{} {}", member.as_deref().unwrap_or("the session"), match *allowed == Dollars::default() {
        true => "may not spend anything (budget_usd = 0 in the team file), so no turn starts".to_owned(),
        false => format!("has spent ${spent} of ${allowed}. Continue?"),
    })]
    Spending { member: Option<Box<str>>, spent: Dollars, allowed: Dollars },
    /// None of the names in a message is known; each with the nearest known one.
    #[error("{entry} reached nobody: {}", unresolved(names))]
    Unresolved { entry: EntryId, names: Vec<(Box<str>, Option<Box<str>>)> },
    #[error("{entry} addresses nobody, and the team has no agent")]
    NobodyToAnswer { entry: EntryId },
    /// It is not clear which person speaks.
    #[error("{entry} was not routed: {error}")]
    WhoSpeaks { entry: EntryId, error: SpeakerError },
    /// An agent failed, and nothing else waits.
    #[error("{member} could not answer ({class}); retry turn {turn}, or say how to continue")]
    Failed { turn: EntryId, member: Box<str>, class: Box<str> },
    /// The person cancelled a turn that ran; others wait for a word.
    #[error("turn {turn} was cancelled. Continue with {}?", queued(*waiting))]
    Cancelled { turn: EntryId, waiting: usize },
    #[error("{}", match (interrupted, waiting) {
        (Some(turn), 0) => format!("turn {turn} was interrupted. Retry it?"),
        (Some(turn), _) => format!("turn {turn} was interrupted. Continue with {}?", queued(*waiting)),
        (None, _) => format!("the session was opened again. Continue with {}?", queued(*waiting)),
    })]
    Resumed { interrupted: Option<EntryId>, waiting: usize },
    /// Turns were paused when a person said something else; that is done, and they still wait.
    #[error("{} paused. Continue?", counted(*waiting, "one earlier turn is still", "# earlier turns are still"))]
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

fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { one.to_owned() } else { several.replace('#', &count.to_string()) }
}

fn queued(waiting: usize) -> String {
    counted(waiting, "the queued turn", "the # queued turns")
}

fn pair_loop([a, b]: &[Box<str>; 2], turns: u32) -> String {
    let in_a_row = if a == b { "# turns in a row" } else { "# turns" };
    let turns = counted(turns as usize, "one turn", in_a_row);
    match a == b {
        true => format!("{a} has taken {turns}, addressing itself"),
        false => format!("{a} and {b} have taken {turns} with each other"),
    }
}

fn unresolved(names: &[(Box<str>, Option<Box<str>>)]) -> String {
    let said = names.iter().map(|(name, nearest)| match nearest {
        Some(nearest) => format!("nobody is called '{name}' (did you mean {nearest}?)"),
        None => format!("nobody is called '{name}'"),
    });
    said.collect::<Vec<_>>().join(", ")
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
