//! Opens the table for `run` and `chat`: a session is begun, or one that is there is gone on with.

use tertulia_session::{Entry, EntryKind, SpeakerType};
use tertulia_store::{
    ListFilter, ProjectScope, Range, SessionId, SessionInfo, SessionStore, StoreError,
};
use tertulia_team::{
    Audience, Difference, DriveError, Driver, Opened, Team, Undecided, reached_nobody, table_folder,
};

use crate::args::SessionArg;
use crate::error::CliError;
use crate::names::{Latest, find_session, is_latest, new_session_id};
use crate::store_place::StorePlace;

/// So many of the sessions that changed last are looked at for a table.
const SESSIONS_LOOKED_AT: usize = 200;
/// So many entries from either end of a session tell whether it is a table's.
const ENTRIES_LOOKED_AT: usize = 256;

/// A table that is open.
pub(crate) struct OpenTable {
    /// It.
    pub(crate) driver: Driver,
    /// Whether its session was begun just now.
    pub(crate) is_new: bool,
    /// Where the recorded decisions are not the ones that this team would have made.
    pub(crate) differences: Vec<Difference>,
    /// The message that the session was forked at, if nobody was asked for it here.
    pub(crate) undecided: Option<Undecided>,
}

/// Opens the session that [`resumed`] found, or begins one. `attended`: somebody can be asked for permissions.
pub(crate) fn open(
    arg: &SessionArg,
    found: Option<&SessionId>,
    store: &SessionStore,
    team: Team,
    attended: bool,
    audience: &mut dyn Audience,
) -> Result<OpenTable, CliError> {
    if let Some(id) = found {
        let Opened { driver, differences, undecided } =
            Driver::reopen(store, id, team, attended, audience)?;
        return Ok(OpenTable { driver, is_new: false, differences, undecided });
    }
    let driver = match Driver::begin(store, new_id(arg)?, team, attended) {
        Err(DriveError::Store(StoreError::SessionExists(id))) => {
            return Err(CliError::SessionTaken { id });
        }
        begun => begun?,
    };
    Ok(OpenTable { driver, is_new: true, differences: Vec::new(), undecided: None })
}

/// The store, for whoever resumes a session of it. No file is made for a name that nothing has.
pub(crate) fn store_to_resume(
    arg: &SessionArg,
    place: &StorePlace,
) -> Result<SessionStore, CliError> {
    match (place.need(), &arg.session) {
        (Err(CliError::NoSessions { .. }), Some(given))
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
) -> Result<Option<SessionId>, CliError> {
    match &arg.session {
        Some(given) => match find_session(store, given, Latest::OfFolder(folder)) {
            Err(CliError::UnknownSession { given, nearest, .. }) if may_be_created(arg) => {
                Err(CliError::NothingToResume { given, nearest })
            }
            found => found.map(Some),
        },
        None if arg.go_on => newest_table(store, folder).map(Some),
        None => Ok(None),
    }
}

/// The id that a new session is to have; none for one that the store makes.
pub(crate) fn new_id(arg: &SessionArg) -> Result<Option<SessionId>, CliError> {
    arg.new.as_deref().map(new_session_id).transpose()
}

/// Whether `--new` with the same name would do instead.
fn may_be_created(arg: &SessionArg) -> bool {
    arg.session.as_deref().is_some_and(|given| SessionId::parse(given).is_ok())
}

/// The session of this project that changed last and in which a team worked. One that belongs to no project
/// yet counts if its log names the folder.
pub(crate) fn newest_table(store: &SessionStore, folder: &str) -> Result<SessionId, CliError> {
    let own = list(store, ProjectScope::Of(folder.to_owned()))?;
    let mut found = None;
    for info in own {
        // One that cannot be read is not what is meant, and no reason to find nothing.
        if let Seen::Table(_) = look_at(store, &info.id).unwrap_or(Seen::Other) {
            found = Some(info);
            break;
        }
    }
    for info in list(store, ProjectScope::Unassigned)? {
        if found.as_ref().is_some_and(|found| found.updated_at.millis() >= info.updated_at.millis())
        {
            break;
        }
        match look_at(store, &info.id).unwrap_or(Seen::Other) {
            Seen::Table(Some(there)) if *there == *folder => found = Some(info),
            _ => {}
        }
    }
    match found {
        Some(info) => Ok(info.id),
        None => Err(no_table(store, folder)?),
    }
}

fn list(store: &SessionStore, project: ProjectScope) -> Result<Vec<SessionInfo>, CliError> {
    let filter = ListFilter { limit: Some(SESSIONS_LOOKED_AT), project, ..ListFilter::default() };
    Ok(store.list(&filter)?)
}

/// There is nothing to continue here; there may be elsewhere.
fn no_table(store: &SessionStore, folder: &str) -> Result<CliError, CliError> {
    let mut elsewhere = None;
    for info in list(store, ProjectScope::All)? {
        if let Seen::Table(noted) = look_at(store, &info.id).unwrap_or(Seen::Other) {
            let there = info.project.or(noted.map(String::from));
            elsewhere = Some(match there {
                Some(there) => format!("{}, in {there}", info.id),
                None => info.id.to_string(),
            });
            break;
        }
    }
    let (place, folder) = (store.place(), folder.to_owned());
    Ok(CliError::NoTable { place, folder, elsewhere, flags: String::new() })
}

/// What a session is.
enum Seen {
    /// A table, and the folder where it stands, as far as it is known.
    Table(Option<Box<str>>),
    Other,
}

/// Whether agents took turns in a session, or a person spoke to a table in it.
fn look_at(store: &SessionStore, id: &SessionId) -> Result<Seen, CliError> {
    let (mut is_table, mut folder) = (false, None);
    let mut look = |entry: &Entry| {
        is_table |= is_of_table(entry);
        folder = table_folder(entry).or(folder.take());
    };
    for stored in store.entries(id, &Range::All)?.take(ENTRIES_LOOKED_AT) {
        look(&stored?.entry);
    }
    store.load(id, &Range::Tail(ENTRIES_LOOKED_AT))?.iter().for_each(|stored| look(&stored.entry));
    Ok(if is_table { Seen::Table(folder) } else { Seen::Other })
}

/// A turn, or what a person said to a table that found nobody.
fn is_of_table(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Turn(_) => true,
        EntryKind::Message(message) => {
            let is_person = message
                .speaker
                .as_ref()
                .is_some_and(|speaker| speaker.kind == Some(SpeakerType::Human));
            is_person && reached_nobody(message)
        }
        _ => false,
    }
}
