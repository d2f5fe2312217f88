//! `tertulia sessions import --watch`: imports a session again whenever its agent adds something, and shows what was
//! said.

use std::ffi::OsString;
use std::fs::metadata;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use tertulia_native::FoundSession;

use super::native::Importer;
use super::print_note;
use crate::Streams;
use crate::commands::sessions::show::write_after;
use crate::error::Result;

/// The interval between two checks of the file.
const PAUSE: Duration = Duration::from_millis(500);

/// Follows a session until the process is stopped or its file is removed.
pub(super) fn watch(
    importer: &mut Importer<'_>,
    session: &FoundSession,
    streams: &mut Streams<'_>,
) -> Result {
    let path = session.place.path();
    // Read before the import, so that a change during the import is noticed.
    let mut before = state(path);
    let imported = importer.import(session, true, streams)?;
    importer.finish(streams);
    let id = imported.session;
    let mut seen = importer.store.info(&id)?.entries;
    print_note(
        streams,
        &format!("importing new entries of {} into session {id}; Ctrl-C stops", path.display()),
    );
    loop {
        let now = state(path);
        if now == before {
            thread::sleep(PAUSE);
            continue;
        }
        if !path.exists() {
            print_note(streams, &format!("{} was removed", path.display()));
            return Ok(());
        }
        before = now;
        match importer.import(session, true, streams) {
            Ok(_) => {}
            // The agent is rewriting the file; the next check tries again.
            Err(error) => print_note(streams, &error.to_string()),
        }
        seen = write_after(&importer.store, &id, seen, importer.args.json, streams)?;
    }
}

/// Returns values that change if a session changes: the times and lengths of its file, of a journal beside it, and of
/// the folder with the files of sub-agents.
fn state(path: &Path) -> Vec<Option<(Option<SystemTime>, u64)>> {
    let mut journal = OsString::from(path);
    journal.push("-wal");
    let beside =
        [path.to_owned(), PathBuf::from(journal), path.with_extension("").join("subagents")];
    let status =
        |path: &PathBuf| metadata(path).ok().map(|status| (status.modified().ok(), status.len()));
    beside.iter().map(status).collect()
}
