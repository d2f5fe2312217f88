//! Imports sessions of agents, one after the other, and reports each.

use std::fs;
use std::path::Path;

use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, FoundSession, list, locate};
use tertulia_operations::handover::Link;
use tertulia_operations::import::{ImportOptions, Imported, LinkIndex, import_session};
use tertulia_operations::names::new_session_id;
use tertulia_session::Timestamp;
use tertulia_store::{ListFilter, ProjectScope, SessionId, SessionStore, now_millis};

use super::{counted, is_within, print_note, report};
use crate::Streams;
use crate::args::ImportArgs;
use crate::error::{CliError, Result};
use crate::load_team::{project_here, project_of};
use crate::progress::Progress;
use crate::store_location::StoreLocation;

/// The file in the data folder with the links between sessions and sessions of agents. A cache: it can be deleted.
const INDEX_FILE: &str = "native-links.json";

/// Imports sessions of agents into a store.
pub(super) struct Importer<'a> {
    pub(super) args: &'a ImportArgs,
    location: &'a StoreLocation,
    environment: Environment,
    pub(super) store: SessionStore,
    index: LinkIndex,
    id: Option<SessionId>,
    here: String,
}

impl<'a> Importer<'a> {
    pub(super) fn new(
        args: &'a ImportArgs,
        location: &'a StoreLocation,
        environment: Environment,
    ) -> Result<Self> {
        let id = args.id.as_deref().map(new_session_id).transpose()?;
        let store = location.open()?;
        let index = read_index(&store, location)?;
        Ok(Self { args, location, environment, store, index, id, here: project_here() })
    }

    /// Imports sessions. One that cannot be imported does not stop the others.
    pub(super) fn import_all(
        &mut self,
        sessions: &[FoundSession],
        streams: &mut Streams<'_>,
    ) -> Result {
        let mut failed = 0_u64;
        for session in sessions {
            match self.import(session, false, streams) {
                Ok(imported) => report::write(&imported, session, self, streams)?,
                Err(error) if sessions.len() == 1 => return Err(error),
                Err(error) => {
                    failed += 1;
                    print_note(streams, &error.to_string());
                }
            }
        }
        if !self.args.dry_run {
            self.finish(streams);
        }
        match failed {
            0 => Ok(()),
            failed => {
                let sessions = counted(failed, "session", "sessions");
                Err(CliError::Failed(format!("{sessions} could not be imported")))
            }
        }
    }

    /// Imports a session, or its new entries.
    pub(super) fn import(
        &mut self,
        session: &FoundSession,
        is_watched: bool,
        streams: &mut Streams<'_>,
    ) -> Result<Imported> {
        let is_shown = streams.stderr_is_terminal && !is_watched;
        let mut progress = Progress::bytes(is_shown, "Importing", session.size);
        let (store, here) = (&self.store, &self.here);
        let mut options = ImportOptions {
            id: self.id.clone(),
            redacts_secrets: self.args.redact_secrets,
            line_bytes_max: self.args.limits.max_line_bytes,
            is_dry_run: self.args.dry_run,
            skip_unfinished_answer: is_watched,
            now: Timestamp::from_millis(now_millis()),
            project: &|folder| Some(project(store, folder, here)),
            progress: &mut |bytes| progress.add(bytes),
        };
        let imported =
            import_session(store, &self.environment, &mut self.index, session, &mut options);
        imported.map_err(|error| CliError::Failed(error.to_string()))
    }

    /// Updates the search index, and stores the links.
    pub(super) fn finish(&self, streams: &mut Streams<'_>) {
        let mut progress = Progress::entries(streams.stderr_is_terminal, "Indexing");
        if let Err(error) = self.store.catch_up(|entries| progress.add(entries)) {
            drop(progress);
            print_note(streams, &format!("the search index is not up to date: {error}"));
        }
        write_index(&self.index, self.location);
    }
}

