//! Where a log and the machine disagree, named so that a person can judge it.

use tertulia_session::EntryId;

/// A place where the recorded decisions are not the machine's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Another decision than the machine's.
    #[error("{at}: the log says {found}; now {}", match expected {
        Some(expected) => format!("it would be {expected}"),
        None => "nothing would be decided".to_owned(),
    })]
    Decision { at: EntryId, expected: Option<Box<str>>, found: Box<str> },
    /// A decision of the machine is not in the log.
    #[error("before {before} the log does not say {expected}")]
    Missing { before: EntryId, expected: Box<str> },
    /// The last step of the log is not whole: the machine would have decided more.
    #[error("{after}: the log ends here; the current team would continue with {expected}")]
    Ending { after: EntryId, expected: Box<str> },
    /// A cause that this version did not write.
    #[error("{at}: '{cause}' is no cause known here")]
    Unreadable { at: EntryId, cause: Box<str> },
    /// A turn of somebody who does not sit at the table any more.
    #[error("{at}: {member} is not in the team; the turn is left out")]
    Stranger { at: EntryId, member: Box<str> },
}
