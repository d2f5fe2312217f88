//! The turn machine: takes an event, changes the state and returns effects. Pure. Every step has two parts: handle the
//! event (`said`, `turns`), then `advance`, which starts the next turns or asks a person. One turn runs at a time, or
//! several if the team file allows it.

mod asks;
mod said;
mod turns;

use std::collections::HashMap;
use std::fmt;

use tertulia_session::{
    Cause, EntryId, EntryKind, Fields, Intent, QueueRule, Timestamp, Turn, TurnState,
};

use crate::active::TurnPhase;
use crate::effect::{Effect, Event, Overspent, PauseReason, Question};
use crate::failover::Availability;
use crate::guard::Dollars;
use crate::note::Note;
use crate::queue::Item;
use crate::roster::{MemberIndex, Roster, SpeakerError, speaker};
use crate::state::{Hold, State, TurnChange};

/// The router, the queue and the turns of one session.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) roster: Roster,
    pub(crate) state: State,
    pub(crate) decision_log: DecisionLog,
}

/// The current state of the session. `Stopping` lasts until a cancelled agent has ended. `Waiting` means that a
/// person must answer. `Paused` means that turns wait and a person is asked first. If several turns are active, this
/// is the state of one of them: of the awaited one, or else of the running one that started first.
/// [`Machine::active`] returns all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Resting,
    Running { turn: EntryId },
    Stopping { turn: EntryId },
    Waiting { turn: EntryId, member: Box<str> },
    Paused(PauseReason),
}

/// A turn that has started and not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveTurn<'a> {
    pub turn: &'a EntryId,
    pub member: &'a str,
    pub phase: TurnPhase,
}

/// A queued turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingTurn<'a> {
    pub turn: &'a EntryId,
    pub member: &'a str,
    pub parent: &'a EntryId,
    pub intent: Intent,
    pub is_paused: bool,
}

struct Step<'m> {
    roster: &'m Roster,
    state: &'m mut State,
    decision_log: &'m mut DecisionLog,
    effects: Vec<Effect>,
}

impl Machine {
    /// Creates a machine for an empty session.
    pub fn new(roster: Roster) -> Self {
        let state = State::new(&roster);
        Self { roster, state, decision_log: DecisionLog::default() }
    }

