//! Handles the other events: failures, cancelling, continuing, reopening, retrying and costs.

use tertulia_session::{Cause, EntryId, EntryKind, Setting, TurnState};

use super::{Next, Step, next};
use crate::active::TurnPhase;
use crate::effect::{Cancel, Effect, Overspent, PauseReason, ReachedLimit};
use crate::failover::Availability;
use crate::guard::Dollars;
use crate::note::Note;
use crate::queue::Item;
use crate::roster::MemberIndex;
use crate::state::Hold;

impl Step<'_> {
    pub(super) fn turn_started(&mut self, turn: EntryId) {
        if self.state.running(&turn).is_none() && !self.state.active.is_stopping(&turn) {
            self.note(Note::Late { turn, entry: None });
        }
    }

    /// Records a failure. It never stops the queue. Another member takes over if the reason is a usage limit and the
    /// team file allows it.
    pub(super) fn agent_failed(
        &mut self,
        turn: &EntryId,
        class: &str,
        entry: Option<EntryId>,
        limit: Option<Box<ReachedLimit>>,
    ) {
        let Some(index) = self.state.running(turn) else { return self.late(turn, entry.as_ref()) };
        let (turn, class) = (turn.clone(), Box::<str>::from(class));
        let is_limited = limit.is_some();
        let cause = match limit {
            Some(limit) => Cause::Failed {
                class: class.clone(),
                limit: Some(limit.scope),
                resets_at: limit.resets_at,
                tools: limit.tools,
            },
            None => Cause::failed(class.clone()),
        };
        self.record(&turn, index, TurnState::Failed, cause);
        if let Some(entry) = entry {
            self.note(Note::Partial { turn: turn.clone(), entry });
        }
        let is_asked = self.state.round_of(&turn).is_some();
        if is_limited && !is_asked && self.take_over_failed(&turn) {
            return;
        }
        let member = self.roster.name(index).into();
        if is_asked {
            // The result of the ask names the member.
            return self.note(Note::Failed { turn, member, class, is_paused: false });
        }
        let is_idle = self.state.active.is_none_but_stopping();
        if self.state.queue.items.is_empty() && is_idle {
            self.ask(None, PauseReason::Failed { turn, member, class });
        } else {
            let is_held = self.state.queue.ready().is_empty() || self.state.hold.is_some();
            let is_paused = is_idle && is_held;
            self.note(Note::Failed { turn, member, class, is_paused });
        }
    }

    /// Records that a turn was stopped at a spending limit. Nothing starts before a person is asked.
    pub(super) fn agent_overspent(
        &mut self,
        turn: &EntryId,
        entry: Option<EntryId>,
        reached: Overspent,
    ) {
        let Some(index) = self.state.running(turn) else { return self.late(turn, entry.as_ref()) };
        let turn = turn.clone();
        self.record(&turn, index, TurnState::Failed, reached.cause());
        if let Some(entry) = entry {
            self.note(Note::Partial { turn: turn.clone(), entry });
        }
        // If turns wait, the question follows when the step advances.
        self.queue_rounds();
        if self.state.queue.items.is_empty() && self.state.active.is_none_but_stopping() {
            self.ask(None, self.state.stopped_at_limit(self.roster, &turn, reached));
        }
    }

    /// Queues the turn that follows a turn that reached a usage limit. Returns whether the team file allows that.
    fn take_over_failed(&mut self, turn: &EntryId) -> bool {
        let Some(item) = self.state.turns.get(turn).map(|record| record.item.clone()) else {
            return false;
        };
        match self.state.availability(self.roster, &item) {
            Availability::Available => return false,
            Availability::TakenOverBy(to) => self.take_over(&item, to),
            Availability::Waits => {
                let (first, _) = self.state.tried(turn, item.index);
                let Item { turn, parent: entry, intent, by, .. } = item;
                let by = by.map(|by| self.roster.name(by).into());
                let cause = Cause::AwaitsReset { turn: turn.clone(), entry, by, intent };
                let again = self.turn_id(self.roster.name(first), &cause, &turn);
                self.record(&again, first, TurnState::Queued, cause);
            }
        }
        true
    }

    /// Gives a queued turn to another member, since its own has reached a usage limit.
    pub(super) fn take_over_queued(&mut self, item: &Item, to: MemberIndex) {
        let Some(limit) = self.state.limits.get(&item.index) else { return };
        let cause = Cause::Limited { turn: limit.turn.clone() };
        self.record(&item.turn, item.index, TurnState::Cancelled, cause);
        self.take_over(item, to);
    }

    fn take_over(&mut self, item: &Item, to: MemberIndex) {
        let Item { turn, index, parent, intent, by, .. } = item.clone();
        let by = by.map(|by| self.roster.name(by).into());
        let cause = Cause::FellBack { turn: turn.clone(), entry: parent, by, intent };
        let next = self.turn_id(self.roster.name(to), &cause, &turn);
        self.record(&next, to, TurnState::Queued, cause);
        if matches!(self.state.hold, Some(Hold::LimitedAfterTools(..))) {
            // The question to the person names both members.
            return;
        }
        let resets_at = self.state.limits.get(&index).and_then(|limit| limit.resets_at.clone());
        let (member, to) = (self.roster.name(index).into(), self.roster.name(to).into());
        self.note(Note::PassedOn { turn, member, to, resets_at });
    }

    /// Returns whether the member had reached a limit that has not been recorded as ended.
    pub(super) fn limit_ended(&mut self, member: &str) -> bool {
        let limit = self.roster.index_of(member).and_then(|index| self.state.limits.remove(&index));
        let Some(limit) = limit else { return false };
        self.note_setting(Setting::LimitEnded { member: member.into(), turn: limit.turn });
        true
    }

    /// Handles the end of a turn that is not running: a cancelled or an unknown turn.
    pub(super) fn late(&mut self, turn: &EntryId, entry: Option<&EntryId>) {
        let stops = self.state.active.is_stopping(turn);
        if stops {
            self.state.active.stopped(turn);
        }
        if !stops || entry.is_some() {
            self.note(Note::Late { turn: turn.clone(), entry: entry.cloned() });
        }
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        let active = self.state.active.iter().filter(|one| one.phase != TurnPhase::Stopping);
        let turns = active.map(|one| &one.item).chain(&self.state.queue.items).cloned();
        let (turns, all): (Vec<Item>, bool) = match &cancel {
            Cancel::All => (turns.collect(), true),
            Cancel::Turn(turn) => (turns.filter(|item| item.turn == *turn).collect(), false),
        };
        if let (Cancel::Turn(turn), true) = (cancel, turns.is_empty()) {
            self.note(Note::NothingToCancel { turn });
        }
        for item in turns {
            self.record(&item.turn, item.index, TurnState::Cancelled, Cause::Cancelled { all });
            if self.state.active.is_stopping(&item.turn) {
                let member = self.roster.name(item.index).into();
                self.effects.push(Effect::CancelTurn { turn: item.turn, member });
            }
        }
    }

    /// Gives up an awaited answer, resumes paused turns, and extends budgets that are used up.
    pub(super) fn continue_turns(&mut self) {
        self.note_setting(Setting::Continued { count: self.state.continue_count + 1 });
        self.state.continue_turns(self.roster);
        if let Some(item) = self.state.awaited().cloned() {
            self.record(&item.turn, item.index, TurnState::Cancelled, Cause::PassedOver);
        }
    }

    /// Marks the turns that ran as interrupted, because their process has ended. Nothing starts before a person is
    /// asked.
    pub(super) fn resume(&mut self) {
        self.state.active.all_stopped();
        let ran: Vec<Item> = self.state.active.running().cloned().collect();
        for item in &ran {
            self.record(&item.turn, item.index, TurnState::Interrupted, Cause::ProgramStopped);
        }
        self.requeue_asked(&ran);
        match self.state.awaited().cloned() {
            Some(awaited) => self.ask_for_answer(awaited),
            None if ran.is_empty() => self.hold_reopened(),
            None if self.state.queue.items.is_empty() => {
                let turns: Vec<EntryId> = ran.into_iter().map(|item| item.turn).collect();
                self.ask(None, PauseReason::resumed(&turns, 0));
            }
            // The question follows when the step advances.
            None => {}
        }
    }

    /// After the session was opened again, makes turns that could start wait for a person, and records it. This
    /// happens only if the log ends within a step, if its decisions differ from ours, or if a cancelled agent ended
    /// with its process.
    fn hold_reopened(&mut self) {
        if matches!(
            next(self.roster, self.state),
            Next::Start(..) | Next::TakeOver(..) | Next::Pause(PauseReason::Limited { .. })
        ) {
            self.note_setting(Setting::Reopened { count: self.state.reopen_count + 1 });
            self.state.reopened();
        }
    }

    pub(super) fn note_setting(&mut self, setting: Setting) {
        let kind = EntryKind::SessionSetting(setting.into());
        let id = self.state.content_id(kind.clone(), self.state.last_said.as_ref());
        self.effects.push(Effect::Append { id, kind });
    }

    pub(super) fn repeat(&mut self, turn: &EntryId) {
        let refuse =
            |reason: &'static str| Note::CannotRepeat { turn: turn.clone(), reason: reason.into() };
        let Some(record) = self.state.turns.get(turn).cloned() else {
            return self.note(refuse("it does not exist"));
        };
        let reason = match record.state {
            TurnState::Queued | TurnState::Started => Some("it has not ended"),
            TurnState::Done => Some("it was answered"),
            _ if self.state.is_taken_over(&record) => Some("another member took it over"),
            _ if record.repeated_by.is_some() => Some("it was already retried"),
            _ if self.state.queue.items.len() >= self.roster.limits().queue => {
                Some("the queue is full")
            }
            TurnState::Failed | TurnState::Cancelled | TurnState::Interrupted => None,
        };
        if let Some(reason) = reason {
            return self.note(refuse(reason));
        }
        let Item { index, parent, intent, by, .. } = record.item;
        let by = by.map(|by| self.roster.name(by).into());
        let cause = Cause::Repeated { turn: turn.clone(), entry: parent, by, intent };
        let again = self.turn_id(self.roster.name(index), &cause, turn);
        self.state.hold = None;
        self.record(&again, index, TurnState::Queued, cause);
    }

    pub(super) fn usage_seen(&mut self, member: &str, price: Dollars) {
        let index = self.roster.index_of(member);
        self.state.guard.paid(index, price);
        if index.is_none() {
            self.note(Note::UnknownSpender { member: crate::message::excerpt(member) });
        }
    }
}
