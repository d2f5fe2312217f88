//! One step: the machine decides, its entries are stored in one append and shown, and then its effects run.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tertulia_agent::{AgentSpec, Ended, PermissionAnswer, PermissionRequest, TurnReport};
use tertulia_context::PromptStatus;
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::{
    Entry, EntryId, EntryKind, Fields, Message, Routing, Speaker, SpeakerType, TeamTask,
    TurnActivity, TurnEvent, TurnState, Usage,
};
use tertulia_store::sources_meta;

use super::event::{DriveError, EventSink, PermissionNumber, SessionEvent};
use super::inbox::Input;
use super::log::{SessionLog, now};
use super::prompt::Start;
use super::record::{usage_of, warning};
use super::runner::Followup;
use super::{Done, Driver, StopReason};
use crate::effect::{Effect, Event};
use crate::file::SettingsGuard;
use crate::team::{Responder, TeamMember};
use crate::{PersonMessage, built_in};

/// Maximum number of retries, in case another process writes all the time.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(2);
/// Maximum time between two checks of the clock while turns wait for the end of a usage limit.
const CLOCK_CHECK: Duration = Duration::from_secs(30);
/// Maximum number of waiting notes that are stored together.
const BATCH: usize = 64;

impl Driver {
    /// Stores and routes a message, and starts the turns that follow from it.
    pub fn say(
        &mut self,
        member: Option<&str>,
        text: &str,
        sink: &mut dyn EventSink,
    ) -> Result<EntryId, DriveError> {
        self.say_message(member, &PersonMessage::new(text, &self.team.roster), sink)
    }

    /// Same as [`Self::say`], for a parsed message.
    pub fn say_message(
        &mut self,
        member: Option<&str>,
        said: &PersonMessage,
        sink: &mut dyn EventSink,
    ) -> Result<EntryId, DriveError> {
        // The sender and the awaited person may have changed in the meantime.
        self.catch_up(sink)?;
        self.end_limits(sink)?;
        let name = self.machine.speaker_of(member.or(said.sender()))?;
        let name: Option<Box<str>> = name.map(Into::into);
        let speaker = match name.as_deref().and_then(|name| self.team.member(name)) {
            Some(one) => Speaker::new(&*one.member.name, one.shown_name(), SpeakerType::Human),
            // The team has no person: the user of this process speaks.
            None => Speaker::new("you", "you", SpeakerType::Human),
        };
        let message = Message::said(speaker, said.text());
        self.message(&message, sink, |entry| Event::PersonSaid {
            entry,
            member: name.clone(),
            message: Box::new(said.clone()),
        })
    }

    fn message(
        &mut self,
        message: &Message,
        sink: &mut dyn EventSink,
        event: impl Fn(EntryId) -> Event,
    ) -> Result<EntryId, DriveError> {
        let said = |log: &mut SessionLog| {
            let draft = log.draft(message.clone());
            let event = event(draft.id.clone());
            (draft.id.clone(), Some(draft), event)
        };
        self.attempt(said, sink)
    }

    pub(super) fn step(&mut self, event: &Event, sink: &mut dyn EventSink) -> Done {
        self.attempt(|_| ((), None, event.clone()), sink)
    }

    /// Runs a step of the machine, and retries it if another process has written to the session in the meantime.
    /// `make` stages the entries of the step. If it returns an entry, that is the message in which the addressees are
    /// recorded. Returns the first value of `make` once everything is stored.
    fn attempt<T>(
        &mut self,
        make: impl Fn(&mut SessionLog) -> (T, Option<Entry>, Event),
        sink: &mut dyn EventSink,
    ) -> Result<T, DriveError> {
        let mut attempts = 1;
        loop {
            let staged_before = self.log.staged_count();
            let (made, draft, event) = make(&mut self.log);
            // If the session has changed, a person must make these decisions again.
            let is_decided_anew =
                matches!(event, Event::Continue | Event::Resume | Event::Repeat { .. });
            match self.try_step(draft, event, sink) {
                Err(DriveError::SessionInUse) => {
                    self.rejoin(staged_before, sink)?;
                    if is_decided_anew || attempts == ATTEMPTS {
                        return Err(DriveError::SessionInUse);
                    }
                    std::thread::sleep(PAUSE * attempts);
                    attempts += 1;
                }
                done => return done.map(|()| made),
            }
        }
    }

