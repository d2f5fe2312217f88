//! The agent of a turn, in a thread of its own; what it says goes into the driver's inbox.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use tertulia_agent::{
    AgentSpec, CancelToken, Ended, Listener, PermissionAnswer, PermissionRequest, TurnReport,
    TurnRequest,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, TurnError, TurnOutput};
use tertulia_session::EntryId;

use super::inbox::Input;
use super::prompts::Start;
use super::record::shorten;

/// Starts an agent; `None` if there is no thread to be had.
pub(super) fn spawn(
    spec: AgentSpec,
    start: Start,
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
            let message = "internal error: the turn stopped; please report it".into();
            let error = TurnError { class: ErrorClass::Crash, message };
            TurnReport::without_process(TurnOutput::failed(error), Ended::ByItself)
        });
        // A driver that is gone wants no report.
        let _ = inbox.send(Input::Ended(start.turn, Box::new(report)));
    });
    thread.ok()
}

/// Puts what an agent says into the inbox.
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
