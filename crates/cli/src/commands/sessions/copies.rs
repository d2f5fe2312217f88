//! `tertulia sessions backup` and `restore`: all sessions at once.

use tertulia_operations::export_file::ExportError;
use tertulia_store::StoreError;

use super::{counted, tell, write_json};
use crate::Streams;
use crate::args::{BackupArgs, RestoreArgs};
use crate::error::CliError;
use crate::store_place::StorePlace;

pub(super) fn backup(
    args: &BackupArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    // Elsewhere `-` is standard output; a backup is a database and needs a file.
    if args.file.as_os_str() == "-" {
        return Err(CliError::Usage(
            "a backup cannot be written to standard output; name a new file",
        ));
    }
    let sessions = place.need()?.backup(&args.file)?;
    if args.json {
        return write_json(streams, &serde_json::json!({ "sessions": sessions }));
    }
    let sessions = counted(sessions, "session", "sessions");
    tell(streams, &format!("{sessions} copied to {} and checked", args.file.display()));
    Ok(())
}

pub(super) fn restore(
    args: &RestoreArgs,
    place: &StorePlace,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    // The backup is looked at first, so that a wrong name makes no store.
    let about = std::fs::metadata(&args.file);
    let about = about.map_err(|source| CliError::ReadFile { path: args.file.clone(), source })?;
    if !about.is_file() {
        return Err(ExportError::NotAFile { path: args.file.clone() }.into());
    }
    let restored = place.open()?.restore(&args.file);
    let sessions = restored.map_err(|error| match error {
        StoreError::SessionExists(session) => CliError::RestoredTwice { session },
        other => other.into(),
    })?;
    if args.json {
        return write_json(streams, &serde_json::json!({ "sessions": sessions }));
    }
    let sessions = counted(sessions, "session", "sessions");
    tell(streams, &format!("{sessions} copied from {}", args.file.display()));
    Ok(())
}
