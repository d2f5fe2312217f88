//! What happens at the table, as the machine is told. The driver makes events from its doors, agents
//! and store; `replay` makes them from a log. Data only.

use tertulia_session::EntryId;

use crate::PersonMessage;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A person said something, and it is an entry. Who, where the door knows; else as `[FROM: …]` says, the person that
    /// is waited for, or the only one.
    PersonSaid { entry: EntryId, member: Option<Box<str>>, message: Box<PersonMessage> },
    /// The agent of this turn works. Nothing is decided by it.
    TurnStarted { turn: EntryId },
    /// An agent's answer is an entry: its own final text, without tool output, thinking or words of others. What is left
    /// of one that was interrupted routes nothing.
    AgentSaid { turn: EntryId, entry: EntryId, text: String, interrupted: bool },
    /// An agent could not answer, or ended after its turn was cancelled. The class is that of the failure, such as `quota`.
    AgentFailed { turn: EntryId, class: Box<str>, entry: Option<EntryId> },
    /// Turns are to stop.
    Cancel(Cancel),
    /// A member has cost this much.
    UsageSeen { member: Box<str>, usd: f64 },
    /// A person is to be asked after so many turns at the latest; `None`: as the team says.
    TurnsLimited { turns: Option<u32> },
    /// What waits may go on.
    Continue,
    /// The table was opened again after its process had ended; see [`crate::Machine::replay`].
    Resume,
    /// The person wants a turn again that failed, was cancelled or interrupted.
    Repeat { turn: EntryId },
}

/// Which turns are stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// This one, whether it runs or waits.
    Turn(EntryId),
    /// The one that runs and all that wait.
    All,
}
