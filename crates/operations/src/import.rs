//! Imports the session of an agent into a log of its own, and later what the agent added to it. All or nothing: an
//! error leaves no new session, and no new entries in an old one.
//!
//! The reader gives every record the same ids each time, so what is in the log is recognized by id, and what changed by
//! the text of the record. New records that go on where both last had the same content follow the newest entry of the
//! log, so that a conversation that went through several agents is one branch.

mod add;
mod index;
mod known;
mod merge;
mod secrets;
mod target;

use tertulia_dialect::native::{NativeFormat, ReadProblem};
use tertulia_native::{Environment, FoundSession, NativeError, SessionReader};
use tertulia_session::{EntryId, Timestamp};
use tertulia_store::{SessionId, SessionStore, StoreError};

pub use index::{IndexedLink, LinkIndex};
pub use secrets::redact_secrets;

use add::{Added, Sink};
use merge::Merge;
use target::{Target, choose};

/// Problems beyond this number are counted only.
const PROBLEMS_KEPT: usize = 10_000;
/// How often an import starts again because somebody else wrote to the session.
const TRIES: usize = 8;

/// How a session is imported.
pub struct ImportOptions<'a> {
    /// The id of the new session; by default `claude-` and the agent's id.
    pub id: Option<SessionId>,
    /// Whether secrets of known shapes are replaced before anything is stored.
    pub redacts_secrets: bool,
    /// The longest line, and the longest document that is read as a whole.
    pub line_bytes_max: u64,
    /// Whether nothing is stored.
    pub is_dry_run: bool,
    /// Whether an answer that its agent still writes is left for the next import.
    pub settled_only: bool,
    pub now: Timestamp,
    /// Returns the project that a session belongs to, for the folder in which its agent worked.
    pub project: &'a dyn Fn(Option<&str>) -> Option<String>,
    /// Is called with the number of bytes of every record.
    pub progress: &'a mut dyn FnMut(u64),
}

/// What an import did.
#[derive(Clone, Debug)]
pub struct Imported {
    pub session: SessionId,
    pub is_new: bool,
    pub format: NativeFormat,
    pub native_session_id: String,
    pub title: Option<String>,
    /// The folder in which the agent worked.
    pub folder: Option<String>,
    /// Entries that were added, without the one that says so.
    pub entries: u64,
    pub messages: u64,
    /// Records of the main file.
    pub records: u64,
    /// Records that had been imported and have another content now.
    pub changed: u64,
    /// Secrets that were replaced.
    pub secrets: u64,
    /// Entries with a date in the future, and the last of these dates.
    pub in_future: u64,
    pub last_date: Option<Timestamp>,
    pub problems: Vec<ReadProblem>,
    /// The number of problems, including those that are not in the list.
    pub problem_count: u64,
    /// The session that has the expected id but another content.
    pub collides_with: Option<SessionId>,
}

/// Why a session cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error(transparent)]
    Native(#[from] NativeError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{path} has no records; nothing was imported")]
    Empty { path: String },
    #[error(
        "session {0} already exists, and it was not imported from this session; choose another ID with --as"
    )]
    Taken(SessionId),
    #[error("other programs keep writing to session {0}; try again when they are idle")]
    Busy(SessionId),
}

/// Imports a session, or what is new in it.
pub fn import_session(
    store: &SessionStore,
    environment: &Environment,
    index: &mut LinkIndex,
    session: &FoundSession,
    options: &mut ImportOptions<'_>,
) -> Result<Imported, ImportError> {
    index.update(store)?;
    for _ in 0..TRIES {
        let target = choose(store, environment, index, session, options)?;
        match import_into(store, environment, session, target, options) {
            Err(ImportError::Store(
                StoreError::SessionConcurrentWrite { .. } | StoreError::SessionExists(_),
            )) => index.update(store)?,
            imported => {
                index.update(store)?;
                return imported;
            }
        }
    }
    let target = choose(store, environment, index, session, options)?;
    Err(ImportError::Busy(target.id))
}

