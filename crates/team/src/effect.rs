//! Input and output of the machine: events, which the driver or a replay passes in, and effects, which the machine returns.
//! Data only. The driver performs the effects in order and appends the entries of one step in one batch.

use tertulia_session::{
    Cause, EntryId, EntryKind, Intent, SpendingLimit, Timestamp, Turn, TurnState,
};

use crate::guard::Dollars;
use crate::{Note, PersonMessage, SpeakerError};

/// Input of the machine: something that happened in the session.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A person wrote a message, and it is an entry. `member` is the sender if the caller knows it. Otherwise the sender is
    /// the person in `[FROM: …]`, the person whose answer is awaited, or the only person.
    PersonSaid { entry: EntryId, member: Option<Box<str>>, message: Box<PersonMessage> },
    /// The agent of this turn started working. Decides nothing.
    TurnStarted { turn: EntryId },
    /// An agent answered, and the answer is an entry. `text` is its final text, without tool output, thinking or
    /// quotes. An interrupted answer addresses nobody.
    AgentSaid { turn: EntryId, entry: EntryId, text: String, interrupted: bool },
    /// An agent could not answer, or ended after its turn was cancelled. `class` is the error class, such as `quota`.
    /// `limit` is set if the reason was a usage limit that another member does not have.
    AgentFailed {
        turn: EntryId,
        class: Box<str>,
        entry: Option<EntryId>,
        limit: Option<Box<ReachedLimit>>,
    },
    /// An agent was stopped, because its turn reached a spending limit. `entry` is its answer so far.
    AgentOverspent { turn: EntryId, entry: Option<EntryId>, reached: Overspent },
    /// The grace time of the ask with this question is over.
    GraceEnded { question: EntryId },
    /// The usage limit of a member has ended.
    LimitEnded { member: Box<str> },
    /// A person cancels turns.
    Cancel(Cancel),
    /// A member caused this cost.
    UsageSeen { member: Box<str>, usd: f64 },
    /// All sessions of the store have spent this much on this day. Decides nothing.
    DaySpent { day: Box<str>, spent: Dollars },
    /// A person must be asked after this many turns at the latest; `None`: the limit of the team applies.
    TurnsLimited { turns: Option<u32> },
    /// Paused turns may continue.
    Continue,
    /// The session was opened again after its process had ended; see [`crate::Machine::replay`].
    Resume,
    /// A person retries a turn that failed, was cancelled or was interrupted.
    Repeat { turn: EntryId },
}

/// The usage limit that ended a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedLimit {
    /// The scope of the limit, such as `week`.
    pub scope: Box<str>,
    /// When the limit ends, if that is known.
    pub resets_at: Option<Timestamp>,
    /// The tools that the agent had called in this turn; `None` if it had called none.
    pub tools: Option<Box<str>>,
}

impl ReachedLimit {
    /// Returns the usage limit of a failure, if that was the reason.
    pub(crate) fn of(cause: &Cause) -> Option<Box<Self>> {
        let Cause::Failed { limit: Some(scope), resets_at, tools, .. } = cause else { return None };
        let (scope, resets_at, tools) = (scope.clone(), resets_at.clone(), tools.clone());
        Some(Box::new(Self { scope, resets_at, tools }))
    }
}

/// A spending limit that a turn reached while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overspent {
    pub limit: SpendingLimit,
    /// What was spent, including the costs of the running turns.
    pub spent: Dollars,
    pub allowed: Dollars,
}

impl Overspent {
    /// Returns the limit that stopped a turn, if that was the reason.
    pub(crate) fn of(cause: &Cause) -> Option<Self> {
        let Cause::Overspent { limit, spent, allowed } = cause else { return None };
        let [spent, allowed] = [spent, allowed].map(|usd| Dollars::from_usd(usd.amount()));
        Some(Self { limit: *limit, spent, allowed })
    }

    pub(crate) fn cause(self) -> Cause {
        let Self { limit, spent, allowed } = self;
        Cause::Overspent { limit, spent: spent.to_usd(), allowed: allowed.to_usd() }
    }
}

/// The turns to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// One turn, running or waiting.
    Turn(EntryId),
    /// The running turns and all waiting turns.
    All,
}

/// Output of the machine: something that the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append a turn's new state, or a setting. The id is derived from the decision, so appending twice is harmless.
    Append {
        id: EntryId,
        kind: EntryKind,
    },
    /// Start an agent. The same step has appended the `started` entry.
    StartTurn {
        turn: EntryId,
        member: Box<str>,
        parent: EntryId,
        intent: Intent,
    },
    /// Stop the agent of this turn, and report its end.
    CancelTurn {
        turn: EntryId,
        member: Box<str>,
    },
    AskPerson(Question),
    /// Set the task of the team; `None` removes it.
    SetTeamTask {
        task: Option<String>,
    },
    /// Report what was refused or changed.
    Note(Note),
    /// Nothing runs, nothing waits and no person is asked.
    Rest,
}

