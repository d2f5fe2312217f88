//! The events of a log: which event a recorded change of a turn follows from. Only replay uses it.

use tertulia_session::{Ask, Cause, Message, TurnState};

use super::Replayer;
use crate::effect::{Cancel, Event, Overspent, ReachedLimit};
use crate::state::TurnChange;

/// Returns whom a message asks, if it is a question to several members.
pub(super) fn ask_of(message: &Message) -> Option<&Ask> {
    message.routing.as_deref()?.ask.as_deref()
}

/// Returns whether a person wrote a message. Without a speaker, its role decides.
pub(super) fn is_of_person(message: &Message) -> bool {
    match message.speaker.as_deref() {
        Some(speaker) => speaker.is_human(),
        None => message.effective_role() == tertulia_session::Role::User,
    }
}

impl Replayer<'_> {
    /// Passes the event that caused a turn to change to the machine.
    pub(super) fn apply_event(&mut self, change: &TurnChange) {
        let turn = change.turn.clone();
        let effects = match (change.state, &change.cause) {
            (TurnState::Done, Cause::Answered { entry }) => {
                let Some(text) =
                    self.texts.remove(entry.as_str()).map(|said| said.text().into_owned())
                else {
                    return self.mark_unchecked(entry);
                };
                let entry = entry.clone();
                self.machine.step(Event::AgentSaid { turn, entry, text, interrupted: false })
            }
            (TurnState::Interrupted, Cause::CutOff { entry }) => {
                let (entry, text) = (entry.clone(), String::new());
                self.machine.step(Event::AgentSaid { turn, entry, text, interrupted: true })
            }
            (TurnState::Interrupted, Cause::ProgramStopped) => self.machine.step(Event::Resume),
            (TurnState::Failed, cause @ Cause::Failed { class, .. }) => {
                let (class, limit) = (class.clone(), ReachedLimit::of(cause));
                self.machine.step(Event::AgentFailed { turn, class, entry: None, limit })
            }
            (TurnState::Failed, cause @ Cause::Overspent { .. }) => {
                let Some(reached) = Overspent::of(cause) else { return };
                self.machine.step(Event::AgentOverspent { turn, entry: None, reached })
            }
            (TurnState::Cancelled, Cause::Cancelled { all }) => {
                let cancel = if *all { Cancel::All } else { Cancel::Turn(turn) };
                self.machine.step(Event::Cancel(cancel))
            }
            (TurnState::Cancelled, Cause::GraceEnded { entry }) => {
                self.machine.step(Event::GraceEnded { question: entry.clone() })
            }
            (TurnState::Queued, Cause::Repeated { turn, .. }) => {
                self.machine.step(Event::Repeat { turn: turn.clone() })
            }
            // No entry records the end of a cancelled agent: the start of the next turn implies it.
            (TurnState::Started, _) | (TurnState::Cancelled, Cause::Limited { .. }) => {
                self.machine.advance()
            }
            _ => return,
        };
        self.expected = effects.into();
    }
}
