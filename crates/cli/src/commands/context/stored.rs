//! The end of a stored session, as much of it as a window needs: read back from the newest entry in growing
//! steps, so that the cost follows the window and not the session.

use std::sync::Arc;

use tertulia_context::{ContextSnapshot, messages_of_window};
use tertulia_operations::spoken::Spoken;
use tertulia_session::Fields;
use tertulia_store::{Range, SessionId, SessionStore};

use crate::error::CliError;

/// How many entries are read at first, at least.
const ENTRIES_FIRST: usize = 8;
/// How many times as many are read when that was not enough.
const GROWTH: usize = 4;

/// The end of a session.
pub(super) struct Ending {
    pub(super) snapshot: ContextSnapshot,
    /// Whether there are older entries that were not read.
    pub(super) is_cut: bool,
}

/// The newest messages with words on the current branch, the newest and as many before it as the window
/// has, and the team's task.
pub(super) fn read_ending(
    store: &SessionStore,
    session: &SessionId,
    window: usize,
) -> Result<Ending, CliError> {
    let wanted = messages_of_window(window);
    let mut limit = wanted.saturating_mul(2).max(ENTRIES_FIRST);
    loop {
        let range = Range::Branch { tail: None, limit: Some(limit) };
        let entries = store.load(session, &range)?;
        let is_whole = entries.len() < limit;
        let (mut messages, mut is_cut) = (Vec::new(), !is_whole);
        for stored in entries.into_iter().rev() {
            match Spoken::from(stored.entry) {
                Spoken::Said(message, _) if messages.len() < wanted => {
                    messages.push(Arc::new(*message));
                }
                Spoken::Said(..) => is_cut = true,
                _ => {}
            }
        }
        if is_whole || messages.len() >= wanted {
            messages.reverse();
            let team_task = team_task(store, session)?;
            let snapshot =
                ContextSnapshot { messages, team_task, timestamp: None, unknown: Fields::NONE };
            return Ok(Ending { snapshot, is_cut });
        }
        limit = limit.saturating_mul(GROWTH);
    }
}

/// The store finds it without reading the log.
fn team_task(store: &SessionStore, session: &SessionId) -> Result<Option<String>, CliError> {
    let newest = store.team_task(session)?.map(|stored| Spoken::from(stored.entry));
    Ok(match newest {
        Some(Spoken::Task(task)) => task.map(String::from),
        _ => None,
    })
}
