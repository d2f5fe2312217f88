//! A log is read again: the recorded answers are fed to a machine, and its decisions are compared with the recorded ones.
//! Where they differ (the team was changed, another version decided otherwise) the difference is named and the log is
//! believed: the state always is the one that the log tells.

use std::collections::{HashMap, HashSet, VecDeque};

use tertulia_session::{
    Cause, Entry, EntryId, EntryKind, Message, Setting, Turn, TurnState, Usage,
};

use crate::effect::{Cancel, Effect, Event, Why};
use crate::guard::Dollars;
use crate::machine::Machine;
use crate::state::{Slot, State, TurnChange};
use crate::table::{Table, speaker};
use crate::{PersonMessage, is_partial, reached_nobody};

/// What a log tells.
#[derive(Clone, Debug)]
pub struct Replay {
    pub machine: Machine,
    pub differences: Vec<Difference>,
    /// What was decided for the last event and is not in the log, as after a crash: to be performed,
    /// but for [`Effect::StartTurn`], before [`Event::Resume`].
    pub unfinished: Vec<Effect>,
    /// Where the log ends though the machine would go on; not for a step that no table took, as at the end of a fork.
    pub ending: Option<Difference>,
    /// Messages whose text is gone, as after a redaction: what followed from them is taken as recorded.
    pub unchecked: Vec<EntryId>,
    /// The message that the log was forked or branched at, if nobody was asked for it there.
    pub undecided: Option<Undecided>,
    recorded: State,
}

/// A message that asks for members who were not asked, because the log was forked or branched at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    pub entry: EntryId,
    /// Whom it asks for, in order; never empty.
    pub members: Vec<Box<str>>,
}

/// A place where the recorded decisions are not the machine's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    #[error("{at}: the log says {found}; now {}", match expected {
        Some(expected) => format!("it would be {expected}"),
        None => "nothing would be decided".to_owned(),
    })]
    Decision { at: EntryId, expected: Option<Box<str>>, found: Box<str> },
    #[error("before {before} the log does not say {expected}")]
    Missing { before: EntryId, expected: Box<str> },
    /// The last step of the log is not whole: the machine would have decided more.
    #[error("{after}: the log ends here; the current team would continue with {expected}")]
    Ending { after: EntryId, expected: Box<str> },
    #[error("{at}: '{cause}' is no cause known here")]
    Unreadable { at: EntryId, cause: Box<str> },
    /// A turn of somebody who does not sit at the table any more.
    #[error("{at}: {member} is not in the team; the turn is left out")]
    Stranger { at: EntryId, member: Box<str> },
}

impl Replay {
    /// Whether there may be more differences than are told.
    pub fn is_cut(&self) -> bool {
        self.differences.len() >= DIFFERENCES_MAX
    }

    /// The machine as the log alone tells, for a log whose steps are stored whole: what is not in it was
    /// never decided, as in a session that was imported or had other limits.
    pub fn into_recorded(mut self) -> Machine {
        self.machine.state = self.recorded;
        self.machine
    }
}

/// So many differences are told; then the log is only followed.
const DIFFERENCES_MAX: usize = 50;

struct Replayer<'a> {
    machine: Machine,
    /// What the log alone tells; equal to the machine's state until they differ.
    recorded: State,
    /// What the machine decided and the log has not told yet.
    expected: VecDeque<Effect>,
    /// The last entry of the step that is being read, once it shows that a table took that step.
    step_taken: Option<EntryId>,
    differences: Vec<Difference>,
    /// The newest message, until a decision follows it.
    newest: Option<&'a Entry>,
    /// Whether the team heard the newest message of a person and found nobody for it.
    reached_nobody: bool,
    undecided: Option<Undecided>,
    /// What agents said, until the entry comes that ends their turn.
    texts: HashMap<&'a str, &'a Message>,
    /// Messages whose text is gone, so that what follows from them cannot be checked.
    gone: HashSet<EntryId>,
    /// The same in order, for people.
    unchecked: Vec<EntryId>,
    /// Messages that were purged. Whether a person said them shows in what they led to.
    purged: HashSet<EntryId>,
    /// A turn was redacted, so nothing behind it can be checked.
    has_lost_turn: bool,
    /// What people said so far is not all there.
    is_incomplete: bool,
}

impl Machine {
    /// Reads a log in its order.
    pub fn replay<'a>(table: Table, entries: impl IntoIterator<Item = &'a Entry>) -> Replay {
        let mut replayer = Replayer::new(table);
        entries.into_iter().for_each(|entry| replayer.read(entry));
        replayer.finish()
    }

    /// Reads a log whose messages are only there from the index `first` on. The decisions before are believed.
    /// `None` if what follows depends on messages that are not there.
    pub(crate) fn replay_newest(table: Table, entries: &[Entry], first: usize) -> Option<Replay> {
        let mut replayer = Replayer::new(table);
        replayer.is_incomplete = first > 0;
        for (index, entry) in entries.iter().enumerate() {
            if replayer.is_incomplete && index >= first && replayer.starts_anew(entry) {
                replayer.is_incomplete = false;
                replayer.follow_log();
            }
            replayer.read(entry);
        }
        (!replayer.is_incomplete).then(|| replayer.finish())
    }
}

