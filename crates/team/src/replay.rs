//! Replays a log: passes the recorded answers to a machine, and compares its decisions with the recorded ones. They
//! differ if the team changed or another version decided differently. Then the difference is reported and the
//! recorded decision is used, so the resulting state is always that of the log.

mod compare;
mod events;

use std::collections::{HashMap, HashSet, VecDeque};

use tertulia_session::{
    Cause, Entry, EntryId, EntryKind, Message, Setting, Turn, TurnState, Usage,
};

use crate::ask::AskState;
use crate::effect::{Effect, Event, PauseReason};
use crate::guard::Dollars;
use crate::machine::Machine;
use crate::queue::Item;
use crate::roster::{Roster, speaker};
use crate::state::{State, TurnChange};
use crate::{PersonMessage, is_partial, reached_nobody};
use compare::{described, says};
use events::{ask_of, is_of_person};

/// The result of replaying a log.
#[derive(Clone, Debug)]
pub struct Replay {
    pub machine: Machine,
    pub differences: Vec<Difference>,
    /// Decisions for the last event that are not in the log, as after a crash. Perform them, except
    /// [`Effect::StartTurn`], before [`Event::Resume`].
    pub unfinished: Vec<Effect>,
    /// The difference at the end of the log, if the machine would decide more there. Not set for a step that was
    /// never begun, as at the end of a fork.
    pub ending: Option<Difference>,
    /// Messages without text, as after a redaction: the decisions for them are taken from the log.
    pub unchecked: Vec<EntryId>,
    /// The message at which the log was forked or branched, if it queued no turn there.
    pub undecided: Option<Undecided>,
    recorded: State,
}

/// A message whose members were not queued, because the log was forked or branched at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    pub entry: EntryId,
    /// The members that it asks for, in order; never empty.
    pub members: Vec<Box<str>>,
}

/// A point where the recorded decisions differ from those of the machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    #[error("{at}: in the log, {found}; with the current team, {}", match expected {
        Some(expected) => &**expected,
        None => "nothing is decided",
    })]
    Decision { at: EntryId, expected: Option<Box<str>>, found: Box<str> },
    #[error("before {before}: with the current team, {expected}; the log does not contain this")]
    Missing { before: EntryId, expected: Box<str> },
    /// The last step of the log is incomplete: the machine would have decided more.
    #[error("{after}: the log ends here, but with the current team, {expected}")]
    Ending { after: EntryId, expected: Box<str> },
    #[error("{at}: unknown cause '{cause}'")]
    Unreadable { at: EntryId, cause: Box<str> },
    /// A turn of somebody who is no longer in the team.
    #[error("{at}: {member} is not in the team, so this turn is not compared")]
    UnknownMember { at: EntryId, member: Box<str> },
}

impl Replay {
    /// Returns whether there may be more differences than are listed.
    pub fn is_cut(&self) -> bool {
        self.differences.len() >= DIFFERENCES_MAX
    }

    /// Returns the machine with the state of the log alone, for a log with complete steps. Decisions that are not in
    /// the log were never made, as in a session that was imported or had other limits.
    pub fn into_recorded(mut self) -> Machine {
        self.machine.state = self.recorded;
        self.machine
    }
}

/// Maximum number of differences. After that many, the log is followed without comparing.
const DIFFERENCES_MAX: usize = 50;

struct Replayer<'a> {
    machine: Machine,
    /// The state according to the log alone. It equals the state of the machine until the first difference.
    recorded: State,
    /// Decisions of the machine that have not been found in the log yet.
    expected: VecDeque<Effect>,
    /// The last entry of the current step, if an entry shows that a driver performed that step.
    step_taken: Option<EntryId>,
    differences: Vec<Difference>,
    /// The newest message. `None` as soon as a decision follows it.
    newest: Option<&'a Entry>,
    /// Whether a driver received the newest message of a person and found no addressee.
    reached_nobody: bool,
    undecided: Option<Undecided>,
    /// Answers of agents. An answer is kept until the entry that ends its turn.
    texts: HashMap<&'a str, &'a Message>,
    /// Messages without text. The decisions for them cannot be checked.
    gone: HashSet<EntryId>,
    /// The same messages in order, for display.
    unchecked: Vec<EntryId>,
    /// Purged messages. Later turns show whether a person wrote them.
    purged: HashSet<EntryId>,
    /// Whether a turn was redacted, so that nothing after it can be checked.
    has_lost_turn: bool,
    /// Whether some earlier messages of people were not read.
    is_incomplete: bool,
}

