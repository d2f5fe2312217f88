//! `tertulia sessions import`: stores a session from a file, or one that an agent keeps on this machine.

mod choose;
mod native;
mod own;
mod report;
mod watch;

use std::fs::metadata;
use std::io::Read;
use std::path::Path;

use tertulia_dialect::native::{NativeFormat, detect};
use tertulia_native::{Environment, FoundSession, list, locate};
use tertulia_operations::session_file::Form;

use super::{counted, print_note, write_json};
use crate::Streams;
use crate::args::{ImportArgs, SourceFormat};
use crate::commands::files::open_file;
use crate::error::{CliError, Result};
use crate::native_environment::native_environment;
use crate::store_location::StoreLocation;
use choose::Choice;
use native::Importer;
pub(in crate::commands) use native::{import_linked, import_newest};

/// The first bytes of every SQLite database.
const DATABASE: &[u8] = b"SQLite format 3\0";
const BEGINNING: u64 = 64 << 10;

pub(super) fn run(
    args: &ImportArgs,
    location: &StoreLocation,
    streams: &mut Streams<'_>,
) -> Result {
    if let Some(file) = args.source.as_deref().filter(|file| *file == Path::new("-")) {
        if matches!(args.format.kind(), Kind::Native(_)) {
            return Err(CliError::Usage(
                "a session of an agent cannot be read from standard input; name its file",
            ));
        }
        return own::run(args, file, location, streams);
    }
    if let Some(file) = args.source.as_deref()
        && is_own(file, args.format)?
    {
        return own::run(args, file, location, streams);
    }
    let environment = native_environment()?;
    let found = find(args, &environment, streams)?;
    let chosen = match choose::choose(args, location, found, streams)? {
        Choice::Nothing => return Ok(()),
        Choice::Sessions(chosen) => chosen,
    };
    let mut importer = Importer::new(args, location, environment)?;
    if let (true, [session]) = (args.watch, chosen.as_slice()) {
        return watch::watch(&mut importer, session, streams);
    }
    importer.import_all(&chosen, streams)
}

/// Whose sessions a format contains.
enum Kind {
    Any,
    Own(Form),
    Native(NativeFormat),
}

impl SourceFormat {
    fn kind(self) -> Kind {
        match self {
            Self::Auto => Kind::Any,
            Self::Jsonl => Kind::Own(Form::Log),
            Self::Snapshot => Kind::Own(Form::Snapshot),
            Self::AgentChatter => Kind::Own(Form::AgentChatter),
            Self::Claude => Kind::Native(NativeFormat::Claude),
            Self::Codex => Kind::Native(NativeFormat::Codex),
            Self::Gemini => Kind::Native(NativeFormat::Gemini),
            Self::Opencode => Kind::Native(NativeFormat::Opencode),
            Self::Copilot => Kind::Native(NativeFormat::Copilot),
            Self::Pi => Kind::Native(NativeFormat::Pi),
            Self::Goose => Kind::Native(NativeFormat::Goose),
            Self::Cline => Kind::Native(NativeFormat::Cline),
            Self::Aider => Kind::Native(NativeFormat::Aider),
        }
    }
}

/// Whether a file has one of our own formats. Its content decides, not its name.
fn is_own(file: &Path, format: SourceFormat) -> Result<bool> {
    match format.kind() {
        Kind::Own(_) => return Ok(true),
        Kind::Native(_) => return Ok(false),
        Kind::Any => {}
    }
    match metadata(file) {
        Ok(status) if status.is_dir() => return Ok(false),
        // It may be the ID of a session of an agent.
        Err(_) if is_id(file) => return Ok(false),
        _ => {}
    }
    let mut start = Vec::new();
    let read = open_file(file)?.take(BEGINNING).read_to_end(&mut start);
    read.map_err(|source| CliError::ReadFile { path: file.into(), source })?;
    Ok(!start.starts_with(DATABASE) && detect(&start).is_none())
}

/// Whether a name is one word, and no file has this name.
fn is_id(file: &Path) -> bool {
    let is_word = |text: &str| !text.contains(['/', '\\']) && !text.starts_with('.');
    file.to_str().is_some_and(is_word) && file.extension().is_none()
}

/// Finds the sessions of agents that the arguments name, newest first.
fn find(
    args: &ImportArgs,
    environment: &Environment,
    streams: &mut Streams<'_>,
) -> Result<Vec<FoundSession>> {
    let format = match args.format.kind() {
        Kind::Native(format) => Some(format),
        Kind::Any | Kind::Own(_) => None,
    };
    let agents = args.agent.or(format).map_or(NativeFormat::ALL.to_vec(), |format| vec![format]);
    let named = args.source.as_deref();
    let mut found = match named {
        Some(path) if metadata(path).is_ok() => locate(environment, path, format)
            .map_err(|error| CliError::Failed(error.to_string()))?,
        named => {
            let listing = list(environment, &agents);
            for problem in &listing.problems {
                print_note(streams, &problem.to_string());
            }
            match named {
                Some(id) => with_id(listing.sessions, &id.to_string_lossy())?,
                None => listing.sessions,
            }
        }
    };
    found.retain(|session| agents.contains(&session.format));
    if let Some(folder) = &args.project {
        let folder = folder
            .canonicalize()
            .map_err(|source| CliError::ReadFile { path: folder.clone(), source })?;
        let project = crate::load_team::project_of(&folder);
        found.retain(|session| session.folder.as_deref().is_some_and(|of| is_within(of, &project)));
    }
    Ok(found)
}

/// Whether the folder of a session is in a project.
fn is_within(folder: &str, project: &str) -> bool {
    let folder = Path::new(folder);
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    real.starts_with(project) || folder.starts_with(project)
}

/// Returns the session to which its agent gave this id, or an id with this prefix.
fn with_id(found: Vec<FoundSession>, id: &str) -> Result<Vec<FoundSession>> {
    const DIGITS_MIN: usize = 4;
    let is_it = |session: &&FoundSession| session.native_id == id;
    if let Some(exact) = found.iter().find(is_it) {
        return Ok(vec![exact.clone()]);
    }
    let begins =
        |session: &FoundSession| id.len() >= DIGITS_MIN && session.native_id.starts_with(id);
    let matching: Vec<FoundSession> = found.into_iter().filter(begins).collect();
    match matching.as_slice() {
        [_] => Ok(matching),
        [] => Err(CliError::Failed(format!(
            "there is no file {id}, and no agent has a session with this ID; `tertulia sessions \
             import` lists the sessions of agents"
        ))),
        several => {
            let ids: Vec<&str> = several.iter().map(|one| &*one.native_id).take(5).collect();
            Err(CliError::Failed(format!(
                "the ID {id} is ambiguous: {}{}",
                ids.join(", "),
                if several.len() > 5 { ", …" } else { "" }
            )))
        }
    }
}
