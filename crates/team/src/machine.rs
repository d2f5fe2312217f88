//! The turn machine: an event comes in, the state changes, effects come out. Pure. One turn runs at a time. Every step
//! reads alike: what the event itself means (`said`, `turns`), then `advance`, which starts the next turn or says why not.

mod said;
mod turns;

use std::collections::HashMap;
use std::fmt;

use tertulia_session::{Cause, EntryId, EntryKind, Fields, Intent, QueueRule, Turn, TurnState};

use crate::effect::{Effect, Event, Question, Why};
use crate::guard::Dollars;
use crate::note::Note;
use crate::queue::Item;
use crate::state::{Slot, State, TurnChange};
use crate::table::{Seat, SpeakerError, Table, speaker};

/// The router, the queue and the turns of one table.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) table: Table,
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
}

/// What the table does now. It is stopping while a cancelled agent has not ended, waiting while a person is to answer,
/// and paused where turns wait and a person is asked first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Resting,
    Running { turn: EntryId },
    Stopping { turn: EntryId },
    Waiting { turn: EntryId, member: Box<str> },
    Paused(Why),
}

/// A turn that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingTurn<'a> {
    pub turn: &'a EntryId,
    pub member: &'a str,
    pub parent: &'a EntryId,
    pub intent: Intent,
    pub is_paused: bool,
}

struct Step<'m> {
    table: &'m Table,
    state: &'m mut State,
    ledger: &'m mut Ledger,
    effects: Vec<Effect>,
}

impl Machine {
    /// A machine for a table where nothing was said yet.
    pub fn new(table: Table) -> Self {
        let state = State::new(&table);
        Self { table, state, ledger: Ledger::default() }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Takes in what happened and says what is to be done, in order.
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        let mut step = self.begin();
        match event {
            Event::PersonSaid { entry, member, message } => {
                step.person_said(&entry, member.as_deref(), &message.directives);
                step.ask_again();
            }
            Event::AgentSaid { turn, entry, text, interrupted } => {
                step.agent_said(&turn, &entry, (!interrupted).then_some(&text));
            }
            Event::AgentFailed { turn, class, entry } => step.agent_failed(&turn, &class, entry),
            Event::Cancel(cancel) => step.cancel(cancel),
            Event::Continue => step.go_on(),
            Event::Resume => step.resume(),
            Event::Repeat { turn } => step.repeat(&turn),
            // These decide nothing, so nothing follows from them.
            Event::TurnsLimited { turns } => {
                step.state.guard.turns_max = turns;
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
        self.state.stopped();
        let mut step = self.begin();
        step.advance();
        step.finish()
    }

    /// Which person speaks: the one who is named, by the program or by `[FROM: …]`, the one that is waited
    /// for, or the only one; `None` where the team has no person. Asked before a message is stored.
    pub fn speaker_of(&self, named: Option<&str>) -> Result<Option<&str>, SpeakerError> {
        let awaited = self.state.awaited().map(|item| item.seat);
        let seat = speaker(&self.table, awaited, named)?;
        Ok(seat.map(|seat| self.table.name(seat)))
    }

    /// What the table does now.
    pub fn status(&self) -> Status {
        match &self.state.slot {
            Slot::Running(item) => Status::Running { turn: item.turn.clone() },
            Slot::Stopping(turn) => Status::Stopping { turn: turn.clone() },
            Slot::Asking(item) => Status::Waiting {
                turn: item.turn.clone(),
                member: self.table.name(item.seat).into(),
            },
            Slot::Free => match next(&self.table, &self.state) {
                Next::Pause(why) => Status::Paused(why),
                Next::Start(..) | Next::Nothing => Status::Resting,
            },
        }
    }

    /// After how many turns a person is asked at the latest, where the team's own limit does not count.
    pub fn turns_max(&self) -> Option<u32> {
        self.state.guard.turns_max
    }

    /// The turns that wait, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = WaitingTurn<'_>> {
        let paused = self.state.queue.paused;
        self.state.queue.items.iter().enumerate().map(move |(place, item)| WaitingTurn {
            turn: &item.turn,
            member: self.table.name(item.seat),
            parent: &item.parent,
            intent: item.intent,
            is_paused: place < paused,
        })
    }

    /// All that was decided because of an entry, or that the entry records, in order.
    pub fn why(&self, entry: &str) -> Vec<&Decision> {
        self.ledger.why(entry)
    }

    fn begin(&mut self) -> Step<'_> {
        let Self { table, state, ledger } = self;
        Step { table, state, ledger, effects: Vec::new() }
    }
}

