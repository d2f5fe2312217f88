//! Imports the session of an agent into a log of its own, and later the records that the agent added to it. An import
//! is complete or has no effect: an error leaves no new session, and no new entries in an existing one.
//!
//! The reader gives every record the same ids each time. So an import recognises existing entries by their ids, and
//! changed ones by the text of the record. New records that continue from the last common content follow the newest
//! entry of the log. So a conversation that went through several agents is one branch.

mod add;
mod index;
mod known;
mod merge;
mod secrets;
mod stored_secrets;
mod target;

use tertulia_dialect::native::{NativeFormat, ReadProblem};
use tertulia_native::{Environment, FoundSession, NativeError, SessionReader};
use tertulia_session::{EntryId, Timestamp};
use tertulia_store::{SessionId, SessionStore, StoreError};

pub use index::{IndexedLink, LinkIndex};
pub(crate) use known::SECRETS;
pub use secrets::redact_secrets;
pub use stored_secrets::StoredSecrets;

use add::{Added, Sink};
use merge::Merge;
use stored_secrets::redact_stored;
use target::{Target, choose};

/// Maximum number of problems that are kept. Further ones are only counted.
const PROBLEMS_KEPT: usize = 10_000;
/// Maximum number of attempts if other processes write to the session.
const TRIES: usize = 8;

/// The options of an import.
pub struct ImportOptions<'a> {
    /// The id of the new session. By default it consists of the name of the format and the agent's id, as in
    /// `claude-…`.
    pub id: Option<SessionId>,
    /// Whether to replace secrets of known forms before anything is stored.
    pub redacts_secrets: bool,
    /// Maximum size of a line, and of a document that is read as a whole.
    pub line_bytes_max: u64,
    /// Whether to store nothing.
    pub is_dry_run: bool,
    /// Whether to leave an answer that the agent is still writing for the next import.
    pub skip_unfinished_answer: bool,
    pub now: Timestamp,
    /// Returns the project of a session from the folder in which its agent worked.
    pub project: &'a dyn Fn(Option<&str>) -> Option<String>,
    /// Called with the number of bytes of every record.
    pub progress: &'a mut dyn FnMut(u64),
}

/// The result of an import.
#[derive(Clone, Debug)]
pub struct Imported {
    pub session: SessionId,
    pub is_new: bool,
    pub format: NativeFormat,
    pub native_session_id: String,
    pub title: Option<String>,
    /// The folder in which the agent worked.
    pub folder: Option<String>,
    /// The number of added entries, without the link that records the import.
    pub entries: u64,
    pub messages: u64,
    /// The number of records of the main file.
    pub records: u64,
    /// The number of records that were imported earlier and have different content now.
    pub changed: u64,
    /// The number of replaced secrets.
    pub secrets: u64,
    /// Secrets that earlier imports had stored, and the entries that were redacted because of them.
    pub stored_secrets: StoredSecrets,
    /// The number of entries with a date in the future, and the last of these dates.
    pub in_future: u64,
    pub last_date: Option<Timestamp>,
    pub problems: Vec<ReadProblem>,
    /// The number of problems, including those that were not kept.
    pub problem_count: u64,
    /// The session that has the expected id but different content.
    pub collides_with: Option<SessionId>,
}

/// The reason why a session cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error(transparent)]
    Native(#[from] NativeError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("nothing was imported, because {path} has no records")]
    Empty { path: String },
    #[error(
        "{path}: no record can be read as one of {agent}; nothing was imported. Line {line}: {problem}. If it is the \
         session of another agent, leave --format out"
    )]
    Unreadable { path: String, agent: &'static str, line: u64, problem: String },
    #[error(
        "session {0} already exists, and it was not imported from this session; choose another ID with --as"
    )]
    Taken(SessionId),
    #[error("other programs keep writing to session {0}; try again when they are idle")]
    Busy(SessionId),
}

/// Imports a session, or its new records if it was imported before.
pub fn import_session(
    store: &SessionStore,
    environment: &Environment,
    index: &mut LinkIndex,
    session: &FoundSession,
    options: &mut ImportOptions<'_>,
) -> Result<Imported, ImportError> {
    index.update(store)?;
    let mut stored_secrets = None;
    for _ in 0..TRIES {
        let target = choose(store, environment, index, session, options)?;
        let has_secrets = target.known.as_ref().is_some_and(|log| !log.redacts_secrets);
        if options.redacts_secrets && has_secrets && stored_secrets.is_none() {
            let found = redact_stored(store, &target.id, options.is_dry_run)?;
            stored_secrets = Some(found);
            if found.entries > 0 && !options.is_dry_run {
                // The session has new entries now.
                index.update(store)?;
                continue;
            }
        }
        match import_into(store, environment, session, target, options) {
            Err(ImportError::Store(
                StoreError::SessionConcurrentWrite { .. } | StoreError::SessionExists(_),
            )) => index.update(store)?,
            imported => {
                index.update(store)?;
                let stored_secrets = stored_secrets.unwrap_or_default();
                return imported.map(|imported| Imported { stored_secrets, ..imported });
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
    match options.skip_unfinished_answer {
        true => reader.skip_unfinished_answer(),
        false => reader.skip_unfinished_if_recent(&options.now),
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
    if is_new && problem_count >= reader.records() && !merge.has_messages() {
        refuse_unreadable(session, &problems)?;
    }
    let facts = reader.session().clone();
    let records = reader.records();
    let link = (merge.link(&reader, redacts), merge.is_link_stale(&reader, redacts));
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
        stored_secrets: StoredSecrets::default(),
        in_future: tally.in_future,
        last_date: tally.last_date,
        problems,
        problem_count,
        collides_with,
    })
}

/// Refuses a session of which no record could be read.
fn refuse_unreadable(session: &FoundSession, problems: &[ReadProblem]) -> Result<(), ImportError> {
    let Some(first) = problems.first() else { return Ok(()) };
    Err(ImportError::Unreadable {
        path: session.place.path().display().to_string(),
        agent: session.format.agent_name(),
        line: first.line,
        problem: first.kind.to_string(),
    })
}

/// Reads a session to its end. Returns the problems of its new records, and the number of these problems.
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
            // Problems of known records were reported by an earlier import.
            if is_new || problem.kind.is_left_out() {
                count += 1;
                problems.extend((problems.len() < PROBLEMS_KEPT).then_some(problem));
            }
        }
    }
    Ok((problems, count))
}

/// Returns the id that the agent gave the session.
fn native_id(session: &FoundSession, read: Option<&str>) -> String {
    read.map_or_else(|| session.native_id.clone(), ToOwned::to_owned)
}

/// Sets the agent's title for a session that has none.
fn name_later(store: &SessionStore, id: &SessionId, title: Option<&str>) -> Result<(), StoreError> {
    match title {
        Some(title) if store.own_title(id)?.is_none() => store.rename(id, title),
        _ => Ok(()),
    }
}

/// Returns a title in the form that a session allows: one line of limited length.
fn title_of(title: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    let line: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    match line.char_indices().nth(CHARACTERS_MAX) {
        None => line,
        Some(_) => line.chars().take(CHARACTERS_MAX - 1).chain(['…']).collect(),
    }
}

/// Returns the id of another entry of a record: the id of its first entry and a number.
fn further_id(first: &EntryId, number: usize) -> EntryId {
    format!("{first}#{number}").into()
}
