//! Errors of the connection to the server, and their conversion into store errors.

use std::error::Error;
use std::io;

use tokio_postgres::error::SqlState;

use super::connection::LOCK_SECONDS;
use crate::{Outcome, Problem, SessionId, StoreError};

pub(super) type Result<T, E = PgError> = std::result::Result<T, E>;

#[derive(Debug)]
pub(super) enum PgError {
    /// The connection is lost, or could not be opened; a retry may succeed.
    ConnectionLost(String),
    /// The connection was refused, and a retry would not help, for example because of a wrong password.
    ConnectionRefused(String),
    /// The server returned an error, and nothing of the transaction is stored.
    Server(tokio_postgres::Error),
    Store(StoreError),
}

impl From<tokio_postgres::Error> for PgError {
    fn from(error: tokio_postgres::Error) -> Self {
        if is_lost(&error) { Self::ConnectionLost(full_text(&error)) } else { Self::Server(error) }
    }
}

impl From<StoreError> for PgError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PgError {
    pub(super) fn connecting(error: &tokio_postgres::Error) -> Self {
        let may_pass = is_lost(error) || error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS);
        if may_pass {
            Self::ConnectionLost(full_text(error))
        } else {
            Self::ConnectionRefused(full_text(error))
        }
    }

    pub(super) fn is(&self, state: &SqlState) -> bool {
        matches!(self, Self::Server(error) if error.code() == Some(state))
    }

    pub(super) fn reading(self, location: &str, session: Option<&SessionId>) -> StoreError {
        let session = session.cloned();
        self.error(location, |problem| StoreError::SessionReadFailed { session, problem })
    }

    /// Converts the error of a change. If the connection was lost, the change may be stored.
    pub(super) fn changing(self, location: &str, session: Option<&SessionId>) -> StoreError {
        let outcome = match self {
            Self::ConnectionLost(_) => Outcome::Unknown,
            Self::ConnectionRefused(_) | Self::Server(_) | Self::Store(_) => Outcome::NotStored,
        };
        self.writing(location, session, outcome)
    }

    pub(super) fn writing(
        self,
        location: &str,
        session: Option<&SessionId>,
        outcome: Outcome,
    ) -> StoreError {
        let session = session.cloned();
        self.error(location, |problem| StoreError::SessionWriteFailed { session, outcome, problem })
    }

    fn error(self, location: &str, convert: impl FnOnce(Problem) -> StoreError) -> StoreError {
        match self {
            Self::ConnectionLost(reason) | Self::ConnectionRefused(reason) => {
                convert(Problem::Connection { server: location.to_owned(), reason })
            }
            Self::Server(error) => convert(problem_of(&error, location)),
            Self::Store(error) => error,
        }
    }
}

fn problem_of(error: &tokio_postgres::Error, location: &str) -> Problem {
    let busy = [&SqlState::LOCK_NOT_AVAILABLE, &SqlState::T_R_DEADLOCK_DETECTED];
    match error.code() {
        Some(code) if busy.contains(&code) => Problem::Busy { seconds: LOCK_SECONDS },
        Some(code) if *code == SqlState::DISK_FULL => Problem::DiskFull,
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            Problem::ReadOnly(location.to_owned())
        }
        _ => Problem::Database(format!("{location} says: {}", full_text(error))),
    }
}

/// Returns whether the connection is unusable. This includes an announcement of the server that it closes the
/// connection.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let ended = [
        &SqlState::ADMIN_SHUTDOWN,
        &SqlState::CRASH_SHUTDOWN,
        &SqlState::CANNOT_CONNECT_NOW,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        &SqlState::IDLE_SESSION_TIMEOUT,
    ];
    let by_code =
        error.code().is_some_and(|code| ended.contains(&code) || code.code().starts_with("08"));
    by_code || error.is_closed() || error.source().is_some_and(|cause| cause.is::<io::Error>())
}

/// Returns the complete text of an error on one line. The driver's own text omits the server's message.
pub(super) fn full_text(error: &tokio_postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} ({})", db.message(), db.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        text.push_str(": ");
        text.push_str(&one.to_string());
        cause = one.source();
    }
    text
}
