//! What the driver tells while it works, and what it is told. Data only: all who show a session get the same events.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tertulia_agent::{PermissionAnswer, PermissionRequest};
use tertulia_session::{Entry, EntryId};
use tertulia_store::{Problem, StoreError};

use super::Driver;
use crate::effect::Cancel;
use crate::{Note, PersonMessage, Question, SpeakerError};

/// Something that happened in a session, for whoever shows it. Owned, so that it can cross threads.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// An entry is in the log: a message, a state of a turn, a figure, what happened during a turn.
    Stored(Arc<Entry>),
    /// The agent of this turn has got the first byte of its prompt.
    Fed { turn: EntryId, member: Box<str> },
    /// The next piece of an answer. Pieces are not stored; the answer is.
    Text { turn: EntryId, member: Box<str>, text: String },
    /// The pieces so far are one text; what follows is another.
    TextEnd { turn: EntryId, member: Box<str> },
    /// The pieces since the last end are void.
    TextWithdrawn { turn: EntryId, member: Box<str> },
    /// Something was refused or changed.
    Note(Note),
    /// A person is asked.
    Asked(Question),
    /// What somebody wanted was not done; the session goes on.
    Refused(Arc<DriveError>),
    /// An agent wants to be allowed something; [`Command::Permit`] answers.
    Permission { number: PermissionNumber, member: Box<str>, request: PermissionRequest },
    /// Nothing runs, nothing waits and nobody is asked.
    Rested,
}

/// Tells one question of an agent from the next, so that no answer reaches another question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionNumber(pub(super) u64);

/// Receives what happens in a session.
pub trait EventSink {
    fn on_event(&mut self, event: SessionEvent);

    fn on_text(&mut self, turn: &EntryId, member: &str, text: String) {
        self.on_event(SessionEvent::Text { turn: turn.clone(), member: member.into(), text });
    }
}

impl EventSink for Sender<SessionEvent> {
    /// Sends it to another thread. Where nobody receives any more, it is dropped.
    fn on_event(&mut self, event: SessionEvent) {
        let _ = self.send(event);
    }
}

/// What people want of the table.
#[derive(Debug)]
#[non_exhaustive]
pub enum Command {
    /// Somebody says this. Who; else as `[FROM: …]` says, or as [`crate::Machine::speaker_of`] finds out.
    Say { member: Option<Box<str>>, message: Box<PersonMessage> },
    /// Turns are to stop.
    Cancel(Cancel),
    /// The turn that runs is to stop, if there is one.
    CancelRunning,
    /// What waits may go on.
    Continue,
    /// A turn is wanted once more.
    Repeat(EntryId),
    /// An agent gets its answer. One to a question that is not open any more is dropped.
    Permit(PermissionNumber, PermissionAnswer),
    /// What was said so far is to be covered by minutes now.
    Compact,
    /// Somebody wants to look around, or to do what needs the driver itself.
    Visit(Visit),
    /// The table is to be left. A turn that runs is stopped.
    Close,
}

type Errand = dyn FnOnce(&mut Driver, &mut dyn EventSink) -> Result<(), DriveError> + Send;

/// Something to be done with the driver, in its thread, between two things that happen.
pub struct Visit(pub(super) Box<Errand>);

impl Visit {
    /// A visit that does this. It must not take long: the table waits.
    pub fn new(
        errand: impl FnOnce(&mut Driver, &mut dyn EventSink) -> Result<(), DriveError> + Send + 'static,
    ) -> Self {
        Self(Box::new(errand))
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Visit")
    }
}

/// Why the driver stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Nothing is left to do.
    Rested,
    /// A person is to answer or to decide.
    Asked(Question),
    /// An agent wanted to be allowed something, and nobody was there to be asked.
    PermissionNeeded { member: Box<str>, title: Box<str> },
    /// Another program at this table lets an agent answer, and goes on with what waits here.
    Elsewhere,
    /// The table was left.
    Closed,
}

/// Why a table cannot go on. What goes wrong in a turn is no error of the table: it is an entry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The session could not be read or written. What was not stored did not happen.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "another process uses or has changed this session, so nothing was stored; try again, or \
         close it there"
    )]
    SomebodyElse,
    #[error("This turn runs in another process; stop it there.")]
    Elsewhere,
    #[error("internal error, please report it; everything stored is kept. Open the session again.")]
    Broken,
    #[error(transparent)]
    Speaker(#[from] SpeakerError),
}

impl DriveError {
    /// Whether the table cannot go on; else only what was wanted was not done.
    pub(super) fn ends_table(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Broken)
    }

    pub(super) fn of(error: StoreError) -> Self {
        match error {
            StoreError::SessionConcurrentWrite { .. } => Self::SomebodyElse,
            // The ids of decisions follow from the decisions: somebody else has made the same one.
            StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. } => {
                Self::SomebodyElse
            }
            other => Self::Store(other),
        }
    }
}
