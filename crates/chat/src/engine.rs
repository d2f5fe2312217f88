//! The table in a thread of its own. What happens at it arrives as owned events in a channel; what people
//! want goes in by the door. Knows no screen: one by lines shows it today, a full one can tomorrow.

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
    Command, Door, DriveError, Driver, EventSink, Question, SessionEvent, SpeakerError, Visit, Why,
};

use super::style::{Line, Look};
use crate::error::ChatError;

/// What a chat waits for: what happens in its session, and answers to what was typed.
pub(crate) enum ChatEvent {
    Session(SessionEvent),
    Text(String),
    Lines(Vec<Line>),
    /// What somebody wanted was not done, for this reason.
    Refused(String),
    /// A line was not said; a chat without a terminal ends with this.
    NotSaid(ChatError),
    /// Whether something runs; the answer to [`Table::ask_status`] of this number.
    Status {
        number: u64,
        runs: bool,
    },
    /// A new session was made of this one; the conversation continues there.
    Forked(SessionId),
    /// It was not, for this reason.
    NotForked(String),
    /// The table was left, or cannot go on.
    Ended(Result<(), DriveError>),
}

/// Tells what happens; may be cloned into visits.
#[derive(Clone)]
pub(crate) struct Voice {
    sender: Sender<ChatEvent>,
    bell: Option<Arc<Bell>>,
}

/// Wakes a screen that waits for several things at once.
pub(crate) struct Bell {
    has_rung: AtomicBool,
    pipe: PipeWriter,
}

pub(crate) struct BellEnd {
    pub(crate) pipe: PipeReader,
    bell: Arc<Bell>,
}

pub(crate) struct Table {
    /// Where people come in.
    pub(crate) door: Door,
    pub(crate) session: SessionId,
    thread: JoinHandle<()>,
}

pub(crate) fn with_bell() -> std::io::Result<(Voice, Receiver<ChatEvent>, BellEnd)> {
    let (reader, writer) = std::io::pipe()?;
    let bell = Arc::new(Bell { has_rung: AtomicBool::new(false), pipe: writer });
    let (mut voice, heard) = without_bell();
    voice.bell = Some(Arc::clone(&bell));
    Ok((voice, heard, BellEnd { pipe: reader, bell }))
}

pub(crate) fn without_bell() -> (Voice, Receiver<ChatEvent>) {
    let (sender, heard) = mpsc::channel();
    (Voice { sender, bell: None }, heard)
}

impl Voice {
    /// Says something. With nobody there it is lost.
    pub(crate) fn say(&self, heard: ChatEvent) {
        let _ = self.sender.send(heard);
        if let Some(bell) = &self.bell
            && !bell.has_rung.swap(true, Ordering::SeqCst)
        {
            let _ = (&bell.pipe).write_all(b"!");
        }
    }

    pub(crate) fn complain(&self, error: &dyn std::fmt::Display) {
        self.say(ChatEvent::Lines(Line::all_of(&error.to_string(), Look::Alarm)));
    }

    pub(crate) fn remark(&self, text: &str) {
        self.say(ChatEvent::Lines(Line::all_of(&short(text), Look::Dim)));
    }
}

/// Hears how a table is opened, and whether that asks about a turn that was cut off.
pub(crate) struct Opening {
    pub(crate) voice: Voice,
    pub(crate) is_asked: bool,
}

impl EventSink for Opening {
    fn on_event(&mut self, event: SessionEvent) {
        self.is_asked |= matches!(
            &event,
            SessionEvent::Asked(Question { why: Why::Resumed { interrupted: Some(_), .. }, .. })
        );
        self.voice.on_event(event);
    }
}

impl BellEnd {
    /// Makes the bell ready to ring again. What was said before is to be read after this.
    pub(crate) fn reset(&mut self) {
        // At most one byte is in it.
        let _ = self.pipe.read(&mut [0; 8]);
        self.bell.has_rung.store(false, Ordering::SeqCst);
    }
}

impl EventSink for Voice {
    fn on_event(&mut self, event: SessionEvent) {
        self.say(match event {
            SessionEvent::Refused(error) => refused(&error),
            event => ChatEvent::Session(event),
        });
    }

    fn on_text(&mut self, _: &EntryId, _: &str, text: String) {
        self.say(ChatEvent::Text(text));
    }
}

/// The event for a command that was refused. It says how to fix that in the chat and has the exit code that `run` uses.
fn refused(error: &DriveError) -> ChatEvent {
    ChatEvent::NotSaid(match error {
        DriveError::Speaker(SpeakerError::Several { people }) => {
            several_people("begin the line with [FROM: name], or open", people)
        }
        DriveError::Speaker(why) => DriveError::Speaker(why.clone()).into(),
        DriveError::SomebodyElse => DriveError::SomebodyElse.into(),
        // A turn was to be stopped, or the table ends anyway.
        other => return ChatEvent::Refused(other.to_string()),
    })
}

/// The error for a team with several people where nobody said who is typing; `fix` says what to do.
pub(crate) fn several_people(fix: &str, people: &[Box<str>]) -> ChatError {
    let people = people.join(", ");
    ChatError::NeedsPerson(format!(
        "the team has several people; {fix} the chat with --as NAME: {people}"
    ))
}

impl Table {
    pub(crate) fn start(mut driver: Driver, voice: &Voice) -> std::io::Result<Self> {
        let (door, session) = (driver.door(), driver.session().clone());
        let voice = voice.clone();
        let thread = thread::Builder::new().name("tertulia-table".to_owned()).spawn(move || {
            let mut hearing = voice.clone();
            let attend = move || {
                let ended = driver.attend(&mut hearing);
                drop(driver);
                ended
            };
            // Whoever sits at the screen hears of the end, however sudden it is: else they would wait for ever.
            let ended = catch_unwind(AssertUnwindSafe(attend)).unwrap_or(Err(DriveError::Broken));
            voice.say(ChatEvent::Ended(ended));
        })?;
        Ok(Self { door, session, thread })
    }

    /// Hands something in. A table that is gone has said so.
    pub(crate) fn send(&self, command: Command) {
        let _ = self.door.send(command);
    }

    /// Asks whether something runs. The number tells the answer from those to earlier questions.
    pub(crate) fn ask_status(&self, voice: &Voice, number: u64) {
        let voice = voice.clone();
        self.send(Command::Visit(Visit::new(move |driver, _| {
            voice.say(ChatEvent::Status { number, runs: driver.is_running() });
            Ok(())
        })));
    }

    /// Waits for the thread of a table that has ended.
    pub(crate) fn join(self) {
        let _ = self.thread.join();
    }
}
