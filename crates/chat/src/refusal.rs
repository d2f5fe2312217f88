//! Why a command of the chat cannot be done, with a cure that can be typed here: the advice of the command
//! line would name options that a chat does not have.

use tertulia_operations::names::{NameError, short};
use tertulia_store::StoreError;
use tertulia_team::UnknownMember;

use crate::terminal::excerpt;

/// How much of what was typed is said again.
const GIVEN_COLUMNS: usize = 50;

/// Why a command cannot be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// A name that nobody has.
    #[error(transparent)]
    Unknown(#[from] UnknownMember),
    /// A word among names that is nearly one.
    #[error("{error}; before words put a colon: /next {}: …", .names.join(", "))]
    NotAName {
        #[source]
        error: UnknownMember,
        names: Vec<String>,
    },
    /// Nobody here gets prompts.
    #[error("the team has only people, and people get no prompt")]
    OnlyPeople,
    /// No entry has this id, nor begins with it.
    #[error(
        "there is no entry {} in this session; {}",
        excerpt(.given, GIVEN_COLUMNS),
        nearest_hint(.nearest.as_deref())
    )]
    UnknownEntry { given: String, nearest: Option<String> },
    /// An entry that is no turn.
    #[error("this entry is not a turn; /queue and /why list turns")]
    NoTurn,
    /// A member that has not spoken.
    #[error("{member} had no turn yet; /next {member} lets it speak")]
    NoTurnYet { member: Box<str> },
    /// A turn would be torn apart.
    #[error("a turn runs; wait for it, or /cancel it, then fork")]
    TurnRuns,
    /// An empty session.
    #[error("nothing was said yet; there is nothing to fork")]
    NothingSaid,
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something else.
    #[error(transparent)]
    Other(NameError),
}

impl Refusal {
    /// Why an entry was not found.
    pub(crate) fn of(error: NameError) -> Self {
        match error {
            NameError::UnknownEntry { given, nearest, .. } => Self::UnknownEntry { given, nearest },
            other => Self::Other(other),
        }
    }
}

fn nearest_hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {}?", short(nearest)),
        None => "/why and /queue show some".to_owned(),
    }
}
