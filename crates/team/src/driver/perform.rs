//! What the driver does: a step of the machine becomes entries of one append, then what has to begin
//! begins; what agents say becomes entries and events.

use std::sync::mpsc::SyncSender;

use tertulia_agent::{PermissionAnswer, PermissionRequest, TurnReport};
use tertulia_dialect::stream::{ErrorClass, StreamEvent};
use tertulia_session::{
    EntryId, EntryKind, Fields, Message, Routing, Speaker, SpeakerType, TeamTask, TurnState, Usage,
    Usd,
};

use super::error::DriveError;
use super::event::{Audience, TableEvent};
use super::record::{TurnNote, What};
use super::{Driver, minutes};
use crate::effect::Effect;
use crate::event::Event;
use crate::{Note, Question};

/// So many notes of one turn become entries; a flood of them says nothing new.
const NOTES_MAX: usize = 2_000;
/// Of longer thinking the beginning is kept.
const THOUGHT_BYTES_MAX: usize = 64 * 1024;
/// How many messages stay word for word when a person asks for minutes.
const COMPACT_KEEPS: usize = 4;

/// What is said once all is stored.
enum Talk {
    Note(Note),
    Asked(Question),
    Rested,
}

impl Driver {
    /// Lets the machine take a step, and does what follows from it.
    pub(super) fn step(
        &mut self,
        event: Event,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        self.asked = None;
        let effects = self.machine.step(event);
        self.perform(effects, audience)
    }

