//! The connection to an agent process: passes its output to `dialect`, writes replies to its stdin, and asks the person
//! for permissions. Called by [`super::LiveAgent`].

use std::io::Write;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use tertulia_dialect::stream::{
    AgentAsk, AgentClient, AgentPermission, AgentPrompt, ErrorClass, StreamEvent, TurnError,
};

use super::Stop;
use crate::clock::{Clock, OutputLimit};
use crate::process::pipes;
use crate::spec::deliver;
use crate::{AgentSpec, Ended, Listener, PermissionAnswer, Permissions};

const LINES_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: AgentClient,
    pub(super) writer: Writer,
    pub(super) chunks: Option<Receiver<Vec<u8>>>,
    pub(super) output_limit: OutputLimit,
    pub(super) clock: Clock,
    pub(super) permissions: Permissions,
    pub(super) events: Vec<StreamEvent>,
    pub(super) is_fed: bool,
}

impl Connection {
    /// Begins a turn with its own clocks and limits. Output that arrived before it belongs to no turn.
    pub(super) fn begin(
        &mut self,
        prompt: &AgentPrompt<'_>,
        spec: &AgentSpec,
        listener: &mut dyn Listener,
    ) -> Result<(), Stop> {
        self.skip_waiting();
        self.output_limit = OutputLimit::new(spec.limits);
        self.clock = Clock::start(spec.timeouts);
        self.is_fed = false;
        let lines = self.client.begin(prompt, &mut self.events);
        deliver(&mut self.events, listener);
        for line in lines {
            self.send(line)?;
        }
        self.note_fed(listener);
        Ok(())
    }

    /// Passes waiting output to the client, which ignores it between turns.
    fn skip_waiting(&mut self) {
        while let Some(Ok(bytes)) = self.chunks.as_ref().map(Receiver::try_recv) {
            let mut asks = Vec::new();
            self.client.push(&bytes, &mut Vec::new(), &mut asks);
            for ask in asks {
                let line = match ask {
                    AgentAsk::Send(line) => line,
                    AgentAsk::Permit(asked) => self.client.dismiss(&asked, &mut Vec::new()),
                };
                self.writer.send(line);
            }
        }
    }

    fn note_fed(&mut self, listener: &mut dyn Listener) {
        if !self.is_fed && self.client.is_prompted() {
            self.is_fed = true;
            listener.fed();
        }
    }

    pub(super) fn receive(
        &mut self,
        wait: Duration,
        listener: &mut dyn Listener,
    ) -> Result<(), Stop> {
        let Some(bytes) = pipes::next(self.chunks.as_ref(), wait) else { return Ok(()) };
        let mut asks = Vec::new();
        self.client.push(&bytes, &mut self.events, &mut asks);
        self.output_limit.note(bytes.len(), &self.events);
        deliver(&mut self.events, listener);
        // Messages that arrive before the prompt is sent are not output of the turn.
        if self.client.is_prompted() {
            self.clock.note_output();
        }
        for ask in asks {
            match ask {
                AgentAsk::Send(line) => self.send(line)?,
                AgentAsk::Permit(permission) => self.permit(&permission, listener)?,
            }
        }
        self.note_fed(listener);
        Ok(())
    }

    /// Waits for output of an agent whose stdin is closed. Returns whether there may be more.
    pub(super) fn receive_rest(&mut self, wait: Duration, listener: &mut dyn Listener) -> bool {
        let Some(Ok(bytes)) = self.chunks.as_ref().map(|chunks| chunks.recv_timeout(wait)) else {
            return false;
        };
        self.client.push(&bytes, &mut self.events, &mut Vec::new());
        self.output_limit.note(bytes.len(), &self.events);
        deliver(&mut self.events, listener);
        true
    }

    fn send(&mut self, line: String) -> Result<(), Stop> {
        if self.writer.send(line) {
            return Ok(());
        }
        let error = TurnError::new(ErrorClass::Crash, "the agent does not read its input");
        Err(Stop::Ended(Ended::OverLimit, error))
    }

    fn permit(
        &mut self,
        permission: &AgentPermission,
        listener: &mut dyn Listener,
    ) -> Result<(), Stop> {
        let answer = match self.permissions {
            Permissions::Full => {
                let allowing = permission.request.choices.iter().find(|choice| choice.allows);
                allowing.map_or(PermissionAnswer::Deny, |choice| {
                    PermissionAnswer::Choose(choice.id.clone())
                })
            }
            Permissions::Read | Permissions::Edit => {
                self.clock.pause_during(|| listener.permit(&permission.request))
            }
        };
        let line = match &answer {
            PermissionAnswer::Choose(id) => {
                self.client.answer(permission, Some(id), &mut self.events)
            }
            PermissionAnswer::Deny => self.client.answer(permission, None, &mut self.events),
            PermissionAnswer::EndTurn => self.client.dismiss(permission, &mut self.events),
        };
        deliver(&mut self.events, listener);
        self.send(line)?;
        if answer != PermissionAnswer::EndTurn {
            return Ok(());
        }
        let message = format!(
            "the agent asks for permission: {}; run it in `tertulia chat`, or give it more \
             permissions",
            permission.request.title
        );
        Err(Stop::Ended(Ended::NeedsPerson, TurnError::new(ErrorClass::Refused, message)))
    }
}

#[derive(Debug)]
pub(super) struct Writer(Option<SyncSender<String>>);

impl Writer {
    pub(super) fn start(stdin: Option<ChildStdin>) -> Self {
        let (sender, lines) = sync_channel::<String>(LINES_MAX);
        let work = move || {
            let Some(mut stdin) = stdin else { return };
            for line in lines {
                if let Err(error) = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()) {
                    tracing::debug!(%error, "an agent closed its stdin");
                    return;
                }
            }
        };
        pipes::spawn("agent stdin", work);
        Self(Some(sender))
    }

    /// Queues a line. Returns `false` if the queue is full. Drops the line if the agent has closed its stdin; then
    /// the agent's exit decides.
    pub(super) fn send(&self, line: String) -> bool {
        match self.0.as_ref().map(|sender| sender.try_send(line)) {
            Some(Err(TrySendError::Full(_))) => false,
            Some(Ok(()) | Err(TrySendError::Disconnected(_))) | None => true,
        }
    }

    /// Closes the pipe after the queued lines are written.
    pub(super) fn close(&mut self) {
        self.0 = None;
    }
}
