//! The turn that runs here: what its agent says becomes entries and events, what it asks waits for an answer,
//! and its end becomes the answer, or a failure with its reason.

use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Ended, PermissionAnswer, PermissionRequest, Permissions,
    TurnReport,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnOutput};
use tertulia_session::json::Json;
use tertulia_session::{
    EntryId, EntryKind, Fields, Message, Routing, Speaker, SpeakerType, TurnActivity, TurnEvent,
    Usage, Usd,
};

use super::event::{EventSink, PermissionNumber, SessionEvent};
use super::inbox::Inbox;
use super::log::TableLog;
use super::prompts::Start;
use super::record::{activity_of, failure, permission_answered, permission_asked, warning};
use super::{LAST_WORDS, turn};
use crate::team::{Answers, Team};

/// So many notes of one turn become entries; a flood of them says nothing new.
const NOTES_MAX: usize = 2_000;
/// Only the beginning of a partial answer is stored: the session has to carry it for ever.
const PARTIAL_BYTES_MAX: usize = 1024 * 1024;
/// Of longer thinking the beginning is kept.
const THOUGHT_BYTES_MAX: usize = 64 * 1024;
/// A prompt is not made shorter than this because an agent found it too long.
const SHORT_BYTES: u64 = 4096;

/// Runs one turn at a time.
pub(super) struct Runner {
    running: Option<Running>,
    /// The turn that was begun here last.
    begun: Option<EntryId>,
    /// Whether somebody is there who can be asked for a permission.
    attended: bool,
    /// How many permissions were asked for.
    permissions: u64,
    /// What an agent wanted that nobody could allow.
    refused: Option<(Box<str>, Box<str>)>,
}

/// The turn that runs.
struct Running {
    turn: EntryId,
    member: Box<str>,
    /// The message that is answered.
    answers: EntryId,
    cancel: CancelToken,
    /// Whether the prompt was made smaller already.
    is_second: bool,
    budget: u64,
    /// How large the prompt was.
    prompt_bytes: u64,
    /// Thinking that is not an entry yet.
    thought: String,
    /// How many bytes of its text were told.
    told: usize,
    /// How many notes of it are entries.
    notes: usize,
    /// Whether it has called a tool.
    has_worked: bool,
    /// A permission that the agent waits for.
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

/// What follows from the end of an agent.
pub(super) enum Followup {
    /// Its prompt was too large: once more, with a smaller one.
    Retry {
        member: Box<str>,
        answers: EntryId,
        budget: u64,
    },
    Answer {
        message: Message,
        text: String,
    },
    /// It could not answer; `partial` is what there is of the answer.
    Failure {
        class: Box<str>,
        partial: Option<Message>,
        events: Vec<TurnEvent>,
    },
}

impl Runner {
    pub(super) fn new(attended: bool) -> Self {
        Self { running: None, begun: None, attended, permissions: 0, refused: None }
    }

    /// The turn that runs.
    pub(super) fn turn(&self) -> Option<&EntryId> {
        self.running.as_ref().map(|running| &running.turn)
    }

    /// Whose turn runs.
    pub(super) fn member(&self) -> Option<&str> {
        self.running.as_ref().map(|running| &*running.member)
    }

    /// Whether this turn was the last one that was begun here.
    pub(super) fn has_begun(&self, turn: &EntryId) -> bool {
        self.begun.as_ref() == Some(turn)
    }

    /// What an agent wanted that nobody could allow: the member and what it wanted.
    pub(super) fn take_refused(&mut self) -> Option<(Box<str>, Box<str>)> {
        self.refused.take()
    }

    /// Begins a turn; with an agent if it can be started. Returns whether it was.
    pub(super) fn begin(&mut self, start: Start, spec: Option<AgentSpec>, inbox: &Inbox) -> bool {
        let cancel = CancelToken::new();
        let mut running = Running {
            turn: start.turn.clone(),
            member: start.member.clone(),
            answers: start.answers.clone(),
            cancel: cancel.clone(),
            is_second: start.is_second,
            budget: start.budget,
            prompt_bytes: start.prompt.text.len() as u64,
            thought: String::new(),
            told: 0,
            notes: 0,
            has_worked: false,
            asks: None,
            sources: None,
            thread: None,
        };
        running.thread = spec.and_then(|spec| turn::spawn(spec, start, inbox.sender(), cancel));
        let has_agent = running.thread.is_some();
        self.begun = Some(running.turn.clone());
        self.running = Some(running);
        has_agent
    }

