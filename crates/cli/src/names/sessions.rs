//! Which session is meant: `latest` or `-`, an id, a unique prefix of one, a unique prefix of its last
//! part, or a title.

use tertulia_store::{ListFilter, SessionId, SessionStore, StoreError};

use super::{MATCHES_SHOWN, listed, nearest, short_session};
use crate::error::CliError;
use crate::open_table::newest_table;

/// How many sessions are compared to find one that may have been meant.
const COMPARED_MAX: usize = 1000;

/// How many characters of what was typed are repeated.
const GIVEN_SHOWN: usize = 80;

/// Which session `latest` is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Latest<'f> {
    /// The newest one of the team in this folder.
    OfFolder(&'f str),
    /// The newest one of the store.
    OfStore,
}

impl Latest<'_> {
    /// The session.
    pub(crate) fn find(self, store: &SessionStore) -> Result<SessionId, CliError> {
        if let Self::OfFolder(folder) = self {
            return newest_table(store, folder);
        }
        let filter = ListFilter { limit: Some(1), ..ListFilter::default() };
        let newest = store.list(&filter)?.into_iter().next();
        newest.map(|info| info.id).ok_or_else(|| CliError::NoSessions { place: store.place() })
    }
}

/// The session that is meant. What names one exactly wins over what only begins like one, and ids win over
/// titles.
pub(crate) fn find_session(
    store: &SessionStore,
    given: &str,
    latest: Latest<'_>,
) -> Result<SessionId, CliError> {
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
    let prefixed = |id: &&SessionId| id.as_str().starts_with(given);
    if let Some(id) = only(given, ids.iter().filter(prefixed))? {
        return Ok(id);
    }
    if let Some(id) = only(given, ids.iter().filter(|id| has_part(id, given)))? {
        return Ok(id);
    }
    let titled = titled(store, ids)?;
    let wanted = given.trim().to_lowercase();
    let same = |title: &str| title.to_lowercase() == wanted;
    let begins = |title: &str| title.to_lowercase().starts_with(&wanted);
    let fits: [&dyn Fn(&str) -> bool; 2] = [&same, &begins];
    for fits in fits {
        let found = titled.iter().filter(|(_, title)| fits(title)).map(|(id, _)| id);
        if let Some(id) = only(given, found)? {
            return Ok(id);
        }
    }
    Err(unknown_session(store, given)?)
}

/// Whether this is a word for the newest session.
pub(crate) fn is_latest(given: &str) -> bool {
    matches!(given, "latest" | "-")
}

/// The session of exactly this id.
pub(crate) fn exact_session(
    store: &SessionStore,
    given: &str,
) -> Result<Option<SessionId>, CliError> {
    match SessionId::parse(given) {
        Ok(id) => Ok(store.has(&id)?.then_some(id)),
        // No id, but it may be a title.
        Err(_) => Ok(None),
    }
}

/// Nothing is called this, nor begins so; something may be called nearly so.
pub(crate) fn unknown_session(store: &SessionStore, given: &str) -> Result<CliError, CliError> {
    let filter = ListFilter { limit: Some(COMPARED_MAX), ..ListFilter::default() };
    let mut names = Vec::new();
    for info in store.list(&filter)? {
        let id = info.id.to_string();
        let title = info.title.filter(|_| info.has_own_title);
        names.extend(title.map(|title| (title, id.clone())));
        names.push((short_session(&info.id).to_owned(), id.clone()));
        names.push((id.clone(), id));
    }
    let nearest = nearest(given, names.into_iter());
    let given = given.chars().take(GIVEN_SHOWN).collect();
    Ok(CliError::UnknownSession { given, nearest })
}

/// The one session of these; none if there is none.
fn only<'i>(
    given: &str,
    found: impl Iterator<Item = &'i SessionId>,
) -> Result<Option<SessionId>, CliError> {
    match found.collect::<Vec<_>>().as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(SessionId::clone(one))),
        several => {
            let shown = several.iter().take(MATCHES_SHOWN + 1).map(ToString::to_string);
            let matches = listed(&shown.collect::<Vec<_>>());
            Err(CliError::AmbiguousId { given: given.to_owned(), matches })
        }
    }
}

/// Whether a later part of the id begins so: `2ftj` names `2026-11-16-1542-2ftj924w`.
fn has_part(id: &SessionId, given: &str) -> bool {
    let id = id.as_str();
    let parts = id.match_indices('-').filter_map(|(place, _)| id.get(place + 1..));
    parts.into_iter().any(|part| part.starts_with(given))
}

/// The sessions that were given a title, with it.
fn titled(store: &SessionStore, ids: Vec<SessionId>) -> Result<Vec<(SessionId, String)>, CliError> {
    let mut titled = Vec::new();
    for id in ids {
        match store.own_title(&id) {
            Ok(Some(title)) => titled.push((id, title)),
            // One that was deleted meanwhile is not meant.
            Ok(None) | Err(StoreError::SessionNotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(titled)
}