impl Machine {
    /// Replays a log.
    pub fn replay<'a>(roster: Roster, entries: impl IntoIterator<Item = &'a Entry>) -> Replay {
        let mut replayer = Replayer::new(roster);
        entries.into_iter().for_each(|entry| replayer.read(entry));
        replayer.finish()
    }

    /// Replays a log whose messages were only read from the index `first` on, without checking earlier decisions.
    /// `None` if later decisions depend on messages that were not read.
    pub(crate) fn replay_newest(roster: Roster, entries: &[Entry], first: usize) -> Option<Replay> {
        let mut replayer = Replayer::new(roster);
        replayer.is_incomplete = first > 0;
        for (index, entry) in entries.iter().enumerate() {
            if replayer.is_incomplete && index >= first && replayer.starts_again(entry) {
                replayer.is_incomplete = false;
                replayer.follow_log();
            }
            replayer.read(entry);
        }
        (!replayer.is_incomplete).then(|| replayer.finish())
    }
}

impl<'a> Replayer<'a> {
    fn new(roster: Roster) -> Self {
        let recorded = State::new(&roster);
        Self {
            machine: Machine::new(roster),
            recorded,
            expected: VecDeque::new(),
            step_taken: None,
            differences: Vec::new(),
            newest: None,
            reached_nobody: false,
            undecided: None,
            texts: HashMap::new(),
            gone: HashSet::new(),
            unchecked: Vec::new(),
            purged: HashSet::new(),
            has_lost_turn: false,
            is_incomplete: false,
        }
    }

    /// Returns whether later decisions do not depend on earlier messages. This is so when a person writes while
    /// nothing runs or waits.
    fn starts_again(&self, entry: &Entry) -> bool {
        let Some(message) = entry.message() else { return false };
        let name = message.speaker.as_deref().map(|speaker| &*speaker.role_id);
        let is_received = || name.is_some() && speaker(&self.machine.roster, None, name).is_ok();
        let is_at_rest = self.recorded.active.is_empty() && self.recorded.queue.is_idle();
        let is_at_rest = is_at_rest && !self.recorded.asks.values().any(AskState::is_open);
        is_at_rest && is_of_person(message) && is_received()
    }

    fn read(&mut self, entry: &'a Entry) {
        match &entry.kind {
            EntryKind::Message(_) => (self.newest, self.undecided) = (Some(entry), None),
            EntryKind::Turn(_) => (self.newest, self.undecided) = (None, None),
            _ => {}
        }
        match &entry.kind {
            EntryKind::Message(message) if is_of_person(message) => self.person(entry, message),
            EntryKind::Message(message) => {
                self.texts.insert(entry.id.as_str(), message);
            }
            EntryKind::Turn(turn) => self.turn(entry, turn),
            EntryKind::Usage(usage) => self.usage(usage),
            EntryKind::SessionSetting(setting) => self.about_session(entry, &setting.setting),
            EntryKind::Purged(purged) if &*purged.type_name == "message" => {
                self.expect_nothing(entry);
                self.purged.insert(entry.id.clone());
            }
            EntryKind::Purged(purged) if &*purged.type_name == "turn" => self.lose_turn(entry),
            EntryKind::BranchSummary(_) => self.branch(entry),
            EntryKind::Purged(purged) if &*purged.type_name == "branch_summary" => {
                self.branch(entry);
            }
            _ => {}
        }
    }

    /// Returns whether the log is now followed without comparing. Comparing would copy the whole state for each
    /// further difference.
    fn only_follows(&self) -> bool {
        self.is_incomplete || self.has_lost_turn || self.differences.len() >= DIFFERENCES_MAX
    }

    /// Handles a redacted turn: later entries about it cannot be derived. It may end a running turn.
    fn lose_turn(&mut self, entry: &Entry) {
        self.recorded.active.lose();
        self.follow_log();
        self.has_lost_turn = true;
        self.mark_unchecked(&entry.id);
    }

    fn person(&mut self, entry: &Entry, message: &Message) {
        self.expect_nothing(entry);
        let ask = ask_of(message);
        if self.only_follows() {
            return self.recorded.person_said(&self.machine.roster, &entry.id, ask);
        }
        let member = message.speaker.as_ref().map(|speaker| speaker.role_id.clone());
        let said = PersonMessage::new(message.text(), &self.machine.roster);
        let said = Box::new(PersonMessage { ask: ask.cloned(), ..said });
        let entry_id = entry.id.clone();
        let effects =
            self.machine.step(Event::PersonSaid { entry: entry_id, member, message: said });
        let refused = effects.iter().any(|effect| {
            matches!(effect, Effect::AskPerson(question) if matches!(question.why, PauseReason::WhoSpeaks { .. }))
        });
        if !refused {
            self.recorded.person_said(&self.machine.roster, &entry.id, ask);
        }
        self.expected = effects.into();
        self.step_taken = None;
        self.reached_nobody = reached_nobody(message);
    }

