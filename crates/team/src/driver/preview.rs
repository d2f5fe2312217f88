//! What a member would get from a stored session now. Nothing is written, and no machine is replayed: a prompt
//! follows from the log and the member's settings alone.

use tertulia_session::Entry;
use tertulia_store::{SessionId, SessionStore, StoreError};

use super::log::{Reading, TableLog};
use super::minutes;
use super::prompt::{Prompts, TurnPrompt};
use crate::team::{Team, TeamMember};

/// What a member would get, and the entries that it is made of.
#[derive(Debug)]
pub struct Preview {
    pub prompt: TurnPrompt,
    /// The stored entries of the branch, read as far as [`Driver::entries`](super::Driver::entries) tells.
    pub entries: Vec<Entry>,
}

/// Returns what a member would get if it answered the newest message of a session now; `None` if nothing was said
/// yet. It need not be one of the team.
pub fn preview(
    store: &SessionStore,
    session: &SessionId,
    team: &Team,
    member: &TeamMember,
) -> Result<Option<Preview>, StoreError> {
    // A summary serves the whole team; who is not in it gets one for its own window.
    let window = match team.member(&member.member.name) {
        Some(_) => team.window_max(),
        None => member.window,
    };
    let reading = if member.is_endpoint() { Reading::All } else { Reading::Newest { window } };
    let mut log = TableLog::open(store, session, reading)?;
    // As the next turn would, but for the store.
    if let Some(minutes) = minutes::due(log.branch(), window) {
        log.stage(minutes);
    }
    let branch = log.branch();
    let newest = branch.said_count().checked_sub(1).and_then(|number| branch.said(number));
    let Some((_, newest, _)) = newest else { return Ok(None) };
    let prompt = Prompts::new(branch.entries()).look(team, branch, member, &newest.id);
    Ok(Some(Preview { prompt, entries: log.into_stored() }))
}
