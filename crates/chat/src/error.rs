//! What ends a chat before its time.

use std::io;

use tertulia_operations::lines::LineError;
use tertulia_team::DriveError;

/// Why a chat cannot go on, or why a line was not said.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The terminal, or what is read from, broke.
    #[error("cannot read standard input: {0}")]
    Input(#[source] io::Error),
    /// What is written to broke.
    #[error("cannot write standard output: {0}")]
    Output(#[source] io::Error),
    /// The screen is gone.
    #[error("standard output was closed")]
    ReaderDone,
    /// A line cannot be read.
    #[error("standard input: {0}")]
    Line(#[source] LineError),
    /// The person who types and the text name two people.
    #[error(
        "--as {flag} and [FROM: {marker}] in the text name two speakers; leave one of them out"
    )]
    TwoSpeakers {
        /// Who types.
        flag: String,
        /// Who is named in the text.
        marker: String,
    },
    /// A person is to decide.
    #[error("{0}")]
    NeedsPerson(String),
    /// The session cannot go on.
    #[error(transparent)]
    Drive(#[from] DriveError),
}
