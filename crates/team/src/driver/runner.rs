//! The turns that run in this process. Turns the output of their agents into entries and events, and keeps their
//! permission requests until they are answered. Turns an end into an answer, or into a failure with a reason.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::Duration;

use tertulia_agent::{
    AgentSpec, CancelToken, Ended, KeptAgents, PermissionAnswer, PermissionRequest, TurnReport,
};
use tertulia_dialect::stream::{ErrorClass, LimitScope, StreamEvent, TurnOutput};
use tertulia_session::json::Json;
use tertulia_session::{
    EntryId, EntryKind, FreshStart, Speaker, Timestamp, TurnActivity, TurnEvent,
};

use super::agent_thread::spawn;
use super::asked::Attempt;
use super::event::{EventSink, PermissionNumber, SessionEvent};
use super::followup::{Followup, answer_to, only_reads, speaker_of};
use super::inbox::Inbox;
use super::log::SessionLog;
use super::native::{MemoryPlan, MemoryStep, drifted};
use super::prompt::Start;
use super::record::{
    PARTIAL_BYTES_MAX, activity_of, failure, kept_of, permission_answered, permission_asked,
    warning,
};
use super::spending::SoFar;
use super::work::ToolCalls;
use super::worktree::Place;
use crate::effect::{Overspent, ReachedLimit};
use crate::guard::Dollars;
use crate::team::Team;

/// Maximum number of notes of one turn that become entries.
const NOTES_MAX: usize = 2_000;
/// The time to wait for a stopped agent when the driver is dropped.
const LAST_WORDS: Duration = Duration::from_secs(10);
const THOUGHT_BYTES_MAX: usize = 64 * 1024;
/// A prompt is not shortened below this size because an agent found it too long.
const SHORT_BYTES: u64 = 4096;

pub(super) struct Runner {
    /// In the order of their start.
    running: Vec<Running>,
    begun: HashSet<EntryId>,
    attended: bool,
    permissions: u64,
    /// The permission request that nobody could answer: the member and the request.
    pub(super) refused: Option<(Box<str>, Box<str>)>,
}

struct Running {
    start: Arc<Start>,
    cancel: CancelToken,
    /// Thinking that is not stored yet.
    thought: String,
    /// Number of bytes of the answer that were reported as events.
    reported_bytes: usize,
    notes: usize,
    calls: ToolCalls,
    asks: Option<Asks>,
    /// The entries that a built-in member used for its answer, as listed in `meta` of the answer.
    sources: Option<Json>,
    so_far: SoFar,
    thread: Option<JoinHandle<()>>,
}

struct Asks {
    number: PermissionNumber,
    request: PermissionRequest,
    answer: SyncSender<PermissionAnswer>,
}

impl Runner {
    pub(super) fn new(attended: bool) -> Self {
        let (running, begun) = (Vec::new(), HashSet::new());
        Self { running, begun, attended, permissions: 0, refused: None }
    }

