//! What the driver does: a step of the machine becomes entries of one append, then what has to begin
//! begins.

use tertulia_session::{
    Entry, EntryId, EntryKind, Fields, Message, Routing, Speaker, SpeakerType, TeamTask, TurnState,
};

use super::error::DriveError;
use super::event::{Audience, TableEvent};
use super::log::TableLog;
use super::{Compacted, Driver, minutes};
use crate::effect::Effect;
use crate::event::Event;
use crate::{Note, Question};

/// What is said once all is stored.
#[derive(PartialEq)]
enum Talk {
    Note(Note),
    Asked(Question),
    Rested,
}

impl Driver {
    /// Lets the machine take a step, and does what follows from it.
    pub(super) fn step(
        &mut self,
        event: &Event,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        self.attempt(|_| ((), None, event.clone()), audience)
    }

    /// One step. A message is stored together with what it leads to.
    pub(super) fn try_step(
        &mut self,
        draft: Option<Entry>,
        event: Event,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let effects = self.machine.step(event);
        if let Some(mut draft) = draft {
            if let EntryKind::Message(message) = &mut draft.kind {
                let routing = message.routing.get_or_insert_default();
                routing.resolved_addressees = Routing::to(queued(&effects)).resolved_addressees;
            }
            self.log.take(draft);
        }
        // What changes nothing answers nothing.
        if !effects.iter().all(|effect| matches!(effect, Effect::Note(_) | Effect::Rest)) {
            self.asked = None;
        }
        self.perform(effects, audience)
    }

    /// Stores all entries of a step together with what was staged before, shows them, and begins what
    /// has to begin.
    fn perform(
        &mut self,
        effects: Vec<Effect>,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        if let Some(minutes) = minutes::due(self.log.branch(), self.team.window_max()) {
            self.log.stage(minutes, false);
        }
        let mut start = None;
        for effect in &effects {
            // Before the prompt is made: it is for this turn already.
            if let Effect::SetTeamTask { task, .. } = effect {
                let task = task.as_deref().map(Into::into);
                let task = TeamTask { task, unknown: Fields::NONE };
                self.log.stage(EntryKind::TeamTask(task), false);
            }
            if let Effect::StartTurn { turn, member, parent, .. } = effect {
                start = Some(self.prepare(turn, member, parent, None));
            }
        }
        let hash = start.as_ref().map(|start| start.hash());
        let recipe = start.as_ref().and_then(|start| self.record_prompt(start));
        let mut talk = Vec::new();
        for effect in effects {
            match effect {
                Effect::Append { id, mut kind } => {
                    if let EntryKind::Turn(turn) = &mut kind
                        && turn.state == TurnState::Started
                    {
                        turn.prompt_hash.clone_from(&hash);
                        turn.prompt_recipe.clone_from(&recipe);
                        if recipe.is_some() {
                            self.recipes.stored_as(&id);
                        }
                    }
                    self.log.stage_as(id, kind);
                }
                Effect::CancelTurn { turn, .. } => self.stop(&turn),
                Effect::AskPerson(question) => talk.push(Talk::Asked(question)),
                // Somebody who is named many times is noted once.
                Effect::Note(note) if talk.contains(&Talk::Note(note.clone())) => {}
                Effect::Note(note) => talk.push(Talk::Note(note)),
                Effect::Rest => talk.push(Talk::Rested),
                Effect::StartTurn { .. } | Effect::SetTeamTask { .. } => {}
            }
        }
        self.try_store(audience)?;
        for one in talk {
            self.say_aloud(one, audience);
        }
        match start {
            Some(start) => {
                self.launch(start);
                match self.store_staged(audience) {
                    // The step itself is stored; what is left goes in with what comes next.
                    Err(DriveError::SomebodyElse) => Ok(()),
                    stored => stored,
                }
            }
            None => Ok(()),
        }
    }

    fn say_aloud(&mut self, talk: Talk, audience: &mut dyn Audience) {
        match talk {
            Talk::Note(note) => audience.hear(&TableEvent::Note(&note)),
            Talk::Asked(question) => {
                audience.hear(&TableEvent::Asked(&question));
                self.asked = Some(question);
            }
            Talk::Rested => audience.hear(&TableEvent::Rested),
        }
    }

    /// Somebody says something: stored and routed, and what follows from it begins.
    pub fn say(
        &mut self,
        member: Option<&str>,
        text: &str,
        audience: &mut dyn Audience,
    ) -> Result<EntryId, DriveError> {
        // Who speaks, and who is waited for, may have changed meanwhile.
        self.catch_up(audience)?;
        let name: Option<Box<str>> = self.machine.speaker_of(member, text)?.map(Into::into);
        let speaker = match name.as_deref().and_then(|name| self.team.member(name)) {
            Some(one) => Speaker::new(&*one.member.name, one.shown_name(), SpeakerType::Human),
            // Nobody sits there as a person: whoever holds the keyboard speaks.
            None => Speaker::new("you", "you", SpeakerType::Human),
        };
        let message = Message::said(speaker, text);
        self.message(&message, audience, |entry| Event::PersonSaid {
            entry,
            member: name.clone(),
            text: text.to_owned(),
        })
    }

    /// Stores a message together with what it leads to.
    pub(super) fn message(
        &mut self,
        message: &Message,
        audience: &mut dyn Audience,
        event: impl Fn(EntryId) -> Event,
    ) -> Result<EntryId, DriveError> {
        let said = |log: &mut TableLog| {
            let draft = log.draft(EntryKind::Message(message.clone()));
            let event = event(draft.id.clone());
            (draft.id.clone(), Some(draft), event)
        };
        self.attempt(said, audience)
    }

    /// Covers what was said so far by a summary, because a person wants it.
    pub fn compact(&mut self, audience: &mut dyn Audience) -> Result<Compacted, DriveError> {
        self.catch_up(audience)?;
        let (compacted, summary) = minutes::requested(self.log.branch());
        if let Some(summary) = summary {
            self.log.stage(summary, false);
            self.try_store(audience)?;
        }
        Ok(compacted)
    }
}

/// The members whose turns these effects queue, in order.
fn queued(effects: &[Effect]) -> Vec<Box<str>> {
    let queued = effects.iter().filter_map(|effect| match effect {
        Effect::Append { kind: EntryKind::Turn(turn), .. } if turn.state == TurnState::Queued => {
            Some(turn.member.clone())
        }
        _ => None,
    });
    queued.collect()
}