impl Effect {
    pub(crate) fn as_turn(&self) -> Option<&Turn> {
        match self {
            Self::Append { kind: EntryKind::Turn(turn), .. } => Some(turn),
            _ => None,
        }
    }

    /// Returns the members whose turns these effects queue, in order.
    pub(crate) fn queued<'e>(effects: impl IntoIterator<Item = &'e Self>) -> Vec<Box<str>> {
        let turns = effects.into_iter().filter_map(Self::as_turn);
        let queued = turns.filter(|turn| turn.state == TurnState::Queued);
        queued.map(|turn| turn.member.clone()).collect()
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The person to ask; `None` if the team has no person.
    pub to: Option<Box<str>>,
    pub why: PauseReason,
}

/// The reason why a person is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PauseReason {
    /// It is the person's turn; `by` is `None` if somebody outside the team asked.
    #[error("{} asked a question in {entry}", by.as_deref().unwrap_or("somebody"))]
    Answer { turn: EntryId, entry: EntryId, by: Option<Box<str>> },
    #[error(
        "the agents have taken {} since a person last wrote. Continue?",
        counted(*turns as usize, "one turn", "# turns")
    )]
    LoopGuard { turns: u32 },
    /// The same two agents keep answering each other. Both names are equal for an agent that addresses itself.
    #[error("{}. Continue?", pair_loop(pair, *turns))]
    PairLoop { pair: [Box<str>; 2], turns: u32 },
    /// A spending limit is reached; `member` is set for a limit of a member or of a turn. `stopped` is the turn that was
    /// stopped for it.
    #[error("{}", spending(*limit, member.as_deref(), [*spent, *allowed], stopped.as_ref()))]
    Spending {
        limit: SpendingLimit,
        member: Option<Box<str>>,
        spent: Dollars,
        allowed: Dollars,
        stopped: Option<EntryId>,
    },
    /// A message names only unknown members. Each name has the nearest known name.
    #[error("{entry} was sent to nobody: {}", unresolved(names))]
    Unresolved { entry: EntryId, names: Vec<(Box<str>, Option<Box<str>>)> },
    #[error("{entry} addresses nobody, and the team has no agent")]
    NobodyToAnswer { entry: EntryId },
    /// The sender of a message is not clear.
    #[error("{entry} was not routed: {error}")]
    WhoSpeaks { entry: EntryId, error: SpeakerError },
    /// An agent failed, and no other turn waits.
    #[error("{member} could not answer ({class}); retry turn {turn}, or say how to continue")]
    Failed { turn: EntryId, member: Box<str>, class: Box<str> },
    /// A turn reached a usage limit after its agent had called tools. `next` continues the work if the person agrees;
    /// it is `None` if nobody else can take over.
    #[error(
        "{member} reached its usage limit in turn {turn}, after it had called {tools}. {}",
        match next {
            Some(next) => format!("Let {next} take over?"),
            None => "Nobody else can take over. Repeat the turn?".to_owned(),
        }
    )]
    LimitedAfterTools { turn: EntryId, member: Box<str>, tools: Box<str>, next: Option<Box<str>> },
    /// The member has reached its usage limit, and so has every member that could take over.
    #[error(
        "{member} has reached its usage limit, and nobody else can take over{}",
        resets_at.as_ref().map(|at| format!(" before {}", at.to_minute())).unwrap_or_default()
    )]
    Limited { member: Box<str>, resets_at: Option<Timestamp> },
    /// A person cancelled the running turn; other turns wait for a decision.
    #[error("turn {turn} was cancelled. Continue with {}?", queued(*waiting))]
    Cancelled { turn: EntryId, waiting: usize },
    #[error("{}", match (interrupted, waiting) {
        (Some(turn), 0) => format!("turn {turn} was interrupted. Retry it?"),
        (Some(turn), _) => format!("turn {turn} was interrupted. Continue with {}?", queued(*waiting)),
        (None, _) => format!("the session was reopened. Continue with {}?", queued(*waiting)),
    })]
    Resumed { interrupted: Option<EntryId>, waiting: usize },
    /// Several turns were interrupted when the program ended.
    #[error("turns {} were interrupted. {}", listed(interrupted), match waiting {
        0 => "Retry them?".to_owned(),
        _ => format!("Continue with {}?", queued(*waiting)),
    })]
    ResumedSeveral { interrupted: Vec<EntryId>, waiting: usize },
    /// Turns were paused, and then a person wrote something else. The turns that this message caused are done, and
    /// the paused ones still wait.
    #[error("{} paused. Continue?", counted(*waiting, "one earlier turn is still", "# earlier turns are still"))]
    Paused { waiting: usize },
}