impl Step<'_> {
    fn record(&mut self, turn: &EntryId, seat: Seat, state: TurnState, cause: Cause) {
        let member = self.table.name(seat);
        let turn_id = (state != TurnState::Queued).then(|| turn.clone());
        let payload = turn_payload(member, state, turn_id, cause.clone());
        let id = match state {
            TurnState::Queued => turn.clone(),
            _ => self.entry_id(payload.clone(), turn),
        };
        self.ledger.add(Decision::Turn {
            turn: turn.clone(),
            entry: id.clone(),
            member: member.into(),
            state,
            cause: cause.clone(),
        });
        self.effects.push(Effect::Append { id, kind: EntryKind::Turn(Box::new(payload)) });
        self.state.apply(self.table, &TurnChange { turn: turn.clone(), seat, state, cause });
    }

    fn turn_id(&self, member: &str, cause: &Cause, about: &EntryId) -> EntryId {
        self.entry_id(turn_payload(member, TurnState::Queued, None, cause.clone()), about)
    }

    /// The id of a turn's entry. It follows from the decision and what it is about, not from its place in the log and
    /// not from the version of the record; what is decided again on another branch of the session is another entry.
    fn entry_id(&self, turn: Turn, about: &EntryId) -> EntryId {
        let kind = EntryKind::Turn(Box::new(turn.with_cause_of_version_1()));
        self.state.content_id(kind, Some(about))
    }

    fn note(&mut self, note: Note) {
        self.ledger.add(Decision::Note(note.clone()));
        self.effects.push(Effect::Note(note));
    }

    fn ask(&mut self, to: Option<Seat>, why: Why) {
        let first = || self.table.humans().map(|(seat, _)| seat).next();
        let to = to.filter(|seat| self.table.is_human(*seat)).or_else(first);
        let question = Question { to: to.map(|seat| self.table.name(seat).into()), why };
        // A question that names no entry is a guard's: it stops whatever waits.
        let is_guard = question.why.ids().is_empty();
        let stopped = self.state.queue.items.iter().filter(|_| is_guard);
        let waiting = stopped.flat_map(|item| [item.turn.clone(), item.parent.clone()]).collect();
        self.ledger.add(Decision::Asked { question: question.clone(), waiting });
        self.effects.push(Effect::AskPerson(question));
    }

    fn advance(&mut self) {
        match next(self.table, self.state) {
            Next::Nothing => {}
            Next::Pause(why) => self.ask(None, why),
            Next::Start(item, rule) => {
                let item = item.clone();
                self.start(item, rule);
            }
        }
    }

    fn start(&mut self, item: Item, rule: QueueRule) {
        self.record(&item.turn, item.seat, TurnState::Started, Cause::Chosen { rule });
        if self.table.is_human(item.seat) {
            return self.ask_for_answer(item);
        }
        let Item { turn, seat, parent, intent, .. } = item;
        let member = self.table.name(seat).into();
        self.effects.push(Effect::StartTurn { turn, member, parent, intent });
    }

    fn ask_for_answer(&mut self, item: Item) {
        let Item { turn, seat, parent: entry, by, .. } = item;
        let by = by.map(|by| self.table.name(by).into());
        self.ask(Some(seat), Why::Answer { turn, entry, by });
    }

    fn finish(mut self) -> Vec<Effect> {
        let rests = self.state.slot == Slot::Free && self.state.queue.items.is_empty();
        if rests && !self.effects.iter().any(|effect| matches!(effect, Effect::AskPerson(_))) {
            self.effects.push(Effect::Rest);
        }
        self.effects
    }
}

enum Next<'s> {
    Start(&'s Item, QueueRule),
    Pause(Why),
    Nothing,
}

fn next<'s>(table: &Table, state: &'s State) -> Next<'s> {
    if state.slot != Slot::Free {
        return Next::Nothing;
    }
    if let Some(why) = state.pause(table) {
        return Next::Pause(why);
    }
    match state.queue.choose(table.limits(), state.last_said.as_ref()) {
        Some((item, rule)) => Next::Start(item, rule),
        None => Next::Nothing,
    }
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
        unknown: Fields::NONE,
    }
}

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

/// What was decided and why, found by the entries it rests on: the memory behind `why`.
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
