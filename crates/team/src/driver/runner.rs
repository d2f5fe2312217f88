//! The turn that runs here: what its agent says becomes entries and events, what it asks waits for an answer,
//! and its end becomes the answer, or a failure with its reason.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Ended, Listener, PermissionAnswer, PermissionRequest,
    Permissions, TurnReport, TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::json::Json;
use tertulia_session::{
    EntryId, EntryKind, Message, Routing, Speaker, SpeakerType, TurnActivity, TurnEvent,
};

use super::event::{EventSink, PermissionNumber, SessionEvent};
use super::inbox::{Inbox, Input};
use super::log::TableLog;
use super::prompt::Start;
use super::record::{
    PARTIAL_BYTES_MAX, activity_of, failure, kept_of, permission_answered, permission_asked,
    shorten, warning,
};
use crate::team::{Answers, Team};

/// So many notes of one turn become entries; a flood of them says nothing new.
const NOTES_MAX: usize = 2_000;
/// How long an agent that was stopped is waited for when the table is gone.
const LAST_WORDS: Duration = Duration::from_secs(10);
const THOUGHT_BYTES_MAX: usize = 64 * 1024;
/// A prompt is not made shorter than this because an agent found it too long.
const SHORT_BYTES: u64 = 4096;

pub(super) struct Runner {
    running: Option<Running>,
    begun: Option<EntryId>,
    attended: bool,
    permissions: u64,
    /// Who wanted what that nobody could allow.
    pub(super) refused: Option<(Box<str>, Box<str>)>,
}

struct Running {
    start: Arc<Start>,
    cancel: CancelToken,
    /// Thinking that is not an entry yet.
    thought: String,
    /// How many bytes of its text were told.
    told: usize,
    notes: usize,
    has_worked: bool,
    asks: Option<Asks>,
    /// The entries that a built-in member made its answer from, as `meta` of the answer names them.
    sources: Option<Json>,
    thread: Option<JoinHandle<()>>,
}

struct Asks {
    number: PermissionNumber,
    request: PermissionRequest,
    answer: SyncSender<PermissionAnswer>,
}

/// What follows from the end of an agent; a retry is for a prompt that was too large.
pub(super) enum Followup {
    Retry { member: Box<str>, answers: EntryId, budget: u64 },
    Answer { message: Message, text: String },
    Failure { class: Box<str>, partial: Option<Message>, events: Vec<TurnEvent> },
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

