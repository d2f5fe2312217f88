//! What can go wrong between us and the server, and the same as an error of the store.

use std::error::Error;
use std::io;

use tokio_postgres::error::SqlState;

use super::link::LOCK_SECONDS;
use crate::{Outcome, Problem, SessionId, StoreError};

pub(super) type Result<T, E = Trouble> = std::result::Result<T, E>;

#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection is gone, or there is none; another one may do.
    Lost(String),
    /// There is no connection, and trying again would not help: a wrong password, say.
    NoEntry(String),
    /// The server refused, and nothing of the transaction is stored.
    Db(tokio_postgres::Error),
    Store(StoreError),
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        if is_lost(&error) { Self::Lost(said(&error)) } else { Self::Db(error) }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Trouble {
    pub(super) fn connecting(error: &tokio_postgres::Error) -> Self {
        let may_pass = is_lost(error) || error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS);
        if may_pass { Self::Lost(said(error)) } else { Self::NoEntry(said(error)) }
    }

    pub(super) fn is(&self, state: &SqlState) -> bool {
        matches!(self, Self::Db(error) if error.code() == Some(state))
    }

    pub(super) fn reading(self, place: &str, session: Option<&SessionId>) -> StoreError {
        let session = session.cloned();
        self.error(place, |problem| StoreError::SessionReadFailed { session, problem })
    }

    /// Something could not be changed. A change whose connection was lost may be there.
    pub(super) fn changing(self, place: &str, session: Option<&SessionId>) -> StoreError {
        let outcome = match self {
            Self::Lost(_) => Outcome::Unknown,
            Self::NoEntry(_) | Self::Db(_) | Self::Store(_) => Outcome::NotStored,
        };
        self.writing(place, session, outcome)
    }

    pub(super) fn writing(
        self,
        place: &str,
        session: Option<&SessionId>,
        outcome: Outcome,
    ) -> StoreError {
        let session = session.cloned();
        self.error(place, |problem| StoreError::SessionWriteFailed { session, outcome, problem })
    }

    fn error(self, place: &str, of: impl FnOnce(Problem) -> StoreError) -> StoreError {
        match self {
            Self::Lost(reason) | Self::NoEntry(reason) => {
                of(Problem::Connection { server: place.to_owned(), reason })
            }
            Self::Db(error) => of(problem_of(&error, place)),
            Self::Store(error) => error,
        }
    }
}

fn problem_of(error: &tokio_postgres::Error, place: &str) -> Problem {
    let busy = [&SqlState::LOCK_NOT_AVAILABLE, &SqlState::T_R_DEADLOCK_DETECTED];
    match error.code() {
        Some(code) if busy.contains(&code) => Problem::Busy { seconds: LOCK_SECONDS },
        Some(code) if *code == SqlState::DISK_FULL => Problem::DiskFull,
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            Problem::ReadOnly(place.to_owned())
        }
        _ => Problem::Database(format!("{place} says: {}", said(error))),
    }
}

/// Whether the connection is of no more use. What the server says when it ends one counts too.
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

/// The whole of an error on one line: the driver's own text leaves out what the server said.
pub(super) fn said(error: &tokio_postgres::Error) -> String {
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
