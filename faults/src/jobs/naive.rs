//! The controls: each job done as one would do it without a thought for faults. A run without a fault gives
//! the same as the command; one that is killed leaves what the judge must object to.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use tertulia_session::Entry;
use tertulia_store::{Append, Import, NewSession, Range, SessionStore};

use super::place::Place;
use super::template::{IMPORTED, REDACTED, branched_from, imported, name};
use super::{Job, lists, texts};
use crate::error::FaultsError;
use crate::scratch::{open, put};

/// In how many pieces a file is written, and how many entries are appended at once.
const PIECES: usize = 8;
const BATCH: usize = 200;

pub(super) fn run(job: Job, place: &Place) -> Result<(), FaultsError> {
    match job {
        Job::Backup => {
            let whole = place.temporary().join("whole.db");
            open(&place.store())?.backup(&whole)?;
            write_in_pieces(&place.backup(), &read(&whole)?)?;
            fs::remove_file(&whole).map_err(FaultsError::at(&whole))
        }
        Job::Restore => restore_one_by_one(place),
        Job::Import => {
            let store = open(&place.store())?;
            let id = name("new")?;
            store.create(&NewSession { id: Some(id.clone()) })?;
            // The session begins with an entry of its own.
            append_in_batches(&store, "new", &(1..IMPORTED).map(imported).collect::<Vec<_>>())
        }
        Job::Export => write_in_pieces(&place.export(), &read(&place.expected("export.jsonl"))?),
        Job::Migration => {
            let mut copy = place.store().into_os_string();
            copy.push(".v1.bak");
            write_in_pieces(Path::new(&copy), &read(&place.store())?)?;
            Ok(open(&place.store())?.rename(&name("talk")?, "Renamed")?)
        }
        Job::Branch => branch_visibly(place),
        Job::Delete | Job::Redact => forget_with_a_copy(job, place),
        Job::Trust => {
            let mut lines = lists::before();
            lines.push(lists::line_of(place));
            write_in_pieces(&place.trusted(), lists::text(&lines).as_bytes())
        }
        Job::Init => write_in_pieces(&place.team_file(), &read(&place.expected("tertulia.toml"))?),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FaultsError> {
    fs::read(path).map_err(FaultsError::at(path))
}

/// Writes a file under its final name, piece by piece.
fn write_in_pieces(path: &Path, bytes: &[u8]) -> Result<(), FaultsError> {
    let mut options = OpenOptions::new();
    let file = std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = file.write(true).create(true).truncate(true).open(path);
    let mut file: File = file.map_err(FaultsError::at(path))?;
    let written = bytes
        .chunks(bytes.len().div_ceil(PIECES).max(1))
        .try_for_each(|piece| file.write_all(piece));
    written.and_then(|()| file.sync_all()).map_err(FaultsError::at(path))
}

/// Each session is seen as soon as it is there.
fn restore_one_by_one(place: &Place) -> Result<(), FaultsError> {
    let (from, into) = (SessionStore::memory(), open(&place.store())?);
    from.restore(&place.made())?;
    for id in from.ids()? {
        let mut import = Import::begin(&into)?;
        for stored in from.load(&id, &Range::All)? {
            import.push(stored.entry)?;
        }
        import.finish(&NewSession { id: Some(id) })?;
    }
    Ok(())
}

/// A session that is seen while it is filled.
fn append_in_batches(
    store: &SessionStore,
    session: &str,
    entries: &[Entry],
) -> Result<(), FaultsError> {
    let id = name(session)?;
    for batch in entries.chunks(BATCH.min(entries.len().div_ceil(PIECES))) {
        store.append(&id, Append::new(batch.to_vec()))?;
    }
    Ok(())
}

fn branch_visibly(place: &Place) -> Result<(), FaultsError> {
    let store = open(&place.store())?;
    let range = Range::Branch { tail: Some(branched_from()), limit: None };
    let mut entries: Vec<_> =
        store.load(&name("s0")?, &range)?.into_iter().map(|stored| stored.entry).collect();
    // The command adds entries of its own, which are no part of the promise; only their number is.
    let all = place.expected("branch");
    let all = fs::read_to_string(&all).map_err(FaultsError::at(&all))?;
    let all: usize = all.parse().map_err(|_| FaultsError::unfit("no number of entries"))?;
    entries.retain(|entry| !entry.is_purged());
    let missing = all.saturating_sub(entries.len() + 1);
    entries.extend((0..missing).map(imported));
    store.create(&NewSession { id: Some(name("new")?) })?;
    append_in_batches(&store, "new", &entries)
}

/// Keeps the text in a file beside the database until all went well, so that it can be undone.
fn forget_with_a_copy(job: Job, place: &Place) -> Result<(), FaultsError> {
    let store = open(&place.store())?;
    let (id, undo) = (name("secret")?, place.home().join("undo"));
    if !store.has(&id)? || store.entry(&id, &REDACTED.into())?.entry.is_purged() {
        return Ok(());
    }
    put(&undo, texts::SECRET.as_bytes())?;
    if job == Job::Delete {
        store.delete(&id)?;
    } else {
        store.redact(&id, &REDACTED.into(), None)?;
        let history = place.home().join("chat_history");
        fs::remove_file(&history).map_err(FaultsError::at(&history))?;
    }
    store.remove_old_copies()?;
    fs::remove_file(&undo).map_err(FaultsError::at(&undo))
}
