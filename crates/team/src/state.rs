//! Where the table stands. It changes only by what the log can tell: turn entries, what people said,
//! costs, "go on". So a state read from a log and one that was lived through are equal. The machine
//! decides, writes the entry and applies it here; replay applies the entries that it finds.

use std::collections::HashMap;

use tertulia_session::{Cause, EntryId, EntryKind, NewEntry, TurnState};

use crate::effect::Why;
use crate::guard::Guard;
use crate::queue::{Item, Queue};
use crate::table::{Seat, Table};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) queue: Queue,
    pub(crate) slot: Slot,
    pub(crate) hold: Option<Hold>,
    pub(crate) last_said: Option<EntryId>,
    pub(crate) guard: Guard,
    pub(crate) times_gone_on: u64,
    /// How often the table was opened again while turns waited that could have started.
    pub(crate) times_reopened: u64,
    /// The entry with which the current branch of the session began, if it was ever branched.
    pub(crate) branch: Option<EntryId>,
    pub(crate) turns: HashMap<EntryId, Past>,
}

/// One turn runs at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Slot {
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    pub(crate) item: Item,
    pub(crate) state: TurnState,
    pub(crate) repeated_by: Option<EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TurnChange {
    /// The turn: the id of its `queued` entry.
    pub(crate) turn: EntryId,
    pub(crate) seat: Seat,
    pub(crate) state: TurnState,
    pub(crate) cause: Cause,
}

impl State {
    pub(crate) fn new(table: &Table) -> Self {
        Self { guard: Guard::new(table), ..Self::default() }
    }

    /// The id of an entry that follows from what it says and from what it is about. What is decided
    /// again on another branch is another entry of the same log, so the branch is part of it.
    pub(crate) fn content_id(&self, kind: EntryKind, about: Option<&EntryId>) -> EntryId {
        let mut entry = NewEntry::new(kind);
        entry.parent_id = match (about, &self.branch) {
            (Some(about), Some(branch)) => Some(format!("{about} {branch}").as_str().into()),
            (about, branch) => about.or(branch.as_ref()).cloned(),
        };
        entry.with_content_id().id
    }

    pub(crate) fn running(&self, turn: &EntryId) -> Option<Seat> {
        match &self.slot {
            Slot::Running(item) if item.turn == *turn => Some(item.seat),
            _ => None,
        }
    }

    pub(crate) fn awaited(&self) -> Option<&Item> {
        match &self.slot {
            Slot::Asking(item) => Some(item),
            Slot::Free | Slot::Running(_) | Slot::Stopping(_) => None,
        }
    }

    /// Whether turns wait that do not start by themselves; while a cancelled agent ends, not afterwards either.
    pub(crate) fn is_paused(&self, table: &Table) -> bool {
        match &self.slot {
            Slot::Running(_) | Slot::Asking(_) => false,
            // Every step starts what can start, so what waits now could not.
            Slot::Free => !self.queue.items.is_empty(),
            Slot::Stopping(_) => self.pause(table).is_some(),
        }
    }

    /// Why nothing of what waits may start, whatever runs now; `None` if something may, or nothing waits.
    pub(crate) fn pause(&self, table: &Table) -> Option<Why> {
        let waiting = self.queue.items.len();
        match &self.hold {
            _ if waiting == 0 => None,
            Some(Hold::Cancelled(turn)) => Some(Why::Cancelled { turn: turn.clone(), waiting }),
            Some(Hold::Resumed(interrupted)) => {
                Some(Why::Resumed { interrupted: interrupted.clone(), waiting })
            }
            None => match self.queue.choose(table.limits(), self.last_said.as_ref()) {
                None => Some(Why::Paused { waiting: self.queue.paused }),
                Some((item, _)) if table.is_human(item.seat) => None,
                Some((item, _)) => self.guard.stops(table, item.by, item.seat),
            },
        }
    }

    /// A person said something. What was paused stays so until the person resumes it.
    pub(crate) fn person_said(&mut self, table: &Table, entry: &EntryId) {
        if self.is_paused(table) {
            self.queue.paused = self.queue.items.len();
        }
        self.last_said = Some(entry.clone());
        self.guard.person_said();
        self.hold = None;
    }

    pub(crate) fn go_on(&mut self) {
        self.guard.go_on();
        self.times_gone_on += 1;
        self.hold = None;
        self.queue.paused = 0;
    }

    /// The table was opened again, and what waits could start by itself.
    pub(crate) fn reopened(&mut self) {
        self.stopped();
        self.times_reopened += 1;
        self.hold.get_or_insert(Hold::Resumed(None));
    }

    pub(crate) fn stopped(&mut self) {
        if matches!(self.slot, Slot::Stopping(_)) {
            self.slot = Slot::Free;
        }
    }

    pub(crate) fn apply(&mut self, table: &Table, change: &TurnChange) {
        let TurnChange { turn, seat, state, cause } = change;
        if matches!(state, TurnState::Done | TurnState::Failed | TurnState::Interrupted) {
            // Only where its start was redacted does it still wait.
            self.queue.remove(turn);
        }
        match state {
            TurnState::Queued => self.queued(table, turn, *seat, cause),
            TurnState::Started => self.started(table, turn),
            TurnState::Done => {
                self.free(turn);
                if let Cause::Answered { entry, .. } = cause {
                    self.last_said = Some(entry.clone());
                }
            }
            TurnState::Failed => self.free(turn),
            TurnState::Interrupted => {
                self.free(turn);
                if *cause == Cause::ProgramStopped {
                    self.hold = Some(Hold::Resumed(Some(turn.clone())));
                }
            }
            TurnState::Cancelled => self.cancelled(turn),
        }
        if let Some(past) = self.turns.get_mut(turn) {
            past.state = *state;
        }
    }

    fn queued(&mut self, table: &Table, turn: &EntryId, seat: Seat, cause: &Cause) {
        let (parent, trigger, by, intent) = match cause {
            Cause::Asked { entry, by, intent, .. } => (entry, entry, by, *intent),
            Cause::Repeated { turn, entry, by, intent } => (entry, turn, by, *intent),
            _ => return,
        };
        if let Some(past) = self.turns.get_mut(trigger) {
            past.repeated_by = Some(turn.clone());
        }
        let item = Item {
            turn: turn.clone(),
            seat,
            parent: parent.clone(),
            intent,
            by: by.as_deref().and_then(|name| table.seat_of(name)),
        };
        let past = Past { item: item.clone(), state: TurnState::Queued, repeated_by: None };
        self.turns.insert(turn.clone(), past);
        self.queue.items.push(item);
    }

    fn started(&mut self, table: &Table, turn: &EntryId) {
        let Some(item) = self.queue.start(turn) else { return };
        if table.is_human(item.seat) {
            self.slot = Slot::Asking(item);
        } else {
            self.guard.started(item.by, item.seat);
            self.slot = Slot::Running(item);
        }
    }

    fn cancelled(&mut self, turn: &EntryId) {
        if self.queue.remove(turn).is_some() {
            return;
        }
        if matches!(&self.slot, Slot::Running(item) if item.turn == *turn) {
            self.slot = Slot::Stopping(turn.clone());
            self.hold = Some(Hold::Cancelled(turn.clone()));
        }
        self.free(turn);
    }

    fn free(&mut self, turn: &EntryId) {
        if let Slot::Running(item) | Slot::Asking(item) = &self.slot
            && item.turn == *turn
        {
            self.slot = Slot::Free;
        }
    }
}