    fn usage(&mut self, usage: &Usage) {
        let Some(cost) = &usage.cost_usd else { return };
        let usd = cost.amount();
        let index = self.machine.roster.index_of(&usage.member);
        self.recorded.guard.paid(index, Dollars::from_usd(usd));
        if self.only_follows() {
            return;
        }
        self.machine.step(Event::UsageSeen { member: usage.member.clone(), usd });
    }

    fn about_session(&mut self, entry: &Entry, setting: &Setting) {
        match setting {
            Setting::Continued { .. } => {
                let roster = self.machine.roster.clone();
                self.noted(entry, Event::Continue, |state| state.continue_turns(&roster));
            }
            Setting::Reopened { .. } => self.noted(entry, Event::Resume, State::reopened),
            Setting::LimitEnded { member, .. } => {
                let index = self.machine.roster.index_of(member);
                let event = Event::LimitEnded { member: member.clone() };
                self.noted(entry, event, |state| state.limits.retain(|one, _| Some(*one) != index));
            }
            Setting::TurnsMax { turns } => {
                self.recorded.guard.turns_max = *turns;
                self.machine.step(Event::TurnsLimited { turns: *turns });
            }
            Setting::DaySpent { day, spent } => {
                let (day, spent) = (day.clone(), Dollars::from_usd(spent.amount()));
                self.recorded.guard.day_spent(&day, spent);
                self.machine.step(Event::DaySpent { day, spent });
            }
            Setting::Folder { .. } | Setting::Title { .. } | Setting::Other { .. } => {}
        }
    }

    /// Handles a branch: the decisions for the entry at which it begins are on the other branch.
    fn branch(&mut self, entry: &Entry) {
        self.undecided = self.undecided().filter(|undecided| !undecided.members.is_empty());
        self.recorded.branch = Some(entry.id.clone());
        self.follow_log();
    }

    /// Returns the message at which the branch begins, if its step is not on this branch. If the message is a
    /// complete answer, its turn is done.
    fn undecided(&mut self) -> Option<Undecided> {
        let newest = self.newest.take()?;
        let entry = newest.id.clone();
        let message = newest.message()?;
        if self.recorded.active.running().next().is_none() {
            let members = Effect::queued(self.expected.iter().filter(|_| is_of_person(message)));
            return self.step_taken.is_none().then_some(Undecided { entry, members });
        }
        let speaker = message.speaker.as_deref()?;
        let is_theirs = |item: &&Item| *speaker.role_id == *self.machine.roster.name(item.index);
        let item =
            self.recorded.active.running().find(is_theirs).filter(|_| !is_partial(newest))?;
        let (turn, index) = (item.turn.clone(), item.index);
        let mut trial = Machine::new(self.machine.roster.clone());
        trial.state.clone_from(&self.recorded);
        let text = message.text().into_owned();
        let said =
            Event::AgentSaid { turn: turn.clone(), entry: entry.clone(), text, interrupted: false };
        let members = Effect::queued(&trial.step(said));
        let cause = Cause::Answered { entry: entry.clone() };
        let change = TurnChange { turn, index, state: TurnState::Done, cause };
        self.recorded.apply(&self.machine.roster, &change);
        Some(Undecided { entry, members })
    }

    /// Handles a setting. The machine has just decided to write it, as for a person's "yes", or this event caused it.
    fn noted(&mut self, entry: &Entry, event: Event, apply: impl Fn(&mut State)) {
        self.step_taken = Some(entry.id.clone());
        if self.expects(&entry.kind) {
            self.next_decision();
            return apply(&mut self.recorded);
        }
        self.expect_nothing(entry);
        apply(&mut self.recorded);
        if self.only_follows() {
            return;
        }
        self.expected = self.machine.step(event).into();
        match self.expects(&entry.kind) {
            true => drop(self.next_decision()),
            // The machine would not have written this setting.
            false => self.follow_log(),
        }
    }

    /// Returns whether the next entry that the machine decided on has this setting.
    fn expects(&self, kind: &EntryKind) -> bool {
        let mut appends = self.expected.iter().filter_map(|effect| match effect {
            Effect::Append { kind, .. } => Some(kind),
            _ => None,
        });
        let setting = kind.setting();
        appends.next().is_some_and(|next| setting.is_some() && next.setting() == setting)
    }