    /// Returns the members and limits.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Handles an event and returns the effects, in order.
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        let mut step = self.begin();
        match event {
            Event::PersonSaid { entry, member, message } => {
                step.person_said(&entry, member.as_deref(), &message);
                step.ask_again();
            }
            Event::AgentSaid { turn, entry, text, interrupted } => {
                step.agent_said(&turn, &entry, (!interrupted).then_some(&text));
            }
            Event::AgentFailed { turn, class, entry, limit } => {
                step.agent_failed(&turn, &class, entry, limit);
            }
            Event::AgentOverspent { turn, entry, reached } => {
                step.agent_overspent(&turn, entry, reached);
            }
            Event::LimitEnded { member } => {
                if !step.limit_ended(&member) {
                    return step.effects;
                }
            }
            Event::GraceEnded { question } => step.grace_ended(&question),
            Event::Cancel(cancel) => step.cancel(cancel),
            Event::Continue => step.continue_turns(),
            Event::Resume => step.resume(),
            Event::Repeat { turn } => step.repeat(&turn),
            // These events decide nothing, so there is nothing to advance.
            Event::TurnsLimited { turns } => {
                step.state.guard.turns_max = turns;
                return step.effects;
            }
            Event::DaySpent { day, spent } => {
                step.state.guard.day_spent(&day, spent);
                return step.effects;
            }
            Event::TurnStarted { turn } => {
                step.turn_started(turn);
                return step.effects;
            }
            Event::UsageSeen { member, usd } => {
                step.usage_seen(&member, Dollars::from_usd(usd));
                return step.effects;
            }
        }
        step.advance();
        step.finish()
    }

    pub(crate) fn advance(&mut self) -> Vec<Effect> {
        self.state.active.all_stopped();
        let mut step = self.begin();
        step.advance();
        step.finish()
    }

    /// Returns the person who speaks: the person that the program or `[FROM: …]` names, else the one whose answer is
    /// awaited, else the only one. `None` if the team has no person. Called before a message is stored.
    pub fn speaker_of(&self, named: Option<&str>) -> Result<Option<&str>, SpeakerError> {
        let awaited = self.state.awaited().map(|item| item.index);
        let index = speaker(&self.roster, awaited, named)?;
        Ok(index.map(|index| self.roster.name(index)))
    }

    /// Returns the current state of the session.
    pub fn status(&self) -> Status {
        let first = |phase| self.active().find(|active| active.phase == phase);
        let awaited = first(TurnPhase::Asking);
        let shown = awaited.or_else(|| first(TurnPhase::Running)).or_else(|| self.active().next());
        match shown {
            Some(ActiveTurn { turn, member, phase }) => match phase {
                TurnPhase::Running => Status::Running { turn: turn.clone() },
                TurnPhase::Stopping => Status::Stopping { turn: turn.clone() },
                TurnPhase::Asking => Status::Waiting { turn: turn.clone(), member: member.into() },
            },
            None => match next(&self.roster, &self.state) {
                Next::Pause(why) => Status::Paused(why),
                Next::Start(..) | Next::TakeOver(..) | Next::Nothing => Status::Resting,
            },
        }
    }

    /// Returns the turns that have started and not ended, in the order of their start.
    pub fn active(&self) -> impl Iterator<Item = ActiveTurn<'_>> {
        self.state.active.iter().map(|active| ActiveTurn {
            turn: &active.item.turn,
            member: self.roster.name(active.item.index),
            phase: active.phase,
        })
    }

    /// Returns the turn limit set by a person, if any.
    pub fn turns_max(&self) -> Option<u32> {
        self.state.guard.turns_max
    }

    /// Returns the queued turns, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = WaitingTurn<'_>> {
        let paused = self.state.queue.paused;
        self.state.queue.items.iter().enumerate().map(move |(index, item)| WaitingTurn {
            turn: &item.turn,
            member: self.roster.name(item.index),
            parent: &item.parent,
            intent: item.intent,
            is_paused: index < paused,
        })
    }

    /// Returns the earliest time at which turns that wait for the end of a usage limit may start.
    pub fn next_reset(&self) -> Option<Timestamp> {
        let Self { roster, state, .. } = self;
        let waits = |item: &Item| state.availability(roster, item) == Availability::Waits;
        match self.status() {
            Status::Paused(PauseReason::Limited { resets_at, .. }) => resets_at,
            _ if state.active.is_empty() || !state.active.has_room(roster) => None,
            _ => state.queue.ready().iter().any(waits).then(|| state.first_reset()).flatten(),
        }
    }

    /// Returns the members whose usage limits have ended at this time, for [`Event::LimitEnded`].
    pub fn ended_limits(&self, now: &Timestamp) -> Vec<Box<str>> {
        let has_ended =
            |at: &Option<Timestamp>| at.as_ref().is_some_and(|at| at.millis() <= now.millis());
        let ended = self.state.limits.iter().filter(|(_, limit)| has_ended(&limit.resets_at));
        ended.map(|(index, _)| self.roster.name(*index).into()).collect()
    }

    /// Returns whether a turn was stopped at a spending limit, and no person has answered since.
    pub fn is_stopped_at_limit(&self) -> bool {
        matches!(self.state.hold, Some(Hold::Overspent(..)))
    }

    /// Returns whether the team limits costs.
    pub fn limits_costs(&self) -> bool {
        self.state.guard.limits_costs()
    }

    /// Returns the day for which the spending of all sessions was recorded, and the amount with what this session spent
    /// since.
    pub fn day(&self) -> Option<(&str, Dollars)> {
        self.state.guard.day()
    }

    /// Returns the running turns that have reached a spending limit. `costs` has the costs so far of all running turns
    /// that are not recorded yet.
    pub fn overspent(&self, costs: &[(EntryId, Dollars)]) -> Vec<(EntryId, Overspent)> {
        let indexed = |(turn, cost): &(EntryId, Dollars)| Some((self.state.running(turn)?, *cost));
        let running: Vec<_> = costs.iter().filter_map(indexed).collect();
        let reached = |(turn, _): &(EntryId, Dollars)| {
            let index = self.state.running(turn)?;
            Some((turn.clone(), self.state.guard.overspent(index, &running)?))
        };
        costs.iter().filter_map(reached).collect()
    }

    /// Returns whether another member takes over if this turn reaches a usage limit.
    pub fn has_fallback(&self, turn: &EntryId) -> bool {
        let record = self.state.turns.get(turn).filter(|one| one.item.round.is_none());
        let first = record.map(|record| self.state.tried(turn, record.item.index).0);
        first.is_some_and(|first| self.roster.fallbacks(first).next().is_some())
    }

    /// Returns the decisions that an entry caused or records, in order.
    pub fn why(&self, entry: &str) -> Vec<&Decision> {
        self.decision_log.why(entry)
    }

    fn begin(&mut self) -> Step<'_> {
        let Self { roster, state, decision_log } = self;
        Step { roster, state, decision_log, effects: Vec::new() }
    }
}