    fn try_step(&mut self, draft: Option<Entry>, event: Event, sink: &mut dyn EventSink) -> Done {
        let effects = self.machine.step(event);
        if let Some(mut draft) = draft {
            if let EntryKind::Message(message) = &mut draft.kind {
                let routing = message.routing.get_or_insert_default();
                routing.resolved_addressees =
                    Routing::to(Effect::queued(&effects)).resolved_addressees;
            }
            self.log.take(draft);
        }
        // The question to a person stays open after a step without effects.
        if !effects.iter().all(|effect| matches!(effect, Effect::Note(_) | Effect::Rest)) {
            self.asked = None;
        }
        self.perform(effects, sink)
    }

    /// Stores all entries of a step and those staged before, shows them, and runs the effects.
    fn perform(&mut self, effects: Vec<Effect>, sink: &mut dyn EventSink) -> Done {
        self.stage_summary();
        let mut start = None;
        for effect in &effects {
            // The task is set before the prompt is created, because it applies to this turn.
            if let Effect::SetTeamTask { task } = effect {
                let task = task.as_deref().map(Into::into);
                let task = TeamTask { task, unknown: Fields::NONE };
                self.log.stage(EntryKind::TeamTask(task));
            }
            if let Effect::StartTurn { turn, member, parent, .. } = effect {
                let known = self.team.member(member);
                // The scribe summarises the whole session.
                if known.is_some_and(TeamMember::is_scribe) || !self.log.is_read(parent) {
                    self.log.read_all()?;
                }
                let asked = (turn, &**member, parent);
                start = Some(self.prompts.prepare(&self.team, &mut self.log, asked, None));
            }
        }
        let events = self.stage(effects, start.as_ref());
        self.try_store(sink)?;
        for event in events {
            if let SessionEvent::Asked(question) = &event {
                self.asked = Some(question.clone());
            }
            sink.on_event(event);
        }
        let Some(start) = start else { return Ok(()) };
        self.launch(start);
        match self.store_staged(sink) {
            // The step itself is stored. The remaining entries are stored with the next step.
            Err(DriveError::SessionInUse) => Ok(()),
            stored => stored,
        }
    }