    fn turn(&mut self, entry: &'a Entry, turn: &Turn) {
        if let Cause::Other(_) = turn.cause {
            let (at, cause) = (entry.id.clone(), turn.cause.sentence(&turn.member).into());
            return self.differ(Difference::Unreadable { at, cause });
        }
        let Some(index) = self.machine.roster.index_of(&turn.member) else {
            let member = turn.member.clone();
            return self.differ(Difference::UnknownMember { at: entry.id.clone(), member });
        };
        let id = turn.turn_id.as_ref().unwrap_or(&entry.id).clone();
        let change = TurnChange { turn: id, index, state: turn.state, cause: turn.cause.clone() };
        self.apply_purged_message(&change);
        if self.only_follows() {
            return self.recorded.apply(&self.machine.roster, &change);
        }
        if !self.has_decision() {
            self.apply_event(&change);
        }
        let decided = self.next_decision();
        self.recorded.apply(&self.machine.roster, &change);
        let same = decided.as_ref().is_some_and(|effect| says(effect, turn, &change));
        self.step_taken = Some(entry.id.clone());
        if !same {
            let unchecked = change.cause.ids().into_iter().any(|id| self.gone.contains(id));
            if !unchecked {
                let expected = decided.as_ref().and_then(Effect::as_turn).map(described);
                let (at, found) = (entry.id.clone(), described(turn));
                self.differences_push(Difference::Decision { at, expected, found });
            }
            self.follow_log();
        }
    }

    /// Handles a turn that a person requested or declined in a purged message. It shows that a person wrote the
    /// message, whatever its text was.
    fn apply_purged_message(&mut self, change: &TurnChange) {
        let (Cause::Asked { entry, by, .. }
        | Cause::Consulted { entry, by, .. }
        | Cause::Declined { entry, by, .. }) = &change.cause
        else {
            return;
        };
        let roster = &self.machine.roster;
        let index = by.as_deref().and_then(|by| roster.index_of(by));
        let is_of_person = by.is_none() || index.is_some_and(|index| roster.is_human(index));
        if !is_of_person || !self.purged.remove(entry) {
            return;
        }
        self.recorded.person_said(&self.machine.roster, entry, None);
        self.mark_unchecked(entry);
        self.follow_log();
    }

    fn has_decision(&self) -> bool {
        self.expected.iter().any(|effect| matches!(effect, Effect::Append { .. }))
    }

    fn next_decision(&mut self) -> Option<Effect> {
        while let Some(effect) = self.expected.pop_front() {
            if matches!(effect, Effect::Append { .. }) {
                return Some(effect);
            }
        }
        None
    }

    fn mark_unchecked(&mut self, entry: &EntryId) {
        if self.gone.insert(entry.clone()) {
            self.unchecked.push(entry.clone());
        }
    }

    /// Checks before a new event that earlier decisions are in the log. A message that no driver received, as in an
    /// imported session, has no decisions.
    fn expect_nothing(&mut self, entry: &Entry) {
        let is_received = self.step_taken.is_some() || self.reached_nobody;
        if self.has_decision() && !is_received {
            self.follow_log();
        } else if let Some(decision) = self.next_decision() {
            let expected = decision.as_turn().map(described).unwrap_or_default();
            self.differ(Difference::Missing { before: entry.id.clone(), expected });
        }
        self.expected.clear();
    }

    fn differ(&mut self, difference: Difference) {
        self.differences_push(difference);
        self.follow_log();
    }

    fn differences_push(&mut self, difference: Difference) {
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(difference);
        }
    }

    fn follow_log(&mut self) {
        self.expected.clear();
        // Once the log is followed without comparing, the machine takes its state at the end.
        if !self.only_follows() {
            self.machine.state.clone_from(&self.recorded);
        }
    }

    fn finish(mut self) -> Replay {
        let has_decision = self.has_decision();
        let unfinished: Vec<Effect> = self.expected.drain(..).filter(|_| has_decision).collect();
        let next = unfinished.iter().find_map(Effect::as_turn).map(described);
        let ending = self.step_taken.zip(next);
        let ending = ending.map(|(after, expected)| Difference::Ending { after, expected });
        if unfinished.is_empty() && self.machine.state != self.recorded {
            self.machine.state.clone_from(&self.recorded);
        }
        let Self { machine, differences, unchecked, undecided, recorded, .. } = self;
        Replay { machine, differences, unfinished, ending, unchecked, undecided, recorded }
    }
}