impl Step<'_> {
    fn record(&mut self, turn: &EntryId, index: MemberIndex, state: TurnState, cause: Cause) {
        let member = self.roster.name(index);
        let turn_id = (state != TurnState::Queued).then(|| turn.clone());
        let payload = turn_payload(member, state, turn_id, cause.clone());
        let id = match state {
            TurnState::Queued => turn.clone(),
            _ => self.entry_id(payload.clone(), turn),
        };
        self.decision_log.add(Decision::Turn {
            turn: turn.clone(),
            entry: id.clone(),
            member: member.into(),
            state,
            cause: cause.clone(),
        });
        self.effects.push(Effect::Append { id, kind: EntryKind::Turn(Box::new(payload)) });
        self.state.apply(self.roster, &TurnChange { turn: turn.clone(), index, state, cause });
    }

    fn turn_id(&self, member: &str, cause: &Cause, about: &EntryId) -> EntryId {
        self.entry_id(turn_payload(member, TurnState::Queued, None, cause.clone()), about)
    }

    /// Returns the id of a turn's entry. It depends on the decision and its subject, not on the position in the log
    /// or the version of the record. The same decision on another branch of the session has another id.
    fn entry_id(&self, turn: Turn, about: &EntryId) -> EntryId {
        let kind = EntryKind::Turn(Box::new(turn.with_cause_of_version_1()));
        self.state.content_id(kind, Some(about))
    }

    fn note(&mut self, note: Note) {
        self.decision_log.add(Decision::Note(note.clone()));
        self.effects.push(Effect::Note(note));
    }

    fn ask(&mut self, to: Option<MemberIndex>, why: PauseReason) {
        let first = || self.roster.humans().map(|(index, _)| index).next();
        let to = to.filter(|index| self.roster.is_human(*index)).or_else(first);
        let question = Question { to: to.map(|index| self.roster.name(index).into()), why };
        // A question that names no entry comes from a guard, which stops all queued turns.
        let is_guard = question.why.ids().is_empty();
        let stopped = self.state.queue.items.iter().filter(|_| is_guard);
        let waiting = stopped.flat_map(|item| [item.turn.clone(), item.parent.clone()]).collect();
        self.decision_log.add(Decision::Asked { question: question.clone(), waiting });
        self.effects.push(Effect::AskPerson(question));
    }

    fn advance(&mut self) {
        self.queue_rounds();
        loop {
            match next(self.roster, self.state) {
                Next::Nothing => return,
                Next::Pause(why) => return self.ask(None, why),
                Next::Start(item, rule) => {
                    let item = item.clone();
                    self.start(item, rule);
                }
                Next::TakeOver(item, to) => {
                    let item = item.clone();
                    self.take_over_queued(&item, to);
                }
            }
        }
    }

    fn start(&mut self, item: Item, rule: QueueRule) {
        self.record(&item.turn, item.index, TurnState::Started, Cause::Chosen { rule });
        if self.roster.is_human(item.index) {
            return self.ask_for_answer(item);
        }
        let Item { turn, index, parent, intent, .. } = item;
        let member = self.roster.name(index).into();
        self.effects.push(Effect::StartTurn { turn, member, parent, intent });
    }

    fn ask_for_answer(&mut self, item: Item) {
        let Item { turn, index, parent: entry, by, .. } = item;
        let by = by.map(|by| self.roster.name(by).into());
        self.ask(Some(index), PauseReason::Answer { turn, entry, by });
    }

    fn finish(mut self) -> Vec<Effect> {
        let rests = self.state.active.is_empty() && self.state.queue.items.is_empty();
        if rests && !self.effects.iter().any(|effect| matches!(effect, Effect::AskPerson(_))) {
            self.effects.push(Effect::Rest);
        }
        self.effects
    }
}