impl<'a> Replayer<'a> {
    fn new(table: Table) -> Self {
        let recorded = State::new(&table);
        Self {
            machine: Machine::new(table),
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

    /// Whether what follows does not depend on what people said before: one speaks, and nothing runs or waits.
    fn starts_anew(&self, entry: &Entry) -> bool {
        let Some(message) = entry.message() else { return false };
        let name = message.speaker.as_deref().map(|speaker| &*speaker.role_id);
        let is_heard = || name.is_some() && speaker(&self.machine.table, None, name).is_ok();
        let is_at_rest = self.recorded.slot == Slot::Free && self.recorded.queue.is_idle();
        is_at_rest && is_of_person(message) && is_heard()
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

    /// Whether the log is only followed: comparing on would cost a copy of the whole state for each difference.
    fn only_follows(&self) -> bool {
        self.is_incomplete || self.has_lost_turn || self.differences.len() >= DIFFERENCES_MAX
    }

    /// A turn was redacted: what the log says of it from then on follows from nothing. It may end the one that runs.
    fn lose_turn(&mut self, entry: &Entry) {
        if matches!(self.recorded.slot, Slot::Running(_) | Slot::Asking(_)) {
            self.recorded.slot = Slot::Free;
        }
        self.follow_log();
        self.has_lost_turn = true;
        self.is_gone(&entry.id);
    }

    fn person(&mut self, entry: &Entry, message: &Message) {
        self.expect_nothing(entry);
        if self.only_follows() {
            return self.recorded.person_said(&self.machine.table, &entry.id);
        }
        let member = message.speaker.as_ref().map(|speaker| speaker.role_id.clone());
        let said = Box::new(PersonMessage::new(message.text(), &self.machine.table));
        let entry_id = entry.id.clone();
        let effects =
            self.machine.step(Event::PersonSaid { entry: entry_id, member, message: said });
        let refused = effects.iter().any(|effect| {
            matches!(effect, Effect::AskPerson(question) if matches!(question.why, Why::WhoSpeaks { .. }))
        });
        if !refused {
            self.recorded.person_said(&self.machine.table, &entry.id);
        }
        self.expected = effects.into();
        self.step_taken = None;
        self.reached_nobody = reached_nobody(message);
    }

    fn usage(&mut self, usage: &Usage) {
        let Some(cost) = &usage.cost_usd else { return };
        let usd = cost.amount();
        let seat = self.machine.table.seat_of(&usage.member);
        self.recorded.guard.paid(seat, Dollars::from_usd(usd));
        if self.only_follows() {
            return;
        }
        self.machine.step(Event::UsageSeen { member: usage.member.clone(), usd });
    }

    fn about_session(&mut self, entry: &Entry, setting: &Setting) {
        match setting {
            Setting::Continued { .. } => self.noted(entry, Event::Continue, State::go_on),
            Setting::Reopened { .. } => self.noted(entry, Event::Resume, State::reopened),
            Setting::TurnsMax { turns } => {
                self.recorded.guard.turns_max = *turns;
                self.machine.step(Event::TurnsLimited { turns: *turns });
            }
            Setting::Folder { .. } | Setting::Title { .. } | Setting::Other { .. } => {}
        }
    }

    /// What was decided for an entry that was branched at is on the other branch.
    fn branch(&mut self, entry: &Entry) {
        self.undecided = self.undecided().filter(|undecided| !undecided.members.is_empty());
        self.recorded.branch = Some(entry.id.clone());
        self.follow_log();
    }

    /// The message that was branched at, if its step was left behind. An answer is whole, so its turn is done.
    fn undecided(&mut self) -> Option<Undecided> {
        let newest = self.newest.take()?;
        let entry = newest.id.clone();
        let message = newest.message()?;
        let Slot::Running(item) = &self.recorded.slot else {
            let members = Effect::queued(self.expected.iter().filter(|_| is_of_person(message)));
            return self.step_taken.is_none().then_some(Undecided { entry, members });
        };
        let (turn, seat) = (item.turn.clone(), item.seat);
        let speaker = message.speaker.as_deref()?;
        if *speaker.role_id != *self.machine.table.name(seat) || is_partial(newest) {
            return None;
        }
        let mut trial = Machine::new(self.machine.table.clone());
        trial.state.clone_from(&self.recorded);
        let text = message.text().into_owned();
        let said =
            Event::AgentSaid { turn: turn.clone(), entry: entry.clone(), text, interrupted: false };
        let members = Effect::queued(&trial.step(said));
        let cause = Cause::Answered { entry: entry.clone() };
        let change = TurnChange { turn, seat, state: TurnState::Done, cause };
        self.recorded.apply(&self.machine.table, &change);
        Some(Undecided { entry, members })
    }

    /// The machine has just decided to write this note, as for a person's "yes", or this event led to it.
    fn noted(&mut self, entry: &Entry, event: Event, apply: fn(&mut State)) {
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
            // The machine would not have written it.
            false => self.follow_log(),
        }
    }

    /// Whether the next entry that the machine has decided on says this.
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
        let Some(seat) = self.machine.table.seat_of(&turn.member) else {
            let member = turn.member.clone();
            return self.differ(Difference::Stranger { at: entry.id.clone(), member });
        };
        let id = turn.turn_id.as_ref().unwrap_or(&entry.id).clone();
        let change = TurnChange { turn: id, seat, state: turn.state, cause: turn.cause.clone() };
        self.hear_purged(&change);
        if self.only_follows() {
            return self.recorded.apply(&self.machine.table, &change);
        }
        if !self.has_decision() {
            self.happen(&change);
        }
        let decided = self.next_decision();
        self.recorded.apply(&self.machine.table, &change);
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

    /// A turn that a person asked for or declined by a message that was purged: the person spoke, whatever was said.
    fn hear_purged(&mut self, change: &TurnChange) {
        let (Cause::Asked { entry, by, .. } | Cause::Declined { entry, by, .. }) = &change.cause
        else {
            return;
        };
        let table = &self.machine.table;
        let seat = by.as_deref().and_then(|by| table.seat_of(by));
        let is_of_person = by.is_none() || seat.is_some_and(|seat| table.is_human(seat));
        if !is_of_person || !self.purged.remove(entry) {
            return;
        }
        self.recorded.person_said(&self.machine.table, entry);
        self.is_gone(entry);
        self.follow_log();
    }

    fn happen(&mut self, change: &TurnChange) {
        let turn = change.turn.clone();
        let effects = match (change.state, &change.cause) {
            (TurnState::Done, Cause::Answered { entry }) => {
                let Some(text) =
                    self.texts.remove(entry.as_str()).map(|said| said.text().into_owned())
                else {
                    return self.is_gone(entry);
                };
                let entry = entry.clone();
                self.machine.step(Event::AgentSaid { turn, entry, text, interrupted: false })
            }
            (TurnState::Interrupted, Cause::CutOff { entry }) => {
                let (entry, text) = (entry.clone(), String::new());
                self.machine.step(Event::AgentSaid { turn, entry, text, interrupted: true })
            }
            (TurnState::Interrupted, Cause::ProgramStopped) => self.machine.step(Event::Resume),
            (TurnState::Failed, Cause::Failed { class }) => {
                let class = class.clone();
                self.machine.step(Event::AgentFailed { turn, class, entry: None })
            }
            (TurnState::Cancelled, Cause::Cancelled { all }) => {
                let cancel = if *all { Cancel::All } else { Cancel::Turn(turn) };
                self.machine.step(Event::Cancel(cancel))
            }
            (TurnState::Queued, Cause::Repeated { turn, .. }) => {
                self.recorded.hold = None;
                self.machine.step(Event::Repeat { turn: turn.clone() })
            }
            // The end of a cancelled agent is in no entry: it shows when the next turn starts.
            (TurnState::Started, _) => self.machine.advance(),
            _ => return,
        };
        self.expected = effects.into();
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

    fn is_gone(&mut self, entry: &EntryId) {
        if self.gone.insert(entry.clone()) {
            self.unchecked.push(entry.clone());
        }
    }

    /// Something new happened: what was decided before must be in the log by now. Of a message that no
    /// team has heard, as in a session that was imported, nothing was decided.
    fn expect_nothing(&mut self, entry: &Entry) {
        let is_heard = self.step_taken.is_some() || self.reached_nobody;
        if self.has_decision() && !is_heard {
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
        // Once the log is only followed, the machine takes over its state at the end.
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

fn says(effect: &Effect, turn: &Turn, change: &TurnChange) -> bool {
    let Effect::Append { id, .. } = effect else { return false };
    let Some(decided) = effect.as_turn() else { return false };
    let same_turn = match turn.state {
        TurnState::Queued => *id == change.turn,
        _ => decided.turn_id == turn.turn_id,
    };
    let same = decided.member == turn.member && decided.state == turn.state && same_turn;
    same && decided.cause == change.cause
}

fn described(turn: &Turn) -> Box<str> {
    let Turn { member, state, cause, .. } = turn;
    format!("{member}'s turn is {} ({})", state.as_str(), cause.sentence(member)).into()
}

/// A message without a speaker is a person's unless its role says otherwise.
fn is_of_person(message: &Message) -> bool {
    match message.speaker.as_deref() {
        Some(speaker) => speaker.is_human(),
        None => message.effective_role() == tertulia_session::Role::User,
    }
}