    /// The entries that a built-in member made its answer from.
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
        let of_turn = |running: &Running| (running.turn.clone(), running.member.clone());
        match event {
            StreamEvent::TextDelta { text } => {
                // Nobody can follow a flood, and a screen that tries hears nobody.
                running.told += text.len();
                if running.told <= PARTIAL_BYTES_MAX {
                    let (turn, member) = of_turn(running);
                    sink.on_event(SessionEvent::Text { turn, member, text });
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

    /// Stages what happened during the turn that runs.
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

    /// Stages the answer to what the agent asks, and returns where the agent waits for it.
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
        let running = self.running.as_mut().filter(|running| running.turn == *turn);
        let Some(running) = running else { return };
        running.cancel.cancel();
        if let Some(asks) = running.asks.take() {
            let _ = asks.answer.send(PermissionAnswer::EndTurn);
        }
    }

    /// Stops the agent that works here, and waits for its end.
    pub(super) fn stop_and_wait(&mut self, inbox: &mut Inbox) {
        let Some(turn) = self.turn().cloned() else { return };
        self.stop(&turn);
        if self.running.take().is_some_and(|running| running.thread.is_some()) {
            inbox.wait_for_end(&turn, LAST_WORDS);
        }
    }

    /// Forgets the turn whose agent has told its report.
    pub(super) fn finish(&mut self) {
        if let Some(thread) = self.running.take().and_then(|running| running.thread) {
            let _ = thread.join();
        }
    }

    /// What follows from the end of the agent; what is to be said of it is staged.
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
        if overflown && !running.is_second && !running.cancel.is_cancelled() {
            if !running.has_worked || only_reads(team, &running.member) {
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
        let speaker = speaker_of(team, &running.member);
        Some(match report.output.final_text {
            Some(answer) => {
                let mut message = answer_to(&running.answers, speaker, &answer.text);
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
        log.stage(EntryKind::TurnEvent(self.event(activity)), false);
    }

    fn event(&self, activity: TurnActivity) -> TurnEvent {
        TurnEvent::new(self.turn.clone(), self.member.clone(), activity)
    }

    /// Half of what was sent, where that is less; a short prompt is not what was too long.
    fn retry(&self) -> Followup {
        let budget = (self.budget / 2).min((self.prompt_bytes / 2).max(SHORT_BYTES));
        Followup::Retry { member: self.member.clone(), answers: self.answers.clone(), budget }
    }

    fn failure(&self, output: TurnOutput, speaker: Speaker) -> Followup {
        let error = output.error.as_ref();
        let (class, message) = error
            .map_or((ErrorClass::Empty, "it ended without an answer"), |error| {
                (error.class, &*error.message)
            });
        let partial = output.partial_text.filter(|text| !text.trim().is_empty());
        let (partial, cut) = partial.map(kept_of).unzip();
        Followup::Failure {
            class: class.as_str().into(),
            partial: partial.map(|text| answer_to(&self.answers, speaker, &text)),
            events: cut
                .flatten()
                .into_iter()
                .chain([failure(class, message)])
                .map(|activity| self.event(activity))
                .collect(),
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

/// What a turn has used, if its agent tells.
pub(super) fn usage_of(member: &str, output: &TurnOutput) -> Option<Usage> {
    if output.usage.is_none() && output.cost.is_none() {
        return None;
    }
    let usage = output.usage.unwrap_or_default();
    let read = [usage.input, usage.cache_read, usage.cache_write];
    Some(Usage {
        member: member.into(),
        model: output.model.clone(),
        input_tokens: read.into_iter().flatten().fold(0, u64::saturating_add),
        cached_tokens: usage.cache_read,
        output_tokens: usage.output.unwrap_or(0),
        cost_usd: output.cost.and_then(|cost| Usd::new(cost.usd)),
        unknown: Fields::NONE,
    })
}

/// What is kept of an answer that did not come to its end, and what is said of the rest.
fn kept_of(mut text: String) -> (String, Option<TurnActivity>) {
    let written = text.len();
    text.truncate(text.floor_char_boundary(PARTIAL_BYTES_MAX));
    let cut = (text.len() < written).then(|| {
        warning(format!("of {written} bytes that it wrote, the first {} are kept", text.len()))
    });
    (text, cut)
}

fn answer_to(answers: &EntryId, speaker: Speaker, text: &str) -> Message {
    let mut message = Message::said(speaker, text);
    let parent_message_id = Some(answers.as_str().into());
    message.routing = Some(Box::new(Routing { parent_message_id, ..Routing::default() }));
    message
}
