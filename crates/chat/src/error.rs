//! Errors that end a chat, and reasons why a chat command fails. Their advice can be followed in the chat; the advice of
//! the command line would name options that a chat does not have.

use std::io;

use tertulia_operations::lines::LineError;
use tertulia_operations::names::{NameError, short};
use tertulia_store::StoreError;
use tertulia_team::{DriveError, UnknownMember};

use crate::join::JoinError;
use crate::terminal::excerpt;

/// Maximum width of typed text in an error.
const GIVEN_COLUMNS: usize = 50;

/// An error that ends a chat, or the reason why a line was not sent.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("cannot read standard input: {0}")]
    Input(#[source] io::Error),
    #[error("cannot write standard output: {0}")]
    Output(#[source] io::Error),
    #[error("standard output was closed")]
    ReaderDone,
    #[error("standard input: {0}")]
    Line(#[source] LineError),
    #[error(
        "--as {flag} and [FROM: {marker}] in the text name different speakers; remove one of them"
    )]
    TwoSpeakers { flag: String, marker: String },
    #[error("{0}")]
    NeedsPerson(String),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Join(#[from] JoinError),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Unknown(#[from] UnknownMember),
    #[error("{source}; to add a message, put a colon before it: /next {}: …", .names.join(", "))]
    NotAName { source: UnknownMember, names: Vec<String> },
    #[error("the team has only people, and people get no prompt")]
    OnlyPeople,
    #[error("{}", not_found(.0))]
    Entry(#[from] NameError),
    #[error("this entry is not a turn; /queue and /why list turns")]
    NoTurn,
    #[error("{member} has had no turn yet; /next {member} gives it one")]
    NoTurnYet { member: Box<str> },
    #[error("a turn is running; wait for it or /cancel it, then fork")]
    TurnRuns,
    #[error("nothing to fork: the session has no messages yet")]
    NothingSaid,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Drive(#[from] DriveError),
}

fn not_found(error: &NameError) -> String {
    let NameError::UnknownEntry { given, nearest, .. } = error else { return error.to_string() };
    let hint = match nearest {
        Some(nearest) => format!("did you mean {}?", short(nearest)),
        None => "/why and /queue show entry IDs".to_owned(),
    };
    format!("there is no entry {} in this session; {hint}", excerpt(given, GIVEN_COLUMNS))
}
