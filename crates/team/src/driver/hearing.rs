//! What an agent says while it works becomes entries and events; its end becomes the answer, or a failure
//! with its reason.

use std::sync::mpsc::SyncSender;

use tertulia_agent::{
    AgentKind, Ended, PermissionAnswer, PermissionRequest, Permissions, TurnReport,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::{
    EntryId, EntryKind, Fields, Message, Routing, Speaker, SpeakerType, Usage, Usd,
};

use super::Driver;
use super::error::DriveError;
use super::event::{Audience, PermissionNumber, TableEvent};
use super::log::TableLog;
use super::record::{TurnNote, What};
use super::turn::{Asks, FromAgent};
use crate::event::Event;
use crate::team::Answers;

/// So many notes that wait already are stored in one go.
const BATCH: usize = 64;
/// So many notes of one turn become entries; a flood of them says nothing new.
const NOTES_MAX: usize = 2_000;
/// Of what is left of an answer the beginning is kept: who floods says nothing new, and the session has to
/// carry it for ever.
const PARTIAL_BYTES_MAX: usize = 1024 * 1024;
/// Of longer thinking the beginning is kept.
const THOUGHT_BYTES_MAX: usize = 64 * 1024;

impl Driver {
    pub(super) fn agent_says(
        &mut self,
        event: &StreamEvent,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let (turn, member) = (&running.turn, &*running.member);
        match event {
            StreamEvent::TextDelta { text } => {
                // Nobody can follow a flood, and a screen that tries hears nobody.
                running.told += text.len();
                if running.told > PARTIAL_BYTES_MAX {
                    return Ok(());
                }
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
        running.has_worked |= matches!(event, StreamEvent::ToolStarted { .. });
        self.stage_thought();
        if let Some(what) = What::of(event) {
            self.stage_note(what);
        }
        if self.log.staged_count() < BATCH && self.is_more_to_note() {
            return Ok(());
        }
        self.store_staged(audience)
    }

    /// Whether the agent that runs has said more that becomes a note. A burst of notes is not one sync of
    /// the disk for each: whoever wants to stop the agent would have to wait for them all.
    fn is_more_to_note(&mut self) -> bool {
        let Some(running) = &self.running else { return false };
        match self.inbox.peek() {
            Some((turn, FromAgent::Said(event))) if *turn == running.turn => !matches!(
                event,
                StreamEvent::TextDelta { .. }
                    | StreamEvent::TextEnd
                    | StreamEvent::TextWithdrawn
                    | StreamEvent::Thinking { .. }
            ),
            _ => false,
        }
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
    ) -> Result<(), DriveError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        if running.cancel.is_cancelled() {
            // An agent that is gone needs no answer.
            let _ = answer.send(PermissionAnswer::EndTurn);
            return Ok(());
        }
        self.permissions += 1;
        let number = PermissionNumber(self.permissions);
        running.asks = Some(Asks { number, request: request.clone(), answer });
        self.stage_note(What::permission_asked(request));
        self.store_staged(audience)?;
        if let Some(running) = &self.running {
            let member = &running.member;
            audience.hear(&TableEvent::Permission { number, member, request });
        }
        if !self.attended {
            self.refused = self.running.as_ref().map(|r| (r.member.clone(), request.title.clone()));
            return self.permit(number, &PermissionAnswer::EndTurn, audience);
        }
        Ok(())
    }

    /// Hands an answer to the agent that waits for it.
    pub(super) fn permit(
        &mut self,
        number: PermissionNumber,
        answer: &PermissionAnswer,
        audience: &mut dyn Audience,
    ) -> Result<(), DriveError> {
        let Some(running) = &mut self.running else { return Ok(()) };
        let Some(asks) = running.asks.take_if(|asks| asks.number == number) else { return Ok(()) };
        self.stage_note(What::permission_answered(&asks.request, answer));
        let stored = self.store_staged(audience);
        let _ = asks.answer.send(answer.clone());
        stored
    }

    /// Stops the agent of a turn. Whoever it waits for says no.
    pub(super) fn stop(&mut self, turn: &EntryId) {
        let Some(running) = self.running.as_mut().filter(|running| running.turn == *turn) else {
            return;
        };
        running.cancel.cancel();
        if let Some(asks) = running.asks.take() {
            let _ = asks.answer.send(PermissionAnswer::EndTurn);
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
        let is_over = running.is_second || running.cancel.is_cancelled();
        let is_work_done = running.has_worked && !self.only_reads(&running.member);
        if overflown && !is_over && !is_work_done {
            return self.try_smaller(&report.output, audience);
        }
        if overflown && !is_over {
            let message = "it is not tried again by itself: its tools would do their work twice";
            self.stage_note(What::Warned { class: None, message: message.into() });
        }
        if report.left_behind > 0 && report.ended == Ended::ByItself {
            let what = match report.left_behind {
                1 => "1 process that it had started was still there, and was ended".to_owned(),
                count => format!(
                    "{count} processes that it had started were still there, and were ended"
                ),
            };
            self.stage_note(What::Warned { class: None, message: what.into() });
        }
        let Some(running) = self.running.take() else { return Ok(()) };
        let output = report.output;
        let (turn, member) = (running.turn.clone(), running.member.clone());
        self.stage_usage(&member, &output);
        let speaker = self.speaker_of(&member);
        let answers = running.answers.clone();
        let sources = running.sources.clone();
        running.join();
        if let Some(answer) = output.final_text {
            let mut message = answer_to(&answers, speaker, &answer.text);
            message.meta = sources;
            let (text, interrupted) = (answer.text, false);
            let said = |entry| {
                let (turn, text) = (turn.clone(), text.clone());
                Event::AgentSaid { turn, entry, text, interrupted }
            };
            return self.message(&message, audience, said).map(|_| ());
        }
        let what = match &output.error {
            Some(error) => What::failed(error),
            None => What::failure(ErrorClass::Empty, "it ended without an answer"),
        };
        let What::Failed { class, .. } = &what else { return Ok(()) };
        let class = class.clone();
        let note = TurnNote::new(&turn, &member, what);
        let partial = output.partial_text.filter(|text| !text.trim().is_empty());
        let (partial, cut) = partial.map(kept_of).unzip();
        let partial = partial.map(|text| answer_to(&answers, speaker, &text));
        let cut = cut.flatten().map(|what| TurnNote::new(&turn, &member, what));
        let failed = |log: &mut TableLog| {
            let entry = partial.clone().map(|message| log.stage(EntryKind::Message(message), true));
            for note in cut.iter().chain([&note]) {
                log.stage(note.to_kind(), false);
            }
            ((), None, Event::AgentFailed { turn: turn.clone(), class: class.clone(), entry })
        };
        self.attempt(failed, audience)
    }

    /// Whether whatever a member does can be done again: its tools change nothing.
    fn only_reads(&self, member: &str) -> bool {
        let answers = self.team.member(member).map(|one| &one.answers);
        matches!(answers, Some(Answers::Agent(spec)) if spec.permissions == Permissions::Read
            && matches!(spec.kind, AgentKind::Claude | AgentKind::Codex | AgentKind::Gemini))
    }

    fn speaker_of(&self, member: &str) -> Speaker {
        let shown = self.team.member(member).map_or(member, |one| one.shown_name());
        Speaker::new(member, shown, SpeakerType::Ai)
    }

    pub(super) fn stage_usage(&mut self, member: &str, output: &TurnOutput) {
        if output.usage.is_none() && output.cost.is_none() {
            return;
        }
        let usage = output.usage.unwrap_or_default();
        let cached = usage.cache_read;
        let read = [usage.input, cached, usage.cache_write];
        let read = read.into_iter().flatten().fold(0, u64::saturating_add);
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
}

/// What is kept of an answer that did not come to its end, and what is said of the rest.
fn kept_of(mut text: String) -> (String, Option<What>) {
    let written = text.len();
    text.truncate(text.floor_char_boundary(PARTIAL_BYTES_MAX));
    let cut = (text.len() < written).then(|| {
        let message =
            format!("of {written} bytes that it wrote, the first {} are kept", text.len());
        What::Warned { class: None, message: message.into() }
    });
    (text, cut)
}

fn answer_to(answers: &EntryId, speaker: Speaker, text: &str) -> Message {
    let mut message = Message::said(speaker, text);
    let parent_message_id = Some(answers.as_str().into());
    message.routing = Some(Box::new(Routing { parent_message_id, ..Routing::default() }));
    message
}

fn is_overflow(error: &TurnError) -> bool {
    error.class == ErrorClass::Overflow
}