impl PauseReason {
    /// Returns the question after the session was opened again, when these turns were interrupted.
    pub(crate) fn resumed(interrupted: &[EntryId], waiting: usize) -> Self {
        match interrupted {
            [] => Self::Resumed { interrupted: None, waiting },
            [turn] => Self::Resumed { interrupted: Some(turn.clone()), waiting },
            turns => Self::ResumedSeveral { interrupted: turns.to_vec(), waiting },
        }
    }

    /// Returns the entries that the question is about.
    pub fn ids(&self) -> Vec<&EntryId> {
        match self {
            Self::Answer { turn, entry, .. } => vec![turn, entry],
            Self::Unresolved { entry, .. }
            | Self::NobodyToAnswer { entry }
            | Self::WhoSpeaks { entry, .. } => vec![entry],
            Self::Failed { turn, .. }
            | Self::LimitedAfterTools { turn, .. }
            | Self::Cancelled { turn, .. } => vec![turn],
            Self::Resumed { interrupted, .. } => interrupted.iter().collect(),
            Self::Spending { stopped, .. } => stopped.iter().collect(),
            Self::ResumedSeveral { interrupted, .. } => interrupted.iter().collect(),
            Self::LoopGuard { .. }
            | Self::PairLoop { .. }
            | Self::Limited { .. }
            | Self::Paused { .. } => Vec::new(),
        }
    }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { one.to_owned() } else { several.replace('#', &count.to_string()) }
}

fn spending(
    limit: SpendingLimit,
    member: Option<&str>,
    [spent, allowed]: [Dollars; 2],
    stopped: Option<&EntryId>,
) -> String {
    let (who, field) = match limit {
        SpendingLimit::Turn => (member.unwrap_or("the member"), "budget_usd_turn"),
        SpendingLimit::Member => (member.unwrap_or("the member"), "budget_usd"),
        SpendingLimit::Session => ("the session", "budget_usd"),
        SpendingLimit::Day => ("today, all sessions together", "budget_usd_day"),
    };
    if allowed == Dollars::default() {
        return format!(
            "{who} may not spend anything ({field} = 0 in the team file), so no turn starts"
        );
    }
    let verb = if limit == SpendingLimit::Day { "have" } else { "has" };
    let has_spent = format!("{who} {verb} spent ${spent} of ${allowed}");
    match stopped {
        Some(turn) if limit == SpendingLimit::Turn => format!(
            "turn {turn} was stopped: {has_spent} in it ({field}). Its answer so far is kept. \
             Retry it, or continue without it?"
        ),
        Some(turn) => format!(
            "turn {turn} was stopped: {has_spent} ({field}). Its answer so far is kept. Retry it, \
             or continue without it?"
        ),
        None => format!("{has_spent}. Continue?"),
    }
}

fn queued(waiting: usize) -> String {
    counted(waiting, "the queued turn", "the # queued turns")
}

fn listed(turns: &[EntryId]) -> String {
    let Some((last, others)) = turns.split_last() else { return String::new() };
    let others: Vec<&str> = others.iter().map(EntryId::as_str).collect();
    if others.is_empty() { last.to_string() } else { format!("{} and {last}", others.join(", ")) }
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
    fn a_count_of_one_is_written_as_a_word() {
        let turn = || EntryId::from("e-1");
        let pair = || ["max".into(), "eva".into()];
        for why in [
            PauseReason::Cancelled { turn: turn(), waiting: 1 },
            PauseReason::Resumed { interrupted: Some(turn()), waiting: 0 },
            PauseReason::Resumed { interrupted: Some(turn()), waiting: 1 },
            PauseReason::Resumed { interrupted: None, waiting: 1 },
            PauseReason::LoopGuard { turns: 1 },
            PauseReason::PairLoop { pair: pair(), turns: 1 },
            PauseReason::PairLoop { pair: ["max".into(), "max".into()], turns: 1 },
            PauseReason::Paused { waiting: 1 },
        ] {
            let text = why.to_string();
            assert!(!text.split(' ').any(|word| ["0", "1"].contains(&word)), "{text}");
        }
        let two = PauseReason::Cancelled { turn: turn(), waiting: 2 }.to_string();
        assert_eq!(two, "turn e-1 was cancelled. Continue with the 2 queued turns?");
    }

    #[test]
    fn a_loop_of_one_member_names_it_once() {
        let why = PauseReason::PairLoop { pair: ["max".into(), "max".into()], turns: 12 };
        let expected = "max has taken 12 turns in a row, addressing itself. Continue?";
        assert_eq!(why.to_string(), expected);
    }
}
