//! Where a log and the machine disagree, named so that a person can judge it.

use std::fmt;

use tertulia_session::EntryId;

/// A place where the recorded decisions are not the machine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another decision than the machine's.
    Decision {
        at: EntryId,
        /// What the machine decided; `None` if nothing.
        expected: Option<Box<str>>,
        /// What is recorded.
        found: Box<str>,
    },
    /// A decision of the machine is not in the log.
    Missing {
        /// The entry before which it should stand.
        before: EntryId,
        /// The decision.
        expected: Box<str>,
    },
    /// The last step of the log is not whole: the machine would have decided more.
    Ending {
        /// The last entry.
        after: EntryId,
        /// The decision.
        expected: Box<str>,
    },
    /// A cause that this version did not write.
    Unreadable { at: EntryId, cause: Box<str> },
    /// A turn of somebody who does not sit at the table any more.
    Stranger {
        at: EntryId,
        /// The name.
        member: Box<str>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision { at, expected: Some(expected), found } => {
                write!(f, "{at}: the log says {found}; now it would be {expected}")
            }
            Self::Decision { at, expected: None, found } => {
                write!(f, "{at}: the log says {found}; now nothing would be decided")
            }
            Self::Missing { before, expected } => {
                write!(f, "before {before} the log does not say {expected}")
            }
            Self::Ending { after, expected } => {
                write!(
                    f,
                    "{after}: the log ends here; the current team would continue with {expected}"
                )
            }
            Self::Unreadable { at, cause } => write!(f, "{at}: '{cause}' is no cause known here"),
            Self::Stranger { at, member } => {
                write!(f, "{at}: {member} is not in the team; the turn is left out")
            }
        }
    }
}
