//! Which session is meant: an id, `latest` or `-`, a title, or a unique prefix of an id, of a later part of
//! it, or of a title.

use tertulia_store::{ListFilter, ProjectScope, SessionId, SessionStore, StoreError};
use tertulia_team::nearest_name;

use super::{MATCHES_SHOWN, NameError, listed, newest_table, short_session};

/// How many sessions are compared to find one that may have been meant.
const COMPARED_MAX: usize = 1000;

/// How many characters of what was typed are repeated.
const GIVEN_SHOWN: usize = 80;

/// Which session `latest` is.
#[derive(Clone, Copy, Debug)]
pub enum Latest<'f> {
    /// The newest one of this project in which a team worked.
    OfFolder(&'f str),
    /// The newest one of this project.
    OfProject(&'f str),
}

impl Latest<'_> {
    /// The session.
    pub fn find(self, store: &SessionStore) -> Result<SessionId, NameError> {
        let project = match self {
            Self::OfFolder(folder) => return newest_table(store, folder),
            Self::OfProject(project) => project,
        };
        let filter = ListFilter {
            limit: Some(1),
            project: ProjectScope::Of(project.to_owned()),
            ..ListFilter::default()
        };
        if let Some(newest) = store.list(&filter)?.into_iter().next() {
            return Ok(newest.id);
        }
        Err(match store.count(&ListFilter::default())? {
            0 => NameError::NoSessions { place: store.place() },
            _ => NameError::NoSessionsHere { project: project.to_owned() },
        })
    }
}

/// What is said of a session that belongs to another project than this one.
pub fn elsewhere(
    store: &SessionStore,
    id: &SessionId,
    project: &str,
) -> Result<Option<String>, NameError> {
    let other = store.project(id)?.filter(|other| other != project);
    let name = short_session(id);
    Ok(other.map(|other| format!("session {name} belongs to another project: {other}")))
}

/// The session that is meant. What names one exactly wins over what only begins like one, and ids win over
/// titles.
pub fn find_session(
    store: &SessionStore,
    given: &str,
    latest: Latest<'_>,
) -> Result<SessionId, NameError> {
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
    // The form that people are shown is as good as the id, and found without looking for titles.
    if let Some(id) = only(given, ids.iter().filter(|id| short_session(id) == given))? {
        return Ok(id);
    }
    let titled = titled(store, &ids)?;
    let wanted = given.trim().to_lowercase();
    let same = titled.iter().filter(|(_, title)| *title == wanted);
    if let Some(id) = only(given, same.map(|(id, _)| id))? {
        return Ok(id);
    }
    if let Some(id) = only(given, ids.iter().filter(|id| id.as_str().starts_with(given)))? {
        return Ok(id);
    }
    if let Some(id) = only(given, ids.iter().filter(|id| has_part(id, given)))? {
        return Ok(id);
    }
    let begins = titled.iter().filter(|(_, title)| title.starts_with(&wanted));
    match only(given, begins.map(|(id, _)| id))? {
        Some(id) => Ok(id),
        None => Err(unknown_session(store, given)?),
    }
}

/// The same where no session has to be named. Without a name the newest one is meant, not one that is called
/// `latest`.
pub fn find_session_or_latest(
    store: &SessionStore,
    given: Option<&str>,
    latest: Latest<'_>,
) -> Result<SessionId, NameError> {
    match given {
        Some(given) => find_session(store, given, latest),
        None => latest.find(store),
    }
}

/// The id of a session that is to be made.
pub fn new_session_id(name: &str) -> Result<SessionId, NameError> {
    refuse_latest(name)?;
    Ok(name.parse::<SessionId>().map_err(StoreError::from)?)
}

/// Refuses an id or a title that means the newest session wherever one is named.
pub fn refuse_latest(name: &str) -> Result<(), NameError> {
    let name = name.trim();
    match is_latest(name) {
        true => Err(NameError::NameOfLatest { given: name.to_owned() }),
        false => Ok(()),
    }
}

/// Whether this is a word for the newest session.
pub fn is_latest(given: &str) -> bool {
    matches!(given, "latest" | "-")
}

/// The session of exactly this id.
pub fn exact_session(store: &SessionStore, given: &str) -> Result<Option<SessionId>, NameError> {
    match given.parse::<SessionId>() {
        Ok(id) => Ok(store.has(&id)?.then_some(id)),
        // No id, but it may be a title.
        Err(_) => Ok(None),
    }
}

/// Nothing is called this, nor begins so; something may be called nearly so.
fn unknown_session(store: &SessionStore, given: &str) -> Result<NameError, NameError> {
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

/// The one session of these; none if there is none.
fn only<'i>(
    given: &str,
    found: impl Iterator<Item = &'i SessionId>,
) -> Result<Option<SessionId>, NameError> {
    match found.collect::<Vec<_>>().as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(SessionId::clone(one))),
        several => {
            let shown = several.iter().take(MATCHES_SHOWN + 1).map(ToString::to_string);
            let matches = listed(&shown.collect::<Vec<_>>());
            Err(NameError::AmbiguousId { given: given.to_owned(), matches })
        }
    }
}

/// Whether a later part of the id begins so: `2ftj` names `2026-11-16-1542-2ftj924w`.
fn has_part(id: &SessionId, given: &str) -> bool {
    let id = id.as_str();
    let parts = id.match_indices('-').filter_map(|(place, _)| id.get(place + 1..));
    parts.into_iter().any(|part| part.starts_with(given))
}

/// The sessions that were given a title, with it in small letters.
fn titled(store: &SessionStore, ids: &[SessionId]) -> Result<Vec<(SessionId, String)>, NameError> {
    let mut titled = Vec::new();
    for id in ids {
        match store.own_title(id) {
            Ok(Some(title)) => titled.push((id.clone(), title.to_lowercase())),
            // One that was deleted meanwhile is not meant.
            Ok(None) | Err(StoreError::SessionNotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(titled)
}