    /// Returns the turns that run here, in the order of their start.
    pub(super) fn turns(&self) -> Vec<EntryId> {
        self.running.iter().map(|running| running.start.turn.clone()).collect()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn runs(&self, turn: &EntryId) -> bool {
        self.running.iter().any(|running| running.start.turn == *turn)
    }

    /// Returns the member of a turn that runs here.
    pub(super) fn member(&self, turn: &EntryId) -> Option<&str> {
        let running = self.running.iter().find(|running| running.start.turn == *turn);
        running.map(|running| &*running.start.member)
    }

    /// Returns what a turn that runs here does with the session of its agent.
    pub(super) fn memory(&self, turn: &EntryId) -> Option<&MemoryPlan> {
        let running = self.running.iter().find(|running| running.start.turn == *turn);
        running.map(|running| &running.start.memory)
    }

    pub(super) fn has_begun(&self, turn: &EntryId) -> bool {
        self.begun.contains(turn)
    }

    fn running(&mut self, turn: &EntryId) -> Option<&mut Running> {
        self.running.iter_mut().find(|running| running.start.turn == *turn)
    }

    /// Begins a turn, and starts its agent if possible. Returns whether it was started.
    pub(super) fn begin(
        &mut self,
        start: Start,
        agent: Option<(AgentSpec, Place)>,
        kept: &KeptAgents,
        inbox: &Inbox,
    ) -> bool {
        let (start, cancel) = (Arc::new(start), CancelToken::new());
        let mut running = Running {
            start: Arc::clone(&start),
            cancel: cancel.clone(),
            thought: String::new(),
            reported_bytes: 0,
            notes: 0,
            calls: ToolCalls::default(),
            asks: None,
            sources: None,
            so_far: SoFar::default(),
            thread: None,
        };
        running.thread =
            agent.and_then(|agent| spawn(agent, start, kept.clone(), inbox.sender(), cancel));
        let has_agent = running.thread.is_some();
        self.begun.insert(running.start.turn.clone());
        self.running.push(running);
        has_agent
    }

    pub(super) fn set_sources(&mut self, turn: &EntryId, sources: Option<Json>) {
        if let Some(running) = self.running(turn) {
            running.sources = sources;
        }
    }

    /// Handles output of an agent. Returns whether staged entries must be stored.
    pub(super) fn says(
        &mut self,
        turn: &EntryId,
        event: StreamEvent,
        log: &mut SessionLog,
        sink: &mut dyn EventSink,
    ) -> bool {
        let Some(running) = self.running(turn) else { return false };
        running.so_far.note(&event);
        let of_turn =
            |running: &Running| (running.start.turn.clone(), running.start.member.clone());
        match event {
            StreamEvent::TextDelta { text } => {
                // Showing very long output would delay all other events.
                running.reported_bytes += text.len();
                if running.reported_bytes <= PARTIAL_BYTES_MAX {
                    sink.on_text(&running.start.turn, &running.start.member, text);
                }
                return false;
            }
            StreamEvent::Thinking { text } => {
                let room = THOUGHT_BYTES_MAX.saturating_sub(running.thought.len());
                let piece = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
                running.thought.push_str(piece);
                return false;
            }
            StreamEvent::TextEnd => {
                let (turn, member) = of_turn(running);
                sink.on_event(SessionEvent::TextEnd { turn, member });
            }
            StreamEvent::TextWithdrawn => {
                let (turn, member) = of_turn(running);
                sink.on_event(SessionEvent::TextWithdrawn { turn, member });
            }
            _ => {}
        }
        running.calls.add(&event);
        running.stage_thought(log);
        if let Some(activity) = activity_of(&event) {
            running.stage_activity(activity, log);
        }
        true
    }

    pub(super) fn stage_activity(
        &mut self,
        turn: &EntryId,
        activity: TurnActivity,
        log: &mut SessionLog,
    ) {
        if let Some(running) = self.running(turn) {
            running.stage_activity(activity, log);
        }
    }

    /// Handles a permission request of an agent. `None` if it need not be shown, because the agent is already
    /// stopped.
    pub(super) fn asks(
        &mut self,
        turn: &EntryId,
        request: PermissionRequest,
        answer: SyncSender<PermissionAnswer>,
        log: &mut SessionLog,
    ) -> Option<PermissionNumber> {
        let number = PermissionNumber(self.permissions + 1);
        let running = self.running(turn)?;
        if running.cancel.is_cancelled() {
            // An agent that has ended needs no answer.
            let _ = answer.send(PermissionAnswer::EndTurn);
            return None;
        }
        running.stage_activity(permission_asked(&request), log);
        running.asks = Some(Asks { number, request, answer });
        self.permissions += 1;
        Some(number)
    }

    /// Returns whether nobody can answer permission requests, and records the request.
    pub(super) fn refuses(&mut self, turn: &EntryId, request: &PermissionRequest) -> bool {
        if !self.attended {
            self.refused = self.member(turn).map(|member| (member.into(), request.title.clone()));
        }
        !self.attended
    }

    pub(super) fn answer(
        &mut self,
        number: PermissionNumber,
        answer: &PermissionAnswer,
        log: &mut SessionLog,
    ) -> Option<SyncSender<PermissionAnswer>> {
        let asks = |running: &&mut Running| {
            running.asks.as_ref().is_some_and(|asks| asks.number == number)
        };
        let running = self.running.iter_mut().find(asks)?;
        let asks = running.asks.take()?;
        running.stage_activity(permission_answered(&asks.request, answer), log);
        Some(asks.answer)
    }

    /// Stops the agent of a turn, and declines its pending request.
    pub(super) fn stop(&mut self, turn: &EntryId) {
        let Some(running) = self.running(turn) else { return };
        running.cancel.cancel();
        if let Some(asks) = running.asks.take() {
            let _ = asks.answer.send(PermissionAnswer::EndTurn);
        }
    }

    /// Stops all turns but those that `stays` selects, and waits for the end of their agents.
    pub(super) fn stop_and_wait(&mut self, inbox: &mut Inbox, stays: impl Fn(&EntryId) -> bool) {
        let stopped: Vec<EntryId> = self.turns().into_iter().filter(|turn| !stays(turn)).collect();
        for turn in &stopped {
            self.stop(turn);
        }
        let has_agent = |runner: &mut Self, turn: &EntryId| {
            runner.take(turn).is_some_and(|running| running.thread.is_some())
        };
        let stopped = stopped.into_iter().filter(|turn| has_agent(self, turn)).collect();
        inbox.wait_for_ends(stopped, LAST_WORDS);
    }

    fn take(&mut self, turn: &EntryId) -> Option<Running> {
        let index = self.running.iter().position(|running| running.start.turn == *turn)?;
        Some(self.running.remove(index))
    }

    pub(super) fn finish(&mut self, turn: &EntryId) {
        if let Some(thread) = self.take(turn).and_then(|running| running.thread) {
            let _ = thread.join();
        }
    }

    pub(super) fn ended(
        &mut self,
        turn: &EntryId,
        report: TurnReport,
        team: &Team,
        log: &mut SessionLog,
    ) -> Option<Followup> {
        let running = self.running(turn)?;
        running.stage_thought(log);
        if let Some(drift) = report.drift.as_ref().filter(|_| running.may_restart()) {
            return Some(running.restart(drifted(drift)));
        }
        let error = report.output.error.as_ref();
        let overflown = error.is_some_and(|error| error.class == ErrorClass::Overflow);
        if overflown && !running.start.is_smaller && !running.cancel.is_cancelled() {
            if running.calls.is_empty() || only_reads(team, &running.start.member) {
                // A smaller prompt would not fit either if the session itself is full.
                return Some(match running.start.memory.continues() {
                    true => running.restart(FreshStart::Overflow),
                    false => running.retry(),
                });
            }
            let message =
                "it is not retried automatically, because its tools could do their work twice";
            running.warn(message, log);
        }
        if report.orphans_killed > 0 && report.ended == Ended::ByItself {
            let message = match report.orphans_killed {
                1 => "1 process that it had started was still running and was stopped".to_owned(),
                count => format!(
                    "{count} processes that it had started were still running and were stopped"
                ),
            };
            running.warn(&message, log);
        }
        let speaker = speaker_of(team, &running.start.member);
        Some(match report.output.final_text {
            Some(answer) => {
                let mut message = answer_to(&running.start.answers, speaker, &answer.text);
                message.meta = running.sources.take();
                Followup::Answer { message, text: answer.text }
            }
            None => match running.so_far.overspent {
                Some(reached) => running.overspent(report.output, reached, speaker),
                None => running.failure(report.output, report.limit_resets_at, speaker),
            },
        })
    }

    /// Returns the costs so far of the running turns.
    pub(super) fn costs(&self, team: &Team) -> Vec<(EntryId, Dollars)> {
        let cost =
            |one: &Running| (one.start.turn.clone(), one.so_far.cost(team, &one.start.member));
        self.running.iter().map(cost).collect()
    }

    /// Stops the agent of a turn that has reached a spending limit.
    pub(super) fn stop_overspent(&mut self, turn: &EntryId, reached: Overspent) {
        let Some(running) = self.running(turn) else { return };
        if !running.cancel.is_cancelled() && running.so_far.may_be_stopped() {
            running.so_far.overspent = Some(reached);
            self.stop(turn);
        }
    }
}

impl Running {
    fn stage_thought(&mut self, log: &mut SessionLog) {
        let thought = std::mem::take(&mut self.thought);
        if !thought.trim().is_empty() {
            self.stage_activity(TurnActivity::Thought { text: thought.into() }, log);
        }
    }

