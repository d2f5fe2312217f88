//! Finds the sessions in a file, a database or a folder that a person names. The content of a file determines its
//! format; its name does not matter.

use std::fs;
use std::path::Path;

use tertulia_dialect::native::{NativeFormat, detect};

use crate::database::Database;
use crate::peek::{beginning, peek};
use crate::places::{collect, is_side_file};
use crate::side_files::attach;
use crate::tables::{MAGIC, recognize, sessions};
use crate::tree::{is_piece, is_sub_agent, storage_of};
use crate::{Cause, Environment, FoundSession, NativeError, tree};

/// Maximum depth of folders below the named one.
const DEPTH_MAX: usize = 8;

/// Returns the sessions in a file or a folder, newest first. `format` is the format of a file, if the caller knows
/// it.
pub fn locate(
    environment: &Environment,
    path: &Path,
    format: Option<NativeFormat>,
) -> Result<Vec<FoundSession>, NativeError> {
    let status = fs::metadata(path).map_err(|error| NativeError::new(path, error))?;
    if !status.is_dir() {
        let mut found = in_file(environment, path, format)?;
        attach(&mut found);
        return Ok(found);
    }
    let mut files = Vec::new();
    let may_be = |name: &str| {
        let endings = [".jsonl", ".json", ".db", ".md"];
        endings.iter().any(|ending| name.ends_with(ending)) && !is_side_file(name)
    };
    collect(path, DEPTH_MAX, &may_be, &mut files);
    files.retain(|file| !is_piece(file) && !is_sub_agent(file));
    let found = files.iter().map(|file| in_file(environment, file, format));
    // Other files in the folder are ignored.
    let mut found: Vec<FoundSession> = found.flatten().flatten().collect();
    if found.is_empty() {
        return Err(NativeError::new(path, Cause::NoSessions));
    }
    attach(&mut found);
    sort(&mut found);
    Ok(found)
}

/// Sorts sessions so that the one that was changed last comes first.
pub(crate) fn sort(found: &mut [FoundSession]) {
    found.sort_by(|one, other| {
        let changed = |session: &FoundSession| session.updated.as_ref().map(|time| time.millis());
        changed(other).cmp(&changed(one)).then_with(|| one.place.cmp(&other.place))
    });
}

fn in_file(
    environment: &Environment,
    path: &Path,
    format: Option<NativeFormat>,
) -> Result<Vec<FoundSession>, NativeError> {
    if storage_of(path).is_some() && format.is_none_or(|format| format == NativeFormat::Opencode) {
        return tree::peek(path).map(|session| vec![session]);
    }
    let start = beginning(path)?;
    if start.starts_with(MAGIC) {
        return in_database(environment, path);
    }
    let format = format.or_else(|| detect(&start));
    let format = format.ok_or_else(|| NativeError::new(path, Cause::UnknownFormat))?;
    Ok(vec![peek(path, format)?])
}

pub(crate) fn in_database(
    environment: &Environment,
    path: &Path,
) -> Result<Vec<FoundSession>, NativeError> {
    let database = Database::open(path, environment.temporary())?;
    let format = recognize(path, &database)?;
    let mut found = sessions(path, &database, format)?;
    sort(&mut found);
    Ok(found)
}