fn import_into(
    store: &SessionStore,
    environment: &Environment,
    session: &FoundSession,
    target: Target,
    options: &mut ImportOptions<'_>,
) -> Result<Imported, ImportError> {
    let Target { id, known, collides_with } = target;
    let is_new = known.is_none();
    let redacts = options.redacts_secrets || known.as_ref().is_some_and(|log| log.redacts_secrets);
    let mut secrets = 0_u64;
    let mut reader = SessionReader::open(environment, session, options.line_bytes_max)?;
    if redacts {
        reader = reader.with_edit(|bytes| redact_secrets(bytes, &mut secrets));
    }
    if options.settled_only {
        reader.settled_only();
    }
    let sink = match (&known, options.is_dry_run) {
        (_, true) => Sink::nowhere(),
        (Some(log), false) => Sink::append(store, &id, log.tail()),
        (None, false) => Sink::create(store)?,
    };
    let mut merge = Merge::new(session, known, Added::new(sink, &options.now));
    merge.begin()?;
    let (problems, problem_count) = read_all(&mut reader, &mut merge, options.progress)?;
    if reader.records() == 0 {
        return Err(ImportError::Empty { path: session.place.path().display().to_string() });
    }
    let facts = reader.session().clone();
    let records = reader.records();
    let link = merge.link(&reader, redacts);
    drop(reader);
    let title = facts.title.as_deref().map(title_of).filter(|title| !title.is_empty());
    let folder = facts.folder.as_deref().map(ToOwned::to_owned).or_else(|| session.folder.clone());
    let (changed, mut added) = merge.into_added();
    if is_new && let Some(title) = &title {
        added.title(title)?;
    }
    let project = (options.project)(folder.as_deref());
    let tally = added.finish(link, &id, project)?;
    if !is_new && !options.is_dry_run && tally.entries > 0 {
        name_later(store, &id, title.as_deref())?;
    }
    Ok(Imported {
        session: id,
        is_new,
        format: session.format,
        native_session_id: native_id(session, facts.native_id.as_deref()),
        title,
        folder,
        entries: tally.entries,
        messages: tally.messages,
        records,
        changed,
        secrets,
        in_future: tally.in_future,
        last_date: tally.last_date,
        problems,
        problem_count,
        collides_with,
    })
}

/// Reads a session to its end. Returns the problems of its new records, and their number.
fn read_all(
    reader: &mut SessionReader<'_>,
    merge: &mut Merge<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(Vec<ReadProblem>, u64), ImportError> {
    let mut entries = Vec::new();
    let (mut problems, mut count) = (Vec::new(), 0);
    while let Some(bytes) = reader.next(&mut entries)? {
        progress(bytes);
        let is_new = merge.take(reader, &mut entries)?;
        for problem in reader.take_problems() {
            // Those of the records that are known were reported before.
            if is_new {
                count += 1;
                problems.extend((problems.len() < PROBLEMS_KEPT).then_some(problem));
            }
        }
    }
    Ok((problems, count))
}

/// Returns the agent's id of a session.
fn native_id(session: &FoundSession, read: Option<&str>) -> String {
    read.map_or_else(|| session.native_id.clone(), ToOwned::to_owned)
}

/// Sets the title that the agent found for a session that had none.
fn name_later(store: &SessionStore, id: &SessionId, title: Option<&str>) -> Result<(), StoreError> {
    match title {
        Some(title) if store.own_title(id)?.is_none() => store.rename(id, title),
        _ => Ok(()),
    }
}

/// Returns a title as a session may have it: one line, not too long.
fn title_of(title: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    let line: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    match line.char_indices().nth(CHARACTERS_MAX) {
        None => line,
        Some(_) => line.chars().take(CHARACTERS_MAX - 1).chain(['…']).collect(),
    }
}

/// Returns the id of the entry behind the first one of a record: its number among them.
fn beside(first: &EntryId, number: usize) -> EntryId {
    format!("{first}#{number}").into()
}
