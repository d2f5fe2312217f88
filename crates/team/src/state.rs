//! The state of the machine. Only recorded facts change it: turn entries, messages of people, costs and settings. So
//! the state read from a log equals the live one. The machine decides, writes the entry and applies it here; replay
//! applies the entries that it finds.

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{Cause, EntryId, EntryKind, NewEntry, TurnState};

use crate::effect::PauseReason;
use crate::failover::{Availability, MemberLimit};
use crate::guard::Guard;
use crate::queue::{Item, Queue};
use crate::roster::{MemberIndex, Roster};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) queue: Queue,
    pub(crate) active_turn: ActiveTurn,
    pub(crate) hold: Option<Hold>,
    pub(crate) last_said: Option<EntryId>,
    pub(crate) guard: Guard,
    pub(crate) continue_count: u64,
    /// How often the session was reopened while turns waited that could have started.
    pub(crate) reopen_count: u64,
    /// The first entry of the current branch, if the session was ever branched.
    pub(crate) branch: Option<EntryId>,
    pub(crate) turns: HashMap<EntryId, TurnRecord>,
    /// The members that have reached a usage limit; always empty if no member of the team has a fallback.
    pub(crate) limits: BTreeMap<MemberIndex, MemberLimit>,
}

/// The turn that runs; at most one at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ActiveTurn {
    #[default]
    Free,
    Running(Item),
    Asking(Item),
    Stopping(EntryId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Cancelled(EntryId),
    Resumed(Option<EntryId>),
    /// The turn reached a usage limit after its agent had called these tools.
    LimitedAfterTools(EntryId, Box<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnRecord {
    pub(crate) item: Item,
    pub(crate) state: TurnState,
    /// The turn that repeats it or takes it over.
    pub(crate) repeated_by: Option<EntryId>,
    /// The turn that it takes over from a member that has reached a usage limit.
    pub(crate) takes_over: Option<EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnChange {
    /// The id of its `queued` entry.
    pub(crate) turn: EntryId,
    pub(crate) index: MemberIndex,
    pub(crate) state: TurnState,
    pub(crate) cause: Cause,
}

impl State {
    pub(crate) fn new(roster: &Roster) -> Self {
        Self { guard: Guard::new(roster), ..Self::default() }
    }

    /// Derives the id of an entry from its content and its subject. A decision may be repeated on another branch,
    /// where it is another entry of the same log. So the id also depends on the branch.
    pub(crate) fn content_id(&self, kind: EntryKind, about: Option<&EntryId>) -> EntryId {
        let mut entry = NewEntry::new(kind);
        entry.parent_id = match (about, &self.branch) {
            (Some(about), Some(branch)) => Some(format!("{about} {branch}").as_str().into()),
            (about, branch) => about.or(branch.as_ref()).cloned(),
        };
        entry.with_content_id().id
    }

    pub(crate) fn running(&self, turn: &EntryId) -> Option<MemberIndex> {
        match &self.active_turn {
            ActiveTurn::Running(item) if item.turn == *turn => Some(item.index),
            _ => None,
        }
    }

    pub(crate) fn awaited(&self) -> Option<&Item> {
        match &self.active_turn {
            ActiveTurn::Asking(item) => Some(item),
            ActiveTurn::Free | ActiveTurn::Running(_) | ActiveTurn::Stopping(_) => None,
        }
    }

    /// Returns whether turns wait that do not start without a person, now or after a cancelled agent has ended.
    pub(crate) fn is_paused(&self, roster: &Roster) -> bool {
        match &self.active_turn {
            ActiveTurn::Running(_) | ActiveTurn::Asking(_) => false,
            // Every step starts a turn if one may start. So a turn that still waits must not start now.
            ActiveTurn::Free => !self.queue.items.is_empty(),
            ActiveTurn::Stopping(_) => self.pause(roster).is_some(),
        }
    }

    /// Returns why no queued turn may start, regardless of the running one. `None` if one may start, or if none
    /// waits.
    pub(crate) fn pause(&self, roster: &Roster) -> Option<PauseReason> {
        let waiting = self.queue.items.len();
        match &self.hold {
            _ if waiting == 0 => None,
            Some(Hold::Cancelled(turn)) => {
                Some(PauseReason::Cancelled { turn: turn.clone(), waiting })
            }
            Some(Hold::Resumed(interrupted)) => {
                Some(PauseReason::Resumed { interrupted: interrupted.clone(), waiting })
            }
            Some(Hold::LimitedAfterTools(turn, tools)) => {
                Some(self.limited_after_tools(roster, turn, tools))
            }
            None => match self.choose(roster) {
                None if self.queue.paused > 0 => {
                    Some(PauseReason::Paused { waiting: self.queue.paused })
                }
                None => Some(self.all_limited(roster)),
                Some((item, _)) if roster.is_human(item.index) => None,
                Some((item, _)) => match self.availability(roster, item) {
                    Availability::Available => self.guard.stops(roster, item.by, item.index),
                    // Another member takes it over; the guard checks that one.
                    Availability::TakenOverBy(_) | Availability::Waits => None,
                },
            },
        }
    }

    /// Applies a message of a person. Paused turns stay paused until a person resumes them.
    pub(crate) fn person_said(&mut self, roster: &Roster, entry: &EntryId) {
        // Turns that wait for the end of a usage limit start by themselves then.
        if !self.waits_for_limit(roster) {
            if self.is_paused(roster) {
                self.queue.paused = self.queue.items.len();
            }
            // Nobody can say when these end, so the member is tried again.
            self.limits.retain(|_, limit| limit.resets_at.is_some());
        }
        self.last_said = Some(entry.clone());
        self.guard.person_said();
        self.hold = None;
    }

    pub(crate) fn continue_turns(&mut self, roster: &Roster) {
        self.guard.continue_turns();
        self.continue_count += 1;
        self.hold = None;
        self.queue.paused = 0;
        if self.waits_for_limit(roster) {
            // The person wants to try again before the limits end.
            self.limits.clear();
        }
    }

    /// Applies a reopening of the session at a time when queued turns could have started.
    pub(crate) fn reopened(&mut self) {
        self.stopped();
        self.reopen_count += 1;
        self.hold.get_or_insert(Hold::Resumed(None));
    }

    pub(crate) fn stopped(&mut self) {
        if matches!(self.active_turn, ActiveTurn::Stopping(_)) {
            self.active_turn = ActiveTurn::Free;
        }
    }

    pub(crate) fn apply(&mut self, roster: &Roster, change: &TurnChange) {
        let TurnChange { turn, index, state, cause } = change;
        if matches!(state, TurnState::Done | TurnState::Failed | TurnState::Interrupted) {
            // It is still queued only if its start was redacted.
            self.queue.remove(turn);
        }
        match state {
            TurnState::Queued => self.queued(roster, turn, *index, cause),
            TurnState::Started => self.started(roster, turn),
            TurnState::Done => {
                self.free(turn);
                self.limits.remove(index);
                if let Cause::Answered { entry, .. } = cause {
                    self.last_said = Some(entry.clone());
                }
            }
            TurnState::Failed => {
                self.free(turn);
                self.limit_reached(roster, change);
            }
            TurnState::Interrupted => {
                self.free(turn);
                if *cause == Cause::ProgramStopped {
                    self.hold = Some(Hold::Resumed(Some(turn.clone())));
                }
            }
            TurnState::Cancelled => self.cancelled(turn),
        }
        if let Some(record) = self.turns.get_mut(turn) {
            record.state = *state;
        }
    }

    fn queued(&mut self, roster: &Roster, turn: &EntryId, index: MemberIndex, cause: &Cause) {
        let (parent, trigger, by, intent) = match cause {
            Cause::Asked { entry, by, intent, .. } => (entry, entry, by, *intent),
            Cause::Repeated { turn, entry, by, intent }
            | Cause::FellBack { turn, entry, by, intent }
            | Cause::AwaitsReset { turn, entry, by, intent } => (entry, turn, by, *intent),
            _ => return,
        };
        if matches!(cause, Cause::Repeated { .. }) {
            // The person tries the member again.
            self.limits.remove(&index);
        }
        if let Some(record) = self.turns.get_mut(trigger) {
            record.repeated_by = Some(turn.clone());
        }
        let item = Item {
            turn: turn.clone(),
            index,
            parent: parent.clone(),
            intent,
            by: by.as_deref().and_then(|name| roster.index_of(name)),
        };
        let takes_over = matches!(cause, Cause::FellBack { .. }).then(|| trigger.clone());
        // A turn that is taken over keeps its position before the others.
        let position =
            if takes_over.is_some() { self.queue.paused } else { self.queue.items.len() };
        let record = TurnRecord {
            item: item.clone(),
            state: TurnState::Queued,
            repeated_by: None,
            takes_over,
        };
        self.turns.insert(turn.clone(), record);
        self.queue.items.insert(position.min(self.queue.items.len()), item);
    }

    fn started(&mut self, roster: &Roster, turn: &EntryId) {
        let Some(item) = self.queue.start(turn) else { return };
        if roster.is_human(item.index) {
            self.active_turn = ActiveTurn::Asking(item);
        } else {
            self.guard.started(item.by, item.index);
            self.active_turn = ActiveTurn::Running(item);
        }
    }

    fn cancelled(&mut self, turn: &EntryId) {
        if self.queue.remove(turn).is_some() {
            return;
        }
        if matches!(&self.active_turn, ActiveTurn::Running(item) if item.turn == *turn) {
            self.active_turn = ActiveTurn::Stopping(turn.clone());
            self.hold = Some(Hold::Cancelled(turn.clone()));
        }
        self.free(turn);
    }

    fn free(&mut self, turn: &EntryId) {
        if let ActiveTurn::Running(item) | ActiveTurn::Asking(item) = &self.active_turn
            && item.turn == *turn
        {
            self.active_turn = ActiveTurn::Free;
        }
    }
}
