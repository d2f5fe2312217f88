//! Opens the session of `run` and `chat`: creates one, or resumes an existing one.

use tertulia_chat::OpenSession;
use tertulia_operations::names::{
    Latest, NameError, find_session, is_latest, new_session_id, newest_team_session,
};
use tertulia_store::{SessionId, SessionStore, StoreError};
use tertulia_team::{DriveError, Driver, EventSink, Opened, Team};

use crate::args::SessionArg;
use crate::error::{CliError, Result};
use crate::store_location::StoreLocation;

/// Opens the session that [`resumed`] found, or creates one. `attended`: a person can answer permission requests.
pub(crate) fn open(
    arg: &SessionArg,
    found: Option<&SessionId>,
    store: &SessionStore,
    team: Team,
    attended: bool,
    audience: &mut dyn EventSink,
) -> Result<OpenSession> {
    if let Some(id) = found {
        let opened = Driver::reopen(store, id, team, attended, audience)?;
        return Ok(OpenSession { opened, is_new: false });
    }
    let driver = match Driver::begin(store, new_id(arg)?, team, attended) {
        Err(DriveError::Store(StoreError::SessionExists(id))) => {
            return Err(CliError::SessionTaken { id });
        }
        begun => begun?,
    };
    let opened = Opened { driver, differences: Vec::new(), undecided: None };
    Ok(OpenSession { opened, is_new: true })
}

/// Opens the store to resume a session. Creates no file for an unknown name.
pub(crate) fn store_to_resume(arg: &SessionArg, location: &StoreLocation) -> Result<SessionStore> {
    match (location.open_required(), &arg.session) {
        (Err(CliError::Name { error: NameError::NoSessions { .. }, .. }), Some(given))
            if may_be_created(arg) && !is_latest(given) =>
        {
            Err(CliError::NothingToResume { given: given.clone(), nearest: None })
        }
        (store, _) => store,
    }
}

/// Returns the session to resume; `None` if a new one is created.
pub(crate) fn resumed(
    arg: &SessionArg,
    store: &SessionStore,
    folder: &str,
) -> Result<Option<SessionId>> {
    match &arg.session {
        Some(given) => match find_session(store, given, Latest::OfFolder(folder)) {
            Err(NameError::UnknownSession { given, nearest }) if may_be_created(arg) => {
                Err(CliError::NothingToResume { given, nearest })
            }
            found => Ok(Some(found?)),
        },
        None if arg.resume => Ok(Some(newest_team_session(store, folder)?)),
        None => Ok(None),
    }
}

/// Returns the ID for a new session; `None` lets the store generate one.
pub(crate) fn new_id(arg: &SessionArg) -> Result<Option<SessionId>> {
    Ok(arg.new.as_deref().map(new_session_id).transpose()?)
}

/// Returns whether `--new` could create a session with the same name.
fn may_be_created(arg: &SessionArg) -> bool {
    arg.session.as_deref().is_some_and(|given| given.parse::<SessionId>().is_ok())
}
