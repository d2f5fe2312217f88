//! Finds a session by its name: an id, `latest` or `-`, a title, or a unique prefix of a title, an id or a later part
//! of an id.

use tertulia_session::{Entry, Message, Setting};
use tertulia_store::{
    ListFilter, ProjectScope, Range, SessionId, SessionInfo, SessionStore, StoreError,
};
use tertulia_team::{nearest_name, reached_nobody};

use super::{MATCHES_SHOWN, NameError, Named, listed, short_session};

const COMPARED_MAX: usize = 1000;

const GIVEN_SHOWN: usize = 80;

/// Maximum number of newest sessions that are searched for a session of a team.
const SESSIONS_LOOKED_AT: usize = 200;
/// Number of entries that are read at each end of a session to find out whether a team worked in it.
const ENTRIES_LOOKED_AT: usize = 256;

/// The session to which `latest` refers.
#[derive(Clone, Copy, Debug)]
pub enum Latest<'f> {
    /// The newest session of this project in which a team worked.
    OfFolder(&'f str),
    OfProject(&'f str),
}

impl Latest<'_> {
    fn find(self, store: &SessionStore) -> Named<SessionId> {
        let project = match self {
            Self::OfFolder(folder) => return newest_team_session(store, folder),
            Self::OfProject(project) => project,
        };
        let filter = ListFilter {
            limit: Some(1),
            project: ProjectScope::Project(project.to_owned()),
            ..ListFilter::default()
        };
        if let Some(newest) = store.list(&filter)?.into_iter().next() {
            return Ok(newest.id);
        }
        Err(match store.count(&ListFilter::default())? {
            0 => NameError::NoSessions { location: store.location() },
            _ => NameError::NoSessionsHere { project: project.to_owned() },
        })
    }
}

/// Returns the warning about a session that belongs to another project.
pub fn elsewhere(store: &SessionStore, id: &SessionId, project: &str) -> Named<Option<String>> {
    let other = store.project(id)?.filter(|other| other != project);
    let name = short_session(id);
    Ok(other.map(|other| format!("session {name} belongs to another project: {other}")))
}

/// Finds a session. Exact names take precedence over prefixes, and ids over titles.
pub fn find_session(store: &SessionStore, given: &str, latest: Latest<'_>) -> Named<SessionId> {
    if let Some(id) = exact_session(store, given)? {
        return Ok(id);
    }
    if is_latest(given) {
        return latest.find(store);
    }
    if given.trim().is_empty() {
        return Err(unknown_session(store, given)?);
    }
    let ids = store.ids()?;
    let by_id = |fits: &dyn Fn(&SessionId) -> bool| ids.iter().filter(|id| fits(id)).collect();
    // The short form of an id is checked next, because this requires no titles.
    let shown: Vec<&SessionId> = by_id(&|id| short_session(id) == given);
    if !shown.is_empty() {
        return only(given, &shown);
    }
    let titled = titled(store, &ids)?;
    let wanted = given.trim().to_lowercase();
    let by_title = |fits: &dyn Fn(&str) -> bool| {
        titled.iter().filter(|(_, title)| fits(title)).map(|(id, _)| id).collect()
    };
    let ways: [Vec<&SessionId>; 4] = [
        by_title(&|title| title == wanted),
        by_id(&|id| id.as_str().starts_with(given)),
        by_id(&|id| has_part(id, given)),
        by_title(&|title| title.starts_with(&wanted)),
    ];
    match ways.iter().find(|found| !found.is_empty()) {
        Some(found) => only(given, found),
        None => Err(unknown_session(store, given)?),
    }
}

/// Same as [`find_session`] for an optional name. Without a name, finds the newest session, even if another one has
/// the title `latest`.
pub fn find_session_or_latest(
    store: &SessionStore,
    given: Option<&str>,
    latest: Latest<'_>,
) -> Named<SessionId> {
    match given {
        Some(given) => find_session(store, given, latest),
        None => latest.find(store),
    }
}

/// Returns the id of a session that will be created.
pub fn new_session_id(name: &str) -> Named<SessionId> {
    refuse_latest(name)?;
    Ok(name.parse::<SessionId>().map_err(StoreError::from)?)
}

/// Rejects an id or a title that means the newest session.
pub fn refuse_latest(name: &str) -> Named<()> {
    match name.trim() {
        given if is_latest(given) => Err(NameError::NameOfLatest { given: given.to_owned() }),
        _ => Ok(()),
    }
}

/// Returns whether this word means the newest session.
pub fn is_latest(given: &str) -> bool {
    matches!(given, "latest" | "-")
}

/// Returns the session of exactly this id.
pub fn exact_session(store: &SessionStore, given: &str) -> Named<Option<SessionId>> {
    match given.parse::<SessionId>() {
        Ok(id) => Ok(store.has(&id)?.then_some(id)),
        // The text is no valid id, but it may be a title.
        Err(_) => Ok(None),
    }
}

