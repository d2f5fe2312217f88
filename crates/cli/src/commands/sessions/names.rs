//! Which session is meant: its id, or a beginning that no other id has.

use tertulia_store::{ListFilter, SessionId, SessionStore};

use crate::error::CliError;

/// How many ids are listed where several begin alike.
const CANDIDATES_SHOWN: usize = 5;
/// How many ids are compared to find one that may have been meant.
const COMPARED_MAX: usize = 1000;
/// How alike two ids must be.
const NEAR: f64 = 0.8;

/// The session that is meant.
pub(crate) fn find_session(store: &SessionStore, given: &str) -> Result<SessionId, CliError> {
    if let Some(id) = exact_session(store, given)? {
        return Ok(id);
    }
    let wanted = CANDIDATES_SHOWN + 1;
    let filter = ListFilter {
        id_prefix: Some(given.to_owned()),
        limit: Some(wanted),
        ..ListFilter::default()
    };
    let found = store.list(&filter)?;
    match found.as_slice() {
        [] => Err(unknown_session(store, given)?),
        [one] => Ok(one.id.clone()),
        several => {
            let shown = several.iter().take(CANDIDATES_SHOWN).map(|one| one.id.to_string());
            let more = (several.len() > CANDIDATES_SHOWN).then(|| "…".to_owned());
            let candidates = shown.chain(more).collect();
            Err(CliError::AmbiguousSession { given: given.to_owned(), candidates })
        }
    }
}

/// The session of exactly this id.
pub(super) fn exact_session(
    store: &SessionStore,
    given: &str,
) -> Result<Option<SessionId>, CliError> {
    let id = SessionId::parse(given).map_err(tertulia_store::StoreError::from)?;
    Ok(store.has(&id)?.then_some(id))
}

/// Nothing is called this, nor begins so; something may be called nearly so.
pub(super) fn unknown_session(store: &SessionStore, given: &str) -> Result<CliError, CliError> {
    let filter = ListFilter { limit: Some(COMPARED_MAX), ..ListFilter::default() };
    let near = store.list(&filter)?.into_iter().map(|info| {
        let closeness = strsim::jaro_winkler(info.id.as_str(), given);
        (closeness, info.id.to_string())
    });
    let nearest = near.max_by(|left, right| left.0.total_cmp(&right.0));
    let nearest = nearest.filter(|(closeness, _)| *closeness > NEAR).map(|(_, id)| id);
    Ok(CliError::UnknownSession { given: given.to_owned(), nearest })
}