    /// Begins a turn; with an agent if it can be started. Returns whether it was.
    pub(super) fn begin(&mut self, start: Start, spec: Option<AgentSpec>, inbox: &Inbox) -> bool {
        let (start, cancel) = (Arc::new(start), CancelToken::new());
        let mut running = Running {
            start: Arc::clone(&start),
            cancel: cancel.clone(),
            thought: String::new(),
            told: 0,
            notes: 0,
            has_worked: false,
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

    /// Takes in what the agent says. Returns whether what is staged is to be stored.
    pub(super) fn says(
        &mut self,
        event: StreamEvent,
        log: &mut TableLog,
        sink: &mut dyn EventSink,
    ) -> bool {
        let Some(running) = &mut self.running else { return false };
        let of_turn =
            |running: &Running| (running.start.turn.clone(), running.start.member.clone());
        match event {
            StreamEvent::TextDelta { text } => {
                // Nobody can follow a flood, and a screen that tries hears nobody.
                running.told += text.len();
                if running.told <= PARTIAL_BYTES_MAX {
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
        running.has_worked |= matches!(event, StreamEvent::ToolStarted { .. });
        running.stage_thought(log);
        if let Some(activity) = activity_of(&event) {
            running.stage_activity(activity, log);
        }
        true
    }

    pub(super) fn stage_activity(&mut self, activity: TurnActivity, log: &mut TableLog) {
        if let Some(running) = &mut self.running {
            running.stage_activity(activity, log);
        }
    }

    /// The agent asks to be allowed something. `None` if nobody needs to be told: it is stopped already.
    pub(super) fn asks(
        &mut self,
        request: PermissionRequest,
        answer: SyncSender<PermissionAnswer>,
        log: &mut TableLog,
    ) -> Option<PermissionNumber> {
        let running = self.running.as_mut()?;
        if running.cancel.is_cancelled() {
            // An agent that is gone needs no answer.
            let _ = answer.send(PermissionAnswer::EndTurn);
            return None;
        }
        self.permissions += 1;
        let number = PermissionNumber(self.permissions);
        running.stage_activity(permission_asked(&request), log);
        running.asks = Some(Asks { number, request, answer });
        Some(number)
    }

    /// Whether nobody is there to answer what the agent asks; it is noted who wanted what.
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
        log: &mut TableLog,
    ) -> Option<SyncSender<PermissionAnswer>> {
        let running = self.running.as_mut()?;
        let asks = running.asks.take_if(|asks| asks.number == number)?;
        running.stage_activity(permission_answered(&asks.request, answer), log);
        Some(asks.answer)
    }

    /// Stops the agent of a turn. Whoever it waits for says no.
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
        log: &mut TableLog,
    ) -> Option<Followup> {
        let running = self.running.as_mut()?;
        running.stage_thought(log);
        let error = report.output.error.as_ref();
        let overflown = error.is_some_and(|error| error.class == ErrorClass::Overflow);
        if overflown && !running.start.is_second && !running.cancel.is_cancelled() {
            if !running.has_worked || only_reads(team, &running.start.member) {
                return Some(running.retry());
            }
            let message = "it is not tried again by itself: its tools would do their work twice";
            running.warn(message, log);
        }
        if report.left_behind > 0 && report.ended == Ended::ByItself {
            let message = match report.left_behind {
                1 => "1 process that it had started was still there, and was ended".to_owned(),
                count => format!(
                    "{count} processes that it had started were still there, and were ended"
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
            None => running.failure(report.output, speaker),
        })
    }
}

impl Running {
    fn stage_thought(&mut self, log: &mut TableLog) {
        let thought = std::mem::take(&mut self.thought);
        if !thought.trim().is_empty() {
            self.stage_activity(TurnActivity::Thought { text: thought.into() }, log);
        }
    }

    fn warn(&mut self, message: &str, log: &mut TableLog) {
        self.stage_activity(warning(message), log);
    }

    fn stage_activity(&mut self, activity: TurnActivity, log: &mut TableLog) {
        self.notes += 1;
        let activity = match self.notes.cmp(&NOTES_MAX) {
            std::cmp::Ordering::Less => activity,
            std::cmp::Ordering::Equal => warning("more was noted in this turn than is kept"),
            std::cmp::Ordering::Greater => return,
        };
        log.stage(EntryKind::TurnEvent(self.event(activity)));
    }

    fn event(&self, activity: TurnActivity) -> TurnEvent {
        TurnEvent::new(self.start.turn.clone(), self.start.member.clone(), activity)
    }

    /// Half of what was sent, where that is less; a short prompt is not what was too long.
    fn retry(&self) -> Followup {
        let budget =
            (self.start.budget / 2).min((self.start.prompt.text.len() as u64 / 2).max(SHORT_BYTES));
        let (member, answers) = (self.start.member.clone(), self.start.answers.clone());
        Followup::Retry { member, answers, budget }
    }

    fn failure(&self, output: TurnOutput, speaker: Speaker) -> Followup {
        let error = output.error.as_ref();
        let (class, message) = error
            .map_or((ErrorClass::Empty, "it ended without an answer"), |error| {
                (error.class, &*error.message)
            });
        let partial = output.partial_text.filter(|text| !text.trim().is_empty());
        let (partial, cut) = partial.map(kept_of).unzip();
        let activities = cut.flatten().into_iter().chain([failure(class, message)]);
        Followup::Failure {
            class: class.as_str().into(),
            partial: partial.map(|text| answer_to(&self.start.answers, speaker, &text)),
            events: activities.map(|activity| self.event(activity)).collect(),
        }
    }
}

/// Whether whatever a member does can be done again: its tools change nothing.
fn only_reads(team: &Team, member: &str) -> bool {
    let answers = team.member(member).map(|one| &one.answers);
    matches!(answers, Some(Answers::Agent(spec)) if spec.permissions == Permissions::Read
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

/// Starts an agent; `None` if there is no thread to be had.
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
        // Without a report the driver would wait for ever.
        let report = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            let message = "internal error: the turn stopped; please report it";
            let error = TurnError::new(ErrorClass::Crash, message);
            TurnReport::without_process(TurnOutput::failed(error), Ended::ByItself)
        });
        // A driver that is gone wants no report.
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
            // Whoever stops an agent does not wait for all that it had still to say: of a burst, what
            // finds no room is left out. The text that it wrote comes with its report.
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
