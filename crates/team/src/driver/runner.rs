//! The turn that runs in this process. Turns the output of its agent into entries and events, and keeps its
//! permission request until it is answered. Turns its end into an answer, or into a failure with a reason.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Ended, Listener, PermissionAnswer, PermissionRequest,
    Permissions, TurnReport, TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, LimitScope, StreamEvent, TurnError, TurnOutput};
use tertulia_session::json::Json;
use tertulia_session::{
    EntryId, EntryKind, Message, Routing, Speaker, SpeakerType, Timestamp, TurnActivity, TurnEvent,
};

use super::event::{EventSink, PermissionNumber, SessionEvent};
use super::inbox::{Inbox, Input};
use super::log::SessionLog;
use super::prompt::Start;
use super::record::{
    PARTIAL_BYTES_MAX, activity_of, failure, kept_of, permission_answered, permission_asked,
    shorten, warning,
};
use super::work::ToolCalls;
use crate::effect::ReachedLimit;
use crate::team::{Responder, Team};

/// Maximum number of notes of one turn that become entries.
const NOTES_MAX: usize = 2_000;
/// The time to wait for a stopped agent when the driver is dropped.
const LAST_WORDS: Duration = Duration::from_secs(10);
const THOUGHT_BYTES_MAX: usize = 64 * 1024;
/// A prompt is not shortened below this size because an agent found it too long.
const SHORT_BYTES: u64 = 4096;

pub(super) struct Runner {
    running: Option<Running>,
    begun: Option<EntryId>,
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
    thread: Option<JoinHandle<()>>,
}

struct Asks {
    number: PermissionNumber,
    request: PermissionRequest,
    answer: SyncSender<PermissionAnswer>,
}

/// The result of the end of an agent; `Retry` is for a prompt that was too large.
pub(super) enum Followup {
    Retry {
        member: Box<str>,
        answers: EntryId,
        budget: u64,
    },
    Answer {
        message: Message,
        text: String,
    },
    Failure {
        class: Box<str>,
        partial: Option<Message>,
        events: Vec<TurnEvent>,
        limit: Option<Box<ReachedLimit>>,
        /// For a usage limit: a message about what the agent did before.
        report: Option<Message>,
    },
}

impl Runner {
    pub(super) fn new(attended: bool) -> Self {
        Self { running: None, begun: None, attended, permissions: 0, refused: None }
    }

    pub(super) fn turn(&self) -> Option<&EntryId> {
        self.running.as_ref().map(|running| &running.start.turn)
    }

    pub(super) fn member(&self) -> Option<&str> {
        self.running.as_ref().map(|running| &*running.start.member)
    }

    pub(super) fn has_begun(&self, turn: &EntryId) -> bool {
        self.begun.as_ref() == Some(turn)
    }

