//! What happens at the table, as the machine is told. The driver makes events from its doors, agents
//! and store; `replay` makes them from a log. Data only.

use tertulia_session::EntryId;

use crate::PersonMessage;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A person said something, and it is an entry.
    PersonSaid {
        entry: EntryId,
        /// Who says so, where the door knows; else `[FROM: …]`, the person that is waited for, or the
        /// only one.
        member: Option<Box<str>>,
        message: Box<PersonMessage>,
    },
    /// The agent of this turn works. Nothing is decided by it.
    TurnStarted {
        turn: EntryId,
    },
    /// An agent's answer is complete, or what there is of it, and it is an entry.
    AgentSaid {
        turn: EntryId,
        entry: EntryId,
        /// The agent's own final text: no tool output, no thinking, no words of others.
        text: String,
        /// Whether the answer was cut off. What is left of it routes nothing.
        interrupted: bool,
    },
    /// An agent could not answer, or ended after its turn was cancelled.
    AgentFailed {
        turn: EntryId,
        /// The class of the failure, such as `quota`.
        class: Box<str>,
        entry: Option<EntryId>,
    },
    Cancel(Cancel),
    UsageSeen {
        member: Box<str>,
        usd: f64,
    },
    /// A person is to be asked after so many turns at the latest; `None`: as the team says.
    TurnsLimited {
        turns: Option<u32>,
    },
    Continue,
    /// The table was opened again after its process had ended; see [`crate::Machine::replay`].
    Resume,
    /// The person wants a turn again that failed, was cancelled or interrupted.
    Repeat {
        turn: EntryId,
    },
}

/// Which turns are stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// This one, whether it runs or waits.
    Turn(EntryId),
    /// The one that runs and all that wait.
    All,
}
