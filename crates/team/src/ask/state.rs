//! The state of an ask: its turns, and the round that follows. Only the question and the entries of its turns change it,
//! so a replay and every display of the session compute the same.

use tertulia_session::{Ask, AskRound, Cause, EntryId, TurnState};

use super::{COMPARED_MIN, labels};

/// A question to several members, and its turns so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AskState {
    /// `None` if the question cannot be read any more.
    pub(crate) ask: Option<Ask>,
    /// In the order in which they were queued.
    pub(crate) turns: Vec<AskTurn>,
    /// Whether a person ended the ask, so that no further round follows.
    is_closed: bool,
    /// The number of starts and ends of its turns so far.
    changes: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AskTurn {
    pub(crate) turn: EntryId,
    pub(crate) member: Box<str>,
    pub(crate) round: AskRound,
    pub(crate) state: TurnState,
    /// The cause of that state, if the turn has ended.
    pub(crate) end: Option<Cause>,
    /// The number of the change with which it started.
    started_at: Option<usize>,
    /// The number of the change with which it ended.
    ended_at: Option<usize>,
    /// Whether a later turn replaces it.
    is_replaced: bool,
}

impl AskTurn {
    /// Returns the answer, if the turn is done.
    pub(crate) fn answer(&self) -> Option<&EntryId> {
        match &self.end {
            Some(Cause::Answered { entry }) if !self.is_replaced => Some(entry),
            _ => None,
        }
    }
}

impl AskState {
    pub(crate) fn new(ask: &Ask) -> Self {
        Self { ask: Some(ask.clone()), ..Self::default() }
    }

    /// Adds a turn. It may replace an earlier one.
    pub(crate) fn queued(
        &mut self,
        turn: &EntryId,
        member: &str,
        round: AskRound,
        replaces: Option<&EntryId>,
    ) {
        if let Some(replaced) = self.turns.iter_mut().find(|one| Some(&one.turn) == replaces) {
            replaced.is_replaced = true;
        }
        self.turns.push(AskTurn {
            turn: turn.clone(),
            member: member.into(),
            round,
            state: TurnState::Queued,
            end: None,
            started_at: None,
            ended_at: None,
            is_replaced: false,
        });
    }

    pub(crate) fn changed(&mut self, turn: &EntryId, state: TurnState, cause: &Cause) {
        if state == TurnState::Queued {
            return;
        }
        self.is_closed |= matches!(cause, Cause::Cancelled { all: true } | Cause::Declined { .. });
        let Some(changed) = self.turns.iter_mut().find(|one| one.turn == *turn) else { return };
        changed.state = state;
        match state {
            TurnState::Started => changed.started_at = Some(self.changes),
            _ => (changed.end, changed.ended_at) = (Some(cause.clone()), Some(self.changes)),
        }
        self.changes += 1;
    }

    /// Returns the turns that count: those that no later turn replaces.
    pub(crate) fn current(&self) -> impl Iterator<Item = &AskTurn> {
        self.turns.iter().filter(|one| !one.is_replaced)
    }

    fn of_round(&self, round: AskRound) -> impl Iterator<Item = &AskTurn> {
        self.current().filter(move |one| one.round == round)
    }

    /// Returns the answers of a round with their members, in the order in which the members were asked.
    pub(crate) fn answers(&self, round: AskRound) -> impl Iterator<Item = (&AskTurn, &EntryId)> {
        self.of_round(round).filter_map(|one| Some((one, one.answer()?)))
    }

    /// Returns whether the end of this turn is still to come. A turn that ended with its process is repeated when the
    /// session continues.
    fn is_unfinished(&self, turn: &AskTurn) -> bool {
        match turn.state {
            TurnState::Queued | TurnState::Started => true,
            _ => self.is_resumable(turn),
        }
    }

    /// Returns whether a turn ended with its process and must be queued again.
    pub(crate) fn is_resumable(&self, turn: &AskTurn) -> bool {
        turn.end == Some(Cause::ProgramStopped) && !turn.is_replaced && !self.is_closed
    }

    /// Returns the turns of the next round, if the last one has ended.
    pub(crate) fn due(&self) -> Vec<(Box<str>, AskRound)> {
        let Some(ask) = &self.ask else { return Vec::new() };
        let has_ended = self.current().all(|one| !self.is_unfinished(one));
        let is_compared = self.turns.iter().any(|one| one.round != AskRound::Answer);
        let answered = || self.answers(AskRound::Answer).map(|(one, _)| one.member.clone());
        if self.is_closed || !has_ended || is_compared || answered().count() < COMPARED_MIN {
            return Vec::new();
        }
        match &ask.judge {
            Some(judge) => vec![(judge.clone(), AskRound::Judgement)],
            None if ask.reactions => answered().map(|name| (name, AskRound::Reaction)).collect(),
            None => Vec::new(),
        }
    }

    /// Returns whether turns are still to come.
    pub(crate) fn is_open(&self) -> bool {
        !self.turns.is_empty()
            && (self.current().any(|one| self.is_unfinished(one)) || !self.due().is_empty())
    }

    /// Returns the grace time in seconds, if enough members have answered and others have not.
    pub(crate) fn grace(&self) -> Option<u32> {
        let ask = self.ask.as_ref()?;
        let quorum = usize::try_from(ask.quorum?).unwrap_or(usize::MAX);
        let is_reached = self.answers(AskRound::Answer).count() >= quorum;
        let is_first = self.turns.iter().all(|one| one.round == AskRound::Answer);
        let waits = self.late().next().is_some();
        (is_reached && is_first && waits && !self.is_closed)
            .then(|| ask.grace_seconds.unwrap_or(super::GRACE_SECONDS))
    }

    /// Returns the turns of the first round that have not ended.
    pub(crate) fn late(&self) -> impl Iterator<Item = &AskTurn> {
        let waits = |one: &&AskTurn| matches!(one.state, TurnState::Queued | TurnState::Started);
        self.of_round(AskRound::Answer).filter(waits)
    }

    /// Returns the answers that a turn compares with their labels, in the order of the labels: those that were there when
    /// it started. `None` for all answers so far.
    pub(crate) fn labelled(&self, turn: Option<&EntryId>) -> Vec<(String, &AskTurn, &EntryId)> {
        let Some(ask) = &self.ask else { return Vec::new() };
        let comparing = self.turns.iter().find(|one| Some(&one.turn) == turn);
        let start = comparing.and_then(|one| one.started_at).unwrap_or(usize::MAX);
        let positions = labels::positions(ask.members.len(), ask.seed);
        let position = |member: &str| {
            let index = ask.members.iter().position(|one| **one == *member);
            index.and_then(|index| positions.get(index)).copied().unwrap_or(usize::MAX)
        };
        let answers = self.answers(AskRound::Answer);
        let mut answers: Vec<_> =
            answers.filter(|(one, _)| one.ended_at.is_some_and(|end| end < start)).collect();
        answers.sort_by_key(|(one, _)| position(&one.member));
        let label = |(rank, (one, entry))| (labels::label(rank), one, entry);
        answers.into_iter().enumerate().map(label).collect()
    }
}
