//! Passes the events of a session to its clients. A client is added between two events, in the thread of the driver. So it
//! gets every event after the newest entry that its welcome names.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tertulia_session::{Entry, EntryId, EntryKind, TurnActivity, TurnState};
use tertulia_team::wire::{HostMessage, VERSION};
use tertulia_team::{Driver, EventSink, SessionEvent};

use super::queue::Queue;

/// The maximum length of a running answer that is kept for new clients. The whole answer is in the log when it has ended.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The clients of a session, and the state that is not in the log.
#[derive(Default)]
pub struct Broadcast(Mutex<State>);

#[derive(Default)]
struct State {
    clients: Vec<Arc<Queue>>,
    running: Vec<Answer>,
    is_closed: bool,
}

/// The answer of a running turn so far.
struct Answer {
    turn: EntryId,
    member: Box<str>,
    text: String,
    /// The length of the texts that have ended.
    ended: usize,
    /// The permission that the agent waits for.
    permission: Option<HostMessage>,
    /// A person has cancelled the turn. Its end is its answer or a failure.
    is_cancelled: bool,
}

impl Broadcast {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event to all clients. Never waits for them.
    pub fn pass(&self, event: &SessionEvent) {
        let mut state = self.state();
        state.follow(event);
        if state.clients.is_empty() {
            return;
        }
        let Some(message) = HostMessage::from_event(event) else { return };
        let line: Arc<str> = message.to_line().into();
        state.clients.retain(|client| {
            client.push(&line);
            !client.is_closing()
        });
    }

    /// Adds a client. Called in the thread of the driver, between two events.
    pub(super) fn add(&self, client: Arc<Queue>, driver: &Driver) {
        let mut state = self.state();
        if state.is_closed {
            return client.host_ended();
        }
        client.send(&HostMessage::Welcome {
            version: VERSION,
            session: driver.session().as_str().into(),
            process: std::process::id(),
            tail: driver.entries().last().map(|entry| entry.id.clone()),
            running: state.running.iter().map(|answer| answer.turn.clone()).collect(),
        });
        state.running.iter().for_each(|answer| answer.send_to(&client));
        if let Some(question) = driver.asked() {
            client.send(&HostMessage::Asked { question: question.clone() });
        }
        state.clients.push(client);
    }

    /// Says goodbye to all clients. Later ones are refused.
    pub(super) fn close(&self) {
        let clients = {
            let mut state = self.state();
            state.is_closed = true;
            std::mem::take(&mut state.clients)
        };
        for client in &clients {
            client.host_ended();
        }
        clients.iter().for_each(|client| client.wait_for_end());
    }
}

impl State {
    fn follow(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Stored(entry) => self.follow_entry(entry),
            SessionEvent::Text { turn, text, .. } => self.change(turn, |answer| answer.add(text)),
            SessionEvent::TextEnd { turn, .. } => self.change(turn, Answer::end_text),
            SessionEvent::TextWithdrawn { turn, .. } => {
                self.change(turn, |answer| answer.text.truncate(answer.ended));
            }
            SessionEvent::Permission { member, .. } => {
                let asking = self.running.iter_mut().find(|answer| answer.member == *member);
                if let Some(answer) = asking {
                    answer.permission = HostMessage::from_event(event);
                }
            }
            SessionEvent::Fed { .. }
            | SessionEvent::Note(_)
            | SessionEvent::Asked(_)
            | SessionEvent::Refused(_)
            | SessionEvent::Rested => {}
        }
    }

    fn follow_entry(&mut self, entry: &Entry) {
        match &entry.kind {
            EntryKind::Turn(turn) => match (entry.turn_id(), turn.state) {
                (Some(id), TurnState::Started) => {
                    // A cancelled turn of this member has ended.
                    self.running.retain(|answer| answer.member != turn.member);
                    self.running.push(Answer::new(id, &turn.member));
                }
                (Some(id), TurnState::Cancelled) => {
                    self.change(id, |answer| {
                        (answer.is_cancelled, answer.permission) = (true, None);
                    });
                }
                (_, TurnState::Queued) | (None, _) => {}
                (Some(id), _) => self.running.retain(|answer| answer.turn != *id),
            },
            EntryKind::TurnEvent(event) => match &event.activity {
                TurnActivity::PermissionAnswered { .. } => {
                    self.change(&event.turn_id, |answer| answer.permission = None);
                }
                TurnActivity::Failed { .. } => {
                    self.running.retain(|answer| answer.turn != event.turn_id);
                }
                _ => {}
            },
            EntryKind::Message(message) => {
                if let Some(speaker) = message.speaker.as_deref() {
                    let is_over = |one: &Answer| one.is_cancelled && one.member == speaker.role_id;
                    self.running.retain(|answer| !is_over(answer));
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, turn: &EntryId, change: impl FnOnce(&mut Answer)) {
        if let Some(answer) = self.running.iter_mut().find(|answer| answer.turn == *turn) {
            change(answer);
        }
    }
}

impl Answer {
    fn new(turn: &EntryId, member: &str) -> Self {
        Self {
            turn: turn.clone(),
            member: member.into(),
            text: String::new(),
            ended: 0,
            permission: None,
            is_cancelled: false,
        }
    }

    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() <= ANSWER_BYTES_MAX {
            self.text.push_str(text);
        }
    }

    fn end_text(&mut self) {
        self.add("\n");
        self.ended = self.text.len();
    }

    /// Sends the answer so far to a new client.
    fn send_to(&self, client: &Queue) {
        let message = |text: &str| HostMessage::Text {
            turn: self.turn.clone(),
            member: self.member.clone(),
            text: text.into(),
        };
        let (ended, open) = self.text.split_at_checked(self.ended).unwrap_or((&self.text, ""));
        if let Some(text) = ended.strip_suffix('\n') {
            client.send(&message(text));
            let (turn, member) = (self.turn.clone(), self.member.clone());
            client.send(&HostMessage::TextEnd { turn, member });
        }
        if !open.is_empty() {
            client.send(&message(open));
        }
        if let Some(permission) = &self.permission {
            client.send(permission);
        }
    }
}

/// An event sink that also passes the events to the clients.
pub struct SharedSink<'s> {
    pub broadcast: &'s Broadcast,
    pub sink: &'s mut dyn EventSink,
}

impl EventSink for SharedSink<'_> {
    fn on_event(&mut self, event: SessionEvent) {
        self.broadcast.pass(&event);
        self.sink.on_event(event);
    }
}