    /// Stores all entries of a step together with what was staged before, shows them, and begins what
    /// has to begin.
    pub(super) fn perform(
        &mut self,
        effects: Vec<Effect>,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        if let Some(minutes) = minutes::due(&self.log, self.team.window_max()) {
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
        let mut talk = Vec::new();
        for effect in effects {
            match effect {
                Effect::Append { id, mut kind } => {
                    if let EntryKind::Turn(turn) = &mut kind
                        && turn.state == TurnState::Started
                    {
                        turn.prompt_hash.clone_from(&hash);
                    }
                    self.log.stage_as(id, kind);
                }
                Effect::CancelTurn { turn, .. } => self.stop(&turn),
                Effect::AskPerson(question) => talk.push(Talk::Asked(question)),
                Effect::Note(note) => talk.push(Talk::Note(note)),
                Effect::Rest => talk.push(Talk::Rested),
                Effect::StartTurn { .. } | Effect::SetTeamTask { .. } => {}
            }
        }
        self.store_staged(audience)?;
        for one in talk {
            self.say_aloud(one, audience);
        }
        match start {
            Some(start) => {
                self.launch(start);
                self.store_staged(audience)
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

    /// Stores what was staged, then shows it.
    pub(super) fn store_staged(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        for entry in self.log.commit().map_err(DriveError::of)? {
            audience.hear(&TableEvent::Stored(entry));
        }
        Ok(())
    }

    /// Somebody says something: stored and routed, and what follows from it begins.
    pub fn say(
        &mut self,
        member: Option<&str>,
        text: &str,
        audience: &mut dyn Audience,
    ) -> Result<EntryId, DriveError> {
        let name: Option<Box<str>> = self.machine.speaker_of(member, text)?.map(Into::into);
        let speaker = match name.as_deref().and_then(|name| self.team.member(name)) {
            Some(one) => Speaker::new(&*one.member.name, one.shown_name(), SpeakerType::Human),
            // Nobody sits there as a person: whoever holds the keyboard speaks.
            None => Speaker::new("you", "you", SpeakerType::Human),
        };
        let draft = Message::said(speaker, text);
        self.message(draft, None, audience, |entry| Event::PersonSaid {
            entry,
            member: name,
            text: text.to_owned(),
        })
    }

    /// Stores a message together with what it leads to.
    fn message(
        &mut self,
        message: Message,
        answers: Option<&EntryId>,
        audience: &mut dyn Audience,
        event: impl FnOnce(EntryId) -> Event,
    ) -> Result<EntryId, DriveError> {
        let mut draft = self.log.draft(EntryKind::Message(message));
        let id = draft.id.clone();
        self.asked = None;
        let effects = self.machine.step(event(id.clone()));
        if let EntryKind::Message(message) = &mut draft.kind {
            let mut routing = Routing::to(queued(&effects));
            routing.parent_message_id = answers.map(|id| id.as_str().into());
            message.routing = Some(Box::new(routing));
        }
        self.log.take(draft);
        self.perform(effects, audience)?;
        Ok(id)
    }

    pub(super) fn agent_says(
        &mut self,
        event: &StreamEvent,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (turn, member) = (&running.turn, &*running.member);
        match event {
            StreamEvent::TextDelta { text } => {
                audience.hear(&TableEvent::Text { turn, member, text });
                return Ok(());
            }
            StreamEvent::TextEnd => audience.hear(&TableEvent::TextEnd { turn, member }),
            StreamEvent::TextWithdrawn => {
                audience.hear(&TableEvent::TextWithdrawn { turn, member });
            }
            StreamEvent::Thinking { text } => {
                let room = THOUGHT_BYTES_MAX.saturating_sub(running.thought.len());
                let piece = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
                running.thought.push_str(piece);
                return Ok(());
            }
            _ => {}
        }
        self.stage_thought();
        if let Some(what) = What::of(event) {
            self.stage_note(what);
        }
        self.store_staged(audience)
    }

    fn stage_thought(&mut self) {
        let Some(running) = &mut self.running else { return };
        let thought = std::mem::take(&mut running.thought);
        if !thought.trim().is_empty() {
            self.stage_note(What::Thought { text: thought.into() });
        }
    }

    pub(super) fn stage_note(&mut self, what: What) {
        let Some(running) = &mut self.running else { return };
        running.notes += 1;
        let what = match running.notes.cmp(&NOTES_MAX) {
            std::cmp::Ordering::Less => what,
            std::cmp::Ordering::Equal => {
                let message = "more was noted in this turn than is kept".into();
                What::Warned { class: None, message }
            }
            std::cmp::Ordering::Greater => return,
        };
        let note = TurnNote::new(&running.turn, &running.member, what);
        self.log.stage(note.to_kind(), false);
    }

    pub(super) fn agent_asks(
        &mut self,
        request: &PermissionRequest,
        answer: SyncSender<PermissionAnswer>,
        audience: &mut dyn Audience,
    ) {
        let Some(running) = &mut self.running else { return };
        audience.hear(&TableEvent::Permission { member: &running.member, request });
        if self.attended && !running.cancel.is_cancelled() {
            running.asks = Some(answer);
        } else {
            self.refused = Some((running.member.clone(), request.title.clone()));
            let _ = answer.send(PermissionAnswer::EndTurn);
        }
    }

    /// Stops the agent of a turn. Whoever it waits for says no.
    fn stop(&mut self, turn: &EntryId) {
        let Some(running) = self.running.as_mut().filter(|running| running.turn == *turn) else {
            return;
        };
        running.cancel.cancel();
        if let Some(asks) = running.asks.take() {
            let _ = asks.send(PermissionAnswer::EndTurn);
        }
    }

    pub(super) fn agent_ended(
        &mut self,
        report: TurnReport,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        self.stage_thought();
        let Some(running) = &self.running else { return Ok(()) };
        let overflown = report.output.error.as_ref().is_some_and(is_overflow);
        if overflown && !running.is_second && !running.cancel.is_cancelled() {
            return self.try_smaller(&report.output, audience);
        }
        let Some(running) = self.running.take() else { return Ok(()) };
        let output = report.output;
        let (turn, member) = (running.turn.clone(), running.member.clone());
        self.stage_usage(&member, &output);
        let speaker = self.speaker_of(&member);
        let answers = running.answers.clone();
        running.join();
        if let Some(answer) = output.final_text {
            let message = Message::said(speaker, answer.text.clone());
            let said =
                |entry| Event::AgentSaid { turn, entry, text: answer.text, interrupted: false };
            self.message(message, Some(&answers), audience, said)?;
            return Ok(());
        }
        let what = match &output.error {
            Some(error) => What::failed(error),
            None => What::failure(ErrorClass::Empty, "it ended without an answer"),
        };
        let What::Failed { class, .. } = &what else { return Ok(()) };
        let class = class.clone();
        let note = TurnNote::new(&turn, &member, what);
        let partial = output.partial_text.filter(|text| !text.trim().is_empty());
        let entry = partial.map(|text| {
            let mut message = Message::said(speaker, text);
            let parent_message_id = Some(answers.as_str().into());
            let routing = Routing { parent_message_id, ..Routing::default() };
            message.routing = Some(Box::new(routing));
            self.log.stage(EntryKind::Message(message), true)
        });
        self.log.stage(note.to_kind(), false);
        self.step(Event::AgentFailed { turn, class, entry }, audience)
    }

    fn speaker_of(&self, member: &str) -> Speaker {
        let shown = self.team.member(member).map_or(member, |one| one.shown_name());
        Speaker::new(member, shown, SpeakerType::Ai)
    }

    pub(super) fn stage_usage(
        &mut self,
        member: &str,
        output: &tertulia_dialect::stream::TurnOutput,
    ) {
        if output.usage.is_none() && output.cost.is_none() {
            return;
        }
        let usage = output.usage.unwrap_or_default();
        let cached = usage.cache_read;
        let read = [usage.input, cached, usage.cache_write].into_iter().flatten().sum();
        let cost = output.cost.and_then(|cost| Usd::new(cost.usd));
        if let Some(cost) = &cost {
            // Before the answer, as a replay will read it.
            self.machine.step(Event::UsageSeen { member: member.into(), usd: cost.amount() });
        }
        self.log.stage(
            EntryKind::Usage(Usage {
                member: member.into(),
                model: output.model.clone(),
                input_tokens: read,
                cached_tokens: cached,
                output_tokens: usage.output.unwrap_or(0),
                cost_usd: cost,
                unknown: Fields::NONE,
            }),
            false,
        );
    }

    /// Covers what was said so far by minutes, because a person wants it.
    pub(super) fn compact(&mut self, audience: &mut dyn Audience) -> Result<(), DriveError> {
        if let Some(minutes) = minutes::now(&self.log, COMPACT_KEEPS) {
            self.log.stage(minutes, false);
        }
        self.store_staged(audience)
    }
}

fn is_overflow(error: &tertulia_dialect::stream::TurnError) -> bool {
    error.class == ErrorClass::Overflow
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
