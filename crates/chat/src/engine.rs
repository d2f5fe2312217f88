//! The table in a thread of its own. What happens at it arrives as owned events in a channel; what people
//! want goes in by the door. Knows no screen: one by lines shows it today, a full one can tomorrow.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use tertulia_session::Entry;
use tertulia_store::SessionId;
use tertulia_team::{
    Audience, Command, Door, DriveError, Driver, Note, PermissionNumber, PermissionRequest,
    Question, SpeakerError, TableEvent, Visit, Why,
};

use super::style::{Line, Look};
use crate::error::ChatError;

/// Something to be shown.
pub enum Heard {
    /// An entry is in the log.
    Stored(Box<Entry>),
    /// The next piece of the answer of the turn that runs.
    Text(String),
    /// The pieces so far are one text.
    TextEnd,
    /// The pieces since the last end are void.
    TextWithdrawn,
    /// Something was refused or changed.
    Note(Note),
    /// A person is asked.
    Asked(Question),
    /// An agent wants to be allowed something.
    Permission {
        /// Its number, for the answer.
        number: PermissionNumber,
        /// The agent.
        member: Box<str>,
        /// What it wants.
        request: PermissionRequest,
    },
    /// Nothing runs and nothing waits.
    Rested,
    /// The answer to a command.
    Lines(Vec<Line>),
    /// What somebody wanted was not done; how a line that was not said ends a chat without a terminal.
    Refused {
        /// What people read.
        text: String,
        /// How the chat ends, if a line was not said.
        error: Option<ChatError>,
    },
    /// Whether something runs; the answer to [`Table::ask_status`] of this number.
    Status {
        /// The number of the question.
        number: u64,
        /// Whether something runs.
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
pub struct Voice {
    sender: Sender<Heard>,
    bell: Option<Arc<Bell>>,
}

/// Wakes a screen that waits for several things at once.
pub(crate) struct Bell {
    has_rung: AtomicBool,
    pipe: PipeWriter,
}

/// The other end of the bell.
pub(crate) struct BellEnd {
    pub(crate) pipe: PipeReader,
    bell: Arc<Bell>,
}

/// The table that runs.
pub(crate) struct Table {
    door: Door,
    session: SessionId,
    thread: JoinHandle<()>,
}

/// A voice, what it says, and a bell that rings when it speaks.
pub(crate) fn with_bell() -> std::io::Result<(Voice, Receiver<Heard>, BellEnd)> {
    let (reader, writer) = std::io::pipe()?;
    let bell = Arc::new(Bell { has_rung: AtomicBool::new(false), pipe: writer });
    let (mut voice, heard) = without_bell();
    voice.bell = Some(Arc::clone(&bell));
    Ok((voice, heard, BellEnd { pipe: reader, bell }))
}

/// A voice and what it says.
pub fn without_bell() -> (Voice, Receiver<Heard>) {
    let (sender, heard) = mpsc::channel();
    (Voice { sender, bell: None }, heard)
}

impl Voice {
    /// Says something. With nobody there it is lost.
    pub fn say(&self, heard: Heard) {
        let _ = self.sender.send(heard);
        if let Some(bell) = &self.bell
            && !bell.has_rung.swap(true, Ordering::SeqCst)
        {
            let _ = (&bell.pipe).write_all(b"!");
        }
    }

    /// Says that something could not be done.
    pub(crate) fn complain(&self, error: &dyn std::fmt::Display) {
        self.say(Heard::Lines(Line::all_of(&error.to_string(), Look::Alarm)));
    }

    /// Says something that is no error.
    pub(crate) fn remark(&self, text: &str) {
        self.say(Heard::Lines(Line::all_of(&tertulia_operations::names::short(text), Look::Dim)));
    }
}

/// Hears how a table is opened, and whether that asks about a turn that was cut off.
pub(crate) struct Opening {
    pub(crate) voice: Voice,
    pub(crate) is_asked: bool,
}

impl Audience for Opening {
    fn hear(&mut self, event: &TableEvent<'_>) {
        self.is_asked |= matches!(
            event,
            TableEvent::Asked(Question { why: Why::Resumed { interrupted: Some(_), .. }, .. })
        );
        self.voice.hear(event);
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

impl Audience for Voice {
    fn hear(&mut self, event: &TableEvent<'_>) {
        self.say(match *event {
            TableEvent::Stored(entry) => Heard::Stored(Box::new(entry.clone())),
            TableEvent::Text { text, .. } => Heard::Text(text.to_owned()),
            TableEvent::TextEnd { .. } => Heard::TextEnd,
            TableEvent::TextWithdrawn { .. } => Heard::TextWithdrawn,
            // That an answer was cut off is seen where it ends.
            TableEvent::Note(Note::Late { .. } | Note::Partial { .. }) => return,
            TableEvent::Note(note) => Heard::Note(note.clone()),
            TableEvent::Asked(question) => Heard::Asked(question.clone()),
            TableEvent::Refused(error) => {
                Heard::Refused { text: refused(error), error: not_said(error) }
            }
            TableEvent::Permission { number, member, request } => {
                Heard::Permission { number, member: member.into(), request: request.clone() }
            }
            TableEvent::Rested => Heard::Rested,
            TableEvent::Fed { .. } => return,
        });
    }
}

/// Why something was not done, with a cure for whoever types lines here.
fn refused(error: &DriveError) -> String {
    match error {
        DriveError::Speaker(SpeakerError::Several { people }) => format!(
            "the team has several people; begin the line with [FROM: name], or open the chat with \
             --as NAME: {}",
            people.join(", ")
        ),
        other => other.to_string(),
    }
}

/// Why a line was not said, with the exit code that `run` has for it; `None` if no line was.
fn not_said(error: &DriveError) -> Option<ChatError> {
    match error {
        DriveError::Speaker(SpeakerError::Several { .. }) => {
            Some(ChatError::NeedsPerson(refused(error)))
        }
        DriveError::Speaker(why) => Some(DriveError::Speaker(why.clone()).into()),
        DriveError::SomebodyElse => Some(DriveError::SomebodyElse.into()),
        // A turn was to be stopped, or the table ends anyway.
        _ => None,
    }
}

/// Whoever sits at the screen hears of the end, however sudden it is: else they would wait for ever.
fn sheltered(attend: impl FnOnce() -> Result<(), DriveError>) -> Result<(), DriveError> {
    catch_unwind(AssertUnwindSafe(attend)).unwrap_or(Err(DriveError::Broken))
}

impl Table {
    /// Lets a table run in its own thread.
    pub(crate) fn start(mut driver: Driver, voice: &Voice) -> std::io::Result<Self> {
        let (door, session) = (driver.door(), driver.session().clone());
        let voice = voice.clone();
        let thread = thread::Builder::new().name("tertulia-table".to_owned()).spawn(move || {
            let mut hearing = voice.clone();
            let ended = sheltered(move || {
                let ended = driver.attend(&mut hearing);
                drop(driver);
                ended
            });
            voice.say(Heard::Ended(ended));
        })?;
        Ok(Self { door, session, thread })
    }

    /// The session.
    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Where people come in.
    pub(crate) fn door(&self) -> &Door {
        &self.door
    }

    /// Hands something in. A table that is gone has said so.
    pub(crate) fn send(&self, command: Command) {
        let _ = self.door.send(command);
    }

    /// Asks whether something runs. The number tells the answer from those to earlier questions.
    pub(crate) fn ask_status(&self, voice: &Voice, number: u64) {
        let voice = voice.clone();
        self.send(Command::Visit(Visit::new(move |driver, _| {
            voice.say(Heard::Status { number, runs: driver.is_running() });
            Ok(())
        })));
    }

    /// Waits for the thread of a table that has ended.
    pub(crate) fn join(self) {
        let _ = self.thread.join();
    }
}
