//! Handles the other events: failures, cancelling, continuing, reopening, retrying and costs.

use tertulia_session::{Cause, EntryId, EntryKind, Setting, TurnState};

use super::{Next, Step, next};
use crate::effect::{Cancel, Effect, PauseReason};
use crate::guard::Dollars;
use crate::note::Note;
use crate::queue::Item;
use crate::state::ActiveTurn;

impl Step<'_> {
    pub(super) fn turn_started(&mut self, turn: EntryId) {
        let stops =
            matches!(&self.state.active_turn, ActiveTurn::Stopping(stopping) if *stopping == turn);
        if self.state.running(&turn).is_none() && !stops {
            self.note(Note::Late { turn, entry: None });
        }
    }

    /// Records a failure. It never stops the queue.
    pub(super) fn agent_failed(&mut self, turn: &EntryId, class: &str, entry: Option<EntryId>) {
        let Some(index) = self.state.running(turn) else { return self.late(turn, entry.as_ref()) };
        let (turn, class) = (turn.clone(), Box::<str>::from(class));
        let cause = Cause::Failed { class: class.clone() };
        self.record(&turn, index, TurnState::Failed, cause);
        if let Some(entry) = entry {
            self.note(Note::Partial { turn: turn.clone(), entry });
        }
        let member = self.roster.name(index).into();
        if self.state.queue.items.is_empty() {
            self.ask(None, PauseReason::Failed { turn, member, class });
        } else {
            let is_paused = self.state.queue.ready().is_empty();
            self.note(Note::Failed { turn, member, class, is_paused });
        }
    }

    /// Handles the end of a turn that is not running: a cancelled or an unknown turn.
    pub(super) fn late(&mut self, turn: &EntryId, entry: Option<&EntryId>) {
        let stops =
            matches!(&self.state.active_turn, ActiveTurn::Stopping(stopping) if stopping == turn);
        if stops {
            self.state.stopped();
        }
        if !stops || entry.is_some() {
            self.note(Note::Late { turn: turn.clone(), entry: entry.cloned() });
        }
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        let turns: Vec<Item> = match &self.state.active_turn {
            ActiveTurn::Running(item) | ActiveTurn::Asking(item) => vec![item.clone()],
            ActiveTurn::Free | ActiveTurn::Stopping(_) => Vec::new(),
        };
        let turns = turns.into_iter().chain(self.state.queue.items.iter().cloned());
        let (turns, all): (Vec<Item>, bool) = match &cancel {
            Cancel::All => (turns.collect(), true),
            Cancel::Turn(turn) => (turns.filter(|item| item.turn == *turn).collect(), false),
        };
        if let (Cancel::Turn(turn), true) = (cancel, turns.is_empty()) {
            self.note(Note::NothingToCancel { turn });
        }
        for item in turns {
            self.record(&item.turn, item.index, TurnState::Cancelled, Cause::Cancelled { all });
            if matches!(&self.state.active_turn, ActiveTurn::Stopping(turn) if *turn == item.turn) {
                let member = self.roster.name(item.index).into();
                self.effects.push(Effect::CancelTurn { turn: item.turn, member });
            }
        }
    }

    /// Gives up an awaited answer, resumes paused turns, and extends budgets that are used up.
    pub(super) fn continue_turns(&mut self) {
        self.note_setting(Setting::Continued { count: self.state.continue_count + 1 });
        self.state.continue_turns();
        if let Some(item) = self.state.awaited().cloned() {
            self.record(&item.turn, item.index, TurnState::Cancelled, Cause::PassedOver);
        }
    }

    /// Marks the turn that ran as interrupted, because its process has ended. Nothing starts before a person is
    /// asked.
    pub(super) fn resume(&mut self) {
        match self.state.active_turn.clone() {
            ActiveTurn::Running(item) => {
                self.record(&item.turn, item.index, TurnState::Interrupted, Cause::ProgramStopped);
                if self.state.queue.items.is_empty() {
                    let interrupted = Some(item.turn);
                    self.ask(None, PauseReason::Resumed { interrupted, waiting: 0 });
                }
            }
            ActiveTurn::Stopping(_) => {
                self.state.stopped();
                self.hold_reopened();
            }
            ActiveTurn::Asking(item) => self.ask_for_answer(item),
            ActiveTurn::Free => self.hold_reopened(),
        }
    }

    /// After the session was opened again, makes turns that could start wait for a person, and records it. This
    /// happens only if the log ends within a step, if its decisions differ from ours, or if a cancelled agent ended
    /// with its process.
    fn hold_reopened(&mut self) {
        if matches!(next(self.roster, self.state), Next::Start(..)) {
            self.note_setting(Setting::Reopened { count: self.state.reopen_count + 1 });
            self.state.reopened();
        }
    }

    fn note_setting(&mut self, setting: Setting) {
        let kind = EntryKind::SessionSetting(setting.into());
        let id = self.state.content_id(kind.clone(), self.state.last_said.as_ref());
        self.effects.push(Effect::Append { id, kind });
    }

    pub(super) fn repeat(&mut self, turn: &EntryId) {
        let refuse = |reason| Note::CannotRepeat { turn: turn.clone(), reason };
        let Some(record) = self.state.turns.get(turn).cloned() else {
            return self.note(refuse("it does not exist"));
        };
        let reason = match record.state {
            TurnState::Queued | TurnState::Started => Some("it has not ended"),
            TurnState::Done => Some("it was answered"),
            _ if record.repeated_by.is_some() => Some("it was repeated already"),
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
