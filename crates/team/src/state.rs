//! The state of the machine. Only recorded facts change it: turn entries, messages of people, costs and settings. So
//! the state read from a log equals the live one. The machine decides, writes the entry and applies it here; replay
//! applies the entries that it finds.

use std::collections::{BTreeMap, HashMap};

use tertulia_session::{
    Ask, AskRound, Cause, EntryId, EntryKind, Intent, NewEntry, SpendingLimit, TurnState,
};

use crate::active::{ActiveTurns, TurnPhase};
use crate::ask::AskState;
use crate::effect::{Overspent, PauseReason};
use crate::failover::{Availability, MemberLimit};
use crate::guard::Guard;
use crate::queue::{Item, Queue};
use crate::roster::{MemberIndex, Roster};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) queue: Queue,
    pub(crate) active: ActiveTurns,
    pub(crate) hold: Option<Hold>,
    pub(crate) last_said: Option<EntryId>,
    pub(crate) guard: Guard,
    pub(crate) continue_count: u64,
    /// How often the session was reopened while turns waited that could have started.
    pub(crate) reopen_count: u64,
    /// The first entry of the current branch, if the session was ever branched.
    pub(crate) branch: Option<EntryId>,
    pub(crate) turns: HashMap<EntryId, TurnRecord>,
    /// The asks by their questions.
    pub(crate) asks: BTreeMap<EntryId, AskState>,
    /// The members that have reached a usage limit; always empty if no member of the team has a fallback.
    pub(crate) limits: BTreeMap<MemberIndex, MemberLimit>,
}

