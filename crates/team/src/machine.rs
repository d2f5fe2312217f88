//! The turn machine: an event comes in, the state changes, effects come out. Pure; the driver performs
//! the effects. One turn runs at a time.
//!
//! Every step reads alike: what the event itself means (`said`, `turns`), then `advance`, which starts
//! the next turn or says why not.

mod advance;
mod said;
mod turns;

use tertulia_session::{Cause, EntryId, EntryKind, Fields, Intent, Turn, TurnState};

use crate::effect::{Effect, Question, Why};
use crate::event::Event;
use crate::ledger::{Decision, Ledger};
use crate::money::Dollars;
use crate::note::Note;
use crate::speaker::{SpeakerError, speaker};
use crate::state::{Slot, State, TurnChange};
use crate::table::{Seat, Table};

/// The router, the queue and the turns of one table.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(crate) table: Table,
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
}

/// What the table does now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing runs and nothing waits.
    Resting,
    /// An agent works.
    Running { turn: EntryId },
    /// A cancelled agent has not ended yet.
    Stopping { turn: EntryId },
    /// A person is to answer.
    Waiting {
        /// The person's turn.
        turn: EntryId,
        member: Box<str>,
    },
    /// Turns wait, and a person is asked first.
    Paused(Why),
}

/// A turn that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingTurn<'a> {
    pub turn: &'a EntryId,
    pub member: &'a str,
    /// The message to be answered.
    pub parent: &'a EntryId,
    /// How urgent it is.
    pub intent: Intent,
    /// Whether it waits until a person resumes it.
    pub is_paused: bool,
}

/// One step: the state to change and what comes out.
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
                step.state.guard.limit_turns(turns);
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

    /// Starts what can start; for a replay that finds a start that no event explains.
    pub(crate) fn advance(&mut self) -> Vec<Effect> {
        self.state.stopped();
        let mut step = self.begin();
        step.advance();
        step.finish()
    }

    /// The agent of a cancelled turn has ended, which no entry tells.
    pub(crate) fn agent_is_gone(&mut self) {
        self.state.stopped();
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
            Slot::Free => match advance::next(&self.table, &self.state) {
                advance::Next::Pause(why) => Status::Paused(why),
                advance::Next::Start(..) | advance::Next::Nothing => Status::Resting,
            },
        }
    }

    /// After how many turns a person is asked at the latest, where the team's own limit does not count.
    pub fn turns_max(&self) -> Option<u32> {
        self.state.guard.turns_max()
    }

    /// The turns that wait, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = WaitingTurn<'_>> {
        let paused = self.state.queue.paused();
        self.state.queue.iter().enumerate().map(move |(place, item)| WaitingTurn {
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
    /// Gives a turn a new state, for the log and here.
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

    /// The id of a new turn.
    fn turn_id(&self, member: &str, cause: &Cause, about: &EntryId) -> EntryId {
        self.entry_id(turn_payload(member, TurnState::Queued, None, cause.clone()), about)
    }

    /// The id of a turn's entry. It follows from the decision and what it is about, not from its place in the
    /// log and not from the version of the record; what is decided again on another branch of the session
    /// is another entry.
    fn entry_id(&self, turn: Turn, about: &EntryId) -> EntryId {
        let kind = EntryKind::Turn(Box::new(turn.with_cause_of_version_1()));
        self.state.content_id(kind, Some(about))
    }

    fn note(&mut self, note: Note) {
        self.ledger.add(Decision::Note(note.clone()));
        self.effects.push(Effect::Note(note));
    }

    /// Asks this person, else the first one at the table.
    fn ask(&mut self, to: Option<Seat>, why: Why) {
        let to = to.filter(|seat| self.table.is_human(*seat)).or(self.table.first_human());
        let question = Question { to: to.map(|seat| self.table.name(seat).into()), why };
        // A question that names no entry is a guard's: it stops whatever waits.
        let is_guard = question.why.ids().is_empty();
        let stopped = self.state.queue.iter().filter(|_| is_guard);
        let waiting = stopped.flat_map(|item| [item.turn.clone(), item.parent.clone()]).collect();
        self.ledger.add(Decision::Asked { question: question.clone(), waiting });
        self.effects.push(Effect::AskPerson(question));
    }

    fn finish(mut self) -> Vec<Effect> {
        let rests = self.state.slot == Slot::Free && self.state.queue.is_empty();
        if rests && !self.effects.iter().any(|effect| matches!(effect, Effect::AskPerson(_))) {
            self.effects.push(Effect::Rest);
        }
        self.effects
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
