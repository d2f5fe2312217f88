//! `run` in a session that another process runs: sends the message to it, and shows what happens until no turn is running.

use tertulia_chat::join::{Client, JoinError, is_message_stored};
use tertulia_chat::{Interrupt, ask_command, stop_turn};
use tertulia_session::{Entry, EntryId, EntryKind, TurnActivity, TurnState};
use tertulia_store::{Range, SessionId};
use tertulia_team::wire::{ClientMessage, HostMessage, StyledLine};
use tertulia_team::{EventSink, Machine, PersonMessage, Question, SessionEvent, StopReason};

use super::outcome::{self, End};
use super::result;
use super::{Conversation, Ended, RunOutput, turn_to_repeat};
use crate::error::{CliError, Result};

/// What this run asks the host to do.
enum Request<'r> {
    Say(&'r str),
    /// A command with a question, and the question.
    Ask(String, &'r str),
    Repeat(EntryId),
    Continue,
}

impl Conversation<'_> {
    /// Connects to the process that runs the session; `None` if no process answers now.
    pub(super) fn reach_host(&self, id: &SessionId) -> Result<Option<Client>> {
        let chat = &self.chat;
        let Some(place) = chat.place(id) else { return Ok(None) };
        match Client::join(&place, id, &chat.folder, chat.speaker.as_deref()) {
            Err(JoinError::Refused(text)) => Err(JoinError::Refused(text).into()),
            joined => Ok(joined.ok()),
        }
    }

    /// Sends the request to the process that runs the session, and shows what happens.
    pub(super) fn join(
        &self,
        id: &SessionId,
        client: Client,
        message: Option<&PersonMessage>,
        mut output: Box<dyn RunOutput + '_>,
    ) -> Result<Ended> {
        let args = self.args;
        let request = match (message, &args.repeat) {
            (Some(message), _) if let Some(request) = self.request => {
                Request::Ask(ask_command(request, message.text()), message.text())
            }
            (Some(message), _) => Request::Say(message.text()),
            (None, Some(given)) => {
                Request::Repeat(turn_to_repeat(id, &self.entries(id)?, args, given)?)
            }
            (None, None) => Request::Continue,
        };
        let tail = client.tail.clone();
        output.remark(&format!("joined process {}, which runs this session", client.process));
        let interrupt = Interrupt::watch(client.sender().clone(), stop_turn);
        let mut progress = Progress { tail: client.tail.clone(), ..Progress::default() };
        let following =
            Following { client, sent: None, is_closing: false, progress: &mut progress };
        let driven = output.drive(Box::new(|sink| following.follow(&request, sink)));
        progress.notes.iter().for_each(|note| output.remark(note));
        let is_interrupted = interrupt.happened();
        drop(interrupt);
        let pause = match driven {
            // The person left; the host continues.
            Err(CliError::Join(JoinError::HostEnded)) if is_interrupted => StopReason::Elsewhere,
            // Nothing of the request was stored, so this process runs the session itself.
            Err(CliError::Join(JoinError::HostEnded))
                if !self.is_stored(id, &request, &progress)? =>
            {
                output.remark("that process has ended");
                return self.hold(Some(id), message, output);
            }
            // Its last events came before its end.
            Err(CliError::Join(JoinError::HostEnded)) if progress.has_answer() => {
                progress.asked.map_or(StopReason::Rested, StopReason::Asked)
            }
            Err(CliError::Join(error @ JoinError::HostEnded)) => {
                let resume = super::resume_flags(args, id);
                return Err(CliError::NeedsPerson(format!(
                    "{error} during a turn; `tertulia run{resume} --continue` continues"
                )));
            }
            driven => driven?,
        };
        self.leave((id, tail.as_ref()), pause, is_interrupted, message, output)
    }

    /// Ends a run in the session of another process. `tail` is the newest entry from before the run.
    fn leave(
        &self,
        (id, tail): (&SessionId, Option<&EntryId>),
        pause: StopReason,
        is_interrupted: bool,
        message: Option<&PersonMessage>,
        mut output: Box<dyn RunOutput + '_>,
    ) -> Result<Ended> {
        let (args, chat) = (self.args, &self.chat);
        let entries = self.entries(id)?;
        let before = entries.iter().position(|entry| Some(&entry.id) == tail);
        let first = before.map_or(0, |at| at + 1);
        let results = self.show_results(&entries, first, &mut *output);
        output.close().map_err(CliError::output)?;
        if is_interrupted {
            let text = "left the session; the process that runs it continues";
            let outcome = Err(CliError::Interrupted(text.to_owned()));
            return Ok(Ended { pause, is_interrupted, outcome });
        }
        let machine = Machine::replay(chat.team.roster().clone(), &entries).machine;
        let end = End {
            args,
            session: id,
            team: &chat.team,
            entries: &entries,
            waiting: machine.waiting().map(|turn| turn.member.into()).collect(),
            names: &self.names,
            is_ephemeral: self.is_ephemeral,
            is_interrupted,
            only_resumes: message.is_none() && args.repeat.is_none(),
        };
        let outcome = outcome::result(&pause, &end).and_then(|()| result::check(&results));
        Ok(Ended { pause, is_interrupted, outcome })
    }

    /// Returns whether a request had an effect. A process that was killed may have stored a message that it did not
    /// confirm.
    fn is_stored(
        &self,
        id: &SessionId,
        request: &Request<'_>,
        progress: &Progress,
    ) -> Result<bool> {
        match request {
            _ if progress.is_taken => Ok(true),
            Request::Say(text) | Request::Ask(_, text) if !progress.has_ended_properly => {
                Ok(is_message_stored(&self.chat, id, text, progress.tail.as_ref())?)
            }
            Request::Say(_) | Request::Ask(..) | Request::Repeat(_) | Request::Continue => {
                Ok(false)
            }
        }
    }

    /// Returns the current branch.
    fn entries(&self, id: &SessionId) -> Result<Vec<Entry>> {
        let range = Range::Branch { tail: None, limit: None };
        let read = self.chat.store.load(id, &range)?;
        Ok(read.into_iter().map(|stored| stored.entry).collect())
    }
}

