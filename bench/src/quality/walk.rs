//! Runs a manager through a log as an agent would: before each answer, it gets the new entries and returns the
//! request. It does not see the answer before that.

use std::error::Error;

use super::log::Log;
use super::manager::{Manager, Sent};

/// One model call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    /// Its number in the session.
    pub(crate) number: usize,
    /// The request.
    pub(crate) sent: &'a Sent,
}

/// Asks the manager at each step and passes the request to the observer.
pub(crate) fn walk(
    log: &Log,
    manager: &mut dyn Manager,
    mut observe: impl FnMut(Step<'_>, &mut dyn Manager) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut told = 0;
    for (number, answer) in log.steps.iter().copied().enumerate() {
        let new = log.entries.get(told..answer).unwrap_or_default();
        let sent = manager.step(new).map_err(|error| {
            format!("{}, step {number} of {}: {error}", manager.name(), log.key)
        })?;
        told = answer;
        observe(Step { number, sent: &sent }, manager)?;
    }
    Ok(())
}