/// Returns the error for a name to which no session corresponds, with a similar name if there is one.
fn unknown_session(store: &SessionStore, given: &str) -> Named<NameError> {
    let filter = ListFilter { limit: Some(COMPARED_MAX), ..ListFilter::default() };
    let mut names = Vec::new();
    for info in store.list(&filter)? {
        let id = info.id.to_string();
        let title = info.title.filter(|_| info.has_own_title);
        names.extend(title.map(|title| (title, id.clone())));
        names.push((short_session(&info.id).to_owned(), id.clone()));
        names.push((id.clone(), id));
    }
    let nearest = nearest_name(given, names);
    let given = given.chars().take(GIVEN_SHOWN).collect();
    Ok(NameError::UnknownSession { given, nearest })
}

fn only(given: &str, found: &[&SessionId]) -> Named<SessionId> {
    if let [one] = found {
        return Ok(SessionId::clone(one));
    }
    let shown = found.iter().take(MATCHES_SHOWN + 1).map(ToString::to_string);
    let matches = listed(&shown.collect::<Vec<_>>());
    Err(NameError::AmbiguousId { given: given.to_owned(), matches })
}

/// Returns whether a later part of the id has this prefix: `2ftj` matches `2026-11-16-1542-2ftj924w`.
fn has_part(id: &SessionId, given: &str) -> bool {
    let id = id.as_str();
    let mut parts = id.match_indices('-').filter_map(|(index, _)| id.get(index + 1..));
    parts.any(|part| part.starts_with(given))
}

/// Returns the sessions that have a title, with the title in lower case.
fn titled(store: &SessionStore, ids: &[SessionId]) -> Named<Vec<(SessionId, String)>> {
    let mut titled = Vec::new();
    for id in ids {
        match store.own_title(id) {
            Ok(Some(title)) => titled.push((id.clone(), title.to_lowercase())),
            // The session was deleted meanwhile.
            Ok(None) | Err(StoreError::SessionNotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(titled)
}

/// Returns the session of this project in which a team worked last. A session without a project is included if its
/// log names the folder.
pub fn newest_team_session(store: &SessionStore, folder: &str) -> Named<SessionId> {
    let mut own = list(store, ProjectScope::Project(folder.to_owned()))?.into_iter();
    let mut found = own.find(|info| matches!(look_at(store, &info.id), Seen::Team(_)));
    for info in list(store, ProjectScope::Unassigned)? {
        let changed = |info: &SessionInfo| info.updated_at.millis();
        if found.as_ref().is_some_and(|found| changed(found) >= changed(&info)) {
            break;
        }
        match look_at(store, &info.id) {
            Seen::Team(Some(there)) if *there == *folder => found = Some(info),
            _ => {}
        }
    }
    match found {
        Some(info) => Ok(info.id),
        None => Err(no_team_session(store, folder)?),
    }
}

fn list(store: &SessionStore, project: ProjectScope) -> Named<Vec<SessionInfo>> {
    let filter = ListFilter { limit: Some(SESSIONS_LOOKED_AT), project, ..ListFilter::default() };
    Ok(store.list(&filter)?)
}

/// Returns the error for a folder without a team session. It names a session of another folder, if there is one.
fn no_team_session(store: &SessionStore, folder: &str) -> Named<NameError> {
    let elsewhere = list(store, ProjectScope::All)?.into_iter().find_map(|info| {
        let Seen::Team(noted) = look_at(store, &info.id) else { return None };
        Some(match info.project.or(noted.map(String::from)) {
            Some(there) => format!("{}, in {there}", info.id),
            None => info.id.to_string(),
        })
    });
    let (location, folder) = (store.location(), folder.to_owned());
    Ok(NameError::NoTeamSession { location, folder, elsewhere })
}

enum Seen {
    /// A session in which a team worked, with its project folder if the log names one.
    Team(Option<Box<str>>),
    Other,
}

/// Returns whether a team worked in a session. A session that cannot be read is skipped.
fn look_at(store: &SessionStore, id: &SessionId) -> Seen {
    read_ends(store, id).unwrap_or(Seen::Other)
}

fn read_ends(store: &SessionStore, id: &SessionId) -> Result<Seen, StoreError> {
    let (mut is_team, mut folder) = (false, None);
    let mut look = |entry: &Entry| {
        is_team |= is_team_session(entry);
        if let Some(Setting::Folder { path }) = entry.kind.setting() {
            folder = Some(path.clone());
        }
    };
    for stored in store.entries(id, &Range::All)?.take(ENTRIES_LOOKED_AT) {
        look(&stored?.entry);
    }
    store.load(id, &Range::Tail(ENTRIES_LOOKED_AT))?.iter().for_each(|stored| look(&stored.entry));
    Ok(if is_team { Seen::Team(folder) } else { Seen::Other })
}

fn is_team_session(entry: &Entry) -> bool {
    let is_asked = |message: &Message| message.is_from_human() && reached_nobody(message);
    entry.turn().is_some() || entry.message().is_some_and(is_asked)
}