    fn warn(&mut self, message: &str, log: &mut SessionLog) {
        self.stage_activity(warning(message), log);
    }

    fn stage_activity(&mut self, activity: TurnActivity, log: &mut SessionLog) {
        self.notes += 1;
        let activity = match self.notes.cmp(&NOTES_MAX) {
            std::cmp::Ordering::Less => activity,
            std::cmp::Ordering::Equal => warning(
                "the log contains no further notes about this turn, because there were too many",
            ),
            std::cmp::Ordering::Greater => return,
        };
        log.stage(EntryKind::TurnEvent(self.event(activity)));
    }

    fn event(&self, activity: TurnActivity) -> TurnEvent {
        TurnEvent::new(self.start.turn.clone(), self.start.member.clone(), activity)
    }

    /// Returns a retry with half of the sent size. The size does not fall below [`SHORT_BYTES`], because a short
    /// prompt cannot be the reason.
    fn retry(&self) -> Followup {
        let budget =
            (self.start.budget / 2).min((self.start.prompt.text.len() as u64 / 2).max(SHORT_BYTES));
        let (member, answers) = (self.start.member.clone(), self.start.answers.clone());
        Followup::Retry { member, answers, memory: self.start.memory.clone(), budget }
    }

    fn may_restart(&self) -> bool {
        !self.cancel.is_cancelled() && !matches!(self.start.memory.step, MemoryStep::Fresh)
    }

