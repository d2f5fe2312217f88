//! Events that the driver emits, and commands that it takes. Data only: all displays of a session get the same events.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tertulia_agent::{PermissionAnswer, PermissionRequest};
use tertulia_session::{Entry, EntryId};
use tertulia_store::{Problem, StoreError};

use super::Driver;
use crate::effect::Cancel;
use crate::{Note, PersonMessage, Question, SpeakerError};

/// An event of a session, for display. Owned, so that it can cross threads.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// An entry was stored: a message, a turn state, usage or a turn event.
    Stored(Arc<Entry>),
    /// The agent of this turn has received the first byte of its prompt.
    Fed {
        turn: EntryId,
        member: Box<str>,
    },
    /// The next piece of an answer. Only the whole answer is stored.
    Text {
        turn: EntryId,
        member: Box<str>,
        text: String,
    },
    /// The pieces so far form one text; the next piece begins another.
    TextEnd {
        turn: EntryId,
        member: Box<str>,
    },
    /// The pieces since the last `TextEnd` are not part of the answer.
    TextWithdrawn {
        turn: EntryId,
        member: Box<str>,
    },
    Note(Note),
    Asked(Question),
    /// A command was refused; the session continues.
    Refused(Arc<DriveError>),
    /// An agent requests a permission; [`Command::Permit`] answers.
    Permission {
        number: PermissionNumber,
        member: Box<str>,
        request: PermissionRequest,
    },
    /// Nothing runs, nothing waits and no person is asked.
    Rested,
}

/// Identifies a permission request, so that no answer reaches another request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionNumber(pub(crate) u64);

/// Receives the events of a session.
pub trait EventSink {
    fn on_event(&mut self, event: SessionEvent);

    fn on_text(&mut self, turn: &EntryId, member: &str, text: String) {
        self.on_event(SessionEvent::Text { turn: turn.clone(), member: member.into(), text });
    }
}

impl EventSink for Sender<SessionEvent> {
    /// Sends the event to another thread. Drops it if there is no receiver any more.
    fn on_event(&mut self, event: SessionEvent) {
        let _ = self.send(event);
    }
}

/// A command of a person to the driver.
#[derive(Debug)]
#[non_exhaustive]
pub enum Command {
    /// Send a message. Without `member`, the sender is the person that `[FROM: …]` names, or else the result of
    /// [`crate::Machine::speaker_of`].
    Say {
        member: Option<Box<str>>,
        message: Box<PersonMessage>,
    },
    Cancel(Cancel),
    /// Cancel all running turns.
    CancelRunning,
    /// Continue paused turns.
    Continue,
    /// Retry a turn.
    Repeat(EntryId),
    /// Answer a permission request. Ignored if the request is no longer open.
    Permit(PermissionNumber, PermissionAnswer),
    /// Summarise the messages so far.
    Compact,
    /// Call a function with the driver.
    Call(Call),
    /// Close the session. A running turn is stopped.
    Close,
}

type CallFn = dyn FnOnce(&mut Driver, &mut dyn EventSink) -> Result<(), DriveError> + Send;

/// A function to call with the driver, in its thread, between two inputs.
pub struct Call(pub(super) Box<CallFn>);

impl Call {
    /// Wraps a function. It must not take long, because the session waits for it.
    pub fn new(
        function: impl FnOnce(&mut Driver, &mut dyn EventSink) -> Result<(), DriveError>
        + Send
        + 'static,
    ) -> Self {
        Self(Box::new(function))
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

/// The reason why [`Driver::run`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// No work is left.
    Rested,
    /// A person must answer or decide.
    Asked(Question),
    /// An agent requested a permission, and nobody could be asked.
    PermissionNeeded { member: Box<str>, title: Box<str> },
    /// Another process runs an agent for this session, and continues the queued turns.
    Elsewhere,
    /// The session was closed.
    Closed,
}

/// An error of the driver. Failures within a turn are entries, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The session could not be read or written. Steps that were not stored had no effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "nothing was stored, because another process uses or has changed this session; close it \
         there, or try again"
    )]
    SessionInUse,
    #[error(
        "another process runs this session now, or may do so, because this one could not be reached for a while; its \
         agents were stopped, and all stored entries are kept. Open the session again to join or continue it"
    )]
    LeaseLost,
    #[error("This turn runs in another process; stop it there.")]
    Elsewhere,
    /// New work for a session that is being closed. Nothing was stored.
    #[error("not sent, because the process that runs this session is closing it")]
    Closing,
    #[error(
        "internal error, please report it; all stored entries are kept. Open the session again."
    )]
    Broken,
    #[error(transparent)]
    Speaker(#[from] SpeakerError),
}

impl DriveError {
    /// Returns whether the driver cannot continue; otherwise only the command was refused.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Broken | Self::LeaseLost)
    }

    pub(super) fn from_store(error: StoreError) -> Self {
        match error {
            StoreError::SessionConcurrentWrite { .. } => Self::SessionInUse,
            StoreError::SessionLeaseLost { .. } => Self::LeaseLost,
            // Ids are derived from decisions, so an equal id means that another process has made the same decision.
            StoreError::SessionWriteFailed { problem: Problem::OtherContent(_), .. } => {
                Self::SessionInUse
            }
            other => Self::Store(other),
        }
    }
}
