//! The effects of a step: stages and stores its entries, makes the prompts of the turns that start, and starts their
//! agents.

use std::collections::VecDeque;

use tertulia_agent::{AgentSpec, Ended, TurnReport};
use tertulia_context::PromptStatus;
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::{EntryId, EntryKind, Fields, TeamTask, TurnState};
use tertulia_store::sources_meta;

use super::asked::{Asked, Attempt};
use super::event::{DriveError, EventSink, SessionEvent};
use super::inbox::Input;
use super::prompt::Start;
use super::record::warning;
use super::worktree::{MemberWorktree, Place};
use super::{Done, Driver};
use crate::built_in;
use crate::effect::Effect;
use crate::file::SettingsGuard;
use crate::team::{Responder, TeamMember};

/// A turn that starts: its id, its member, and the message that it answers.
type Starting = (EntryId, Box<str>, EntryId);

impl Driver {
    /// Stores all entries of a step and those staged before, shows them, and runs the effects.
    pub(super) fn perform(&mut self, effects: Vec<Effect>, sink: &mut dyn EventSink) -> Done {
        self.stage_summary();
        for effect in &effects {
            // The task is set before a prompt is created, because it applies to this turn.
            if let Effect::SetTeamTask { task } = effect {
                let task = task.as_deref().map(Into::into);
                let task = TeamTask { task, unknown: Fields::NONE };
                self.log.stage(EntryKind::TeamTask(task));
            }
        }
        let (starts, events) = self.stage(effects)?;
        self.try_store(sink)?;
        for event in events {
            if let SessionEvent::Asked(question) = &event {
                self.asked = Some(question.clone());
            }
            sink.on_event(event);
        }
        if starts.is_empty() {
            return Ok(());
        }
        starts.into_iter().for_each(|start| self.launch(start));
        match self.store_staged(sink) {
            // The step itself is stored. The remaining entries are stored with the next step.
            Err(DriveError::SessionInUse) => Ok(()),
            stored => stored,
        }
    }

    /// Stages the entries of a step. Returns the turns that start, and the events to show.
    fn stage(
        &mut self,
        effects: Vec<Effect>,
    ) -> Result<(Vec<Start>, Vec<SessionEvent>), DriveError> {
        let mut asked: VecDeque<Starting> = effects.iter().filter_map(started).collect();
        let (mut starts, mut events) = (Vec::new(), Vec::new());
        // The first prompt is made before the entries of the step, since it may cut a context. Each further one is
        // made after the record of the one before, because its own record may refer to it.
        let mut next = self.prepare(asked.pop_front())?;
        for effect in effects {
            match effect {
                Effect::Append { id, mut kind } => {
                    let start = next.take_if(|start| is_start_of(&kind, &start.turn));
                    if let EntryKind::Turn(turn) = &mut kind {
                        self.note_native(turn);
                    }
                    if let (EntryKind::Turn(turn), Some(start)) = (&mut kind, &start) {
                        turn.prompt_hash = Some(start.hash.clone());
                        turn.prompt_recipe.clone_from(&start.record);
                        turn.memory = start.memory.record.clone().map(Box::new);
                        if start.record.is_some() {
                            self.prompts.recorded_in(&id);
                        }
                    }
                    self.log.stage_as(id, kind);
                    if let Some(start) = start {
                        starts.push(start);
                        next = self.prepare(asked.pop_front())?;
                    }
                }
                Effect::CancelTurn { turn, .. } => self.runner.stop(&turn),
                Effect::AskPerson(question) => events.push(SessionEvent::Asked(question)),
                Effect::Note(note) => {
                    // A member that is named several times is recorded once.
                    let is_same = |one: &SessionEvent| matches!(one, SessionEvent::Note(other) if *other == note);
                    if !events.iter().any(is_same) {
                        events.push(SessionEvent::Note(note));
                    }
                }
                Effect::Rest => events.push(SessionEvent::Rested),
                Effect::StartTurn { .. } | Effect::SetTeamTask { .. } => {}
            }
        }
        Ok((starts, events))
    }

