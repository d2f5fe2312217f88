//! The thread of a turn: runs the agent, and passes its output to the driver's inbox.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use tertulia_agent::{
    AgentSpec, CancelToken, Ended, KeptAgents, Listener, PermissionAnswer, PermissionRequest,
    TurnReport, TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::EntryId;

use super::inbox::Input;
use super::prompt::Start;
use super::record::shorten;
use super::worktree::Place;
use crate::Note;

/// Starts an agent; `None` if no thread can be created.
pub(super) fn spawn(
    (mut spec, place): (AgentSpec, Place),
    start: Arc<Start>,
    kept: KeptAgents,
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
            system: start.prompt.system.as_deref().or(start.prompt.session_system.as_deref()),
            body: start.body.as_ref().map(|body| &*body.json),
            memory: start.memory.for_agent(&kept, &start.member),
            message_start: start.prompt.message_start,
        };
        let mut listener = InboxListener { turn: &start.turn, inbox: &inbox, cancel: &cancel };
        let note = |text: String| {
            let note = Note::Worktree { turn: start.turn.clone(), text: text.into() };
            // A driver that was dropped needs no note.
            let _ = inbox.send(Input::Noted(note, start.turn.clone()));
        };
        let run = || {
            place.run(&start.member, &mut spec, &note, |spec| {
                tertulia_agent::run(spec, &request, &cancel, &mut listener)
            })
        };
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
