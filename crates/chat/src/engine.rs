//! Runs the session in its own thread. Events arrive in a channel; commands go in through a handle. Independent of how
//! events are shown.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use tertulia_operations::names::short;
use tertulia_session::EntryId;
use tertulia_store::SessionId;
use tertulia_team::{
    Call, Command, DriveError, Driver, DriverHandle, EventSink, PauseReason, Question,
    SessionEvent, SpeakerError,
};

use super::style::{Line, Look};
use crate::error::ChatError;

/// An event of the chat: something that happened in the session, or the answer to a command.
pub(crate) enum ChatEvent {
    Session(SessionEvent),
    Text(String),
    Lines(Vec<Line>),
    /// A command was refused, with the reason.
    Refused(String),
    /// A line was not sent. A chat without a terminal ends with this error.
    NotSaid(ChatError),
    /// Whether a turn is running: the answer to the [`LiveSession::ask_status`] with this number.
    Status {
        number: u64,
        runs: bool,
    },
    /// The session was forked; the conversation continues in the new one.
    Forked(SessionId),
    /// The session could not be forked, with the reason.
    NotForked(String),
    /// The session was closed, or cannot continue.
    Ended(Result<(), DriveError>),
}

/// Sends chat events. Commands that run in the driver's thread get a clone.
#[derive(Clone)]
pub(crate) struct EventSender {
    sender: Sender<ChatEvent>,
    waker: Option<Arc<Waker>>,
}

/// Wakes the terminal loop, which polls several file descriptors at once.
pub(crate) struct Waker {
    is_set: AtomicBool,
    pipe: PipeWriter,
}

pub(crate) struct WakeReceiver {
    pub(crate) pipe: PipeReader,
    waker: Arc<Waker>,
}

pub(crate) struct LiveSession {
    /// Takes the commands of people.
    pub(crate) handle: DriverHandle,
    pub(crate) id: SessionId,
    thread: JoinHandle<()>,
}

pub(crate) fn with_waker() -> std::io::Result<(EventSender, Receiver<ChatEvent>, WakeReceiver)> {
    let (reader, writer) = std::io::pipe()?;
    let waker = Arc::new(Waker { is_set: AtomicBool::new(false), pipe: writer });
    let (mut sender, events) = without_waker();
    sender.waker = Some(Arc::clone(&waker));
    Ok((sender, events, WakeReceiver { pipe: reader, waker }))
}

pub(crate) fn without_waker() -> (EventSender, Receiver<ChatEvent>) {
    let (sender, events) = mpsc::channel();
    (EventSender { sender, waker: None }, events)
}

impl EventSender {
    /// Sends an event. Without a receiver it is lost.
    pub(crate) fn send(&self, event: ChatEvent) {
        let _ = self.sender.send(event);
        if let Some(waker) = &self.waker
            && !waker.is_set.swap(true, Ordering::SeqCst)
        {
            let _ = (&waker.pipe).write_all(b"!");
        }
    }

    pub(crate) fn send_error(&self, error: &dyn std::fmt::Display) {
        self.send(ChatEvent::Lines(Line::split(&error.to_string(), Look::Error)));
    }

    pub(crate) fn send_note(&self, text: &str) {
        self.send(ChatEvent::Lines(Line::split(&short(text), Look::Dim)));
    }
}

/// Forwards the events of opening a session, and remembers whether they ask about an interrupted turn.
pub(crate) struct Opening {
    pub(crate) sender: EventSender,
    pub(crate) is_asked: bool,
}

impl EventSink for Opening {
    fn on_event(&mut self, event: SessionEvent) {
        self.is_asked |= matches!(
            &event,
            SessionEvent::Asked(Question {
                why: PauseReason::Resumed { interrupted: Some(_), .. },
                ..
            })
        );
        self.sender.on_event(event);
    }
}

impl WakeReceiver {
    /// Resets the waker. Events that were sent before must be read after this.
    pub(crate) fn reset(&mut self) {
        // At most one byte is in it.
        let _ = self.pipe.read(&mut [0; 8]);
        self.waker.is_set.store(false, Ordering::SeqCst);
    }
}

impl EventSink for EventSender {
    fn on_event(&mut self, event: SessionEvent) {
        self.send(match event {
            SessionEvent::Refused(error) => refused(&error),
            event => ChatEvent::Session(event),
        });
    }

    fn on_text(&mut self, _: &EntryId, _: &str, text: String) {
        self.send(ChatEvent::Text(text));
    }
}

/// Returns the event for a refused command. It says what to do in the chat and has the same exit code as in `run`.
fn refused(error: &DriveError) -> ChatEvent {
    ChatEvent::NotSaid(match error {
        DriveError::Speaker(SpeakerError::Several { people }) => {
            several_people("begin the line with [FROM: name], or open", people)
        }
        DriveError::Speaker(why) => DriveError::Speaker(why.clone()).into(),
        DriveError::SessionInUse => DriveError::SessionInUse.into(),
        // A turn is being stopped, or the session ends anyway.
        other => return ChatEvent::Refused(other.to_string()),
    })
}

/// Returns the error for a team with several people if it is unknown who types; `fix` says what to do.
pub(crate) fn several_people(fix: &str, people: &[Box<str>]) -> ChatError {
    let people = people.join(", ");
    ChatError::NeedsPerson(format!(
        "the team has several people; {fix} the chat with --as NAME: {people}"
    ))
}

impl LiveSession {
    pub(crate) fn start(mut driver: Driver, sender: &EventSender) -> std::io::Result<Self> {
        let (handle, id) = (driver.handle(), driver.session().clone());
        let sender = sender.clone();
        let thread =
            thread::Builder::new().name("tertulia-session".to_owned()).spawn(move || {
                let mut sink = sender.clone();
                let run_until_closed = move || {
                    let ended = driver.attend(&mut sink);
                    drop(driver);
                    ended
                };
                // The end is always reported, even after a panic; otherwise the screen would wait forever.
                let ended = catch_unwind(AssertUnwindSafe(run_until_closed))
                    .unwrap_or(Err(DriveError::Broken));
                sender.send(ChatEvent::Ended(ended));
            })?;
        Ok(Self { handle, id, thread })
    }

    /// Sends a command. A session that has ended has reported it.
    pub(crate) fn send(&self, command: Command) {
        let _ = self.handle.send(command);
    }

    /// Asks whether a turn is running. The number distinguishes the answer from earlier ones.
    pub(crate) fn ask_status(&self, sender: &EventSender, number: u64) {
        let sender = sender.clone();
        self.send(Command::Call(Call::new(move |driver, _| {
            sender.send(ChatEvent::Status { number, runs: driver.is_running() });
            Ok(())
        })));
    }

    /// Waits for the thread of a session that has ended.
    pub(crate) fn join(self) {
        let _ = self.thread.join();
    }
}