    fn prepare(&mut self, asked: Option<Starting>) -> Result<Option<Start>, DriveError> {
        let Some((turn, member, parent)) = asked else { return Ok(None) };
        let known = self.team.member(&member);
        let consult = self.consult(&turn);
        let is_far = consult.is_some() && !self.log.is_read_before(&parent, self.team.window_max());
        // The scribe summarises the whole session.
        if known.is_some_and(TeamMember::is_scribe) || is_far || !self.log.is_read(&parent) {
            self.log.read_all()?;
        }
        let memory = self.plan_memory(&member, consult.as_ref())?;
        let (member, consult) = (&*member, consult.as_ref());
        let asked = Asked { turn: &turn, member, answers: &parent, consult };
        Ok(Some(self.prompts.prepare(&self.team, &mut self.log, asked, memory, Attempt::First)))
    }

    pub(super) fn launch(&mut self, start: Start) {
        // Another process may have ended a turn while its agent still works in this process.
        let machine = &self.machine;
        let stays = |turn: &EntryId| machine.active().any(|active| active.turn == turn);
        self.runner.stop_and_wait(&mut self.inbox, stays);
        // A second attempt belongs to a turn that was counted at its first attempt.
        if !start.is_second {
            self.prompts.count(&start.member);
        }
        let (mut spec, mut is_cut) = (None, false);
        let answer = match self.team.member(&start.member).map(|one| &one.responder) {
            Some(Responder::Agent(agent)) => {
                let is_prompted = start.body.is_none();
                is_cut = is_prompted && start.prompt.status == PromptStatus::MessageTruncated;
                let refusal = self.objection(agent, &start);
                if refusal.is_none() {
                    spec = Some((**agent).clone());
                }
                Err(refusal.unwrap_or_else(|| "could not start a thread for this turn".to_owned()))
            }
            Some(Responder::Scribe) => Ok(self.summary(&start.answers)),
            Some(Responder::Librarian) => self.past_sessions(&start.member, &start.answers),
            Some(Responder::Person) | None => Err("it is no longer in the team".to_owned()),
        };
        let (turn, budget) = (start.turn.clone(), start.budget);
        let agent = spec.map(|spec| (spec, self.place(&start.member)));
        if !self.runner.begin(start, agent, &self.kept, &self.inbox) {
            self.report_at_once(turn.clone(), answer);
        }
        if is_cut {
            let message = format!("the message is cut: it is larger than {budget} bytes");
            self.runner.stage_activity(&turn, warning(message), &mut self.log);
        }
    }

    /// Returns where a member works.
    fn place(&self, member: &str) -> Place {
        match self.team.member(member) {
            Some(one) if one.worktree => Place::Worktree(Box::new(MemberWorktree {
                worktrees: self.team.worktrees.clone(),
                session: self.log.session.as_str().into(),
                guard: self.team.settings.clone(),
            })),
            _ => Place::Project,
        }
    }

    fn objection(&self, spec: &AgentSpec, start: &Start) -> Option<String> {
        let guard = self.team.settings.as_ref().filter(|_| spec.kind.is_program());
        guard.and_then(SettingsGuard::objection).or_else(|| {
            let budget = start.budget;
            let lost =
                || format!("nothing of the message fits into {budget} bytes; raise budget_bytes");
            start.is_lost().then(lost)
        })
    }

    /// Queues the end of the turn before all other input.
    fn report_at_once(&mut self, turn: EntryId, answer: Result<built_in::Answer, String>) {
        let output = match answer {
            Ok(built_in::Answer { text, sources }) => {
                self.runner.set_sources(&turn, sources_meta(&sources));
                let event = StreamEvent::TextDelta { text: text.clone() };
                self.inbox.put_first(Input::Said(turn.clone(), event));
                TurnOutput::answered(text)
            }
            Err(reason) => TurnOutput::failed(TurnError::new(ErrorClass::Setup, reason)),
        };
        let report = TurnReport::without_process(output, Ended::ByItself);
        self.inbox.put_first(Input::Ended(turn, Box::new(report)));
    }
}

fn started(effect: &Effect) -> Option<Starting> {
    match effect {
        Effect::StartTurn { turn, member, parent, .. } => {
            Some((turn.clone(), member.clone(), parent.clone()))
        }
        _ => None,
    }
}

fn is_start_of(kind: &EntryKind, id: &EntryId) -> bool {
    matches!(kind, EntryKind::Turn(turn) if turn.state == TurnState::Started
        && turn.turn_id.as_ref() == Some(id))
}
