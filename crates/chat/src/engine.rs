//! Runs the session in its own thread. Events arrive in a channel; commands go in through a handle. Independent of how
//! events are shown.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tertulia_operations::names::short;
use tertulia_session::{Entry, EntryId};
use tertulia_store::SessionId;
use tertulia_team::{
    Call, Command, DriveError, Driver, DriverHandle, EventSink, PauseReason, Question,
    SessionEvent, SpeakerError,
};

use super::commands::Typed;
use super::dispatch::{Action, CommandContext, dispatch};
use super::join::{Broadcast, Host, JoinedSession, Reply, SharedSink, dispatch_joined};
use super::style::{Line, Look};
use crate::ChatSession;
use crate::error::ChatError;
use crate::signals::{Handled, SessionHandle};

/// An event of the chat: something that happened in the session, or the answer to a command.
pub(crate) enum ChatEvent {
    Session(SessionEvent),
    /// An entry that was stored this long ago.
    Past {
        entry: Arc<Entry>,
        ago: Duration,
    },
    Text {
        turn: EntryId,
        text: String,
    },
    Lines(Vec<Line>),
    /// A command was refused, with the reason.
    Refused(String),
    /// New work was refused, because the process that runs the session is closing it.
    Closing,
    /// A line was not sent. A chat without a terminal ends with this error.
    NotSaid(ChatError),
    /// Whether a turn is running: the answer to the [`Session::ask_status`] with this number.
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
    /// The process that ran the session cannot be reached any more.
    HostLost,
    /// A process that runs the session was found.
    HostFound,
    /// Nobody runs the session, and the person wants to take it over.
    TakeOver,
}

/// Sends chat events. Commands that run in the driver's thread get a clone.
#[derive(Clone)]
pub(crate) struct EventSender(Target);

#[derive(Clone)]
enum Target {
    /// The person of this process.
    Here { sender: Sender<ChatEvent>, waker: Option<Arc<Waker>> },
    /// A person whose process has joined the session.
    Client(Reply),
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

/// The session of a chat.
pub(crate) enum Session {
    /// This process runs it.
    Own(LiveSession),
    /// Another process runs it.
    Joined(JoinedSession),
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
    let (sender, events) = mpsc::channel();
    let sender = EventSender(Target::Here { sender, waker: Some(Arc::clone(&waker)) });
    Ok((sender, events, WakeReceiver { pipe: reader, waker }))
}

pub(crate) fn without_waker() -> (EventSender, Receiver<ChatEvent>) {
    let (sender, events) = mpsc::channel();
    (EventSender(Target::Here { sender, waker: None }), events)
}

impl EventSender {
    /// Creates a sender of the answers to one request of a client.
    pub(crate) fn for_client(reply: Reply) -> Self {
        Self(Target::Client(reply))
    }

    /// Sends an event. Without a receiver it is lost.
    pub(crate) fn send(&self, event: ChatEvent) {
        let (sender, waker) = match &self.0 {
            Target::Here { sender, waker } => (sender, waker),
            Target::Client(reply) => return reply.send(event),
        };
        let _ = sender.send(event);
        if let Some(waker) = waker
            && !waker.is_set.swap(true, Ordering::SeqCst)
        {
            let _ = (&waker.pipe).write_all(b"!");
        }
    }

    pub(crate) fn send_error(&self, error: &dyn std::fmt::Display) {
        self.send(ChatEvent::Lines(Line::split(&error.to_string(), Look::Error)));
    }