/// Why no turn starts before a person says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Cancelled(EntryId),
    /// The session was opened again; these turns were interrupted.
    Resumed(Vec<EntryId>),
    /// These turns reached usage limits after their agents had called tools, which are named. Never empty.
    LimitedAfterTools(Vec<(EntryId, Box<str>)>),
    /// The turn was stopped at a spending limit.
    Overspent(EntryId, Overspent),
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
        self.active.running().find(|item| item.turn == *turn).map(|item| item.index)
    }

    /// Returns the round of the ask that a turn belongs to, if it belongs to one.
    pub(crate) fn round_of(&self, turn: &EntryId) -> Option<AskRound> {
        self.turns.get(turn)?.item.round
    }

    pub(crate) fn awaited(&self) -> Option<&Item> {
        self.active.asking()
    }

    /// Returns whether turns wait that do not start without a person, now or after a cancelled agent has ended.
    pub(crate) fn is_paused(&self, roster: &Roster) -> bool {
        if self.active.is_empty() {
            // Every step starts a turn if one may start. So a turn that still waits must not start now.
            !self.queue.items.is_empty()
        } else if self.active.is_none_but_stopping() {
            self.pause(roster).is_some()
        } else {
            // A turn was cancelled, or reached a usage limit, while others went on. The question follows when they
            // have ended.
            let is_beside = roster.limits().parallel > 1
                || self.active.running().any(|item| item.round.is_some());
            is_beside && self.hold.is_some() && !self.queue.items.is_empty()
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
            Some(Hold::Resumed(interrupted)) => Some(PauseReason::resumed(interrupted, waiting)),
            Some(Hold::LimitedAfterTools(turns)) => {
                let first = turns.first();
                first.map(|(turn, tools)| self.limited_after_tools(roster, turn, tools))
            }
            Some(Hold::Overspent(turn, reached)) => {
                Some(self.stopped_at_limit(roster, turn, *reached))
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

    /// Returns the question after a turn was stopped at a spending limit.
    pub(crate) fn stopped_at_limit(
        &self,
        roster: &Roster,
        turn: &EntryId,
        reached: Overspent,
    ) -> PauseReason {
        let Overspent { limit, spent, allowed } = reached;
        let member = self.turns.get(turn).map(|record| roster.name(record.item.index).into());
        let is_own = matches!(limit, SpendingLimit::Turn | SpendingLimit::Member);
        let (member, stopped) = (member.filter(|_| is_own), Some(turn.clone()));
        PauseReason::Spending { limit, member, spent, allowed, stopped }
    }

    fn overspent(&mut self, turn: &EntryId, cause: &Cause) {
        let Some(reached) = Overspent::of(cause) else { return };
        // The person must see the tools before another member takes over.
        if !matches!(self.hold, Some(Hold::LimitedAfterTools(_))) {
            self.hold = Some(Hold::Overspent(turn.clone(), reached));
        }
    }

    /// Applies a message of a person. Paused turns stay paused until a person resumes them.
    pub(crate) fn person_said(&mut self, roster: &Roster, entry: &EntryId, ask: Option<&Ask>) {
        if let Some(ask) = ask {
            self.asks.entry(entry.clone()).or_insert_with(|| AskState::new(ask));
        }
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
        self.hold = match self.hold.take() {
            Some(Hold::LimitedAfterTools(mut turns)) if turns.len() > 1 => {
                turns.remove(0);
                Some(Hold::LimitedAfterTools(turns))
            }
            _ => None,
        };
        self.queue.paused = 0;
        if self.waits_for_limit(roster) {
            // The person wants to try again before the limits end.
            self.limits.clear();
        }
    }

    /// Applies a reopening of the session at a time when queued turns could have started.
    pub(crate) fn reopened(&mut self) {
        self.active.all_stopped();
        self.reopen_count += 1;
        self.hold.get_or_insert(Hold::Resumed(Vec::new()));
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
                self.active.finish(turn);
                self.limits.remove(index);
                if let Cause::Answered { entry, .. } = cause {
                    self.last_said = Some(entry.clone());
                }
            }
            TurnState::Failed => {
                self.active.finish(turn);
                self.limit_reached(roster, change);
                self.overspent(turn, cause);
            }
            TurnState::Interrupted => {
                self.active.finish(turn);
                if *cause == Cause::ProgramStopped {
                    self.program_stopped(turn);
                }
            }
            TurnState::Cancelled => self.cancelled(turn, cause),
        }
        let question = self.turns.get(turn).filter(|one| one.item.round.is_some());
        let question = question.map(|one| &one.item.parent);
        if let Some(ask) = question.and_then(|question| self.asks.get_mut(question)) {
            ask.changed(turn, *state, cause);
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
            Cause::Consulted { entry, by, turn, .. } => {
                (entry, turn.as_ref().unwrap_or(entry), by, Intent::default())
            }
            _ => return,
        };
        let round = match cause {
            Cause::Consulted { round, .. } => Some(*round),
            _ => self.round_of(trigger),
        };
        if matches!(cause, Cause::Repeated { .. }) {
            // The person tries the member again, and has decided how to continue.
            self.limits.remove(&index);
            self.hold = None;
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
            round,
        };
        if let Some(round) = round {
            let ask = self.asks.entry(parent.clone()).or_default();
            ask.queued(turn, roster.name(index), round, Some(trigger));
        }
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
        let phase = if roster.is_human(item.index) {
            TurnPhase::Asking
        } else {
            self.guard.started(item.by, item.index);
            TurnPhase::Running
        };
        self.active.start(item, phase, roster.limits().parallel <= 1);
    }

    /// Remembers a turn that ended with its process, with the others that ended then.
    fn program_stopped(&mut self, turn: &EntryId) {
        match &mut self.hold {
            Some(Hold::Resumed(turns)) => {
                let records = &self.turns;
                turns.retain(|one| records.get(one).is_some_and(|one| one.repeated_by.is_none()));
                turns.push(turn.clone());
            }
            // The person must see the tools before another member takes over.
            Some(Hold::LimitedAfterTools(_)) => {}
            hold => *hold = Some(Hold::Resumed(vec![turn.clone()])),
        }
    }

    fn cancelled(&mut self, turn: &EntryId, cause: &Cause) {
        if self.queue.remove(turn).is_some() {
            return;
        }
        if self.active.stop(turn) {
            // The end of a grace time is no decision of a person. The question about a usage limit names the tools, so
            // it is kept.
            let is_of_person = !matches!(cause, Cause::GraceEnded { .. });
            if is_of_person && !matches!(self.hold, Some(Hold::LimitedAfterTools(_))) {
                self.hold = Some(Hold::Cancelled(turn.clone()));
            }
            return;
        }
        self.active.finish(turn);
    }
}