/// Returns the project of a session whose agent worked in this folder: the folder's, if it exists or has sessions,
/// otherwise the one here.
fn project(store: &SessionStore, folder: Option<&str>, here: &str) -> String {
    let Some(folder) = folder else { return here.to_owned() };
    if Path::new(folder).is_dir() {
        return project_of(Path::new(folder));
    }
    let project = ProjectScope::Project(folder.to_owned());
    let known = store.count(&ListFilter { project, ..ListFilter::default() });
    if known.is_ok_and(|count| count > 0) { folder.to_owned() } else { here.to_owned() }
}

/// Reads which sessions are connected to sessions of agents.
pub(super) fn read_index(store: &SessionStore, location: &StoreLocation) -> Result<LinkIndex> {
    let saved = location.data_folder().map(|folder| folder.join(INDEX_FILE));
    let saved = saved.and_then(|path| fs::read_to_string(path).ok());
    let mut index = saved.map(|text| LinkIndex::from_json(&text)).unwrap_or_default();
    index.update(store)?;
    Ok(index)
}

/// Stores the links. Without this file, they are read from the store again.
fn write_index(index: &LinkIndex, location: &StoreLocation) {
    let Some(folder) = location.data_folder() else { return };
    let new = folder.join(format!("{INDEX_FILE}.{}", std::process::id()));
    if fs::write(&new, index.to_json()).is_err()
        || fs::rename(&new, folder.join(INDEX_FILE)).is_err()
    {
        let _ = fs::remove_file(&new);
    }
}

/// Imports the newest session of an agent in a project, for a handover. Returns the id of the session.
pub(in crate::commands) fn import_newest(
    agent: NativeFormat,
    project: &str,
    location: &StoreLocation,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<SessionId> {
    let sessions = list(environment, &[agent]).sessions;
    let is_here = |session: &&FoundSession| {
        session.folder.as_deref().is_some_and(|folder| is_within(folder, project))
    };
    let Some(session) = sessions.iter().find(is_here) else {
        return Err(CliError::Failed(no_session_in(project, agent, !sessions.is_empty())));
    };
    let args = ImportArgs::of_handover();
    let mut importer = Importer::new(&args, location, environment.clone())?;
    let imported = importer.import(session, false, streams)?;
    importer.finish(streams);
    Ok(imported.session)
}

/// Returns the error if an agent has no session in a project, and what to do if it has some elsewhere.
fn no_session_in(project: &str, agent: NativeFormat, has_others: bool) -> String {
    let (name, word) = (agent.agent_name(), agent.as_str());
    match has_others {
        true => format!(
            "{name} has no session in {project}; `tertulia sessions import --agent {word}` lists those of other \
             folders: import one, then hand it over by its ID"
        ),
        false => format!("{name} has no session in {project}, and none elsewhere on this machine"),
    }
}

/// Imports new entries from the sessions of agents that a session is linked to, before a handover. A session that its
/// agent has deleted stays as it is. Returns how many messages were added.
pub(in crate::commands) fn import_linked(
    links: &[Link],
    location: &StoreLocation,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<u64> {
    let args = ImportArgs::of_handover();
    let mut importer = Importer::new(&args, location, environment.clone())?;
    let mut added = 0;
    for link in links {
        let path = link.path.as_deref().map(Path::new);
        let found = match path.filter(|path| path.extension().is_none_or(|kind| kind != "db")) {
            Some(path) => locate(environment, path, Some(link.format)).unwrap_or_default(),
            None => list(environment, &[link.format]).sessions,
        };
        let is_it = |session: &&FoundSession| {
            path.is_some_and(|path| path == session.place.path() && session.size.is_some())
                || *session.native_id == *link.native_session_id
        };
        let Some(session) = found.iter().find(is_it) else { continue };
        added += importer.import(session, false, streams)?.messages;
    }
    if added > 0 {
        importer.finish(streams);
    }
    Ok(added)
}
