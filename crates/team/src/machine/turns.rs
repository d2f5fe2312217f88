//! What else becomes of turns: failures, cancelling, going on, opening again, repeating; and costs.

use tertulia_session::{Cause, EntryId, EntryKind, Setting, TurnState};

use super::{Next, Step, next};
use crate::effect::{Cancel, Effect, Why};
use crate::guard::Dollars;
use crate::note::Note;
use crate::queue::Item;
use crate::state::Slot;

impl Step<'_> {
    pub(super) fn turn_started(&mut self, turn: EntryId) {
        let stops = matches!(&self.state.slot, Slot::Stopping(stopping) if *stopping == turn);
        if self.state.running(&turn).is_none() && !stops {
            self.note(Note::Late { turn, entry: None });
        }
    }

    /// A failure never stops the queue.
    pub(super) fn agent_failed(&mut self, turn: &EntryId, class: &str, entry: Option<EntryId>) {
        let Some(seat) = self.state.running(turn) else { return self.late(turn, entry.as_ref()) };
        let (turn, class) = (turn.clone(), Box::<str>::from(class));
        let cause = Cause::Failed { class: class.clone() };
        self.record(&turn, seat, TurnState::Failed, cause);
        if let Some(entry) = entry {
            self.note(Note::Partial { turn: turn.clone(), entry });
        }
        let member = self.table.name(seat).into();
        if self.state.queue.items.is_empty() {
            self.ask(None, Why::Failed { turn, member, class });
        } else {
            let is_paused = self.state.queue.ready().is_empty();
            self.note(Note::Failed { turn, member, class, is_paused });
        }
    }

    /// The end of a turn that does not run: of a cancelled one, or of one that nobody knows.
    pub(super) fn late(&mut self, turn: &EntryId, entry: Option<&EntryId>) {
        let stops = matches!(&self.state.slot, Slot::Stopping(stopping) if stopping == turn);
        if stops {
            self.state.stopped();
        }
        if !stops || entry.is_some() {
            self.note(Note::Late { turn: turn.clone(), entry: entry.cloned() });
        }
    }

    pub(super) fn cancel(&mut self, cancel: Cancel) {
        let turns: Vec<Item> = match &self.state.slot {
            Slot::Running(item) | Slot::Asking(item) => vec![item.clone()],
            Slot::Free | Slot::Stopping(_) => Vec::new(),
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
            self.record(&item.turn, item.seat, TurnState::Cancelled, Cause::Cancelled { all });
            if matches!(&self.state.slot, Slot::Stopping(turn) if *turn == item.turn) {
                let member = self.table.name(item.seat).into();
                self.effects.push(Effect::CancelTurn { turn: item.turn, member });
            }
        }
    }

    /// An answer that is waited for is given up, whatever holds the table is let go, and whoever has spent all may spend
    /// as much again.
    pub(super) fn go_on(&mut self) {
        self.note_setting(Setting::Continued { count: self.state.times_gone_on + 1 });
        self.state.go_on();
        if let Some(item) = self.state.awaited().cloned() {
            self.record(&item.turn, item.seat, TurnState::Cancelled, Cause::PassedOver);
        }
    }

    /// No process is left of the time before: what ran is interrupted, and nothing starts unasked.
    pub(super) fn resume(&mut self) {
        match self.state.slot.clone() {
            Slot::Running(item) => {
                self.record(&item.turn, item.seat, TurnState::Interrupted, Cause::ProgramStopped);
                if self.state.queue.items.is_empty() {
                    let interrupted = Some(item.turn);
                    self.ask(None, Why::Resumed { interrupted, waiting: 0 });
                }
            }
            Slot::Stopping(_) => {
                self.state.stopped();
                self.hold_reopened();
            }
            Slot::Asking(item) => self.ask_for_answer(item),
            Slot::Free => self.hold_reopened(),
        }
    }

    /// What could start waits for a person, since the table was opened again. The log tells so. Only a log
    /// that tells half of a step, or other decisions than ours, leads here, or a cancelled agent whose
    /// process ended with the table.
    fn hold_reopened(&mut self) {
        if matches!(next(self.table, self.state), Next::Start(..)) {
            self.note_setting(Setting::Reopened { count: self.state.times_reopened + 1 });
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
        let Some(past) = self.state.turns.get(turn).cloned() else {
            return self.note(refuse("nobody knows it"));
        };
        let reason = match past.state {
            TurnState::Queued | TurnState::Started => Some("it has not ended"),
            TurnState::Done => Some("it was answered"),
            _ if past.repeated_by.is_some() => Some("it was repeated already"),
            _ if self.state.queue.items.len() >= self.table.limits().queue => {
                Some("the queue is full")
            }
            TurnState::Failed | TurnState::Cancelled | TurnState::Interrupted => None,
        };
        if let Some(reason) = reason {
            return self.note(refuse(reason));
        }
        let Item { seat, parent, intent, by, .. } = past.item;
        let by = by.map(|by| self.table.name(by).into());
        let cause = Cause::Repeated { turn: turn.clone(), entry: parent, by, intent };
        let again = self.turn_id(self.table.name(seat), &cause, turn);
        self.state.hold = None;
        self.record(&again, seat, TurnState::Queued, cause);
    }

    pub(super) fn usage_seen(&mut self, member: &str, price: Dollars) {
        let seat = self.table.seat_of(member);
        self.state.guard.paid(seat, price);
        if seat.is_none() {
            self.note(Note::UnknownSpender { member: crate::message::excerpt(member) });
        }
    }
}
