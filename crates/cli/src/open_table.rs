//! Opens the table for `run` and `chat`: a session is begun, or one that is there is gone on with.

use tertulia_chat::OpenTable;
use tertulia_operations::names::{
    Latest, NameError, find_session, is_latest, new_session_id, newest_table,
};
use tertulia_store::{SessionId, SessionStore, StoreError};
use tertulia_team::{DriveError, Driver, EventSink, Opened, Team};

use crate::args::SessionArg;
use crate::error::{CliError, Result};
use crate::store_place::StorePlace;

/// Opens the session that [`resumed`] found, or begins one. `attended`: somebody can be asked for permissions.
pub(crate) fn open(
    arg: &SessionArg,
    found: Option<&SessionId>,
    store: &SessionStore,
    team: Team,
    attended: bool,
    audience: &mut dyn EventSink,
) -> Result<OpenTable> {
    if let Some(id) = found {
        let opened = Driver::reopen(store, id, team, attended, audience)?;
        return Ok(OpenTable { opened, is_new: false });
    }
    let driver = match Driver::begin(store, new_id(arg)?, team, attended) {
        Err(DriveError::Store(StoreError::SessionExists(id))) => {
            return Err(CliError::SessionTaken { id });
        }
        begun => begun?,
    };
    let opened = Opened { driver, differences: Vec::new(), undecided: None };
    Ok(OpenTable { opened, is_new: true })
}

/// The store, for whoever resumes a session of it. No file is made for a name that nothing has.
pub(crate) fn store_to_resume(arg: &SessionArg, place: &StorePlace) -> Result<SessionStore> {
    match (place.need(), &arg.session) {
        (Err(CliError::Name { error: NameError::NoSessions { .. }, .. }), Some(given))
            if may_be_created(arg) && !is_latest(given) =>
        {
            Err(CliError::NothingToResume { given: given.clone(), nearest: None })
        }
        (store, _) => store,
    }
}

/// The session that is resumed; none if one is created.
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
        None if arg.go_on => Ok(Some(newest_table(store, folder)?)),
        None => Ok(None),
    }
}

/// The id that a new session is to have; none for one that the store makes.
pub(crate) fn new_id(arg: &SessionArg) -> Result<Option<SessionId>> {
    Ok(arg.new.as_deref().map(new_session_id).transpose()?)
}

/// Whether `--new` with the same name would do instead.
fn may_be_created(arg: &SessionArg) -> bool {
    arg.session.as_deref().is_some_and(|given| given.parse::<SessionId>().is_ok())
}