    /// Returns another attempt in a new session of the agent.
    fn restart(&self, reason: FreshStart) -> Followup {
        let (member, answers) = (self.start.member.clone(), self.start.answers.clone());
        let attempt = match self.start.is_smaller {
            true => Attempt::Smaller(self.start.budget),
            false => Attempt::Again,
        };
        Followup::Restart { member, answers, memory: self.start.memory.clone(), attempt, reason }
    }

    fn overspent(&self, output: TurnOutput, reached: Overspent, speaker: Speaker) -> Followup {
        let partial = output.partial_text.filter(|text| !text.trim().is_empty());
        let (partial, cut) = partial.map(kept_of).unzip();
        let message = reached.cause().sentence(&self.start.member).into();
        let cure = "raise the limit in the team file, or continue".into();
        let stopped = TurnActivity::Failed { class: "spending".into(), message, cure };
        let activities = cut.flatten().into_iter().chain([stopped]);
        Followup::Overspent {
            reached,
            partial: partial.map(|text| answer_to(&self.start.answers, speaker, &text)),
            events: activities.map(|activity| self.event(activity)).collect(),
        }
    }

    fn failure(
        &self,
        output: TurnOutput,
        resets_at: Option<Timestamp>,
        speaker: Speaker,
    ) -> Followup {
        let error = output.error.as_ref();
        let (class, message) = error
            .map_or((ErrorClass::Empty, "it ended without an answer"), |error| {
                (error.class, &*error.message)
            });
        let partial = output.partial_text.filter(|text| !text.trim().is_empty());
        let (partial, cut) = partial.map(kept_of).unzip();
        let limit = error.and_then(|error| error.limit.as_ref());
        // A rate limit that ends soon is no reason to ask another member.
        let limit = limit.filter(|limit| limit.scope != LimitScope::Minute).map(|limit| {
            let (scope, tools) = (limit.scope.as_str().into(), self.calls.names());
            Box::new(ReachedLimit { scope, resets_at, tools })
        });
        let report = limit.as_deref().map(|limit| self.calls.report(&speaker.role_name, limit));
        let activities = cut.flatten().into_iter().chain([failure(class, message)]);
        Followup::Failure {
            class: class.as_str().into(),
            partial: partial.map(|text| answer_to(&self.start.answers, speaker, &text)),
            events: activities.map(|activity| self.event(activity)).collect(),
            report,
            limit,
        }
    }
}
