//! The end of a stored session, as much of it as a window needs: read back from the newest entry in growing
//! steps, so that the cost follows the window and not the session.

use std::sync::Arc;

use tertulia_context::ContextSnapshot;
use tertulia_session::Fields;
use tertulia_store::{Range, SessionId, SessionStore};

use crate::error::CliError;
use crate::spoken::Spoken;

/// How many entries are read at first, at least.
const ENTRIES_FIRST: usize = 64;
/// How many times as many are read when that was not enough.
const GROWTH: usize = 4;
/// How far back the team's task is looked for once there are enough messages.
pub(super) const TASK_ENTRIES_MAX: usize = 65_536;

/// The end of a session.
pub(super) struct Ending {
    pub(super) snapshot: ContextSnapshot,
    /// Whether there are older entries that were not read.
    pub(super) is_cut: bool,
    /// Whether an older entry may say what the team's task is.
    pub(super) is_task_open: bool,
}

/// The newest messages with words on the current branch, the newest and as many before it as the window
/// has, and the team's task.
pub(super) fn read_ending(
    store: &SessionStore,
    session: &SessionId,
    window: usize,
) -> Result<Ending, CliError> {
    let wanted = window.saturating_add(1);
    let tail = store.info(session)?.tail;
    let mut limit = wanted.saturating_mul(2).max(ENTRIES_FIRST);
    loop {
        let range = Range::Branch { tail: tail.clone(), limit: Some(limit) };
        let entries = store.load(session, &range)?;
        let is_whole = entries.len() < limit;
        let (mut messages, mut task, mut is_cut) = (Vec::new(), None, !is_whole);
        for stored in entries.into_iter().rev() {
            match Spoken::of(stored.entry) {
                Spoken::Said(message, _) if messages.len() < wanted => {
                    messages.push(Arc::new(*message));
                }
                Spoken::Said(..) => is_cut = true,
                Spoken::Task(newest) if task.is_none() => task = Some(newest),
                _ => {}
            }
        }
        let has_enough = messages.len() >= wanted;
        let is_task_open = task.is_none() && !is_whole;
        if is_whole || has_enough && (!is_task_open || limit >= TASK_ENTRIES_MAX) {
            messages.reverse();
            let team_task = task.flatten().map(String::from);
            let snapshot =
                ContextSnapshot { messages, team_task, timestamp: None, unknown: Fields::NONE };
            return Ok(Ending { snapshot, is_cut, is_task_open });
        }
        limit = limit.saturating_mul(GROWTH);
    }
}