    /// Begins a turn, and starts its agent if possible. Returns whether it was started.
    pub(super) fn begin(&mut self, start: Start, spec: Option<AgentSpec>, inbox: &Inbox) -> bool {
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
            thread: None,
        };
        running.thread = spec.and_then(|spec| spawn(spec, start, inbox.sender(), cancel));
        let has_agent = running.thread.is_some();
        self.begun = Some(running.start.turn.clone());
        self.running = Some(running);
        has_agent
    }

    pub(super) fn set_sources(&mut self, sources: Option<Json>) {
        if let Some(running) = &mut self.running {
            running.sources = sources;
        }
    }

    /// Handles output of the agent. Returns whether staged entries must be stored.
    pub(super) fn says(
        &mut self,
        event: StreamEvent,
        log: &mut SessionLog,
        sink: &mut dyn EventSink,
    ) -> bool {
        let Some(running) = &mut self.running else { return false };
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

    pub(super) fn stage_activity(&mut self, activity: TurnActivity, log: &mut SessionLog) {
        if let Some(running) = &mut self.running {
            running.stage_activity(activity, log);
        }
    }

    /// Handles a permission request of the agent. `None` if it need not be shown, because the agent is already
    /// stopped.
    pub(super) fn asks(
        &mut self,
        request: PermissionRequest,
        answer: SyncSender<PermissionAnswer>,
        log: &mut SessionLog,
    ) -> Option<PermissionNumber> {
        let running = self.running.as_mut()?;
        if running.cancel.is_cancelled() {
            // An agent that has ended needs no answer.
            let _ = answer.send(PermissionAnswer::EndTurn);
            return None;
        }
        self.permissions += 1;
        let number = PermissionNumber(self.permissions);
        running.stage_activity(permission_asked(&request), log);
        running.asks = Some(Asks { number, request, answer });
        Some(number)
    }

    /// Returns whether nobody can answer permission requests, and records the request.
    pub(super) fn refuses(&mut self, request: &PermissionRequest) -> bool {
        if !self.attended {
            self.refused = self.member().map(|member| (member.into(), request.title.clone()));
        }
        !self.attended
    }

    pub(super) fn answer(
        &mut self,
        number: PermissionNumber,
        answer: &PermissionAnswer,
        log: &mut SessionLog,
    ) -> Option<SyncSender<PermissionAnswer>> {
        let running = self.running.as_mut()?;
        let asks = running.asks.take_if(|asks| asks.number == number)?;
        running.stage_activity(permission_answered(&asks.request, answer), log);
        Some(asks.answer)
    }

    /// Stops the agent of a turn, and declines its pending request.
    pub(super) fn stop(&mut self, turn: &EntryId) {
        let running = self.running.as_mut().filter(|running| running.start.turn == *turn);
        let Some(running) = running else { return };
        running.cancel.cancel();
        if let Some(asks) = running.asks.take() {
            let _ = asks.answer.send(PermissionAnswer::EndTurn);
        }
    }

    pub(super) fn stop_and_wait(&mut self, inbox: &mut Inbox) {
        let Some(turn) = self.turn().cloned() else { return };
        self.stop(&turn);
        if self.running.take().is_some_and(|running| running.thread.is_some()) {
            inbox.wait_for_end(&turn, LAST_WORDS);
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(thread) = self.running.take().and_then(|running| running.thread) {
            let _ = thread.join();
        }
    }

    pub(super) fn ended(
        &mut self,
        report: TurnReport,
        team: &Team,
        log: &mut SessionLog,
    ) -> Option<Followup> {
        let running = self.running.as_mut()?;
        running.stage_thought(log);
        let error = report.output.error.as_ref();
        let overflown = error.is_some_and(|error| error.class == ErrorClass::Overflow);
        if overflown && !running.start.is_second && !running.cancel.is_cancelled() {
            if running.calls.is_empty() || only_reads(team, &running.start.member) {
                return Some(running.retry());
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
            None => running.failure(report.output, report.limit_resets_at, speaker),
        })
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
        Followup::Retry { member, answers, budget }
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

/// Returns whether a member's turn can be repeated safely, because its tools change nothing.
fn only_reads(team: &Team, member: &str) -> bool {
    let responder = team.member(member).map(|one| &one.responder);
    matches!(responder, Some(Responder::Agent(spec)) if spec.permissions == Permissions::Read
        && matches!(spec.kind, AgentKind::Cli(_)))
}

fn speaker_of(team: &Team, member: &str) -> Speaker {
    let shown = team.member(member).map_or(member, |one| one.shown_name());
    Speaker::new(member, shown, SpeakerType::Ai)
}

fn answer_to(answers: &EntryId, speaker: Speaker, text: &str) -> Message {
    let mut message = Message::said(speaker, text);
    let parent_message_id = Some(answers.as_str().into());
    message.routing = Some(Box::new(Routing { parent_message_id, ..Routing::default() }));
    message
}

/// Starts an agent; `None` if no thread can be created.
fn spawn(
    spec: AgentSpec,
    start: Arc<Start>,
    inbox: &SyncSender<Input>,
    cancel: CancelToken,
) -> Option<JoinHandle<()>> {
    let inbox = inbox.clone();
    let thread = thread::Builder::new().name("tertulia-turn".to_owned()).spawn(move || {
        let request = TurnRequest {
            turn: start.turn.as_str(),
            number: start.number,
            prompt: start.prompt.assembled.as_ref().unwrap_or(&start.prompt.text),
            mentions: &start.prompt.mentions,
            system: start.prompt.system.as_deref(),
            body: start.body.as_ref().map(|body| &*body.json),
        };
        let mut listener = InboxListener { turn: &start.turn, inbox: &inbox, cancel: &cancel };
        let run = || tertulia_agent::run(&spec, &request, &cancel, &mut listener);
        // Without a report the driver would wait forever.
        let report = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            let message = "internal error: the turn stopped; please report it";
            let error = TurnError::new(ErrorClass::Crash, message);
            TurnReport::without_process(TurnOutput::failed(error), Ended::ByItself)
        });
        // A driver that was dropped needs no report.
        let _ = inbox.send(Input::Ended(start.turn.clone(), Box::new(report)));
    });
    thread.ok()
}

struct InboxListener<'i> {
    turn: &'i EntryId,
    inbox: &'i SyncSender<Input>,
    cancel: &'i CancelToken,
}

impl Listener for InboxListener<'_> {
    fn fed(&mut self) {
        let _ = self.inbox.send(Input::Fed(self.turn.clone()));
    }

    fn event(&mut self, mut event: StreamEvent) {
        shorten(&mut event);
        let said = Input::Said(self.turn.clone(), event);
        if self.cancel.is_cancelled() {
            // Stopping an agent must not wait for all its pending output: events that find the channel full are
            // dropped. The text of the answer comes with the report.
            let _ = self.inbox.try_send(said);
        } else {
            let _ = self.inbox.send(said);
        }
    }

    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer {
        let (answer, answered) = mpsc::sync_channel(1);
        match self.inbox.send(Input::Asks(self.turn.clone(), request.clone(), answer)) {
            Ok(()) => answered.recv().unwrap_or(PermissionAnswer::EndTurn),
            Err(_) => PermissionAnswer::EndTurn,
        }
    }
}