enum Next<'s> {
    Start(&'s Item, QueueRule),
    /// The member of this turn has reached its usage limit, and the other one takes over.
    TakeOver(&'s Item, MemberIndex),
    Pause(PauseReason),
    Nothing,
}

fn next<'s>(roster: &Roster, state: &'s State) -> Next<'s> {
    if state.active.is_empty() {
        if let Some(why) = state.pause(roster) {
            return Next::Pause(why);
        }
    } else if state.hold.is_some() {
        return Next::Nothing;
    }
    let Some((item, rule)) = state.choose_beside(roster) else { return Next::Nothing };
    match state.availability(roster, item) {
        Availability::TakenOverBy(to) => Next::TakeOver(item, to),
        // While others run, the question waits for their end.
        Availability::Available | Availability::Waits if is_guarded(roster, state, item) => {
            Next::Nothing
        }
        Availability::Available | Availability::Waits => Next::Start(item, rule),
    }
}

fn is_guarded(roster: &Roster, state: &State, item: &Item) -> bool {
    !roster.is_human(item.index) && state.guard.stops(roster, item.by, item.index).is_some()
}

fn turn_payload(member: &str, state: TurnState, turn_id: Option<EntryId>, cause: Cause) -> Turn {
    let error_class = match &cause {
        Cause::Failed { class, .. } => Some(class.clone()),
        _ => None,
    };
    Turn {
        member: member.into(),
        state,
        turn_id,
        cause,
        cause_source: None,
        error_class,
        prompt_hash: None,
        prompt_recipe: None,
        native_session_id: None,
        memory: None,
        native_head: None,
        unknown: Fields::NONE,
    }
}

/// A decision of the machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Turn {
        turn: EntryId,
        entry: EntryId,
        member: Box<str>,
        state: TurnState,
        cause: Cause,
    },
    Note(Note),
    /// A person was asked. `waiting` holds the turns that a guard stopped, and the messages that they answer.
    Asked {
        question: Question,
        waiting: Vec<EntryId>,
    },
}

/// All decisions, indexed by the entries that they are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecisionLog {
    decisions: Vec<Decision>,
    by_entry: HashMap<EntryId, Vec<usize>>,
}

impl Decision {
    /// Returns the entries that the decision is about.
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

impl DecisionLog {
    pub(crate) fn add(&mut self, decision: Decision) {
        let index = self.decisions.len();
        for id in decision.ids() {
            let indexes = self.by_entry.entry(id.clone()).or_default();
            if indexes.last() != Some(&index) {
                indexes.push(index);
            }
        }
        self.decisions.push(decision);
    }

    pub(crate) fn why(&self, entry: &str) -> Vec<&Decision> {
        let indexes = self.by_entry.get(entry).into_iter().flatten();
        indexes.filter_map(|index| self.decisions.get(*index)).collect()
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
            // The default person has this name.
            Self::Asked { question: Question { to: Some(name), why }, .. } if **name == *"you" => {
                write!(f, "you were asked: {why}")
            }
            Self::Asked { question: Question { to, why }, .. } => {
                write!(f, "{} was asked: {why}", to.as_deref().unwrap_or("the person"))
            }
        }
    }
}