    pub(crate) fn send_status(&self, number: u64, driver: &Driver) {
        self.send(ChatEvent::Status { number, runs: driver.is_running() });
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
                why: PauseReason::Resumed { interrupted: Some(_), .. }
                    | PauseReason::ResumedSeveral { .. },
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

    fn on_text(&mut self, turn: &EntryId, _: &str, text: String) {
        self.send(ChatEvent::Text { turn: turn.clone(), text });
    }
}

/// Returns the event for a refused command. It says what to do in the chat and has the same exit code as in `run`.
pub(crate) fn refused(error: &DriveError) -> ChatEvent {
    ChatEvent::NotSaid(match error {
        DriveError::Speaker(SpeakerError::Several { people }) => {
            several_people("begin the line with [FROM: name], or open", people)
        }
        DriveError::Speaker(why) => DriveError::Speaker(why.clone()).into(),
        DriveError::SessionInUse => DriveError::SessionInUse.into(),
        DriveError::Closing => return ChatEvent::Closing,
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
    /// Starts the thread of the session, and lets other processes join if there is a place for the socket.
    pub(crate) fn start(
        mut driver: Driver,
        chat: &ChatSession,
        sender: &EventSender,
    ) -> std::io::Result<Self> {
        let (handle, id) = (driver.handle(), driver.session().clone());
        let sender = sender.clone();
        let broadcast = Arc::new(Broadcast::default());
        // Without it, other processes can follow the log, but nobody can join.
        let host = chat
            .place(&id)
            .and_then(|place| Host::start(&place, &broadcast, &driver, chat.clone()).ok());
        let thread =
            thread::Builder::new().name("tertulia-session".to_owned()).spawn(move || {
                let mut sink = sender.clone();
                let run_until_closed = move || {
                    let ended =
                        driver.attend(&mut SharedSink { broadcast: &broadcast, sink: &mut sink });
                    // The session is free before the clients learn that they can take it over.
                    drop(driver);
                    ended
                };
                // The end is always reported, even after a panic; otherwise the screen would wait forever.
                let ended = catch_unwind(AssertUnwindSafe(run_until_closed))
                    .unwrap_or(Err(DriveError::Broken));
                drop(host);
                sender.send(ChatEvent::Ended(ended));
            })?;
        Ok(Self { handle, id, thread })
    }
}

impl Session {
    /// Returns whether another process runs the session, and cannot be reached.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Joined(joined) if !joined.link.is_live())
    }

    pub(crate) fn id(&self) -> &SessionId {
        match self {
            Self::Own(own) => &own.id,
            Self::Joined(joined) => &joined.id,
        }
    }

    /// Returns the handle for signals.
    pub(crate) fn handle(&self) -> SessionHandle {
        match self {
            Self::Own(own) => SessionHandle(Handled::Own(own.handle.clone())),
            Self::Joined(joined) => SessionHandle(Handled::Joined(joined.link.clone())),
        }
    }

    /// Returns what a typed line means. A line for a session that another process runs is sent to it.
    pub(crate) fn action(
        &self,
        typed: &Typed<'_>,
        text: &str,
        context: &CommandContext<'_>,
    ) -> Action {
        match self {
            Self::Own(_) => dispatch(typed, context),
            Self::Joined(joined) => dispatch_joined(typed, text, joined, context),
        }
    }

    /// Sends a command. A session that has ended has reported it. A client that closes the session only leaves it.
    pub(crate) fn send(&self, command: Command) {
        match (self, command) {
            (Self::Own(own), command) => drop(own.handle.send(command)),
            (Self::Joined(joined), Command::Close) => joined.link.leave(),
            // Without a host nothing runs that could be cancelled.
            (Self::Joined(joined), command) => drop(joined.link.send(command)),
        }
    }

    /// Asks whether a turn is running. The number distinguishes the answer from earlier ones.
    pub(crate) fn ask_status(&self, sender: &EventSender, number: u64) {
        match self {
            Self::Own(own) => {
                let sender = sender.clone();
                own.handle.send(Command::Call(Call::new(move |driver, _| {
                    sender.send_status(number, driver);
                    Ok(())
                })));
            }
            Self::Joined(joined) => {
                if joined.link.ask_status(number).is_none() {
                    sender.send(ChatEvent::Status { number, runs: false });
                }
            }
        }
    }

    /// Waits for the thread of a session that has ended.
    pub(crate) fn join(self) {
        match self {
            Self::Own(own) => drop(own.thread.join()),
            Self::Joined(joined) => joined.join(),
        }
    }
}
