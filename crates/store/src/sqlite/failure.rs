//! Why a transaction failed, as everybody who waited for it is told.

use crate::{Outcome, Problem, SessionId, StoreError};

/// Why a transaction did not come about.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) outcome: Outcome,
    pub(super) problem: Problem,
}

impl Failure {
    /// As the error of one of those who waited for it.
    pub(super) fn of(&self, session: &SessionId) -> StoreError {
        self.error(Some(session.clone()))
    }

    pub(super) fn error(&self, session: Option<SessionId>) -> StoreError {
        let Self { outcome, problem } = self.clone();
        StoreError::SessionWriteFailed { session, outcome, problem }
    }
}
