//! Chooses the session into which an agent's session is imported: the one that is linked to it, or a new one with an
//! id that is the same each time.

use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, FoundSession, SessionReader};
use tertulia_session::Entry;
use tertulia_store::{SessionId, SessionStore};

use super::known::{Found, KnownLog};
use super::{ImportError, ImportOptions, LinkIndex, native_id, redact_secrets};

/// Maximum number of sessions with the same id of the agent, from different machines.
const COPIES_MAX: u32 = 1000;

/// The session that an import adds to.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) id: SessionId,
    /// Its entries of the agent's session. `None` for a new session.
    pub(super) known: Option<KnownLog>,
    /// A session with the same id of the agent but different content.
    pub(super) collides_with: Option<SessionId>,
}

/// The beginning of an agent's session.
struct Beginning {
    native_id: String,
    /// The entries up to the first message.
    first: Vec<Entry>,
    /// Whether the records that are known have to be compared, even if the file begins with the same bytes.
    is_compared: bool,
}

/// Chooses the session.
pub(super) fn choose(
    store: &SessionStore,
    environment: &Environment,
    index: &LinkIndex,
    session: &FoundSession,
    options: &ImportOptions<'_>,
) -> Result<Target, ImportError> {
    let beginning = read_beginning(environment, session, options, options.redacts_secrets)?;
    let mut collides_with = None;
    for linked in index.sessions_of(session.format, &beginning.native_id) {
        // The session may have been deleted meanwhile, or its link redacted.
        let known = match store.has(linked)? {
            true => read_log(store, environment, linked, session, &beginning, options)?,
            false => None,
        };
        match known {
            Some(known) => {
                return Ok(Target { id: linked.clone(), known: Some(known), collides_with: None });
            }
            None => collides_with = collides_with.or_else(|| Some(linked.clone())),
        }
    }
    if let Some(id) = &options.id {
        return match store.has(id)? {
            true => Err(ImportError::Taken(id.clone())),
            false => Ok(Target { id: id.clone(), known: None, collides_with: None }),
        };
    }
    for number in 1..COPIES_MAX {
        let id = session_id(session.format, &beginning.native_id, number)?;
        if !store.has(&id)? {
            return Ok(Target { id, known: None, collides_with });
        }
        collides_with.get_or_insert(id);
    }
    Err(ImportError::Taken(session_id(session.format, &beginning.native_id, 1)?))
}

/// Reads the entries that a log has of a session. `None` if it belongs to another session with the same id.
fn read_log(
    store: &SessionStore,
    environment: &Environment,
    id: &SessionId,
    session: &FoundSession,
    beginning: &Beginning,
    options: &ImportOptions<'_>,
) -> Result<Option<KnownLog>, ImportError> {
    let Some(mut known) = KnownLog::read(store, id, session, &beginning.native_id)? else {
        return Ok(None);
    };
    known.read_records(store, id, beginning.is_compared)?;
    if known.has_prefix || !known.is_origin {
        return Ok(Some(known));
    }
    // Either the session was changed, or it is another one. Its first message shows which.
    let own;
    let first = match known.redacts_secrets == options.redacts_secrets {
        true => &beginning.first,
        // The log has the secrets, or the beginning has them.
        false => {
            own = read_beginning(environment, session, options, known.redacts_secrets)?;
            &own.first
        }
    };
    let said = first.iter().rev().find(|entry| entry.message().is_some());
    let is_it = said.is_none_or(|entry| known.compare(&entry.id, entry) == Found::Same);
    Ok(is_it.then_some(known))
}

fn read_beginning(
    environment: &Environment,
    session: &FoundSession,
    options: &ImportOptions<'_>,
    redacts: bool,
) -> Result<Beginning, ImportError> {
    let mut count = 0;
    let mut reader = SessionReader::open(environment, session, options.line_bytes_max)?;
    if redacts {
        reader = reader.with_edit(|bytes| redact_secrets(bytes, &mut count));
    }
    reader.skip_unfinished_if_recent(&options.now);
    // The last message of a document may have been incomplete at an earlier import.
    let is_compared = reader.has_side_files() || reader.is_document();
    let mut first = Vec::new();
    let mut entries = Vec::new();
    while reader.next(&mut entries)?.is_some() {
        let is_said = |entry: &Entry| entry.message().is_some();
        if let Some(at) = entries.iter().position(is_said) {
            first.extend(entries.drain(..=at).next_back());
            break;
        }
        entries.clear();
    }
    let native_id = native_id(session, reader.session().native_id.as_deref());
    Ok(Beginning { native_id, first, is_compared })
}

/// Returns the id of the session that an agent's session is imported into.
fn session_id(
    format: NativeFormat,
    native_id: &str,
    number: u32,
) -> Result<SessionId, tertulia_store::StoreError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let plain: String = native_id.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    // This leaves room for the name of the agent and a number.
    let short = plain.get(..plain.len().min(SessionId::BYTES_MAX - 24)).unwrap_or_default();
    let id = format!("{}-{short}", format.as_str());
    let id = if number == 1 { id } else { format!("{id}-{number}") };
    Ok(id.parse::<SessionId>()?)
}
