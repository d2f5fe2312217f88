//! A turn that runs: the agent in a thread of its own, what it says in the driver's inbox.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use tertulia_agent::{
    AgentSpec, CancelToken, Ended, Listener, PermissionAnswer, PermissionRequest, TurnReport,
    TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::EntryId;
use tertulia_session::json::Json;

use super::event::PermissionNumber;
use super::inbox::Mail;
use super::model::Body;
use super::prompt::TurnPrompt;
use super::record::shorten;

/// What an agent tells.
pub(super) enum FromAgent {
    Fed,
    Said(StreamEvent),
    Asks(PermissionRequest, SyncSender<PermissionAnswer>),
    Ended(Box<TurnReport>),
}

impl FromAgent {
    /// Nobody listens any more; who asks is told no.
    pub(super) fn decline(self) {
        if let Self::Asks(_, answer) = self {
            // An agent that is gone needs no answer.
            let _ = answer.send(PermissionAnswer::EndTurn);
        }
    }
}

/// A permission that an agent waits for.
pub(super) struct Asks {
    pub(super) number: PermissionNumber,
    pub(super) request: PermissionRequest,
    pub(super) answer: SyncSender<PermissionAnswer>,
}

/// The turn that runs.
pub(super) struct Running {
    pub(super) turn: EntryId,
    pub(super) member: Box<str>,
    /// The message that is answered.
    pub(super) answers: EntryId,
    pub(super) cancel: CancelToken,
    /// Whether the prompt was made smaller already.
    pub(super) is_second: bool,
    pub(super) budget: u64,
    /// How large the prompt was.
    pub(super) prompt_bytes: u64,
    /// Thinking that is not an entry yet.
    pub(super) thought: String,
    /// How many bytes of its text were told.
    pub(super) told: usize,
    /// How many notes of it are entries.
    pub(super) notes: usize,
    /// Whether it has called a tool.
    pub(super) has_worked: bool,
    /// Where the agent waits for an answer of the person.
    pub(super) asks: Option<Asks>,
    /// The entries that a built-in member made its answer from, as `meta` of the answer names them.
    pub(super) sources: Option<Json>,
    thread: Option<JoinHandle<()>>,
}

/// What an agent is started with.
pub(super) struct Start {
    pub(super) turn: EntryId,
    pub(super) member: Box<str>,
    pub(super) answers: EntryId,
    pub(super) number: usize,
    pub(super) budget: u64,
    pub(super) is_second: bool,
    pub(super) prompt: TurnPrompt,
    pub(super) body: Option<Body>,
}

impl Running {
    /// Starts an agent.
    pub(super) fn start(spec: AgentSpec, start: Start, inbox: &SyncSender<Mail>) -> Self {
        let cancel = CancelToken::new();
        let running = Self::without_agent(&start, cancel.clone());
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
            let mut ear = Ear { turn: &start.turn, inbox: &inbox, cancel: &cancel };
            let run = || tertulia_agent::run(&spec, &request, &cancel, &mut ear);
            // Without a report the table would wait for ever.
            let report = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
                let message = "internal error: the turn stopped; please report it".into();
                let error = TurnError { class: ErrorClass::Crash, message };
                TurnReport::without_process(TurnOutput::failed(error), Ended::ByItself)
            });
            // A driver that is gone wants no report.
            let ended = FromAgent::Ended(Box::new(report));
            let _ = inbox.send(Mail::Agent(start.turn, ended));
        });
        Self { thread: thread.ok(), ..running }
    }

    /// A turn that the house answers at once.
    pub(super) fn without_agent(start: &Start, cancel: CancelToken) -> Self {
        Self {
            turn: start.turn.clone(),
            member: start.member.clone(),
            answers: start.answers.clone(),
            cancel,
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
        }
    }

    /// Whether an agent could be started.
    pub(super) fn has_agent(&self) -> bool {
        self.thread.is_some()
    }

    /// Waits for the thread, which has told its report already.
    pub(super) fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Ear<'i> {
    turn: &'i EntryId,
    inbox: &'i SyncSender<Mail>,
    cancel: &'i CancelToken,
}

impl Ear<'_> {
    fn tell(&self, said: FromAgent) -> bool {
        self.inbox.send(Mail::Agent(self.turn.clone(), said)).is_ok()
    }
}

impl Listener for Ear<'_> {
    fn fed(&mut self) {
        self.tell(FromAgent::Fed);
    }

    fn event(&mut self, mut event: StreamEvent) {
        shorten(&mut event);
        if !self.cancel.is_cancelled() {
            self.tell(FromAgent::Said(event));
            return;
        }
        // Whoever stops an agent does not wait for all that it had still to say: of a burst, what finds no
        // room is left out. The text that it wrote comes with its report.
        let said = FromAgent::Said(event);
        let _ = self.inbox.try_send(Mail::Agent(self.turn.clone(), said));
    }

    fn permit(&mut self, request: &PermissionRequest) -> PermissionAnswer {
        let (answer, answered) = mpsc::sync_channel(1);
        match self.tell(FromAgent::Asks(request.clone(), answer)) {
            true => answered.recv().unwrap_or(PermissionAnswer::EndTurn),
            false => PermissionAnswer::EndTurn,
        }
    }
}
