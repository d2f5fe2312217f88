//! What the driver tells while it works, and what it is told. Data only: whoever shows a table, or
//! writes it as JSON, hears the same.

use std::fmt;

use tertulia_agent::{PermissionAnswer, PermissionRequest};
use tertulia_session::{Entry, EntryId};

use super::{DriveError, Driver};
use crate::event::Cancel;
use crate::{Note, Question};

/// Something to be shown.
#[derive(Clone, Copy, Debug)]
pub enum TableEvent<'a> {
    /// An entry is in the log: a message, a state of a turn, a figure, a [`super::TurnNote`].
    Stored(&'a Entry),
    /// The agent of this turn has got the first byte of its prompt.
    Fed {
        /// The turn.
        turn: &'a EntryId,
        /// Whose it is.
        member: &'a str,
    },
    /// The next piece of an answer. Pieces are not stored; the answer is.
    Text {
        /// The turn.
        turn: &'a EntryId,
        /// Whose it is.
        member: &'a str,
        /// The piece.
        text: &'a str,
    },
    /// The pieces so far are one text; what follows is another.
    TextEnd {
        /// The turn.
        turn: &'a EntryId,
        /// Whose it is.
        member: &'a str,
    },
    /// The pieces since the last end are void.
    TextWithdrawn {
        /// The turn.
        turn: &'a EntryId,
        /// Whose it is.
        member: &'a str,
    },
    /// Something was refused or changed.
    Note(&'a Note),
    /// A person is asked.
    Asked(&'a Question),
    /// What somebody wanted was not done; the table goes on.
    Refused(&'a DriveError),
    /// An agent wants to be allowed something; [`super::Door::permit`] answers.
    Permission {
        /// Which question this is.
        number: PermissionNumber,
        /// Whose turn it is.
        member: &'a str,
        /// What it wants.
        request: &'a PermissionRequest,
    },
    /// Nothing runs, nothing waits and nobody is asked.
    Rested,
}

/// Tells one question of an agent from the next, so that no answer reaches another question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionNumber(pub(super) u64);

/// Who is told.
pub trait Audience {
    /// Something happened.
    fn hear(&mut self, event: &TableEvent<'_>);
}

/// What people want of the table.
#[derive(Debug)]
pub enum Command {
    /// Somebody says something.
    Say {
        /// Who; else as [`crate::Machine::speaker_of`] finds out.
        member: Option<Box<str>>,
        /// What.
        text: String,
    },
    /// Turns are to stop.
    Cancel(Cancel),
    /// The turn that runs is to stop, if there is one.
    CancelRunning,
    /// The table is to go on.
    Continue,
    /// A turn is wanted again.
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

/// What a visitor does.
type Errand = dyn FnOnce(&mut Driver, &mut dyn Audience) -> Result<(), DriveError> + Send;

/// Something to be done with the driver, in its thread, between two things that happen.
pub struct Visit(pub(super) Box<Errand>);

impl Visit {
    /// A visit that does this. It must not take long: the table waits.
    pub fn new(
        errand: impl FnOnce(&mut Driver, &mut dyn Audience) -> Result<(), DriveError> + Send + 'static,
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
    PermissionNeeded {
        /// Which member.
        member: Box<str>,
        /// What it wanted.
        title: Box<str>,
    },
    /// Another program at this table lets an agent answer, and goes on with what waits here.
    Elsewhere,
    /// The table was left.
    Closed,
}
