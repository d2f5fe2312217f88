//! The steps of a session: waits for messages, commands and output of agents, and lets the machine decide.
//! `perform.rs` stores and shows its decisions and starts the agents.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tertulia_agent::{PermissionAnswer, PermissionRequest, TurnReport};
use tertulia_dialect::stream::{ErrorClass, StreamEvent};
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Routing, Speaker, SpeakerType, TurnActivity, TurnEvent,
    Usage,
};
use tertulia_store::fresh_salt;

use super::asked::{Asked, Attempt};
use super::event::{DriveError, EventSink, PermissionNumber, SessionEvent};
use super::followup::Followup;
use super::inbox::Input;
use super::log::{SessionLog, now};
use super::native::MemoryPlan;
use super::prompt::Start;
use super::record::usage_of;
use super::spending::is_figure;
use super::{Done, Driver, StopReason};
use crate::ask::ask_everybody;
use crate::effect::{Effect, Event, PauseReason};
use crate::{PersonMessage, TurnPhase};

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
        let mut message = Message::said(speaker, said.text());
        let mut said = said.clone();
        if said.directives.everybody && said.ask.is_none() {
            said.ask = ask_everybody(&self.team);
        }
        if let Some(ask) = &mut said.ask {
            ask.seed =
                u32::from_le_bytes(*fresh_salt().as_bytes().first_chunk().unwrap_or(&[0; 4]));
            message.routing.get_or_insert_default().ask = Some(Box::new(ask.clone()));
        }
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
            self.stage_day()?;
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
        // The question to a person stays open after a step without effects, and while the person's answer is awaited.
        let is_idle = effects.iter().all(|effect| matches!(effect, Effect::Note(_) | Effect::Rest));
        if !is_idle && !self.awaits_answer() {
            self.asked = None;
        }
        self.perform(effects, sink)
    }

    /// Returns whether a person was asked for an answer that the session still waits for.
    fn awaits_answer(&self) -> bool {
        let Some(PauseReason::Answer { turn, .. }) = self.asked.as_ref().map(|asked| &asked.why)
        else {
            return false;
        };
        self.machine.active().any(|active| active.turn == turn)
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
        let stored = self.log.commit().map_err(DriveError::from_store);
        self.is_taken_over |= matches!(stored, Err(DriveError::LeaseLost));
        for entry in stored? {
            sink.on_event(SessionEvent::Stored(Arc::new(entry.clone())));
        }
        Ok(())
    }

    pub(super) fn catch_up(&mut self, sink: &mut dyn EventSink) -> Done {
        if self.log.is_behind()? { self.rejoin(self.log.staged_count(), sink) } else { Ok(()) }
    }

    /// Runs until no turn runs and no input remains.
    pub fn run(&mut self, sink: &mut dyn EventSink) -> Result<StopReason, DriveError> {
        while !self.runner.is_idle() {
            self.next(sink)?;
        }
        Ok(self.pause())
    }

    /// Runs until the session is closed.
    pub fn attend(&mut self, sink: &mut dyn EventSink) -> Done {
        while !self.is_closed || !self.runner.is_idle() {
            self.next(sink)?;
        }
        Ok(())
    }

    fn next(&mut self, sink: &mut dyn EventSink) -> Done {
        let wait = [self.until_reset(), self.until_grace()].into_iter().flatten().min();
        let input = self.inbox.next(wait);
        if input.is_none() {
            self.end_limits(sink)?;
        }
        self.end_graces(sink)?;
        match input {
            Some(Input::Command(command)) => match self.execute(command, sink) {
                Err(error) if !error.is_fatal() => {
                    sink.on_event(SessionEvent::Refused(Arc::new(error)));
                    Ok(())
                }
                obeyed => obeyed,
            },
            // Input of a turn that no longer runs here is ignored.
            Some(input) if input.turn().is_some_and(|turn| !self.runner.runs(turn)) => {
                input.decline();
                Ok(())
            }
            Some(Input::Fed(turn)) => {
                let member = self.runner.member(&turn).unwrap_or_default().into();
                sink.on_event(SessionEvent::Fed { turn, member });
                Ok(())
            }
            Some(Input::Noted(note, _)) => {
                sink.on_event(SessionEvent::Note(note));
                Ok(())
            }
            Some(Input::Said(turn, event)) => {
                let is_figure = is_figure(&event);
                let is_noted = self.runner.says(&turn, event, &mut self.log, sink);
                if is_figure {
                    self.stop_overspent()?;
                }
                if !is_noted || (self.log.staged_count() < BATCH && self.is_more_to_note()) {
                    return Ok(());
                }
                self.store_staged(sink)
            }
            Some(Input::Asks(turn, request, answer)) => {
                self.agent_asks(&turn, request, answer, sink)
            }
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

    /// Returns whether a running agent has more output that becomes a note. Such notes are stored together. Storing
    /// each one separately needs one disk sync each, which would delay a command to stop the agent.
    fn is_more_to_note(&mut self) -> bool {
        match self.inbox.peek() {
            Some(Input::Said(turn, event)) if self.runner.runs(turn) => !matches!(
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
        turn: &EntryId,
        request: PermissionRequest,
        answer: SyncSender<PermissionAnswer>,
        sink: &mut dyn EventSink,
    ) -> Done {
        let Some(number) = self.runner.asks(turn, request.clone(), answer, &mut self.log) else {
            return Ok(());
        };
        self.store_staged(sink)?;
        let is_refused = self.runner.refuses(turn, &request);
        if let Some(member) = self.runner.member(turn) {
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
        mut report: TurnReport,
        sink: &mut dyn EventSink,
    ) -> Done {
        // So that a member whose limit has ended can take over.
        self.end_limits(sink)?;
        let member = self.runner.member(turn);
        let usage = member.and_then(|member| usage_of(&self.team, member, &report.output));
        let usage = match (usage, self.runner.memory(turn)) {
            (Some(usage), Some(memory)) => Some(self.with_cache_miss(usage, memory)),
            (usage, _) => usage,
        };
        self.ended_native = report.native.take().map(|head| (turn.clone(), head));
        match self.runner.ended(turn, report, &self.team, &mut self.log) {
            None => Ok(()),
            Some(Followup::Restart { member, answers, memory, attempt, reason }) => {
                self.withdraw(turn, &member, usage, sink);
                let memory = self.restarted(&member, &memory, reason);
                self.launch_again((turn, &member, &answers), &memory, attempt, sink)
            }
            Some(Followup::Retry { member, answers, memory, budget }) => {
                self.withdraw(turn, &member, usage, sink);
                let activity = TurnActivity::Retried { budget };
                self.runner.stage_activity(turn, activity, &mut self.log);
                let attempt = Attempt::Smaller(budget);
                self.launch_again((turn, &member, &answers), &memory, attempt, sink)
            }
            Some(Followup::Answer { message, text }) => {
                self.stage_usage(usage);
                self.runner.finish(turn);
                let said = |entry| {
                    let (turn, text) = (turn.clone(), text.clone());
                    Event::AgentSaid { turn, entry, text, interrupted: false }
                };
                self.message(&message, sink, said).map(|_| ())
            }
            Some(Followup::Overspent { reached, partial, events }) => {
                self.stage_usage(usage);
                self.runner.finish(turn);
                let stopped = |log: &mut SessionLog| {
                    let entry = partial.clone().map(|message| log.stage_partial(message));
                    for event in &events {
                        log.stage(EntryKind::TurnEvent(event.clone()));
                    }
                    ((), None, Event::AgentOverspent { turn: turn.clone(), entry, reached })
                };
                self.attempt(stopped, sink)
            }
            Some(Followup::Failure { class, partial, events, limit, report }) => {
                self.stage_usage(usage);
                self.runner.finish(turn);
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

    /// Withdraws what the first attempt of a turn has shown.
    fn withdraw(
        &mut self,
        turn: &EntryId,
        member: &str,
        usage: Option<Usage>,
        sink: &mut dyn EventSink,
    ) {
        sink.on_event(SessionEvent::TextWithdrawn { turn: turn.clone(), member: member.into() });
        self.stage_usage(usage);
    }

    /// Starts the agent of a turn again, with another prompt. Other processes may have written to the session since the
    /// first attempt began: the prompt contains what they wrote, and a turn that they stopped does not start again.
    fn launch_again(
        &mut self,
        (turn, member, answers): (&EntryId, &str, &EntryId),
        memory: &MemoryPlan,
        attempt: Attempt,
        sink: &mut dyn EventSink,
    ) -> Done {
        self.catch_up(sink)?;
        let mut attempts = 1;
        let start = loop {
            if !self.is_running_turn(turn) {
                return self.end_stopped(turn, sink);
            }
            let staged_before = self.log.staged_count();
            let start = self.stage_attempt((turn, member, answers), memory, attempt)?;
            match self.try_store(sink) {
                Err(DriveError::SessionInUse) if attempts < ATTEMPTS => {
                    self.rejoin(staged_before, sink)?;
                    std::thread::sleep(PAUSE * attempts);
                    attempts += 1;
                }
                stored => break stored.map(|()| start)?,
            }
        };
        self.runner.finish(turn);
        self.launch(start);
        self.store_staged(sink)
    }

    /// Makes the prompt of another attempt, and stages its record.
    fn stage_attempt(
        &mut self,
        (turn, member, answers): (&EntryId, &str, &EntryId),
        memory: &MemoryPlan,
        attempt: Attempt,
    ) -> Result<Start, DriveError> {
        if !self.log.is_read(answers) {
            self.log.read_all()?;
        }
        let consult = self.consult(turn);
        let asked = Asked { turn, member, answers, consult: consult.as_ref() };
        let (team, log) = (&self.team, &mut self.log);
        let start = self.prompts.prepare(team, log, asked, memory.clone(), attempt);
        if let Some(memory) = start.memory.record.clone().map(Box::new) {
            let activity = TurnActivity::MemoryReset { memory };
            self.log.stage(EntryKind::TurnEvent(TurnEvent::new(turn.clone(), member, activity)));
        }
        if let Some(prompt_recipe) = start.record.clone() {
            let activity = TurnActivity::Resent { prompt_hash: start.hash.clone(), prompt_recipe };
            let event = TurnEvent::new(turn.clone(), member, activity);
            self.log.stage(EntryKind::TurnEvent(event));
        }
        Ok(start)
    }

    /// Returns whether a turn still runs according to the log.
    fn is_running_turn(&self, turn: &EntryId) -> bool {
        let mut running = self.machine.active().filter(|one| one.phase == TurnPhase::Running);
        running.any(|active| active.turn == turn)
    }

    /// Ends a turn that another process has stopped, or whose branch was left, between two attempts.
    fn end_stopped(&mut self, turn: &EntryId, sink: &mut dyn EventSink) -> Done {
        self.runner.finish(turn);
        let (turn, class) = (turn.clone(), ErrorClass::Cancelled.as_str().into());
        self.step(&Event::AgentFailed { turn, class, entry: None, limit: None }, sink)
    }
}