    fn stage(&mut self, effects: Vec<Effect>, start: Option<&Start>) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        for effect in effects {
            match effect {
                Effect::Append { id, mut kind } => {
                    if let (EntryKind::Turn(turn), Some(start)) = (&mut kind, start)
                        && turn.state == TurnState::Started
                    {
                        turn.prompt_hash = Some(start.hash.clone());
                        turn.prompt_recipe.clone_from(&start.record);
                        if start.record.is_some() {
                            self.prompts.recorded_in(&id);
                        }
                    }
                    self.log.stage_as(id, kind);
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
        events
    }

    pub(super) fn store_staged(&mut self, sink: &mut dyn EventSink) -> Done {
        let mut attempts = 1;
        loop {
            match self.try_store(sink) {
                Err(DriveError::SessionInUse) if attempts < ATTEMPTS => {
                    self.rejoin(self.log.staged_count(), sink)?;
                    std::thread::sleep(PAUSE * attempts);
                }
                done => return done,
            }
            attempts += 1;
        }
    }

    pub(super) fn try_store(&mut self, sink: &mut dyn EventSink) -> Done {
        for entry in self.log.commit().map_err(DriveError::from_store)? {
            sink.on_event(SessionEvent::Stored(Arc::new(entry.clone())));
        }
        Ok(())
    }

    pub(super) fn catch_up(&mut self, sink: &mut dyn EventSink) -> Done {
        if self.log.is_behind()? { self.rejoin(self.log.staged_count(), sink) } else { Ok(()) }
    }

    fn launch(&mut self, start: Start) {
        // Another process may have ended the turn while its agent still works in this process.
        self.runner.stop_and_wait(&mut self.inbox);
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
        if !self.runner.begin(start, spec, &self.inbox) {
            self.report_at_once(turn, answer);
        }
        if is_cut {
            let message = format!("the message is cut: it is larger than {budget} bytes");
            self.runner.stage_activity(warning(message), &mut self.log);
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
                self.runner.set_sources(sources_meta(&sources));
                let event = StreamEvent::TextDelta { text: text.clone() };
                self.inbox.put_first(Input::Said(turn.clone(), event));
                TurnOutput::answered(text)
            }
            Err(reason) => TurnOutput::failed(TurnError::new(ErrorClass::Setup, reason)),
        };
        let report = TurnReport::without_process(output, Ended::ByItself);
        self.inbox.put_first(Input::Ended(turn, Box::new(report)));
    }

    /// Runs until no turn runs and no input remains.
    pub fn run(&mut self, sink: &mut dyn EventSink) -> Result<StopReason, DriveError> {
        while self.runner.turn().is_some() {
            self.next(sink)?;
        }
        Ok(self.pause())
    }

    /// Runs until the session is closed.
    pub fn attend(&mut self, sink: &mut dyn EventSink) -> Done {
        while !self.is_closed || self.runner.turn().is_some() {
            self.next(sink)?;
        }
        Ok(())
    }

    fn next(&mut self, sink: &mut dyn EventSink) -> Done {
        let input = self.inbox.next(self.until_reset());
        if input.is_none() {
            self.end_limits(sink)?;
        }
        match input {
            Some(Input::Command(command)) => match self.execute(command, sink) {
                Err(error) if !error.is_fatal() => {
                    sink.on_event(SessionEvent::Refused(Arc::new(error)));
                    Ok(())
                }
                obeyed => obeyed,
            },
            // Input of a turn that no longer runs here is ignored.
            Some(input) if input.turn() != self.runner.turn() => {
                input.decline();
                Ok(())
            }
            Some(Input::Fed(turn)) => {
                let member = self.runner.member().unwrap_or_default().into();
                sink.on_event(SessionEvent::Fed { turn, member });
                Ok(())
            }
            Some(Input::Said(_, event)) => {
                if !self.runner.says(event, &mut self.log, sink)
                    || (self.log.staged_count() < BATCH && self.is_more_to_note())
                {
                    return Ok(());
                }
                self.store_staged(sink)
            }
            Some(Input::Asks(_, request, answer)) => self.agent_asks(request, answer, sink),
            Some(Input::Ended(turn, report)) => self.agent_ended(&turn, *report, sink),
            Some(Input::Wake) | None => Ok(()),
        }
    }

    /// Returns how long to wait for input before the clock is checked again; `None` if no turn waits for the end of a
    /// usage limit. Short, since the clock may jump or the machine may sleep.
    fn until_reset(&self) -> Option<Duration> {
        let resets_at = self.machine.next_reset()?;
        let wait = resets_at.millis().saturating_sub(now().millis());
        Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)).clamp(PAUSE, CLOCK_CHECK))
    }

    /// Records the usage limits that have ended, so that turns that wait for them start.
    pub(super) fn end_limits(&mut self, sink: &mut dyn EventSink) -> Done {
        for member in self.machine.ended_limits(&now()) {
            self.step(&Event::LimitEnded { member }, sink)?;
        }
        Ok(())
    }

    /// Returns whether the running agent has more output that becomes a note. Such notes are stored together. Storing
    /// each one separately needs one disk sync each, which would delay a command to stop the agent.
    fn is_more_to_note(&mut self) -> bool {
        match self.inbox.peek() {
            Some(Input::Said(turn, event)) if Some(turn) == self.runner.turn() => !matches!(
                event,
                StreamEvent::TextDelta { .. }
                    | StreamEvent::TextEnd
                    | StreamEvent::TextWithdrawn
                    | StreamEvent::Thinking { .. }
            ),
            _ => false,
        }
    }

    fn agent_asks(
        &mut self,
        request: PermissionRequest,
        answer: SyncSender<PermissionAnswer>,
        sink: &mut dyn EventSink,
    ) -> Done {
        let Some(number) = self.runner.asks(request.clone(), answer, &mut self.log) else {
            return Ok(());
        };
        self.store_staged(sink)?;
        let is_refused = self.runner.refuses(&request);
        if let Some(member) = self.runner.member() {
            let member = member.into();
            sink.on_event(SessionEvent::Permission { number, member, request });
        }
        if is_refused { self.permit(number, &PermissionAnswer::EndTurn, sink) } else { Ok(()) }
    }

    pub(super) fn permit(
        &mut self,
        number: PermissionNumber,
        answer: &PermissionAnswer,
        sink: &mut dyn EventSink,
    ) -> Done {
        let Some(agent) = self.runner.answer(number, answer, &mut self.log) else { return Ok(()) };
        let stored = self.store_staged(sink);
        let _ = agent.send(answer.clone());
        stored
    }

    fn agent_ended(
        &mut self,
        turn: &EntryId,
        report: TurnReport,
        sink: &mut dyn EventSink,
    ) -> Done {
        // So that a member whose limit has ended can take over.
        self.end_limits(sink)?;
        let usage = self.runner.member().and_then(|member| usage_of(member, &report.output));
        match self.runner.ended(report, &self.team, &mut self.log) {
            None => Ok(()),
            Some(Followup::Retry { member, answers, budget }) => {
                sink.on_event(SessionEvent::TextWithdrawn {
                    turn: turn.clone(),
                    member: member.clone(),
                });
                self.stage_usage(usage);
                self.retry(turn, &member, &answers, budget, sink)
            }
            Some(Followup::Answer { message, text }) => {
                self.stage_usage(usage);
                self.runner.finish();
                let said = |entry| {
                    let (turn, text) = (turn.clone(), text.clone());
                    Event::AgentSaid { turn, entry, text, interrupted: false }
                };
                self.message(&message, sink, said).map(|_| ())
            }
            Some(Followup::Failure { class, partial, events, limit, report }) => {
                self.stage_usage(usage);
                self.runner.finish();
                let report = report.filter(|_| self.machine.has_fallback(turn));
                let failed = |log: &mut SessionLog| {
                    let entry = partial.clone().map(|message| log.stage_partial(message));
                    if let Some(report) = &report {
                        log.stage(EntryKind::Message(report.clone()));
                    }
                    for event in &events {
                        log.stage(EntryKind::TurnEvent(event.clone()));
                    }
                    let (turn, class) = (turn.clone(), class.clone());
                    ((), None, Event::AgentFailed { turn, class, entry, limit: limit.clone() })
                };
                self.attempt(failed, sink)
            }
        }
    }

    pub(super) fn stage_usage(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        if let Some(cost) = &usage.cost_usd {
            // The usage is recorded before the answer, because replay reads it in this order.
            let (member, usd) = (usage.member.clone(), cost.amount());
            self.machine.step(Event::UsageSeen { member, usd });
        }
        self.log.stage(EntryKind::Usage(usage));
    }

    /// Retries with a smaller prompt, since the agent found the first one too large.
    fn retry(
        &mut self,
        turn: &EntryId,
        member: &str,
        answers: &EntryId,
        budget: u64,
        sink: &mut dyn EventSink,
    ) -> Done {
        self.runner.stage_activity(TurnActivity::Retried { budget }, &mut self.log);
        let asked = (turn, member, answers);
        let start = self.prompts.prepare(&self.team, &mut self.log, asked, Some(budget));
        if let Some(prompt_recipe) = start.record.clone() {
            let activity = TurnActivity::Resent { prompt_hash: start.hash.clone(), prompt_recipe };
            let event = TurnEvent::new(turn.clone(), member, activity);
            self.log.stage(EntryKind::TurnEvent(event));
        }
        self.store_staged(sink)?;
        self.runner.finish();
        self.launch(start);
        self.store_staged(sink)
    }
}
