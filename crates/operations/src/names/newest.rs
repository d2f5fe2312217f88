//! The newest session of a project in which a team worked: what `--continue` and `latest` mean.

use tertulia_session::{Entry, EntryKind, Setting, SpeakerType};
use tertulia_store::{ListFilter, ProjectScope, Range, SessionId, SessionInfo, SessionStore};
use tertulia_team::reached_nobody;

use super::NameError;

/// So many of the sessions that changed last are looked at for a table.
const SESSIONS_LOOKED_AT: usize = 200;
/// So many entries from either end of a session tell whether it is a table's.
const ENTRIES_LOOKED_AT: usize = 256;

/// The session of this project that changed last and in which a team worked. One that belongs to no project
/// yet counts if its log names the folder.
pub fn newest_table(store: &SessionStore, folder: &str) -> Result<SessionId, NameError> {
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

fn list(store: &SessionStore, project: ProjectScope) -> Result<Vec<SessionInfo>, NameError> {
    let filter = ListFilter { limit: Some(SESSIONS_LOOKED_AT), project, ..ListFilter::default() };
    Ok(store.list(&filter)?)
}

/// There is nothing to continue here; there may be elsewhere.
fn no_table(store: &SessionStore, folder: &str) -> Result<NameError, NameError> {
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
    Ok(NameError::NoTable { place, folder, elsewhere })
}

/// What a session is.
enum Seen {
    /// A table, and the folder where it stands, as far as it is known.
    Table(Option<Box<str>>),
    Other,
}

/// Whether agents took turns in a session, or a person spoke to a table in it.
fn look_at(store: &SessionStore, id: &SessionId) -> Result<Seen, NameError> {
    let (mut is_table, mut folder) = (false, None);
    let mut look = |entry: &Entry| {
        is_table |= is_of_table(entry);
        if let Some(Setting::Folder { path }) = entry.kind.setting() {
            folder = Some(path.clone());
        }
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