/// What is known when the connection ends.
#[derive(Default)]
struct Progress {
    /// The newest entry when this run joined.
    tail: Option<EntryId>,
    /// Whether the host has confirmed the request.
    is_taken: bool,
    /// Whether the host has said that it ends. Otherwise it was killed.
    has_ended_properly: bool,
    /// Whether no turn was running after the last event.
    is_resting: bool,
    asked: Option<Question>,
    /// Notes of the host about the message.
    notes: Vec<String>,
}

impl Progress {
    /// Returns whether the request was executed and no turn was running afterwards.
    fn has_answer(&self) -> bool {
        self.is_taken && self.is_resting
    }
}

/// Follows a session until the request was executed and no turn is running.
struct Following<'p> {
    client: Client,
    /// The request, until it was executed.
    sent: Option<u64>,
    /// Whether the host has refused the request because it is closing the session. Its end follows.
    is_closing: bool,
    progress: &'p mut Progress,
}

impl Following<'_> {
    fn follow(mut self, request: &Request<'_>, sink: &mut dyn EventSink) -> Result<StopReason> {
        let sender = self.client.sender().clone();
        self.sent = Some(match request {
            Request::Say(text) => sender.say(text)?,
            Request::Ask(command, _) => sender.request(|number| ClientMessage::Command {
                number,
                text: command.as_str().into(),
            })?,
            Request::Repeat(turn) => {
                sender.request(|number| ClientMessage::Repeat { number, turn: turn.clone() })?
            }
            Request::Continue => sender.request(|number| ClientMessage::Continue { number })?,
        });
        loop {
            let received = self.client.receive();
            self.progress.has_ended_properly = self.client.has_ended_properly();
            match received?.into_event() {
                Ok(event) => {
                    if self.follow_event(&event) {
                        self.ask_status();
                    }
                    // A question from before is open again only if the session comes back to it.
                    if self.sent.is_none() || !matches!(event, SessionEvent::Asked(_)) {
                        sink.on_event(event);
                    }
                }
                Err(HostMessage::Refused { number, is_closing: Some(true), .. })
                    if self.sent == Some(number) =>
                {
                    self.is_closing = true;
                }
                Err(HostMessage::Refused { number, text, needs_person, .. })
                    if self.sent == Some(number) =>
                {
                    let text = String::from(text);
                    return Err(match needs_person {
                        true => CliError::NeedsPerson(text),
                        false => CliError::Failed(text),
                    });
                }
                Err(HostMessage::Done { number })
                    if self.sent == Some(number) && !self.is_closing =>
                {
                    self.sent = None;
                    self.progress.is_taken = true;
                    self.ask_status();
                }
                Err(HostMessage::Status { runs: false, .. }) if self.sent.is_none() => {
                    let asked = self.progress.asked.take();
                    return Ok(asked.map_or(StopReason::Rested, StopReason::Asked));
                }
                Err(HostMessage::Lines { lines, .. }) => {
                    self.progress.notes.extend(lines.iter().map(text_of))
                }
                Err(_) => {}
            }
        }
    }

    /// Asks whether a turn is running. If the host has ended, its last messages say so.
    fn ask_status(&self) {
        let _ = self.client.sender().request(|number| ClientMessage::Status { number });
    }

    /// Returns whether a turn may have ended.
    fn follow_event(&mut self, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::Stored(entry) => {
                let state = entry.turn().map(|turn| turn.state);
                if state == Some(TurnState::Started) {
                    (self.progress.asked, self.progress.is_resting) = (None, false);
                }
                // A cancelled turn ends later, with its answer or a failure.
                let is_end = match &entry.kind {
                    EntryKind::Turn(turn) => {
                        !matches!(turn.state, TurnState::Queued | TurnState::Started)
                    }
                    EntryKind::TurnEvent(event) => {
                        matches!(event.activity, TurnActivity::Failed { .. })
                    }
                    EntryKind::Message(message) => !message.is_from_human(),
                    _ => false,
                };
                is_end && self.sent.is_none()
            }
            SessionEvent::Asked(question) => {
                self.progress.asked = Some(question.clone());
                self.progress.is_resting = true;
                self.sent.is_none()
            }
            SessionEvent::Rested => {
                (self.progress.asked, self.progress.is_resting) = (None, true);
                self.sent.is_none()
            }
            _ => false,
        }
    }
}

/// Returns the text of a line without its styles.
fn text_of(line: &StyledLine) -> String {
    line.iter().map(|(_, text)| &**text).collect()
}
